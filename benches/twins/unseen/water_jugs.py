"""Jugs that are filled, emptied and poured: the shortest way by a search in breadth."""

from collections import deque


def moves(state, a, b):
    x, y = state
    into_b = min(x, b - y)
    into_a = min(y, a - x)
    return [(a, y), (x, b), (0, y), (x, 0), (x - into_b, y + into_b), (x + into_a, y - into_a)]


def steps(a, b, goal):
    seen = {(0, 0)}
    queue = deque([((0, 0), 0)])
    while queue:
        state, count = queue.popleft()
        if goal in state:
            return count
        for after in moves(state, a, b):
            if after not in seen:
                seen.add(after)
                queue.append((after, count + 1))
    return None


def main(n, emit):
    total = 0
    none = 0
    for i in range(n):
        count = steps(20 + i % 17, 31 + i % 23, 11 + i % 13)
        if count is None:
            none += 1
        else:
            total += count
    emit("sum", total)
    emit("none", none)
