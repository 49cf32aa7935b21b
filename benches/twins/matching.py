"""match on enum members, numbers, and values that may be absent."""

from enum import Enum


class Order(Enum):
    ADD = 0
    SUBTRACT = 1
    DOUBLE = 2
    SKIP = 3


def order(i):
    match i % 7:
        case 0 | 3:
            return Order.ADD
        case 1:
            return Order.SUBTRACT
        case n if n > 4:
            return Order.DOUBLE
        case _:
            return Order.SKIP


def half(n):
    return n // 2 if n % 2 == 0 else None


def small(n):
    return n < 1000000


def main(n, emit):
    value = 1
    resets = 0
    for i in range(n):
        match order(i):
            case Order.ADD:
                value = value + i
            case Order.SUBTRACT:
                value = value - 3
            case Order.DOUBLE:
                value = value * 2
            case Order.SKIP:
                h = half(value)
                if h is not None:
                    value = h
        if not small(value):
            value = 1
            resets += 1
    emit("value", value)
    emit("resets", resets)
