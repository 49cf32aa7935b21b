"""How productions are written down with their semantic actions, and what an action receives.

Hands on `Family` to the five `productions_*` modules, which register their rules in it; `Reduction` and `Context`, which the LR
machine and `parse` make, to the actions; `CommaList` to the LR machine and `errors`; and `Rule` and `Action` to `grammar`, the
latter to the LR machine too. A production is written as in language.md, Appendix B: `{A B}` stands for one production per
member; `x?`, `x*`, `x,*` and `x,+` stand for shared rules that `compiler/syntax/grammar.py` expands. No production and no
action stands here, and nothing is raised.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..diagnostics import Diagnostics, Related
from ..source import Span
from . import ast
from .lexer import INT_HELP, INT_LIMIT


class CommaList(list[Any]):
    """The value of `x,*` and `x,+`. `trailing` says that a comma stood behind the last element: it tells `(e,)` from `(e)`
    (L-2.1.2)."""

    trailing = False


class Context:
    """What the actions of one parse share. `starts` and `ends` are the parser's stacks of character offsets, in step with its
    values; `docs` is the documentation by the offset of the token behind it; `file` is the name of the source.

    `int_limits`, `rests`, `selves` and `bodyless` hold, by `id`, nodes that are legal only inside a construct not yet reduced.
    That construct's action takes them out, and what is left at the end is an error (L-2.6). `depths` and `pubs` remember
    something of a node, by its `id` too, and keep the node with it, so that no later one gets its `id`.
    """

    __slots__ = (
        "file", "diagnostics", "docs", "starts", "ends", "depths",
        "int_limits", "rests", "selves", "bodyless", "pubs", "minuses",
    )  # fmt: skip

    def __init__(self, file: str, diagnostics: Diagnostics, docs: dict[int, str]) -> None:
        self.file = file
        self.diagnostics = diagnostics
        self.docs = docs
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.depths: dict[int, tuple[int, object]] = {}  # how many links the chain of calls and accesses has that a node ends
        self.int_limits: dict[int, ast.IntLiteral] = {}
        self.rests: dict[int, ast.RestPattern] = {}
        self.selves: dict[int, ast.Parameter] = {}
        self.bodyless: dict[int, ast.Function] = {}
        self.pubs: dict[int, tuple[Span, object]] = {}  # where the `pub` of a node stands
        self.minuses: list[int] = []  # offsets of unary ones

    def error(
        self, code: str, span: Span, message: str, help: str | None = None, related: tuple[Related, ...] = ()
    ) -> None:
        """Report a diagnostic. The tree is built all the same."""
        self.diagnostics.report(code, span, message, help=help, related=related)

    def int_out_of_range(self, span: Span, value: int) -> None:
        """Report E0010 for a literal that only a minus sign would have made legal."""
        message = f"integer literal `{value}` is out of range: the limit is {INT_LIMIT - 1}"
        self.error("E0010", span, message, INT_HELP)


class Reduction(list[Any]):
    """The values of one production's symbols, numbered from 1, with the span of all of them. One object serves every
    reduction of a parse, so an action must not keep it."""

    __slots__ = ("span", "context")
    span: Span
    context: Context

    def start(self, symbol: int) -> int:
        """Return the character offset at which a symbol begins."""
        return self.context.starts[symbol - len(self)]

    def at(self, symbol: int) -> Span:
        """Return the span of one symbol."""
        # The symbols are the top of the stacks, so they are counted from the end.
        place = symbol - len(self)
        return Span(self.context.file, self.context.starts[place], self.context.ends[place])

    def over(self, first: int, last: int) -> Span:
        """Return the span from the first to the last of two symbols."""
        count = len(self)
        return Span(self.context.file, self.context.starts[first - count], self.context.ends[last - count])

    def doc(self, *symbols: int) -> str | None:
        """Return the documentation directly before the last of these symbols that has one, or None (L-1.2.2)."""
        docs = self.context.docs
        if not docs:
            return None
        return next((docs[self.start(s)] for s in reversed(symbols) if self.start(s) in docs), None)


Action = Callable[[Reduction], Any]


class Rule(NamedTuple):
    """One production in the notation of Appendix B, sets expanded. `action` None: the value of its only symbol is handed on."""

    production: str
    action: Action | None


class Family:
    """The rules of one family of constructs, in the order in which they are written: PLY resolves by that order."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def same(self, *productions: str) -> None:
        """Add productions that hand on the value of their only symbol."""
        for production in productions:
            self.rules.extend(Rule(one, None) for one in _expand_sets(production))

    def rule(self, *productions: str) -> Callable[[Action], Action]:
        """Return a decorator that makes a function the action of these productions, and returns the function as it is."""

        def register(action: Action) -> Action:
            for production in productions:
                self.rules.extend(Rule(one, action) for one in _expand_sets(production))
            return action

        return register


_SET = re.compile(r"\{([^}]*)\}")


def _expand_sets(production: str) -> list[str]:
    """Return `A x` and `B x` for `{A B} x`."""
    sets = [members.split() for members in _SET.findall(production)]
    template = _SET.sub("\0", production)
    expanded = []
    for choice in itertools.product(*sets):
        text = template
        for member in choice:
            text = text.replace("\0", member, 1)
        expanded.append(text)
    return expanded
