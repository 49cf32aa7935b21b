"""Summaries of functions: the answer to one question about a body and about all that it calls, itself or by way of others, such
as the first effect that it may have. Each body is walked once; in a check with a cache, once for each file that asks.

Hands on `Summaries` to `memory_effects` (the effect that a call may have) and `memory_attachments` (the memories that it
attaches). Many questions lead into the same functions: what is known of one is kept. What a question is, is for the caller, who
passes `walk` and `join`; which function a call means, `walk` asks of `Checker.called`. Nothing is reported here, and no tree
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from ..source import Span
from ..symbols import FunctionSymbol
from ..syntax import ast
from .declarations import components
from .state import Checker

S = TypeVar("S")


class Summaries(Generic[S]):
    """Summaries, of a type S that the caller chooses, for one question and one check `c`. `walk` yields what a part of a program
    does itself, as an S, and which functions it calls, in the order in which they count; `join` makes one summary of any number
    of them, of none for a function that does nothing. Functions that call one another have the same."""

    __slots__ = ("checker", "walk", "join", "known")

    def __init__(
        self, c: Checker, walk: Callable[[ast.Node], Iterable[S | FunctionSymbol]], join: Callable[[Iterable[S]], S]
    ) -> None:
        self.checker = c
        self.walk = walk
        self.join = join
        self.known: dict[str, dict[FunctionSymbol, S]] = {}

    def of(self, value: ast.Node, question: Span) -> S:
        """Return the summary of a part of a program; `question` is where it is asked for. Raise BodyNeeded for a body that this
        check leaves out (`Checker.body_of`)."""
        return self.join(
            self.of_function(item, question) if isinstance(item, FunctionSymbol) else item for item in self.walk(value)
        )

    def of_function(self, function: FunctionSymbol, question: Span) -> S:
        """Return the summary of the body of a function, that of nothing for one without body. Raise BodyNeeded as `of` does."""
        c = self.checker
        # With a cache it is noted which files the questions of a file lead into.
        known = self.known.setdefault("" if c.reuse is None else question.file, {})
        if function in known:
            return known[function]
        items: dict[FunctionSymbol, list[S | FunctionSymbol]] = {}

        def called_by(at: FunctionSymbol) -> list[FunctionSymbol]:
            body = c.body_of(at, question)
            items[at] = [] if body is None else list(self.walk(body))
            return [item for item in items[at] if isinstance(item, FunctionSymbol) and item not in known]

        for group in components([function], called_by):
            found: list[S] = []
            for item in [item for at in group for item in items.pop(at)]:
                if not isinstance(item, FunctionSymbol):
                    found.append(item)
                elif item in known:
                    found.append(known[item])
            summary = self.join(found)
            known.update((at, summary) for at in group)
        return known[function]
