"""Nested integer loops."""


def main(n, emit):
    total = 0
    for i in range(n):
        for j in range(n):
            if (i + j) % 3 == 0:
                total += i * j
            else:
                total -= j
    emit("total", total)
