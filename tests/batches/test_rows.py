"""Files of rows and what of them fits a function (S-2.1)."""

from __future__ import annotations

import io
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.batches.rows import LONGEST_LINE, Unreadable, _JsonLines, open_rows, written

TYPES = """
enum Colour { Red, Blue }
schema Line { name: String, count: Int = 1, note: Option<String> }
pub fn whole(line: Line) -> String { "${line.name} ${line.count} ${line.note}" }
pub fn parts(n: Int, x: Float, b: Bool, s: String, o: Option<Int>, k: "a" | "b", c: Colour, l: Array<Int>) -> String {
    "${n} ${x} ${b} ${s} ${o} ${k} ${c} ${l}"
}
pub fn pair(p: (Int, String)) -> String { "${p}" }
pub fn any(m: Map<String, Any>) -> Int { m.len() }
pub fn plus(n: Int, by: Int = 5) -> Result<Int, String> { if n < 0 { Err("below zero") } else { Ok(n + by) } }
"""


def read(path: Path) -> list[tuple[Any, str]]:
    with closing(open_rows(str(path))) as source:
        return [(row.cells, row.fault) for row in source]


def results(fn: str, rows: Any, **more: Any) -> list[Any]:
    batch = concerto.batch(concerto.compile(TYPES), fn, rows, offline=True, **more)
    return [row.value if row.ok else row.error for row in batch]


