"""Files of rows (S-2.1): JSON Lines, CSV and Parquet, read row by row in bounded memory.

Hands on `open_rows` and `rows_of`, which make a `Source` of `Row`s, and `Unreadable`, for a file that cannot be read as rows at
all, to `batch.py`; `canonical`, the text by which rows are compared, to `run.py` and `provider_jobs.py`, to the former also
`written`, the one that people see, and `storable`, which makes a text one of UTF-8. A row that cannot be read is a `Row` with a
fault; the rows behind it are read. What the cells mean to the program is for `binding.py`.
"""

from __future__ import annotations

import base64
import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..runtime.errors import install_advice

LONGEST_LINE = 64 << 20  # bytes of a line of JSON, or of a row of CSV
KEPT_OF_FAULT = 4096  # characters of a row that cannot be read which stand in the file of errors
PARQUET_ROWS = 256  # of a group that is in memory at a time
FORMATS = (".jsonl", ".ndjson", ".csv", ".parquet")


class Unreadable(Exception):
    """The input cannot be read as rows; the text names the file and the way out."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number, from 1; its cells by column, None where it cannot be read; then `fault` says why, and `raw` has the
    beginning of its text, "" where nobody knows it."""

    number: int
    cells: Mapping[str, Any] | None
    fault: str = ""
    raw: str = ""


class Source:
    """Rows, iterated once; iteration may raise Unreadable. `columns` are those of the header, None where each row has its own.
    `texts` says that cells are texts whose types the program decides (CSV). `fraction()` is how much has been read, from 0 to 1,
    None where nobody knows; `close()` releases the file."""

    columns: tuple[str, ...] | None = None
    texts = False

    def __iter__(self) -> Iterator[Row]:
        raise NotImplementedError

    def fraction(self) -> float | None:
        return None

    def close(self) -> None:
        pass


def open_rows(path: str) -> Source:
    """Open a file of rows by the ending of its name. Raise Unreadable for another ending, a file that cannot be opened, a header
    that is none, and where the library for the format is not installed."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in FORMATS:
        raise Unreadable(f"{path}: rows are read from files called .jsonl, .csv or .parquet")
    try:
        if ending == ".parquet":
            return _Parquet(path)
        file = open(path, "rb")  # noqa: SIM115, the source closes it
    except OSError as error:
        raise Unreadable(f"cannot read {path}: {error.strerror or error}") from None
    if ending != ".csv":
        return _JsonLines(file)
    try:
        return _Csv(path, file)
    except Unreadable:
        file.close()
        raise


def rows_of(values: Iterable[Any]) -> Source:
    """Return the rows of an iterable of mappings; what else it gives is a Row with a fault, and what it raises comes out."""
    return _Values(values)


def canonical(value: Any) -> str:
    """Return the text of cells that is the same for equal ones, whatever the order of their columns. Raise ValueError, TypeError
    or RecursionError for cells that JSON cannot write, such as a mapping inside with keys of several types."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)


def written(cells: Any) -> str:
    """Return the JSON text of cells, in the order of their columns; it is `storable`. A float that is no number is null there, as
    the language writes it (L-5.1)."""
    text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain, allow_nan=False)
    try:
        return storable(text.encode(cells))
    except ValueError:
        return storable(text.encode(_finite(cells)))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and value - value != 0 else value


def storable(text: str) -> str:
    """Return a text that UTF-8 can write: half a character, which an escape of JSON may stand for, becomes that escape again."""
    return text.encode("utf-8", "backslashreplace").decode()


def _plain(value: Any) -> Any:
    """Return JSON data for what JSON has nothing of the kind for."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


class _Values(Source):
    def __init__(self, values: Iterable[Any]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Row]:
        for number, value in enumerate(self._values, 1):
            if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
                yield Row(number, value)
            else:
                yield Row(number, None, f"a row is a mapping of columns, not {type(value).__name__}", repr(value)[:KEPT_OF_FAULT])


class _File(Source):
    """Rows of a file of lines. Its size is taken when it is opened, for `fraction` alone."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._read = 0

    def fraction(self) -> float | None:
        return min(1.0, self._read / self._size) if self._size else None

    def close(self) -> None:
        self._file.close()

    def _lines(self) -> Iterator[tuple[bytes, bool]]:
        """Yield each line, and whether it is whole: of one that is too long, the beginning."""
        while line := self._line(LONGEST_LINE + 1):
            is_whole = len(line) <= LONGEST_LINE
            rest = line
            while not is_whole and rest and not rest.endswith(b"\n"):
                rest = self._line(1 << 20)
            yield line, is_whole

    def _line(self, most: int) -> bytes:
        """Return the next line, at most so many bytes of it. Raise Unreadable."""
        try:
            line = self._file.readline(most)
        except OSError as error:
            text = f"{self._file.name}: it cannot be read behind byte {self._read}: {error.strerror or error}"
            raise Unreadable(text) from None
        self._read += len(line)
        return line


