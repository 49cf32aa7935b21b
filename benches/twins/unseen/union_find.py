"""Union-find with path halving: random pairs joined, the groups counted."""


class Groups:
    __slots__ = ("parents", "sizes", "count")

    def __init__(self, n):
        self.parents = list(range(n))
        self.sizes = [1] * n
        self.count = n

    def root(self, at):
        parents = self.parents
        while parents[at] != at:
            parents[at] = parents[parents[at]]
            at = parents[at]
        return at

    def join(self, a, b):
        small, large = self.root(a), self.root(b)
        if small == large:
            return False
        if self.sizes[small] > self.sizes[large]:
            small, large = large, small
        self.parents[small] = large
        self.sizes[large] += self.sizes[small]
        self.count -= 1
        return True


def main(n, emit):
    groups = Groups(n)
    state = 31
    joined = 0
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        a = state // 65536 % n
        state = (state * 1103515245 + 12345) % 2147483648
        if groups.join(a, state // 65536 % n):
            joined += 1
    largest = 0
    for i in range(n):
        largest = max(largest, groups.sizes[groups.root(i)])
    emit("joined", joined)
    emit("groups", groups.count)
    emit("largest", largest)
