"""Quick sort twice: a new list from parts, and in place through an index range."""


def numbers(n):
    state = 17
    found = []
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        found.append(state // 65536 % 10000)
    return found


def in_order(xs):
    if len(xs) < 2:
        return xs
    pivot = xs[len(xs) // 2]
    below = [x for x in xs if x < pivot]
    same = [x for x in xs if x == pivot]
    above = [x for x in xs if x > pivot]
    return in_order(below) + same + in_order(above)


class Sorter:
    __slots__ = ("xs", "swaps")

    def __init__(self, xs):
        self.xs = xs
        self.swaps = 0

    def sort(self, low, high):
        if low >= high:
            return
        pivot = self.xs[high]
        border = low
        for i in range(low, high):
            if self.xs[i] < pivot:
                self.swap(i, border)
                border += 1
        self.swap(border, high)
        self.sort(low, border - 1)
        self.sort(border + 1, high)

    def swap(self, i, j):
        xs = self.xs
        xs[i], xs[j] = xs[j], xs[i]
        self.swaps += 1


def main(n, emit):
    xs = numbers(n)
    first = in_order(xs)
    sorter = Sorter(list(xs))
    sorter.sort(0, len(xs) - 1)
    emit("equal", first == sorter.xs)
    emit("swaps", sorter.swaps)
    emit("ends", [first[0], first[len(first) // 2], first[-1]])
