"""Memoised recursion: ways to write a number as a sum, with a dict that an object keeps."""


class Counter:
    __slots__ = ("known", "calls")

    def __init__(self):
        self.known = {}
        self.calls = 0

    def ways(self, total, largest):
        self.calls += 1
        if total == 0:
            return 1
        if total < 0 or largest == 0:
            return 0
        key = f"{total}/{largest}"
        known = self.known.get(key)
        if known is None:
            known = (self.ways(total - largest, largest) + self.ways(total, largest - 1)) % 1000000007
            self.known[key] = known
        return known


def main(n, emit):
    counter = Counter()
    emit("ways", counter.ways(n, n))
    emit("half", counter.ways(n // 2, n // 3))
    emit("calls", counter.calls)
    emit("known", len(counter.known))
