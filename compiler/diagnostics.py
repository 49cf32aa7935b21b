"""Diagnostics as data: the table of codes, the record, and the collector every phase reports to.

Rendering stands in `render.py`. Must not know: which phase found what.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

from .source import Span


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains the first."""

    span: Span
    message: str


# Found by the parser, of forms that it understood: a pipe into no call, a stray `..`, `self` outside of methods (L-4.1.2).
LEAVES_A_TREE = frozenset(("E1009", "E2016", "E3008"))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    code: str
    message: str
    span: Span
    related: tuple[Related, ...] = ()
    help: str | None = None

    @property
    def is_error(self) -> bool:
        return self.code.startswith("E")

    @property
    def leaves_a_tree(self) -> bool:
        """Whether the tree is whole all the same: other errors of the parser keep the phases behind it from starting."""
        return self.code in LEAVES_A_TREE


@dataclass(slots=True)
class Diagnostics:
    """Collects what the phases report; identical diagnostics are kept once (L-4.1.3)."""

    found: list[Diagnostic] = field(default_factory=list)
    _known: set[Diagnostic] = field(default_factory=set, repr=False)
    _errors: dict[str, list[int]] = field(default_factory=dict, repr=False)  # where they begin, by file, in order

    def report(
        self, code: str, span: Span, message: str, *, help: str | None = None, related: tuple[Related, ...] = ()
    ) -> None:
        self.add(Diagnostic(code, message, span, related, help))

    def add(self, diagnostic: Diagnostic) -> None:
        if diagnostic not in self._known:
            self._known.add(diagnostic)
            self.found.append(diagnostic)
            if diagnostic.is_error:
                insort(self._errors.setdefault(diagnostic.span.file, []), diagnostic.span.start)

    @property
    def has_errors(self) -> bool:
        return bool(self._errors)

    @property
    def leave_trees(self) -> bool:
        """Whether the next phase can look at the trees: there are no errors, or only those that leave them whole."""
        return not self._errors or all(found.leaves_a_tree for found in self.found if found.is_error)

    def has_errors_in(self, span: Span) -> bool:
        """Whether some error begins inside."""
        starts = self._errors.get(span.file, [])
        at = bisect_left(starts, span.start)
        return at < len(starts) and starts[at] < span.end

    def ordered(self) -> list[Diagnostic]:
        """By file, position and code (L-4.1.2)."""
        return sorted(self.found, key=lambda d: (d.span.file, d.span.start, d.span.end, d.code))
