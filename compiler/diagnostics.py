"""Diagnostics as data: the table of codes, the record, and the collector every phase reports to.

Rendering stands in `render.py`. Must not know: which phase found what.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .source import Span


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains the first."""

    span: Span
    message: str


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


@dataclass(slots=True)
class Diagnostics:
    """Collects what the phases report; identical diagnostics are kept once (L-4.1.3)."""

    found: list[Diagnostic] = field(default_factory=list)
    _known: set[Diagnostic] = field(default_factory=set, repr=False)

    def report(
        self, code: str, span: Span, message: str, *, help: str | None = None, related: tuple[Related, ...] = ()
    ) -> None:
        self.add(Diagnostic(code, message, span, related, help))

    def add(self, diagnostic: Diagnostic) -> None:
        if diagnostic not in self._known:
            self._known.add(diagnostic)
            self.found.append(diagnostic)

    @property
    def has_errors(self) -> bool:
        return any(d.is_error for d in self.found)

    def ordered(self) -> list[Diagnostic]:
        """By file, position and code (L-4.1.2)."""
        return sorted(self.found, key=lambda d: (d.span.file, d.span.start, d.span.end, d.code))
