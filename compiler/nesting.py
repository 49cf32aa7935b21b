"""Recursion over deeply nested trees within the host's recursion limit (G-5.6, L-2.6.7).

A tree may nest 256 deep, and each level costs a walker several Python frames. `Nesting.call` moves every SEGMENT-th level to a
thread of its own, which has a recursion budget of its own. A host without threads (WebAssembly) has no other code that the limit
protects: there it is raised for the time of the walk and put back (G-5.7). Must not know: what is walked.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")

SEGMENT = 40  # levels per thread; a walker may use up to 20 frames a level
FRAMES = 1000  # that a segment may use, where it has no thread of its own
DEEPEST = 100 * SEGMENT  # what the source alone may ask for is far less; a walk that goes on is refused as too deep


class Nesting:
    """Counts the levels of one walk."""

    __slots__ = ("depth",)

    def __init__(self) -> None:
        self.depth = 0

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """`function(*arguments)`, one level deeper. RecursionError beyond DEEPEST levels."""
        depth = self.depth
        self.depth = depth + 1
        try:
            if (depth + 1) % SEGMENT:
                return function(*arguments)
            if depth >= DEEPEST:
                raise RecursionError("a walk goes too deep")
            return on_fresh_stack(function, *arguments)
        finally:
            self.depth = depth


def on_fresh_stack(function: Callable[..., T], *arguments: Any) -> T:
    """`function(*arguments)` in a thread of its own; its exception is raised here."""
    outcome: list[T] = []
    failure: list[BaseException] = []
    context = copy_context()

    def run() -> None:
        try:
            outcome.append(context.run(function, *arguments))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="concerto-compiler")
    try:
        thread.start()
    except RuntimeError:  # no thread can be started
        return with_more_frames(function, *arguments)
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def with_more_frames(function: Callable[..., T], *arguments: Any) -> T:
    """`function(*arguments)` with a recursion limit that is FRAMES higher."""
    sys.setrecursionlimit(sys.getrecursionlimit() + FRAMES)
    try:
        return function(*arguments)
    finally:
        sys.setrecursionlimit(sys.getrecursionlimit() - FRAMES)