class _JsonLines(_File):
    def __iter__(self) -> Iterator[Row]:
        number = 0
        for line, is_whole in self._lines():
            if number == 0:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line.strip():
                continue
            number += 1
            if not is_whole:
                yield _faulty(number, line, f"the line is longer than {LONGEST_LINE} bytes")
                continue
            try:
                cells = json.loads(line.decode(), object_pairs_hook=_distinct, parse_constant=_no_constant)
            except RecursionError:
                yield _faulty(number, line, "not JSON that can be read: it is nested too deep")
            except ValueError as error:  # of JSON, and of UTF-8
                yield _faulty(number, line, f"not JSON: {error}")
            else:
                if isinstance(cells, dict):
                    yield Row(number, cells)
                else:
                    yield _faulty(number, line, "a row is a JSON object of columns")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(pairs)
    if len(cells) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands there twice")
    return cells


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _faulty(number: int, line: bytes, fault: str) -> Row:
    return Row(number, None, fault, line[: 4 * KEPT_OF_FAULT].decode("utf-8", "replace").rstrip("\r\n")[:KEPT_OF_FAULT])


class _Csv(_File):
    texts = True

    def __init__(self, path: str, file: BinaryIO) -> None:
        super().__init__(file)
        csv.field_size_limit(LONGEST_LINE)
        self._reader = csv.reader(self._texts())
        try:
            header = next(self._reader, [])
        except csv.Error as error:
            raise Unreadable(f"{path}: the header is no CSV: {error}") from None
        doubled = [name for name in header if header.count(name) > 1]
        if not header or doubled or not all(header) or not "".join(header).isprintable():
            what = f"has the column {doubled[0]!r} twice" if doubled else "is not a line of names"
            raise Unreadable(f"{path}: the first line of a CSV file has the names of its columns; this one {what}")
        self.columns = tuple(header)

    def _texts(self) -> Iterator[str]:
        for at, (line, is_whole) in enumerate(self._lines()):
            # What is no UTF-8 is found in the cell where it stands.
            text = line.decode("utf-8-sig" if at == 0 else "utf-8", "surrogateescape")
            yield text if is_whole else text[:KEPT_OF_FAULT] + "\udcff"

    def __iter__(self) -> Iterator[Row]:
        assert self.columns is not None
        number = 0
        while True:
            try:
                cells = next(self._reader, None)
            except csv.Error as error:
                number += 1
                yield Row(number, None, f"not CSV: {error}")
                continue
            if cells is None:
                return
            if not cells:
                continue
            number += 1
            fault = self._fault(cells)
            if fault:
                raw = ",".join(cells).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                yield Row(number, None, fault, raw[:KEPT_OF_FAULT])
            else:
                yield Row(number, dict(zip(self.columns, cells, strict=True)))

    def _fault(self, cells: list[str]) -> str:
        assert self.columns is not None
        if len(cells) != len(self.columns):
            return f"it has {len(cells)} cells, and the header {len(self.columns)}"
        for name, cell in zip(self.columns, cells, strict=True):
            if any("\ud800" <= character <= "\udfff" for character in cell):
                return f"the cell {name!r} is no UTF-8, or too long"
        return ""


class _Parquet(Source):
    def __init__(self, path: str) -> None:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise Unreadable(f"{path}: reading Parquet needs pyarrow: {install_advice('parquet')}") from None
        try:
            self._file = ParquetFile(path)
        except ArrowException as error:
            raise Unreadable(f"{path}: no Parquet file: {error}") from None
        self._path = path
        self._rows = self._file.metadata.num_rows
        self._read = 0
        self.columns = tuple(self._file.schema_arrow.names)

    def fraction(self) -> float | None:
        return self._read / self._rows if self._rows else None

    def __iter__(self) -> Iterator[Row]:
        from pyarrow import ArrowException

        kinds = {field.name: field.type for field in self._file.schema_arrow}
        try:
            for batch in self._file.iter_batches(batch_size=PARQUET_ROWS):
                for cells in batch.to_pylist():
                    self._read += 1
                    yield Row(self._read, {name: _of_parquet(cell, kinds[name]) for name, cell in cells.items()})
        except (ArrowException, OSError) as error:
            raise Unreadable(f"{self._path}: damaged behind row {self._read}: {error}") from None

    def close(self) -> None:
        self._file.close()


def _of_parquet(cell: Any, kind: Any) -> Any:
    """Return a cell of a type of Arrow, None where that is not known, as JSON has it: dates and times as ISO 8601, decimals as
    texts, maps as objects, or as arrays of pairs where their keys are no texts."""
    if isinstance(cell, list):
        if hasattr(kind, "item_type"):  # a map, which comes as a list of pairs
            pairs = [[_of_parquet(key, kind.key_type), _of_parquet(value, kind.item_type)] for key, value in cell]
            return dict(pairs) if all(isinstance(key, str) for key, _ in pairs) else pairs
        return [_of_parquet(part, getattr(kind, "value_type", None)) for part in cell]
    if isinstance(cell, dict):
        kinds = {field.name: field.type for field in kind or ()}
        return {name: _of_parquet(part, kinds.get(name)) for name, part in cell.items()}
    if cell is None or isinstance(cell, bool | int | float | str | bytes):
        return cell
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)
