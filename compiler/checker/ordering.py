"""Declarations that are made of others, in an order in which each comes after those it is made of.

So that a chain of any length needs no recursion. Hands on `in_order`. Must not know: what is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_order(all: Iterable[T], made_of: Callable[[T], list[T]]) -> Iterator[T]:
    """All of them once. Those in a circle, and those that lead into one, come last, in their own order."""
    order: list[T] = []
    circular: set[T] = set()
    done: set[T] = set()
    path: dict[T, list[T]] = {}  # those being looked at, with what is left of what they are made of
    all = list(all)
    for start in all:
        if start in done:
            continue
        path[start] = made_of(start)
        while path:
            at, left = next(reversed(path.items()))
            below = left.pop(0) if left else None
            if below is None:
                path.popitem()
                done.add(at)
                if at not in circular:
                    order.append(at)
                elif path:
                    circular.add(next(reversed(path)))
            elif below in path or below in circular:
                circular.add(at)
            elif below not in done:
                path[below] = made_of(below)
    yield from order
    yield from (one for one in all if one in circular)
