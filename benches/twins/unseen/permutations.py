"""Permutations and subsets by recursion that returns lists of lists."""


def permutations(items):
    if not items:
        return [[]]
    found = []
    for i, item in enumerate(items):
        for tail in permutations(items[:i] + items[i + 1 :]):
            found.append([item, *tail])
    return found


def subsets(items):
    if not items:
        return [[]]
    first, *rest = items
    without = subsets(rest)
    return without + [[first, *s] for s in without]


def inversions(order):
    count = 0
    for i in range(len(order)):
        for j in range(i + 1, len(order)):
            if order[i] > order[j]:
                count += 1
    return count


def main(n, emit):
    everything = permutations(list(range(1, n + 1)))
    emit("count", len(everything))
    emit("last", everything[-1])
    emit("inversions", sum([inversions(order) for order in everything]))
    chosen = [s for s in subsets(list(range(1, n + 5))) if sum(s) == 2 * n]
    emit("chosen", len(chosen))
    emit("first", chosen[0] if chosen else None)
