"""The recording that `concerto trace` is about: an effect file, or a run of a store, read row by row.

Hands on `Recording` to `cli/view.py`, `cli/trace.py`, `cli/trace_check.py`, `cli/trace_program.py`, `cli/trace_page.py` and the
notebook. What is read is checked in `runtime/journal/`; what rows mean is for `cli/trace_rows.py`.
"""

from __future__ import annotations

import time

from . import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..runtime.journal.rows import Header, JournalRefused, Row

STDIN = "/dev/stdin"  # what `-` stands for


class Recording:
    """A recording that is read once: its `header` at once, its rows by iteration. `name` is that of an effect file (`store` is
    None then), or the id of a run of the store; afterwards `name` is what messages name, the file or the place of the store.
    `has_end` says, behind the last row, whether the run is over, `count` how many rows came, `refusal` why no more came, None for
    the end. `close()` releases file or store. Raises JournalRefused, and `Exit`: 66 where it cannot be read, these two also while
    it is iterated, and 2 for a name that ends in .conc-ir."""

    def __init__(self, name: str, store: str | None) -> None:
        self.has_end = False
        self.count = 0
        self.refusal: JournalRefused | None = None
        self.header: Header
        self._rows: Iterable[Row]
        if store is None:
            from ..runtime.journal.effect_file import EffectFileReader
            from .inputs import refuse_foreign

            refuse_foreign(name)
            try:
                reader = EffectFileReader(STDIN if name == "-" else name)
            except OSError as error:
                raise _unreadable(name, error) from None
            self.name, self.header, self._rows, self.close = name, reader.header, reader, reader.close
            return
        from ..runtime.journal.run_store import RunStore

        runs = RunStore(store, time.time, must_exist=True)
        self.close = runs.close
        try:
            run = runs.run(name)
        except BaseException:
            runs.close()
            raise
        self.name, self.header, self._rows = store, run.header, runs.rows(run.id)

    def __iter__(self) -> Iterator[Row]:
        from ..runtime.journal.rows import EndRow, JournalRefused

        rows = iter(self._rows)
        while True:
            try:
                row = next(rows, None)
            except OSError as error:
                raise _unreadable(self.name, error) from None
            except JournalRefused as refused:
                self.refusal = refused
                raise
            if row is None:
                return
            self.count += 1
            self.has_end = self.has_end or isinstance(row, EndRow)
            yield row


def _unreadable(name: str, error: OSError) -> exits.Exit:
    return exits.Exit(exits.NO_INPUT, f"cannot read {name}: {error.strerror or error}")
