"""Recursion over deeply nested trees without raising the host's recursion limit (G-5.6, L-2.6.7).

A tree may nest 256 deep, and each level costs a walker several Python frames. `Nesting.call` moves every SEGMENT-th level to a
thread of its own, which has a recursion budget of its own. Must not know: what is walked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

SEGMENT = 40  # levels per thread; a walker may use up to 20 frames a level


class Nesting:
    """Counts the levels of one walk."""

    __slots__ = ("depth",)

    def __init__(self) -> None:
        self.depth = 0

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """`function(*arguments)`, one level deeper."""
        depth = self.depth
        self.depth = depth + 1
        try:
            if (depth + 1) % SEGMENT:
                return function(*arguments)
            return on_fresh_stack(function, *arguments)
        finally:
            self.depth = depth


def on_fresh_stack(function: Callable[..., T], *arguments: Any) -> T:
    """`function(*arguments)` in a thread of its own; its exception is raised here."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(function(*arguments))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="concerto-compiler")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
