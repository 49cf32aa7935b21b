"""Observations against expectations, paths into requests and bytes, and drift between routes (C-5, C-7.2)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.compare import compare, drift
from conformance.program import parse
from conformance.records import Observation

HEAD = "// clause: L-1.1.1\n// level: 1\n"
Json = dict[str, Any]


Emits = list[tuple[str, str]]


def came(body: str, emits: Emits | None = None, requests: list[Json] | None = None, **result: Any) -> list[str]:
    (program,) = parse(HEAD + body, "x.conc")
    seen = Observation("interp", emits or [], requests or [], {"status": "ok", "exit": 0, **result})
    return [failure.came for failure in compare(program, seen)]


def diagnostic(code: str = "E0101", line: int = 3, **fields: Any) -> Json:
    stage = {"E0": "parse", "E1": "names"}.get(code[:2], "types")
    found = {"code": code, "stage": stage, "severity": "error", "file": "main.conc", "line": line, "column": 1}
    return {**found, "message": "unexpected `}`", **fields}


def error(*found: Json) -> Json:
    return {"status": "error", "exit": 65, "diagnostics": list(found)}


def test_emits_are_compared_exactly_and_in_order() -> None:
    body = "// emit: a 1\n// emit: b 2\n"
    assert came(body, [("a", "1"), ("b", "2")]) == []
    assert came(body, [("b", "2"), ("a", "1")]) == ["emit b 2"]
    assert came(body, [("a", "1")]) == ["no further emit"]
    assert came(body, [("a", "1"), ("b", "2"), ("c", "3")]) == ["emit c 3"]
    assert came("// emit: a 4\n", [("a", "4.0")]) == ["emit a 4.0"]


def test_unordered_emits() -> None:
    body = "// emit~: a 1\n// emit~: a 2\n// emit: b 3\n"
    assert came(body, [("a", "2"), ("a", "1"), ("b", "3")]) == []
    assert came(body, [("a", "2"), ("a", "2"), ("b", "3")]) == ["a 2; a 2"]


def test_runtime_channels_count_only_when_named() -> None:
    assert came("// emit: a 1\n", [("audit:run", "{}"), ("a", "1"), ("panic", '"x"')]) == []
    assert came("// emit: audit:run {}\n", [("audit:run", "{}"), ("audit:run", "{}")]) == ["emit audit:run {}"]


def test_alternatives_of_an_emit() -> None:
    assert came("// emit: either a 1 | a 2\n", [("a", "2")]) == []
    assert came("// emit: either a 1 | a 2\n", [("a", "3")]) == ["emit a 3"]


@pytest.mark.parametrize(
    ("found", "good"),
    [
        (diagnostic(), True),
        (diagnostic(line=4), False),
        (diagnostic(column=2), False),
        (diagnostic("E0102"), False),
        (diagnostic(stage="names"), False),
        (diagnostic(severity="warning"), False),
        (diagnostic(message="other"), False),
        (diagnostic(file="a.conc"), False),
    ],
)
def test_a_diagnostic_has_code_stage_line_column_and_part(found: Json, good: bool) -> None:
    failures = came('x // error: E0101 parse @1 "`}`"\n', **error(found))
    assert (failures == []) is good


def test_missing_and_extra_diagnostics_fail() -> None:
    assert came("x // error: E0101\n", **error()) == ["nothing"]
    both = error(diagnostic(), diagnostic("E1001", 9))
    assert len(came("x // error: E0101\n", **both)) == 1
    warning = diagnostic("W0001", severity="warning", stage="names")
    assert len(came("// emit: a 1\n", [("a", "1")], diagnostics=[warning])) == 1


def test_one_diagnostic_meets_one_expectation() -> None:
    assert came("x // error: E0101 // error: E0101\n", **error(diagnostic())) == ["nothing"]


def panic(code: str = "P003", line: int = 3) -> Json:
    found = {"code": code, "message": "division by zero", "file": "main.conc", "line": line, "column": 5}
    return {"status": "panic", "exit": 1, "panic": found}


def test_panics_have_code_line_and_part() -> None:
    assert came('x // panic: P003 "zero"\n', **panic()) == []
    assert len(came("x // panic: P003\n", **panic(line=4))) == 1
    assert len(came("x // panic: P002\n", **panic())) == 1
    assert len(came('x // panic: P003 "one"\n', **panic())) == 1
    assert len(came("// emit: a 1\n", [("a", "1")], **panic())) == 1
    assert came("x // panic: P003\n") == ["status ok"]


def test_errors_of_main() -> None:
    error_value = {"kind": "SchemaError", "variant": "ParseError", "message": "m: no"}
    fails: Json = {"status": "error", "exit": 1, "fails": error_value}
    assert came('// fails: SchemaError::ParseError "no"\n', **fails) == []
    assert came("// fails: SchemaError\n", **fails) == []
    assert len(came("// fails: SchemaError::MissingField\n", **fails)) == 1
    assert len(came("x // error: E0101\n", **fails)) == 3


def test_exit_status() -> None:
    assert came("// emit: a 1\n", [("a", "1")], exit=2) == ["exit 2"]
    assert came("// exit: 77\n// fails: FsError\n", status="error", exit=1, fails={"kind": "FsError"}) == ["exit 1"]


def test_memories_and_calls() -> None:
    memories = {"log": [{"role": "user", "content": "a"}, {"role": "tool", "call_id": "c1", "content": "r"}]}
    assert came('// memory: log = [user "a", result #c1 "r"]\n', memories=memories) == []
    assert len(came('// memory: log = [user "a"]\n', memories=memories)) == 1
    assert came("// memory: log = []\n") == ["none of that name"]
    assert came("// calls: M = 2\n", calls={"M": 1}) == ["1"]


def request(number: int = 1, wire: str = "{}") -> Json:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": f"say {number}"}]
    record = {"messages": messages, "params": {"temperature": 0.5}, "tools": []}
    return {"kind": "model", "name": "M", "record": record, "wire": wire, "headers": {"X-Key": f"k{number}", "A": "a"}}


@pytest.mark.parametrize(
    ("line", "good"),
    [
        ('request 1: messages[-1].role = "user"', True),
        ('request 1: messages[0].role != "user"', True),
        ('request 2: messages[-1].content contains "say 2"', True),
        ('request 2: messages[-1].content contains "say 1"', False),
        ("request 2: messages[:-1] same as 1", True),
        ("request 2: messages same as 1", False),
        ("request 1: messages count = 2", True),
        ("request 1: schema absent", True),
        ("request 1: params absent", False),
        ("request 1: params.temperature = 0.5", True),
        ("request 1: params.temperature = 0.50", False),
        ("request 1: nothing = 1", False),
        ("request M 2: tools = []", True),
        ("request 4: tools = []", False),
        ("request N 1: tools = []", False),
        ('request 1: messages[0] = {"role": "system", "content": "s"}', True),
        ('wire 1: = {"a":[1, 2],"b":"é\\u00e9"}', True),
        ('wire 1: = {"a":[1,2],"b":"é\\u00e9"}', False),
        ("wire 1: a = [1, 2]", True),
        ("wire 1: a[-1] = 2", True),
        ('wire 1: b = "é\\u00e9"', True),
        ('wire 1: b contains "u00e9"', True),
        ("wire 1: c absent", True),
        ("wire 2: a same as 1", False),
        ("wire 2: header x-key same as 1", False),
        ("wire 2: header A same as 1", True),
        ('wire 1: header x-key = "k1"', True),
        ("wire 1: a[0:2] count = 2", True),
        ("wire 1: a[0:1] count = 1", True),
        ("wire 1: a[1:1] count = 0", True),
        ("wire 1: a[0:2] count = 1", False),
        ("wire 1: a count = 2", True),
        ("wire 1: a[0:2] = 1,2", True),
        ("wire 1: a[0:2][-1] = 2", True),
        ("wire 1: a[0:2].b absent", True),
        ("wire 1: b[0:1] absent", True),
        ("wire 1: header x-key count = 1", False),
        ("wire 3: a absent", True),
        ("wire 3: count = 1", False),
    ],
)
def test_requests_and_wire(line: str, good: bool) -> None:
    requests = [request(1, '{"a":[1, 2],"b":"é\\u00e9"}'), request(2, '{"a":[1,2]}'), request(3, "{a: 1}")]
    failures = came(f"// {line}\n", requests=requests, calls={"M": 3})
    assert (failures == []) is good


def test_reported_calls_agree_with_requests() -> None:
    assert came("// calls: M = 1\n", requests=[request(), request(2)], calls={"M": 1}) == ["1"]


def test_tests() -> None:
    outcomes = [{"name": "a b", "outcome": "pass"}, {"name": "c", "outcome": "fail"}]
    body = "// mode: test\n// tests: a b pass, c fail\n"
    assert came(body, tests=outcomes, status="error", exit=1) == []
    assert came(body, tests=outcomes) == ["status ok"]
    assert came(body, tests=outcomes, status="error", exit=0) == ["exit 0"]
    assert len(came(body, tests=outcomes[:1], status="error", exit=1)) == 1


def test_drift_finds_any_difference_and_compares_fuel_where_both_count() -> None:
    one = Observation("interp", [("a", "1")], [], {"status": "ok", "fuel": 3})
    assert drift(one, Observation("image", [("a", "1")], [], {"status": "ok", "fuel": 3})) == []
    assert drift(one, Observation("image", [("a", "1")], [], {"status": "ok", "fuel": None})) == []
    other_fuel = Observation("image", [("a", "1")], [], {"status": "ok", "fuel": 4})
    other_emit = Observation("image", [("a", "2")], [], {"status": "ok"})
    assert [part for part, _, _ in drift(one, other_fuel)] == ["fuel"]
    assert [part for part, _, _ in drift(one, other_emit)] == ["emits"]


def test_a_way_is_compared_whole_and_in_order() -> None:
    body = "x // way: 1 f\ny // way: 2 main, 3 main\n// fails: Error\n"
    places = [{"function": "f", "file": "main.conc", "line": 3, "column": 9}]
    places += [{"function": "main", "file": "main.conc", "line": 4, "column": column} for column in (1, 2)]

    def told(*way: Any) -> list[str]:
        return came(body, status="error", exit=1, fails={"kind": "Error", "message": "", "way": list(way)})

    assert told(*places) == []
    assert len(told(*places[:2])) == 1 and len(told(*places, places[0])) == 1 and len(told(places[1], places[0], places[2])) == 2
    assert len(told()) == 3 and len(told({**places[0], "function": "g"}, *places[1:])) == 1
    assert len(told(places[0], 7, *places[1:])) == 2
