"""Channels from the host's side (O-5.36): their JSON Schemas, which the real values are held against by jsonschema."""

from __future__ import annotations

import json
from typing import Any

import concerto
import pytest
from jsonschema import Draft202012Validator, ValidationError

SOURCE = """
struct Decision { what: String, next: Decision? = nil, kind: Kind, last: Reply, pair: (Int, String), all: Array<Reply>,
    some: Option<Float>, raw: Bytes, rest: Map<String, Any>, word: "a" | "b" }
enum Kind { Plain, Other }
enum Reply { Yes, No { why: String }, Between(Int, Int), After(Int) }
/// Asks.
channel approve: Decision -> Reply;
channel told: Array<String>;
fn some() -> Decision {
    Decision { what: "x", kind: Kind::Other, last: Reply::Yes, pair: (1, "a"), some: Some(1.5), raw: "x".to_bytes(),
        all: [Reply::No { why: "w" }, Reply::Between(1, 2), Reply::After(3)], rest: { a: [1, nil] }, word: "a" }
}
pub fn text() -> String { std::json::stringify(Decision { next: some(), ..some() }) }
pub fn asked() -> String { std::json::stringify(approve(some()).map_err(|e| "${e}")) }
fn main() { told(["a"]); }
"""


@pytest.fixture(scope="module")
def program() -> concerto.Program:
    return concerto.compile(SOURCE)


def test_schemas_take_what_programs_send(program: concerto.Program) -> None:
    assert list(program.channels) == ["approve", "told"]
    assert program.channels["told"] == concerto.Channel("told", {"type": "array", "items": {"type": "string"}}, None)
    schema = Draft202012Validator(program.channels["approve"].payload)
    Draft202012Validator.check_schema(schema.schema)
    with program.session() as session:
        sent: dict[str, Any] = json.loads(session.call("text"))
    schema.validate(sent)
    wrong: list[dict[str, Any]] = [{"raw": 3}, {"next": {"what": 1}}]
    for broken in (*wrong, {"pair": [1]}, {"word": "c"}, {"last": {"variant": "No"}}, {"kind": "Third"}):
        with pytest.raises(ValidationError):
            schema.validate({**sent, **broken})


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Yes", '{"ok":{"variant":"Yes","data":null}}'), ({"variant": "After", "data": 3}, '{"ok":{"variant":"After","data":3}}'),
        ({"variant": "Between", "data": [1, 2]}, '{"ok":{"variant":"Between","data":[1,2]}}'),
        ({"variant": "No", "data": {"why": "w"}}, '{"ok":{"variant":"No","data":{"why":"w"}}}'),
        ({"variant": "No"}, None), ({"variant": "After", "data": "x"}, None), ("Perhaps", None), (3, None), (None, None),
    ],
)
def test_the_schema_takes_what_is_read(program: concerto.Program, answer: Any, text: str | None) -> None:
    schema = program.channels["approve"].answer
    assert schema is not None
    assert Draft202012Validator(schema).is_valid(answer) is (text is not None)
    with program.session() as session:
        session.on_emit("approve", lambda payload: answer)
        given = session.call("asked")
    assert given == text if text is not None else json.loads(given).keys() == {"err"}


def test_a_notice_reaches_the_host(program: concerto.Program) -> None:
    with program.session() as session:
        assert [(emit.channel, emit.payload) for emit in session.run().emits] == [("told", ["a"])]
