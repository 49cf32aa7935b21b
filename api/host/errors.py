"""What the host API raises (O-9.39).

Hands on `CompileError` with `Diagnostic`s, `ImageError`, `ProgramError`, and `Panic` with `Frame`s; and `ToolError`, which
code of the host raises (G-9.10).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..runtime.host_failures import ToolError as ToolError
from .values import ErrorValue


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning of the compiler; lines and columns count from 1."""

    code: str
    severity: str
    message: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    help: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.severity}[{self.code}]: {self.message}"


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack trace, or of the way of an error; its function is `… n more …` and its line 0 where places are left
    out."""

    function: str
    file: str
    line: int
    column: int


def frames_of(trace: Iterable[tuple[str, str, int, int] | int]) -> tuple[Frame, ...]:
    """A trace of the machine, in which a number says how many places are left out."""
    return tuple(Frame(f"… {frame} more …", "", 0, 0) if isinstance(frame, int) else Frame(*frame) for frame in trace)


class CompileError(Exception):
    """The source has errors. `diagnostics`: errors and warnings in the order of the text; str() is what the command prints."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], text: str = "") -> None:
        super().__init__(diagnostics, text)
        self.diagnostics = diagnostics
        self.text = text

    def __str__(self) -> str:
        return self.text or "\n".join(map(str, self.diagnostics))


class ImageError(Exception):
    """An image that is refused. `code` is V0xx or V1xx."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class ProgramError(Exception):
    """A function that was called gave an Err. `value`: what is in it, mostly an `ErrorValue`; `error`: the same as an ErrorValue
    whatever it is, as in `RunResult.error`; `trace`: where it was made, and what it passed then."""

    def __init__(self, value: Any, error: ErrorValue, trace: tuple[Frame, ...] = ()) -> None:
        super().__init__(value, error, trace)
        self.value = value
        self.error = error
        self.trace = trace

    def __str__(self) -> str:
        if not isinstance(self.value, ErrorValue):
            return self.error.message
        name = f"{self.error.kind}::{self.error.variant}" if self.error.variant else self.error.kind
        return f"{name}: {self.error.message}"


class Panic(Exception):
    """The program panicked. `trace`: innermost frame first."""

    def __init__(self, code: str, message: str, trace: tuple[Frame, ...] = ()) -> None:
        super().__init__(code, message, trace)
        self.code = code
        self.message = message
        self.trace = trace

    def __str__(self) -> str:
        lines = [f"panic[{self.code}]: {self.message}"]
        lines += [f"  at {f.function} ({f.file}:{f.line}:{f.column})" for f in self.trace]
        return "\n".join(lines)
