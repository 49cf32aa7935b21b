"""A cache that drops what was used longest ago, kept in the order of a dict."""


class Cache:
    __slots__ = ("capacity", "entries", "hits", "misses")

    def __init__(self, capacity):
        self.capacity = capacity
        self.entries = {}
        self.hits = 0
        self.misses = 0

    def get(self, key):
        value = self.entries.pop(key, None)
        if value is None:
            self.misses += 1
            return None
        self.entries[key] = value
        self.hits += 1
        return value

    def put(self, key, value):
        if self.entries.pop(key, None) is None and len(self.entries) == self.capacity:
            del self.entries[next(iter(self.entries))]
        self.entries[key] = value


def main(n, emit):
    cache = Cache(50)
    state = 8
    letters = 0
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        draw = state // 65536
        key = draw % 500 if draw % 3 == 0 else draw % 40
        text = cache.get(key)
        if text is None:
            cache.put(key, f"page {key}")
        else:
            letters += len(text)
    emit("hits", cache.hits)
    emit("misses", cache.misses)
    emit("letters", letters)
    emit("keys", list(cache.entries)[:10])
