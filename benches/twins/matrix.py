"""Product of two square matrices."""


def filled(n, seed):
    return [[(i * seed + j) % 17 - 8 for j in range(n)] for i in range(n)]


def product(a, b):
    n = len(a)
    rows = []
    for i in range(n):
        left = a[i]
        row = []
        for j in range(n):
            total = 0
            for k in range(n):
                total += left[k] * b[k][j]
            row.append(total)
        rows.append(row)
    return rows


def main(n, emit):
    c = product(filled(n, 7), filled(n, 3))
    emit("trace", sum(c[i][i] for i in range(n)))
    emit("row", c[n - 1])
