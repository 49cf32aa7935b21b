"""The files that a batch writes (S-2.1): results in the order of the input, and beside them the rows that failed, with reasons.

Hands on `Output`, `errors_path` and `require_lines` to `cli/batch.py`, whose batch gives the first its rows. A file is written
beside its place and put there when it is whole. What a row came to is not looked at here but for whether it failed.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from typing import TextIO

from .store import Finished

OTHER_FORMATS = (".csv", ".tsv", ".json", ".parquet")  # names of files in which nobody looks for JSON lines


def require_lines(path: str) -> None:
    """Raise ValueError for an output whose ending says that it is no file of JSON lines."""
    stem, ending = os.path.splitext(path)
    if ending.lower() in OTHER_FORMATS:
        raise ValueError(f"results are written as JSON lines, which {path} does not say; write {stem}.jsonl")


def errors_path(path: str) -> str:
    """Return where the failed rows of an output stand: `out.jsonl` has `out.errors.jsonl`."""
    stem, ending = os.path.splitext(path)
    return f"{stem}.errors{ending or '.jsonl'}"


class Output:
    """The lines of `path` and of the file of errors beside it, `errors`; `failed` counts the latter. `keys`: lines have the keys
    of rows. `store` is the path of the batch's store. Used in this order: `open`, `put` for each list of rows, `commit` or
    `discard`. The methods raise OSError for a file that cannot be written, but for `discard`, which raises nothing."""

    def __init__(self, path: str, keys: bool, store: str) -> None:
        self.path = path
        self.errors = errors_path(path)
        self.failed = 0
        self._keys = keys
        self._files: list[TextIO] = []
        # Of the one process that has the store: a run that is killed leaves a part, which the next one writes over.
        self._part = f".{hashlib.sha256(os.path.abspath(store).encode()).hexdigest()[:8]}.part"

    def open(self) -> None:
        """Begin the files; the store is open by then."""
        try:
            for place in (self.path, self.errors):
                file = open(place + self._part, "w", encoding="utf-8", errors="surrogatepass", newline="\n")  # noqa: SIM115
                self._files.append(file)
        except OSError:
            self.discard()
            raise

    def put(self, rows: list[Finished]) -> None:
        """Write rows."""
        for row in rows:
            key = f',"key":{json.dumps(row.key, ensure_ascii=False)}' if self._keys else ""
            if row.answer.failure is None:
                self._files[0].write(f'{{"row":{row.number}{key},"result":{row.answer.result}}}\n')
            else:
                self.failed += 1
                self._files[1].write(f'{{"row":{row.number}{key},"error":{row.answer.failure},"input":{row.cells}}}\n')

    def commit(self) -> None:
        """Put the files in their places; without failed rows there is no file of errors, nor one of an earlier run."""
        for file in self._files:
            file.close()
        os.replace(self.path + self._part, self.path)
        if self.failed:
            os.replace(self.errors + self._part, self.errors)
            return
        os.unlink(self.errors + self._part)
        with suppress(FileNotFoundError):
            os.unlink(self.errors)

    def discard(self) -> None:
        """Leave the places as they are."""
        for file in self._files:
            with suppress(OSError):
                file.close()
            with suppress(OSError):
                os.unlink(file.name)
