"""Diagnostics for people and for tools (O-9.12).

Text: `FILE:LINE:COL: error[CODE]: MESSAGE`, the source line with carets, related places, help. JSON: a list of plain
dictionaries. `named` gives what a reader calls a file. Must not know: where output goes, what any code means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .diagnostics import Diagnostic, Diagnostics, Related
from .source import Position, Source, Span

MAX_PRINTED = 100
MAX_LINE = 200  # longer source lines are shown as a window around the carets

_COLOURS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "help": "\x1b[1;32m", "note": "\x1b[1;36m"}
_RESET = "\x1b[0m"
_NOWHERE = Position(1, 1)

Sources = Mapping[str, Source]
Named = Callable[[str], str]


def render_text(
    diagnostics: Diagnostics | Iterable[Diagnostic], sources: Sources, *, colour: bool = False, named: Named = str
) -> str:
    """All diagnostics as text, each ended by a line end; at most 100, then the number of the rest (L-4.1.4)."""
    ordered = _ordered(diagnostics)
    renderer = _Renderer(sources, colour, named)
    lines: list[str] = []
    for diagnostic in ordered[:MAX_PRINTED]:
        lines.extend(renderer.diagnostic(diagnostic))
    rest = len(ordered) - MAX_PRINTED
    if rest > 0:
        lines.append(f"… and {rest} more")
    return "".join(line + "\n" for line in lines)


def render_lines(found: Iterable[Diagnostic], sources: Sources, *, named: Named = str) -> list[str]:
    """The first line of each."""
    renderer = _Renderer(sources, False, named)
    return [next(iter(renderer.diagnostic(diagnostic))) for diagnostic in found]


def render_json(
    diagnostics: Diagnostics | Iterable[Diagnostic], sources: Sources, *, named: Named = str
) -> list[dict[str, Any]]:
    """All diagnostics as data, for `--json`."""
    return [_as_dict(diagnostic, sources, named) for diagnostic in _ordered(diagnostics)]


def _ordered(diagnostics: Diagnostics | Iterable[Diagnostic]) -> list[Diagnostic]:
    return diagnostics.ordered() if isinstance(diagnostics, Diagnostics) else list(diagnostics)


def _severity(diagnostic: Diagnostic) -> str:
    return "error" if diagnostic.is_error else "warning"


def _place(span: Span, sources: Sources) -> tuple[Position, Position]:
    source = sources.get(span.file)
    if source is None:  # a file that could not be read has no text to point into
        return _NOWHERE, _NOWHERE
    return source.position(span.start), source.position(span.end)


def _as_dict(diagnostic: Diagnostic, sources: Sources, named: Named) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": _severity(diagnostic),
        "message": diagnostic.message,
        **_where(diagnostic.span, sources, named),
        "related": [{"message": other.message, **_where(other.span, sources, named)} for other in diagnostic.related],
        "help": diagnostic.help,
    }


def _where(span: Span, sources: Sources, named: Named) -> dict[str, Any]:
    start, end = _place(span, sources)
    return {
        "file": named(span.file), "line": start.line, "column": start.column,
        "end_line": end.line, "end_column": end.column,
    }  # fmt: skip


class _Renderer:
    def __init__(self, sources: Sources, colour: bool, named: Named) -> None:
        self.sources = sources
        self.colour = colour
        self.named = named

    def paint(self, text: str, what: str) -> str:
        return f"{_COLOURS[what]}{text}{_RESET}" if self.colour else text

    def diagnostic(self, diagnostic: Diagnostic) -> list[str]:
        start, _ = _place(diagnostic.span, self.sources)
        severity = _severity(diagnostic)
        label = self.paint(f"{severity}[{diagnostic.code}]", severity)
        lines = [f"{self.named(diagnostic.span.file)}:{start.line}:{start.column}: {label}: {diagnostic.message}"]
        lines.extend(self.excerpt(diagnostic.span, severity))
        for other in diagnostic.related:
            lines.extend(self.related(other))
        if diagnostic.help is not None:
            lines.append(f"  {self.paint('help', 'help')}: {diagnostic.help}")
        return lines

    def related(self, other: Related) -> list[str]:
        start, _ = _place(other.span, self.sources)
        head = f"  {self.paint('note', 'note')}: {self.named(other.span.file)}:{start.line}:{start.column}: {other.message}"
        return [head, *self.excerpt(other.span, "note")]

    def excerpt(self, span: Span, what: str) -> list[str]:
        """The first line of the span and carets under what it covers of it."""
        source = self.sources.get(span.file)
        if source is None:
            return []
        start, end = source.position(span.start), source.position(span.end)
        text = source.line_text(start.line)
        first = start.column - 1
        last = end.column - 1 if end.line == start.line else len(text)
        shift = 0
        if len(text) > MAX_LINE:
            shift = max(0, min(first - MAX_LINE // 4, len(text) - MAX_LINE))
            text = _window(text, shift)
        first, last = first - shift, min(last - shift, len(text))
        number = str(start.line)
        under = "".join("\t" if char == "\t" else " " for char in text[:first])
        carets = self.paint("^" * max(1, last - first), what)
        return [f"  {number} | {_printable(text)}", f"  {' ' * len(number)} | {under}{carets}"]


def _window(text: str, shift: int) -> str:
    """A part of a long line, with `…` where there is more."""
    shown = text[shift : shift + MAX_LINE]
    shown = f"…{shown[1:]}" if shift else shown
    return f"{shown[:-1]}…" if shift + MAX_LINE < len(text) else shown


def _printable(text: str) -> str:
    """Control characters must not reach a terminal."""
    return "".join(char if char == "\t" or char.isprintable() else "\ufffd" for char in text)
