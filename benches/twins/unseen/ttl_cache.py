"""A cache whose entries expire: a clock that the program moves, values made when they are missing, sweeps now and then."""

from dataclasses import dataclass


@dataclass(slots=True)
class Entry:
    value: object
    expires: int


@dataclass(slots=True)
class Page:
    title: str
    words: list


class Cache:
    def __init__(self, ttl):
        self.ttl = ttl
        self.now = 0
        self.entries = {}
        self.hits = 0
        self.stale = 0
        self.swept = 0

    def get(self, key):
        entry = self.entries.get(key)
        if entry is None:
            return None
        if entry.expires <= self.now:
            del self.entries[key]
            self.stale += 1
            return None
        self.hits += 1
        return entry.value

    def get_or(self, key, make):
        value = self.get(key)
        if value is None:
            value = make(key)
            self.entries[key] = Entry(value, self.now + self.ttl)
        return value

    def sweep(self):
        for key, entry in list(self.entries.items()):
            if entry.expires <= self.now:
                del self.entries[key]
                self.swept += 1


def page(key):
    return Page(f"About {key}", key.split("-"))


def main(n, emit):
    cache = Cache(300)
    state = 5
    letters = numbers = 0
    for i in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        draw = state // 65536
        key = f"rare-{draw % 700}" if draw % 4 == 0 else f"page-{draw % 60}"
        found = cache.get_or(key, page)
        letters += len(found.title)
        if found.words[0] == "page":
            numbers += len(found.words[1])
        cache.now += draw % 3
        if i % 200 == 199:
            cache.sweep()
    emit("letters", [letters, numbers])
    emit("hits", cache.hits)
    emit("gone", [cache.stale, cache.swept])
    emit("kept", len(cache.entries))
    first = next(iter(cache.entries.values())).value
    emit("first", {"title": first.title, "words": first.words})
