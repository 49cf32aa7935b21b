"""The magics of IPython: `%%concerto`, `%concerto` and `%concerto_trace`.

Hands on `ConcertoMagics` to the face of the room. The flags are those of `concerto repl`, read as on the command line; what is
wrong with them, and why a cell or the recording of its run fails, is text without a trace of Python. Nothing is compiled or run
here: that is for `cells.py`; how a run is shown is `shown.py`.
"""

from __future__ import annotations

import os
import shlex
import sys

from IPython.core.display_functions import display
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class

from ..cli import exits, repl
from ..cli.main import parsed
from ..cli.terminal import use_colour
from ..cli.verbs import BY_NAME
from ..runtime.journal.rows import JournalRefused
from .cells import CellFailed, Cells
from .shown import CallTable, TracePage

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any


@magics_class
class ConcertoMagics(Magics):
    """The magics of one IPython, `shell`, and the session of the notebook, which the first cell makes. They raise CellFailed,
    which IPython shows as text, and KeyboardInterrupt for a run that was interrupted."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        self._cells: Cells | None = None

    @line_cell_magic
    def concerto(self, line: str, cell: str | None = None) -> None:
        """`%%concerto` compiles and runs the cell: items, then statements; cells see what earlier cells declare, and the value of
        a final expression is shown. `%concerto [FLAGS]` begins a new session, with flags of `concerto repl` such as `--offline`
        or `--allow-fs-read=data`; flags behind `%%concerto` do both."""
        if cell is None or line.strip() or self._cells is None:
            self._begin(line)
        if cell is None or not cell.strip():
            return
        assert self._cells is not None, "it has been begun"
        if self._cells.run_cell(cell.rstrip("\n"), f"cell[{self._number()}]"):
            self._show_calls()

    @line_magic
    def concerto_trace(self, line: str) -> None:
        """`%concerto_trace` shows what the last run did: a page in a notebook, text elsewhere."""
        if self._cells is None or self._cells.recording is None:
            raise CellFailed(["no cell has run yet: `%concerto_trace` shows the last run of a `%%concerto` cell"])
        display(_read(TracePage, self._cells.recording))  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """End the session of the notebook."""
        if self._cells is not None:
            self._cells.close()
            self._cells = None

    def _begin(self, line: str) -> None:
        arguments = _flags(line)
        try:
            cells = Cells(arguments, self._coloured())
        except exits.Exit as refused:
            raise CellFailed([refused.message]) from None
        self.close()
        self._cells = cells

    def _number(self) -> int:
        """Return the number of the cell that runs. `execution_count` is that of the next one in some versions of IPython."""
        history = self._shell.history_manager
        return self._shell.execution_count if history is None else len(history.input_hist_parsed) - 1

    def _show_calls(self) -> None:
        assert self._cells is not None and self._cells.recording is not None, "something ran"
        table = _read(CallTable, self._cells.recording)
        if table:
            display(table)  # type: ignore[no-untyped-call]

    def _coloured(self) -> bool:
        """Return whether failures are coloured: in a notebook too, which shows them and is no terminal, but for NO_COLOR."""
        return use_colour(sys.stderr) or (hasattr(self._shell, "kernel") and not os.environ.get("NO_COLOR"))


def _read(show: Callable[[str], Any], recording: str) -> Any:
    """Return what `show` makes of a recording. Raise CellFailed for one that cannot be read."""
    try:
        return show(recording)
    except exits.Exit as refused:
        raise CellFailed([refused.message]) from None
    except (JournalRefused, OSError) as refused:
        raise CellFailed([str(refused)]) from None


def _flags(line: str) -> argparse.Namespace:
    """Return the flags of a line as the command line has them. Raise CellFailed for what is no flag, and for `--help`, whose text
    is then shown."""
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    told = StringIO()
    try:
        words, beside = repl.words_of(shlex.split(line))
        with redirect_stdout(told), redirect_stderr(told):
            return parsed(BY_NAME["repl"], repl, words, repl.hint_of(words), {**beside, "alone": False})
    except ValueError as error:  # of quotes that are not closed
        raise CellFailed([f"%concerto: {error}"]) from None
    except SystemExit:
        raise CellFailed(told.getvalue().splitlines()) from None