def file(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_lines_of_json_that_are_no_row_are_faults_and_the_rows_behind_them_are_read(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{"a": 1}\n\n{"a"\n[1]\n{"a": 1, "a": 2}\n{"a": NaN}\n{"a": "\xff"}\n' + b"[" * 200_000 + b'\n{"a": 9}'
    found = read(file(tmp_path, "r.jsonl", text))
    assert [cells for cells, _ in found] == [{"a": 1}, None, None, None, None, None, None, {"a": 9}]
    words = ["", "not JSON", "a row is a JSON object", "stands there twice", "NaN is no JSON", "not JSON", "nested too deep", ""]
    for (_, fault), word in zip(found, words, strict=True):
        assert word in fault


def test_a_line_that_is_too_long_is_one_fault(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with path.open("wb") as out:
        out.write(b'{"a": "')
        for _ in range((LONGEST_LINE >> 20) + 2):
            out.write(b"x" * (1 << 20))
        out.write(b'"}\n{"a": 2}\n')
    with closing(open_rows(str(path))) as source:
        found = [(row.cells, row.fault, len(row.raw)) for row in source]
    assert found == [(None, f"the line is longer than {LONGEST_LINE} bytes", 4096), ({"a": 2}, "", 0)]


def test_csv(tmp_path: Path) -> None:
    path = file(tmp_path, "r.csv", b'\xef\xbb\xbfa,b\r\n1,"x, ""y""\nz"\r\n\r\n1\r\n1,2,3\r\n\xff,2\r\n,\r\n')
    assert read(path) == [
        ({"a": "1", "b": 'x, "y"\nz'}, ""),
        (None, "it has 1 cells, and the header 2"),
        (None, "it has 3 cells, and the header 2"),
        (None, "the cell 'a' is no UTF-8, or too long"),
        ({"a": "", "b": ""}, ""),
    ]


@pytest.mark.parametrize("header", [b"", b"a,a\n", b"a,,b\n"])
def test_a_header_that_names_no_columns(tmp_path: Path, header: bytes) -> None:
    with pytest.raises(Unreadable, match="the first line of a CSV file"):
        open_rows(str(file(tmp_path, "r.csv", header)))


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from datetime import date
    from decimal import Decimal

    from pyarrow import parquet

    columns = {"s": ["x", None], "n": [1, 2], "d": [date(2026, 1, 2)] * 2, "m": [Decimal("1.50")] * 2, "l": [[1], []]}
    parquet.write_table(arrow.table(columns), tmp_path / "r.parquet")
    source = open_rows(str(tmp_path / "r.parquet"))
    assert source.columns == ("s", "n", "d", "m", "l")
    rows = [row.cells for row in source]
    assert rows[0] == {"s": "x", "n": 1, "d": "2026-01-02", "m": "1.50", "l": [1]}
    assert rows[1] is not None and rows[1]["s"] is None
    assert source.fraction() == 1
    numbers = arrow.map_(arrow.string(), arrow.int64())
    maps = arrow.array([[("a", 1), ("b", 2)], []], type=numbers)
    inner = arrow.array([{"m": [("a", 1)]}, None], type=arrow.struct([("m", numbers)]))
    parquet.write_table(arrow.table({"m": maps, "s": inner}), tmp_path / "m.parquet")
    rows = [row.cells for row in open_rows(str(tmp_path / "m.parquet"))]
    assert rows == [{"m": {"a": 1, "b": 2}, "s": {"m": {"a": 1}}}, {"m": {}, "s": None}]
    keyed = arrow.array([[({"a": 1}, 2)]], type=arrow.map_(arrow.struct([("a", arrow.int64())]), arrow.int64()))
    parquet.write_table(arrow.table({"m": keyed}), tmp_path / "k.parquet")
    assert [row.cells for row in open_rows(str(tmp_path / "k.parquet"))] == [{"m": [[{"a": 1}, 2]]}]
    with pytest.raises(Unreadable, match="no Parquet file"):
        open_rows(str(file(tmp_path, "x.parquet", b"PAR1 no")))


@pytest.mark.parametrize("name", ["r.txt", "r", "r.json"])
def test_other_endings(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unreadable, match="are read from files called .jsonl, .csv or .parquet"):
        open_rows(str(file(tmp_path, name, "")))


def test_one_record_takes_the_row_whole() -> None:
    rows = [{"name": "a"}, {"name": "b", "count": 2, "note": "n"}, {"nam": "c"}, {"name": 1}]
    done = results("whole", rows)
    assert done[:2] == ["a 1 None", "b 2 Some(n)"]
    assert [error["kind"] for error in done[2:]] == ["Row", "Row"]
    assert "no field 'nam'" in done[2]["message"] and "at name: expected String, got int" in done[3]["message"]
    assert results("any", [{"x": 1, "y": 2}]) == [2]


def test_texts_of_csv_become_what_the_parameters_say(tmp_path: Path) -> None:
    header = "n,x,b,s,o,k,c,l\n"
    text = header + '7,1.5,TRUE,"a b",,a,Red,"[1,2]"\n7,2,false,,3,b,Blue,[]\nx,2,true,,3,b,Blue,[]\n7,2,yes,,3,b,Blue,[]\n'
    done = results("parts", file(tmp_path, "r.csv", text + "7,2,true,,3,c,Blue,[]\n,2,true,,3,a,Blue,[]\n"))
    assert done[:2] == ["7 1.5 true a b None a Colour::Red [1, 2]", "7 2 false  Some(3) b Colour::Blue []"]
    assert [error["message"] for error in done[2:]] == [
        "the column 'n': 'x' is no Int",
        "the column 'b': 'yes' is no Bool: write true or false",
        "argument 'k' of parts: expected \"a\" | \"b\", got 'c'",
        "parts(n, x, b, s, o, k, c, l): lacks 'n'",
    ]


@pytest.mark.parametrize(("text", "value"), [
    ("1_000", "the column 'n': '1_000' is no Int"), ("١٢", "the column 'n': '١٢' is no Int"), (" +7 ", 12), ("-0", 5),
    ("9" * 20, "argument 'n' of plus: 99999999999999999999 is beyond Int, which has 64 bits"),
    ("9" * 5000, f"the column 'n': '{'9' * 100}' is no Int"),
])  # fmt: skip
def test_numbers_of_csv_are_those_of_the_language(tmp_path: Path, text: str, value: Any) -> None:
    [found] = results("plus", file(tmp_path, "r.csv", f"n\n{text}\n"))
    assert found == value if isinstance(value, int) else found["message"] == value


def test_parameters_that_are_left_out_have_their_defaults() -> None:
    assert results("plus", [{"n": 1}, {"n": 1, "by": 1}]) == [6, 2]
    assert results("pair", [{"p": [1, "x"]}]) == ["(1, x)"]


def test_an_error_of_the_program_is_the_reason_of_its_row() -> None:
    error = results("plus", [{"n": -1}], retries=0)[0]
    assert error == {"kind": "String", "message": "below zero", "value": '"below zero"'}


def test_columns_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    path = file(tmp_path, "r.csv", "n,extra\n1,2\n")
    with pytest.raises(concerto.BatchError, match="--ignore extra") as refused:
        results("plus", path)
    assert refused.value.kind == "columns"
    assert results("plus", path, ignore=["extra"]) == [6]
    assert results("plus", path, key="extra") == [6]
    for name, text, words in (("a.csv", "by\n1\n", "needs the column 'n'"), ("b.csv", "n\n1\n", "no column 'id'")):
        with pytest.raises(concerto.BatchError, match=words):
            results("plus", file(tmp_path, name, text), key="id" if name == "b.csv" else None)
    with pytest.raises(concerto.BatchError, match="no public function 'nothing'; public functions: any, pair"):
        results("nothing", [])


def test_values_that_are_no_rows() -> None:
    first, second = results("plus", [3, {"n": 2**70}])
    assert first["message"] == "a row is a mapping of columns, not int"
    assert "beyond Int" in second["message"]


def test_keys_are_one_row_each_and_equal_rows_without_a_key_are_different_ones(tmp_path: Path) -> None:
    rows = [{"id": "a", "n": 1}, {"id": "b", "n": 1}, {"id": "a", "n": 3}, {"n": 1}, {"id": None, "n": 1}, {"id": 7, "n": 1}]
    batch = concerto.batch(concerto.compile(TYPES), "plus", rows, key="id", offline=True)
    found = [(row.key, row.value if row.ok else row.error["message"]) for row in batch]
    assert found == [
        ("a", 6), ("b", 6), ("a", "the key 'a' is that of row 1 too; a key names one row"),
        ("row 4", "it has nothing in the column 'id' of the key"), ("row 5", "it has nothing in the column 'id' of the key"),
        ("7", 6),
    ]  # fmt: skip
    keys = [row.key for row in concerto.batch(concerto.compile(TYPES), "plus", [{"n": 1}] * 3, offline=True)]
    assert [key[32:] for key in keys] == ["", "#2", "#3"] and len({key[:32] for key in keys}) == 1


def test_json_of_results() -> None:
    source = "enum E { A, B(Int) } struct S { x: Int, e: E, o: Option<Int> } pub fn f() -> S { S { x: 1, e: E::B(2), o: None } }"
    [row] = concerto.batch(concerto.compile(source), "f", [{}], offline=True)
    assert json.loads(json.dumps(row.value)) == row.value and row.value["x"] == 1


def test_a_row_that_cannot_be_compared_is_refused_and_the_others_are_asked() -> None:
    rows = [{"m": {"a": 1}}, {"m": {"x": {1: 2, "b": 3}}}, {"m": {"a": 1, "b": 2}}]
    found = results("any", rows)
    assert found[0] == found[2] == 1 and "it cannot be compared" in found[1]["message"]
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    found = results("any", [{"m": deep}, {"m": 1}])
    assert found[1] == 1 and "it cannot be compared: maximum recursion depth" in found[0]["message"]


def test_the_column_of_the_key_may_be_ignored_too() -> None:
    batch = concerto.batch(concerto.compile(TYPES), "plus", [{"id": "a", "n": 1}], key="id", ignore=["id"], offline=True)
    assert [(row.key, row.value) for row in batch] == [("a", 6)]


class Breaking(io.RawIOBase):
    """A file whose second read fails, as one on a drive that is gone."""

    name = "rows.jsonl"
    lines = 0

    def readline(self, most: int | None = -1, /) -> bytes:
        self.lines += 1
        if self.lines == 2:
            raise OSError(5, "Input/output error")
        return b'{"a": 1}\n'

    def fileno(self) -> int:
        return 0


def test_a_file_that_breaks_off_is_unreadable_with_its_place() -> None:
    source: Any = _JsonLines(Breaking())  # type: ignore[arg-type]
    found = iter(source)
    assert next(found).cells == {"a": 1}
    with pytest.raises(Unreadable, match="rows.jsonl: it cannot be read behind byte 9: Input/output error"):
        next(found)


@pytest.mark.parametrize(("options", "key"), [({"key": "s"}, "\\ud800"), ({}, None)])
def test_half_a_character_fails_no_batch(tmp_path: Path, options: dict[str, Any], key: str | None) -> None:
    rows = file(tmp_path, "r.jsonl", '{"s": "\\ud800", "n": 1}\n{"s": "b", "n": "\\udfff"}\n{"s": "c", "n": 3}\n')
    batch = concerto.batch(concerto.compile(TYPES), "plus", rows, ignore=() if options else ("s",), offline=True, **options)
    first, second, third = batch
    assert (first.value, third.value) == (6, 8) and key in (None, first.key)
    assert "expected Int" in second.error["message"]
    same = results("any", [{"\ud800": "\udfff"}, {"m": {"a": {1: 2, "b\ud800": 3}}}])
    assert same[0] == 1 and "it cannot be compared" in same[1]["message"]


def test_a_map_gets_the_texts_of_csv_as_its_values_and_fields_get_tuples(tmp_path: Path) -> None:
    path = file(tmp_path, "m.csv", "a,b\n1,\n")
    program = concerto.compile(
        "pub struct Row { pub at: (Int, Int) }\npub fn sum(m: Map<String, Int>) -> Int { m[\"a\"] + m.len() }\n"
        "pub fn first(row: Row) -> Int { row.at.0 }\n"
    )
    assert [row.value for row in concerto.batch(program, "sum", path)] == [2]
    assert [row.value for row in concerto.batch(program, "first", file(tmp_path, "t.jsonl", '{"at": [7, 8]}\n'))] == [7]


def test_floats_that_are_no_numbers_stand_as_null_among_the_failed_rows() -> None:
    assert written({"a": [float("nan"), 1.5], "b": {"c": float("-inf")}}) == '{"a":[null,1.5],"b":{"c":null}}'
