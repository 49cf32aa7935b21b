"""Effect files (`*.effects.jsonl`): the journal of a run as lines of JSON, one row each (G-14.1).

The first line is the header, the others are rows in the order in which they were committed. Every line ends with `"seal"`, the
beginning of a SHA-256 over the seal before and the line, so that a file that was cut, altered or put together is refused and
never replayed as if it were a run. Hands on `EffectFileWriter` and `EffectFileReader` to whoever records and replays
(`recording.py`), the reader to `concerto trace` too (`cli/trace_source.py`). A file is read line by line: no more of it is in
memory than one row. What a row holds is for `rows.py`, when one is written for `journal.py`.
"""

from __future__ import annotations

import hashlib
import json
import os

from .forms import without_infinities
from .rows import JournalRefused, header_of, plain_of, row_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from .rows import Header, Row

LONGEST_LINE = 64 << 20  # bytes
SEAL = 16  # hexadecimal digits
_MARK = ',"seal":"'


def _sealed(text: str, before: str) -> tuple[str, str]:
    """Return an object's JSON text with its seal in it, and the seal."""
    seal = hashlib.sha256(f"{before}{text}".encode("utf-8", "surrogatepass")).hexdigest()[:SEAL]
    return f'{text[:-1]}{_MARK}{seal}"}}', seal


def _json(plain: Any) -> str:
    try:
        return json.dumps(plain, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except ValueError:  # a request with an infinity, of which the digest tells
        return json.dumps(without_infinities(plain), ensure_ascii=True, allow_nan=False, separators=(",", ":"))


class EffectFileWriter:
    """Writes a new effect file, or goes on with one: `after` is the reader that has read it to its end. Each `commit` is in the
    file, for other processes to read, when it returns; that the power may fail is not its concern. OSError where it cannot be
    opened, FileExistsError for a new one whose name is taken."""

    parks = False

    def __init__(self, path: str, header: Header, after: EffectFileReader | None = None) -> None:
        self._path = path
        if after is None:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
            self._seal = ""
            try:
                self._write([_json(header.as_json())])
            except OSError:  # a full disk: the next run may have the name
                self.close()
                os.unlink(path)
                raise
        else:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0))
            os.ftruncate(self._file, after.place)
            self._seal = after.seal

    def commit(self, rows: Sequence[Row], told: int = 0, waits: Sequence[Any] = ()) -> None:
        """Append rows; `told` and `waits` are for run stores alone. Raises JournalRefused where they cannot be written."""
        try:
            self._write([_json(plain_of(row)) for row in rows])
        except OSError as error:
            why = error.strerror or str(error)
            raise JournalRefused(f"cannot write {self._path}: {why}; what is in it can be gone on with (--extend)") from None

    def _write(self, texts: list[str]) -> None:
        lines = []
        for text in texts:
            line, self._seal = _sealed(text, self._seal)
            lines.append(line + "\n")
        data = "".join(lines).encode("ascii")
        while data:
            data = data[os.write(self._file, data) :]

    def renew(self) -> None:
        """Do nothing: nobody else goes on with a file."""

    def forget_answer(self, key: str) -> None:
        """Do nothing: a file keeps no answers."""

    def close(self) -> None:
        """Close the file; it may be called again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class EffectFileReader:
    """Reads an effect file: `header` at once, then the rows by iteration. `path` names it in refusals. `seal` is that of the last
    line read, `place` the number of bytes up to its end. Raises OSError where it cannot be read, and JournalRefused, with the
    number of the line, for what is no effect file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.seal = ""
        self.place = 0
        self._line = 0
        self._file = open(path, "rb")  # noqa: SIM115 -- closed by `close`
        try:
            first = self._next_line()
            if first is None:
                raise JournalRefused(f"{path} is empty: it is no effect file")
            self.header = self._checked(lambda: header_of(first))
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Row]:
        while (plain := self._next_line()) is not None:
            yield self._checked(lambda: row_of(plain))

    def _checked(self, read: Any) -> Any:
        try:
            return read()
        except JournalRefused as refused:
            raise JournalRefused(f"{self.path}:{self._line}: this line {refused}") from None

    def _refused(self, why: str) -> JournalRefused:
        return JournalRefused(f"{self.path}:{self._line}: {why}; record the run anew")

    def _next_line(self) -> Any:
        """Return the next line as plain data without its seal, None at the end. A last line that was not written whole, as a
        process that is killed may leave it, is the end too."""
        data = self._file.readline(LONGEST_LINE + 1)
        if not data:
            return None
        self._line += 1
        if len(data) > LONGEST_LINE:
            raise self._refused(f"this line is longer than {LONGEST_LINE} bytes")
        if not data.endswith(b"\n"):
            if self._line == 1:
                raise self._refused("this line is cut")
            return None
        try:
            line = data[:-1].decode("ascii")
        except UnicodeDecodeError:
            raise self._refused("this line is no effect file's") from None
        text, mark, seal = line.rpartition(_MARK)
        whole, expected = _sealed(text + "}", self.seal)
        if not mark or whole != line:
            raise self._refused("this line is not as it was written, or is not behind the line that it was written behind")
        self.seal = expected
        self.place += len(data)
        try:
            return json.loads(text + "}")
        except (ValueError, RecursionError):
            raise self._refused("this line is no JSON") from None

    def close(self) -> None:
        """Close the file: no further row can be read. It may be called again."""
        self._file.close()
