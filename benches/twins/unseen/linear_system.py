"""Systems of linear equations in floats: elimination with pivots, the determinant, and how well the answer fits."""

import math
from dataclasses import dataclass


class Singular(Exception):
    pass


@dataclass(slots=True)
class Solved:
    x: list
    determinant: float
    swaps: int


def system(n):
    rows = []
    state = 17
    for i in range(n):
        row = []
        for _ in range(n):
            state = (state * 1103515245 + 12345) % 2147483648
            row.append((state // 65536 % 23) / 4.0 - 2.5)
        row[(i * 3 + 1) % n] += 3.0
        rows.append(row)
    return rows, [(i % 5) - 1.5 for i in range(n)]


def pivot(rows, at):
    best = at
    for r in range(at + 1, len(rows)):
        if abs(rows[r][at]) > abs(rows[best][at]):
            best = r
    return best


def solve(matrix, right):
    n = len(matrix)
    rows = [row[:] for row in matrix]
    b = right[:]
    determinant = 1.0
    swaps = 0
    for k in range(n):
        p = pivot(rows, k)
        if abs(rows[p][k]) < 0.000000001:
            raise Singular(f"singular at {k}")
        if p != k:
            rows[p], rows[k] = rows[k], rows[p]
            b[p], b[k] = b[k], b[p]
            swaps += 1
        determinant *= rows[k][k] / 4.0
        for r in range(k + 1, n):
            factor = rows[r][k] / rows[k][k]
            if factor == 0.0:
                continue
            for c in range(k, n):
                rows[r][c] -= factor * rows[k][c]
            b[r] -= factor * b[k]
    x = [0.0] * n
    for k in reversed(range(n)):
        rest = b[k]
        for c in range(k + 1, n):
            rest -= rows[k][c] * x[c]
        x[k] = rest / rows[k][k]
    return Solved(x, determinant if swaps % 2 == 0 else -determinant, swaps)


def error(matrix, x, right):
    worst = 0.0
    for i, row in enumerate(matrix):
        total = 0.0
        for a, value in zip(row, x, strict=True):
            total += a * value
        worst = max(worst, abs(total - right[i]))
    return worst


def singular(matrix, right):
    try:
        solve(matrix, right)
    except Singular:
        return True
    return False


def main(n, emit):
    matrix, right = system(n)
    solved = solve(matrix, right)
    emit("first", solved.x[0])
    emit("determinant", solved.determinant)
    emit("swaps", solved.swaps)
    emit("fits", error(matrix, solved.x, right) < 0.000001)
    emit("rounded", [math.floor(v * 1000.0) for v in solved.x])
    emit("singular", singular([matrix[0][:2], matrix[0][:2]], [1.0, 2.0]))
