"""A fixed piece of Python work, to measure rows against that have no twin: how a busy or slow machine computes it tells how it
computes anything.

Hands on `rounds` and `per_round`. Must not know: what is measured against it.
"""

from __future__ import annotations

from .sampling import Samples

ROUNDS = 20_000


class Item:
    __slots__ = ("name", "size")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size

    def larger(self, other: Item) -> bool:
        return self.size > other.size


def rounds(count: int = ROUNDS) -> int:
    """What programs do: objects, calls of methods, a dictionary, a list, arithmetic. The garbage collector has nothing to do."""
    found: dict[str, Item] = {}
    largest = Item("", -1)
    total = 0
    for n in range(count):
        item = Item(str(n & 255), n * 7 % 1_000)
        if item.larger(largest):
            largest = item
        if item.name in found:
            total += found[item.name].size
        found[item.name] = item
        total += len([item.size, n])
    return total


def per_round(samples: Samples, count: int = ROUNDS) -> float:
    """Seconds of a round. Samples should last as long as those they are compared with: a machine is busy for moments."""
    return samples.median / count
