"""`concerto trace` as text and as JSON (O-9.22): rows as they are, and what follows from them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from concerto.cli.trace_rows import Reading, difference_of
from concerto.cli.trace_text import Text, columns, cut, width_of
from concerto.runtime.journal.rows import EffectRow, EmitRow, EndRow

from .. import recordings
from ..command import EXAMPLES, concerto
from ..recordings import call, message, recorded, sealed, small
from .conftest import Command

EXPECTED = """\
            task 0
              0:1  call Clerk-1
     0.000      /1 gpt-5.4-mini on openai  120 ms  95 bytes, the first of its model
                    user: Two tickets, please.
                    ConnectionError::RateLimited: 429 too many requests
     0.620      /2 gpt-5.4-mini on openai  attempt 2  20 in (8 cached), 7 out (3 reasoning)  280 ms  95 bytes, 100 % as…
                    again after 500 ms: ConnectionError::RateLimited: 429 too many requests
                    reply: Sure!
     0.900      /3 gpt-5.4-mini on openai  schema attempt 2  10 in, 5 out  100 ms  157 bytes, 59 % as the one before
                      Two tickets, please.
                    +
                    + Your previous reply was not accepted:
                    + - $: not valid JSON
                    reply: {"count": 2}
     1.000  emit order: {"count":2}
              0:2  call Clerk-2
     1.000      /1 gpt-5.4-mini on openai  10 in, 5 out  500 ms  92 bytes, 79 % as the one before
                    user: Where is order 7?
                    calls Orders__find {"number":"7"}
     1.500  audit:tool_call: {"tool":"Orders","method":"find"}
              task 0.1
     1.500      0.1:1 file read_file orders.txt  1 ms
                    gave 7 lamp
            task 0
              0:2  call Clerk-2
     1.501      /2 gpt-5.4-mini on openai  10 in, 5 out  399 ms  274 bytes, 33 % as the one before
                    Orders__find gave {"sent": true}
                    reply: It is on its way.
            task 1
              1:1  call Teller-3
     1.950      /1 other-1 on openai  10 in, 5 out  53 ms  3 pieces, the first after 50 ms  45 bytes, the first of its …
                    user: Where is order 7?
                    reply: It is sent
            task 0
              0:3
     2.003      /Shop.1 mcp Shop tools/call buy {"n":1}  7 ms
                    gave bought
              0:4
     2.010      /wait.1 waits 2.5 s  2.50 s
              0:5
     4.510      /ok.1 asks ok pay?  90 ms
                    gave true
     4.600  prints done⏎
     4.700  panic[P003]: division by zero
     4.600  0:6/Shop.1 mcp Shop tools/call pay {}: has begun, and its outcome is not in the recording

                        requests  failed  retried  schema  in  cached  out  reasoning  cost    time  as before
gpt-5.4-mini on openai         5       1        1       1  50       8   22          3     –  1.40 s       49 %
other-1 on openai              1       0        0       0  10       0    5          0     –   53 ms        0 %
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(recorded(tmp_path / "run.effects.jsonl", small()))


