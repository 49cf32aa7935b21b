"""The cells of a notebook as a dialogue with one session: a cell sees what earlier cells declare.

Hands on `Cells` and `CellFailed` to the magics. How an entry is compiled and run is for `cli/dialogue.py`; here positions
become those of cells, each run is recorded, and it runs in a thread of its own, since a notebook has an event loop in its main
one.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from ..cli import exits
from ..cli.dialogue import Dialogue, InteractiveSession
from ..compiler.diagnostics import Diagnostic, render_text
from ..compiler.repl import FILE, Entry
from ..compiler.source import Source, Span
from ..runtime.journal.recording import new_header, recorder
from .worker import Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from ..runtime.host import Host
    from ..runtime.journal.journal import Journal
    from ..vm.interp.link import Program

RED, RESET = "\x1b[1;31m", "\x1b[0m"


class CellFailed(Exception):
    """A cell that did not compile, or whose run failed. IPython shows `lines` and no trace of Python, and goes no further in a
    notebook."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines

    def _render_traceback_(self) -> list[str]:
        return self.lines


class Cell(NamedTuple):
    """Where a cell begins in the transcript: its name, the offset and the line, from 1."""

    name: str
    offset: int
    line: int


class Cells(Dialogue):
    """The session of a notebook. `arguments` are the flags of `concerto repl`; making it raises `Exit` as `host_of` does.
    `coloured` says whether failures have escapes for colours. `recording` is the effect file of the last run, None before the
    first."""

    def __init__(self, arguments: argparse.Namespace, coloured: bool) -> None:
        self._worker = Worker()
        super().__init__(InteractiveSession(arguments, self._worker.run, self._journal))
        self._quiet = arguments.quiet
        self._seed = arguments.seed
        self._coloured = coloured
        self._cells: list[Cell] = []
        self._folder = tempfile.TemporaryDirectory(prefix="concerto-notebook-")
        self._failure: list[str] = []
        self.recording: str | None = None

    def close(self) -> None:
        """End the session: its thread, and the files of its recordings."""
        self._worker.close()
        self._folder.cleanup()

    def run_cell(self, text: str, name: str) -> bool:
        """Compile and run a cell; return whether something ran. Raise CellFailed with what is wrong, with the cell, its run or
        the recording of that, KeyboardInterrupt for a run that was interrupted, and RuntimeError after `close`."""
        again = sum(cell.name.partition("#")[0] == name for cell in self._cells)  # cells without a number of their own
        shown = f"{name}#{again + 1}" if again else name
        self._cells.append(Cell(shown, len(self.transcript.text), self.transcript.line))
        self._failure = []
        before = self.recording
        try:
            if not self.enter(text):
                raise CellFailed(self._failure)
        except exits.Exit as refused:
            raise CellFailed([refused.message]) from None
        return self.recording != before

    def _journal(self, program: Program, host: Host) -> Journal:
        """Return a journal that records the next run, in place of the recording of the last one."""
        with suppress(OSError):  # of a folder that somebody has tidied up, as systems do with such after days
            os.remove(self.recording or "")
        self.recording = os.path.join(self._folder.name, f"{len(self._cells)}-{time.monotonic_ns()}.effects.jsonl")
        header = new_header(program, [], self._seed, host.wall(), host.offline, os.urandom)
        try:
            os.makedirs(self._folder.name, 0o700, exist_ok=True)
            return recorder(self.recording, header, host.now, host.wall)
        except OSError as error:
            raise CellFailed([f"cannot write {self.recording}: {error.strerror or error}"]) from None

    # ------------------------------------------------------------ what the dialogue shows

    def show_diagnostics(self, entry: Entry) -> None:
        errors = any(d.is_error for d in entry.diagnostics)
        visible = [d for d in entry.diagnostics if d.is_error or not self._quiet]
        if not visible:
            return
        sources = self._sources(entry.sources[FILE].text)
        text = render_text([self._placed(d) for d in visible], sources, colour=self._coloured)
        if errors:
            self._failure = text.splitlines()
        else:
            sys.stderr.write(text)

    def show_value(self, text: str) -> None:
        print(text)

    def show_failure(self, text: str, trace: list[str]) -> None:
        head, colon, rest = text.partition(":")
        self._failure = [f"{RED}{head}{RESET}{colon}{rest}" if self._coloured else text, *trace]

    def show_forgotten(self, name: str) -> None:
        print(f"forgotten: `{name}`, its type is declared anew", file=sys.stderr)

    # ------------------------------------------------------------ positions

    def _cell_at(self, offset: int) -> Cell:
        return next(cell for cell in reversed(self._cells) if cell.offset <= offset)

    def _sources(self, plain: str) -> dict[str, Source]:
        """Return the texts of the cells by their names: of earlier ones as they were typed, of this one from `plain`."""
        text = self.transcript.text + plain[len(self.transcript.text) :]
        ends = [cell.offset for cell in self._cells[1:]]
        cells = zip(self._cells, [*ends, len(text)], strict=True)
        return {cell.name: Source(cell.name, text[cell.offset : end]) for cell, end in cells}

    def _placed(self, diagnostic: Diagnostic) -> Diagnostic:
        related = tuple(replace(one, span=self._span(one.span)) for one in diagnostic.related)
        return replace(diagnostic, span=self._span(diagnostic.span), related=related)

    def _span(self, span: Span) -> Span:
        if span.file != FILE:
            return span
        cell = self._cell_at(span.start)
        return Span(cell.name, span.start - cell.offset, span.end - cell.offset)

    def place(self, frame: tuple[str, str, int, int]) -> tuple[str, str, int, int]:
        name, file, line, column = super().place(frame)
        if file != FILE:
            return name, file, line, column
        cell = next(cell for cell in reversed(self._cells) if cell.line <= line)
        return name, cell.name, line - cell.line + 1, column
