"""Functions as values: map, filter, reduce, and a closure that captures."""

from functools import reduce


def scaler(factor):
    return lambda x: x * factor + 1


def main(n, emit):
    numbers = list(range(n))
    scale = scaler(3)
    scaled = list(map(scale, numbers))
    even = list(filter(lambda x: x % 2 == 0, scaled))
    emit("total", reduce(lambda total, x: total + x, even, 0))

    calls = 0

    def count(x):
        nonlocal calls
        calls += 1
        return x > n // 2

    emit("first", next(filter(count, numbers), 0))
    emit("calls", calls)