def test_a_recording_as_a_tree(cli: Command, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    code, out, err = cli("trace", file)
    first, _, rest = out.partition("\n")
    assert (code, err, rest) == (0, "", EXPECTED)
    assert re.fullmatch(r"run 0123456789abcdef of shop  20\d\d-\d\d-\d\d \d\d:\d\d:\d\d  image abababababab", first)


def test_standard_input(file: str, tmp_path: Path) -> None:
    assert concerto("trace", "-", cwd=tmp_path, stdin=Path(file).read_text(), COLUMNS="120").out.endswith(EXPECTED)


def test_what_follows_from_rows(cli: Command, file: str) -> None:
    rows = json.loads(cli("trace", file, "--json").out)
    head, *steps, last = rows
    assert head["run"] == "0123456789abcdef" and last["complete"] is True
    models = [row["computed"] for row in steps if row["computed"]["kind"] == "model"]
    told = [(row["effect"], row["call"], row["why"], row["attempt"], row["schema_attempt"]) for row in models]
    assert told == [
        ("0:1", "Clerk-1", "first", 1, 1), ("0:1", "Clerk-1", "retry", 2, 1), ("0:1", "Clerk-1", "schema", 1, 2),
        ("0:2", "Clerk-2", "first", 1, 1), ("0:2", "Clerk-2", "tools", 1, 1), ("1:1", "Teller-3", "first", 1, 1),
    ]  # fmt: skip
    assert models[4]["gave"] == [["c1", "Orders__find", '{"sent": true}', False]]
    added = ["+ ", "+ Your previous reply was not accepted:", "+ - $: not valid JSON"]
    assert models[2]["diff"] == ["  Two tickets, please.", *added]
    assert models[1]["after_ms"] == 500 and models[1]["before"] == 0
    assert (models[5]["pieces"], models[5]["first_ms"]) == (3, 50)
    sums = {sums["model"]: sums for sums in last["sums"]["models"]}["gpt-5.4-mini"]
    assert (sums["requests"], sums["failed"], sums["retried"], sums["schema"], sums["in"]) == (5, 1, 1, 1, 50)
    assert last["sums"]["unsettled"] == ["0:6/Shop.1"]
    # The fields of the file are there as they stand in it.
    lines = [json.loads(line) for line in Path(file).read_text().splitlines()[1:]]
    assert [{name: value for name, value in row.items() if name != "computed"} for row in steps] == [
        {name: value for name, value in line.items() if name != "seal"} for line in lines
    ]


def test_shares_are_those_that_a_run_shows(tmp_path: Path) -> None:
    """`--verbose=requests` and the trace count the same bytes (O-9.52)."""
    for name in ("window", "retry"):
        words = ("--offline-script", EXAMPLES / "retry.replies.json") if name == "retry" else ("--offline",)
        file = tmp_path / f"{name}.jsonl"
        run = concerto("run", EXAMPLES / f"{name}.conc", *words, "--verbose=requests", "--record", file, cwd=tmp_path)
        line = r"^request (\S+): .*, (\d+) bytes, (?:(\d+) % as the one before|the first of its model)$"
        shown = re.findall(line, run.err, re.M)
        rows = json.loads(concerto("trace", file, "--json", cwd=tmp_path).out)
        of_models = [row for row in rows if row.get("computed", {}).get("kind") == "model"]
        told = [(row["request"]["id"], row["computed"]["bytes"], row["computed"].get("shared")) for row in of_models]
        assert len(told) > 5
        assert [(id, str(size), "" if shared is None else str(100 * shared // size)) for id, size, shared in told] == shown


def test_kinds(cli: Command, file: str) -> None:
    def lines(kind: str) -> list[str]:
        return [line.strip() for line in cli("trace", file, "--kind", kind).out.splitlines()[1:]]

    assert lines("emit") == ['1.000  emit order: {"count":2}', '1.500  audit:tool_call: {"tool":"Orders","method":"find"}']
    assert lines("print") == ["4.600  prints done⏎"]
    assert lines("piece") == ["2.000  piece 1:1/1 It", "2.001  piece 1:1/1 is", "2.002  piece 1:1/1 sent"]
    assert lines("wait") == ["task 0", "0:4", "2.010      /wait.1 waits 2.5 s  2.50 s"]
    rows = json.loads(cli("trace", file, "--json", "--kind", "emit").out)
    assert [row.get("emit") for row in rows[1:-1]] == ["order", "audit:tool_call"]
    code, _, err = cli("trace", file, "--kind", "agnet")
    assert (code, err) == (0, "no row is of the kind agnet; there are: model, file, mcp, wait, answer, emit\n")


def test_one_row_whole(cli: Command, file: str) -> None:
    row = json.loads(cli("trace", file, "--effect", "0:2/2").out)
    assert row["request"]["messages"][-1]["content"] == '{"sent": true}' and row["computed"]["why"] == "tools"
    assert json.loads(cli("trace", file, "--effect", "0:3/Shop.1").out)["status"] == "done"
    assert json.loads(cli("trace", file, "--effect", "0:6/Shop.1").out)["status"] == "intent"
    code, out, err = cli("trace", file, "--effect", "0:2")
    assert (code, out, err) == (1, "", "trace: no row has the key 0:2; its operations are 0:2/1, 0:2/2\n")
    assert "the text of `concerto trace` has all keys" in cli("trace", file, "--effect", "9:9").err


def test_a_run_of_a_store(cli: Command, write: Callable[[str, str], str]) -> None:
    write("a.conc", 'fn main() { emit("out", 7); }\n')
    run = cli("run", "a.conc", "--offline", "--store", "runs.db").err.removeprefix("run: ").strip()
    code, out, _ = cli("trace", run, "--store", "runs.db")
    assert code == 0 and out.startswith(f"run {run} of a  ") and "emit out: 7" in out
    assert cli("trace", run[:6], "--store", "runs.db").out == out
    assert json.loads(cli("trace", run, "--store", "runs.db", "--json").out)[0]["run"] == run
    assert cli("trace", run, "--store", "runs.db", "--check", "a.conc").out == f"{run}: equal, 2 rows\n"
    assert cli("trace", "nothing", "--store", "runs.db").code == 74
    code, _, err = cli("trace", run, "--store", "missing.db")
    assert (code, err) == (74, "there is no run store missing.db\n")


def test_a_recording_that_goes_on(cli: Command, tmp_path: Path) -> None:
    file = recorded(tmp_path / "cut.jsonl", list(small())[:3])
    out = cli("trace", str(file)).out
    assert "the recording has no end: the run goes on, waits, or was killed" in out
    assert json.loads(cli("trace", str(file), "--json").out)[-1]["complete"] is False


def test_what_cannot_be_shown(cli: Command, file: str, tmp_path: Path) -> None:
    assert cli("trace", "no.jsonl")[::2] == (66, "cannot read no.jsonl: No such file or directory\n")
    assert cli("trace", str(tmp_path))[::2] == (66, f"cannot read {tmp_path}: Is a directory\n")
    assert cli("trace").code == 2
    assert cli("trace", "app.conc-ir").err.startswith("app.conc-ir is the bytecode of another implementation")
    assert cli("trace", file, "--json", "--html", "x.html").err == "trace: --json and --html: choose one of them\n"
    assert cli("trace", file, "--effect", "0:1", "--kind", "x").code == 2
    assert cli("trace", file, "--html", "none/x.html")[::2] == (1, "cannot write none/x.html: No such file or directory\n")
    wrong = (("", "is empty"), ("{}\n", "not as it was written"), ("\x00\xff\n", "no effect file's"), ("{", "is cut"))
    for text, why in wrong:
        (tmp_path / "bad.jsonl").write_bytes(text.encode("latin-1"))
        code, out, err = cli("trace", "bad.jsonl")
        assert code == 74 and out == "" and why in err and "bad.jsonl" in err


def test_a_damaged_line_is_named(cli: Command, file: str) -> None:
    lines = Path(file).read_bytes().splitlines(keepends=True)
    Path(file).write_bytes(b"".join([*lines[:4], lines[4].replace(b"order", b"other"), *lines[5:]]))
    code, out, err = cli("trace", file)
    assert code == 74 and "0:1  call Clerk-1" in out and err.startswith(f"{file}:5: this line is not as it was written")


def test_a_row_that_is_nested_too_deeply(cli: Command, tmp_path: Path) -> None:
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    emit = {"emit": "x", "value": deep, "by_runtime": False, "t": 0}
    file = sealed(tmp_path / "deep.jsonl", [recordings.header().as_json(), emit])
    for words in ((), ("--json",), ("--html", "x.html")):
        code, _, err = cli("trace", str(file), *words)
        assert code in (0, 74) and (code == 0 or "nested too deeply" in err)


def test_colour_and_width(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    plain = concerto("trace", file, cwd=tmp_path, COLUMNS="120").out
    coloured = concerto("trace", file, "--color", "always", cwd=tmp_path, COLUMNS="120").out
    assert "\x1b" not in plain and "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    for width in (40, 61, 200):
        lines = concerto("trace", file, cwd=tmp_path, COLUMNS=str(width)).out.splitlines()
        body = lines[: lines.index("")]
        assert max(map(columns, body)) <= width
    assert width_of(io.StringIO()) == 120


def test_texts_cannot_move_the_cursor(tmp_path: Path) -> None:
    rows = [call("0:1/1", "A-1.1", [message("user", text)], text) for text in recordings.HOSTILE]
    rows_and_end = [*rows, EmitRow("\x1b[2J", "\x1b]0;x\x07", False, 0.0), EndRow("error", "\x1b[31m")]
    out = concerto("trace", recorded(tmp_path / "r.jsonl", rows_and_end), "--color", "never", cwd=tmp_path).out
    assert all(c.isprintable() or c == "\n" for c in out) and "\\u001b[2J" in out


def test_calls_are_told_apart_within_an_effect() -> None:
    """A memory may have a summary made by a call of its own, in between."""
    one, other = [message("user", "hello")], [message("user", "sum it up")]
    reading = Reading()
    steps = [
        reading.step(row)
        for row in (
            call("0:1/1", "A-1.1", one, "x"), call("0:1/2", "Sum-2.1", other, "y"), call("0:1/3", "A-1.2", one, "z"),
            call("0:1/4", "A-1.3", one, "z", model="other"),
            call("0:1/5", "A-1.4", [message("user", "new"), *one], "z", model="other"),
        )
    ]  # fmt: skip
    assert [step.facts["why"] for step in steps] == ["first", "first", "schema", "fallback", "next"]
    assert [step.facts["schema_attempt"] for step in steps] == [1, 1, 2, 1, 1]
    assert steps[2].facts["diff"] == []  # both replies failed in the same way


def test_a_task_keeps_its_last_effect_only() -> None:
    reading = Reading()
    for effect in range(50):
        reading.step(call(f"0:{effect}/1", f"A-{effect}.1", [message("user", "x" * 1000)]))
    assert len(reading._tasks) == 1 and len(reading._tasks["0"].asked) == 1 and len(reading._prefixes) == 1
    assert reading._kept < 1200
    for task in range(12_000):
        reading.step(EffectRow(f"{task}:1", "clock", "observed", "", [], "", status="intent"))
    assert len(reading.unsettled) == 10_000


def test_differences_of_texts() -> None:
    assert difference_of("a\nb\nc", "a\nx\nc") == ["  a", "- b", "+ x", "  c"]
    assert difference_of("a", "a") == []
    assert difference_of("a\n" * 300, "b\n" * 300)[0] == "+ b"


def test_columns() -> None:
    assert (columns("ab"), columns("日本"), columns("e\u0301")) == (2, 4, 1)
    assert cut("日本日本", 5) == "日本…" and cut("abc", 3) == "abc" and cut("abcd", 3) == "ab…"


def test_every_kind_has_its_line() -> None:
    def shown(kind: str, request: Any, result: Any, status: str = "done") -> str:
        """The lines without time and key."""
        stream = io.StringIO()
        text = Text(stream)
        text.step(Reading().step(EffectRow("0:1", kind, "once", "", request, "", result=result, status=status)))
        return " | ".join(line.strip() for line in stream.getvalue().splitlines()[1:]).removeprefix("0.000    0:1 ")

    assert shown("embed", {"model": "m", "connection": "c", "texts": ["a"]}, [[1.0]]) == "embed m on c, 1 text | gave 1 vector"
    assert shown("agent", {"agent": "A", "method": "line"}, [None, "ChildEnded", 1, ""]) == "agent A line | gave ChildEnded"
    assert shown("tool", {"tool": "T", "method": "m", "args": [1]}, {"value": 2}) == "tool T.m [1] | gave 2"
    assert shown("answer", {"channel": "c", "value": 1}, {"error": "no listener"}) == "asks c 1 | gave error no listener"
    assert shown("env", ["args"], {"rows": [[[2, False, ["a", "b"]]], [], [], [0]]}) == "env args | gave a, b"
    assert shown("limit", None, None, "expired") == "limit of time | expired"
    failed = {"value": [None, ["no such book"], True, []]}
    asked = {"server": "S", "method": "tools/call", "tool": "t", "arguments": {}}
    assert shown("mcp", asked, failed) == "mcp S tools/call t {} | gave failed: no such book"
    pictures = {"value": [None, [], False, [["image/png", "AAAA"]]]}
    assert shown("mcp", asked, pictures) == "mcp S tools/call t {} | gave 1 part of media"
    panic = {"code": "P1", "message": "m"}
    assert shown("file", ["read_file", "x"], panic, "panicked") == "file read_file x | panic[P1]: m"
