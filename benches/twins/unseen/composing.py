"""Functions that make functions: composition, partial application, counters, a table of rules."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce


@dataclass(slots=True)
class Rule:
    name: str
    applies: Callable
    change: Callable


def compose(f, g):
    return lambda x: g(f(x))


def adder(n):
    return lambda x: x + n


def counter():
    n = 0

    def tick():
        nonlocal n
        n += 1
        return n

    return tick


def chain(steps):
    return reduce(compose, steps, lambda x: x)


def main(n, emit):
    mixed = chain([adder(3), lambda x: x * 5, lambda x: x % 1009, adder(-2)])
    rules = [
        Rule("even", lambda x: x % 2 == 0, lambda x: x // 2),
        Rule("large", lambda x: x > 500, mixed),
        Rule("rest", lambda _: True, adder(11)),
    ]
    tick = counter()
    used = {}
    value = 1
    total = 0
    for i in range(n):
        value = mixed(value + i)
        for rule in rules:
            if rule.applies(value):
                value = rule.change(value)
                used[rule.name] = used.get(rule.name, 0) + tick()
                break
        total += value
    emit("value", value)
    emit("sum", total)
    emit("used", used)
    emit("ticks", tick())
