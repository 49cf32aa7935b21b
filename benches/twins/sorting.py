"""Quicksort in place, checked against sorted()."""


def quicksorted(values):
    items = list(values)
    waiting = [(0, len(items) - 1)]
    while waiting:
        low, high = waiting.pop()
        if low < high:
            pivot = items[(low + high) // 2]
            i = low
            j = high
            while i <= j:
                while items[i] < pivot:
                    i += 1
                while items[j] > pivot:
                    j -= 1
                if i <= j:
                    items[i], items[j] = items[j], items[i]
                    i += 1
                    j -= 1
            waiting.append((low, j))
            waiting.append((i, high))
    return items


def main(n, emit):
    values = []
    state = 7
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        values.append(state // 65536)
    mine = quicksorted(values)
    theirs = sorted(values)
    emit("equal", mine == theirs)
    emit("unsorted", mine == values)
    emit("ends", [mine[0], mine[-1]])
