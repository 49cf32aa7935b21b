"""Replies that arrive as parts of a value, over each wire (O-2.70 to O-2.75)."""

from __future__ import annotations

import json
from typing import Any

import concerto
import pytest

from ..oracles import check_request
from .cloud_mocks import API_VERSION, PROJECT, REGION, AzureChat, AzureResponses, Bedrock, Vertex
from .mocks import Anthropic, DeepSeek, OpenAIChat, OpenAIResponses, Said

Json = dict[str, Any]
KEY = {"api_key": "key-of-the-tests"}
PROGRAM = concerto.compile("""
    connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    schema Row { name: String, n: Int }
    schema Report { title: String, rows: Array<Row> }
    /// The sky.
    tool Sky {
        /// The weather at a place.
        @param("place", "the place")
        pub fn at(self, place: String) -> String { "sunny" }
    }
    memory chat: Memory = Memory::new();
    model M { provider: lab, base: "m-1" }
    model T { provider: lab, base: "m-1", tools: [Sky] }
    pub fn walk(how: String?) -> Result<Array<String>, AgentError> {
        let s = M.with(memory: chat, structured: how).stream_with_schema<Report>("go")?;
        let mut seen: Array<String> = [];
        for part in s { seen.push("${part.title} ${part.rows}"); }
        seen.push("${s.done()?} ${chat.len()} ${s.response().text.len() > 0}");
        Ok(seen)
    }
    pub fn with_tools() -> Result<Array<String>, AgentError> {
        let s = T.stream_with_schema<Report>("go")?;
        let mut seen: Array<String> = [];
        for row in s.items("rows") { seen.push(row.name); }
        seen.push("${s.done()?.title} ${s.response().attempts}");
        Ok(seen)
    }
""")
REPORT = {"title": "Hello", "rows": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}
TEXT = json.dumps(REPORT)
WIRES: dict[str, tuple[type[Any], str, Json]] = {
    "chat": (OpenAIChat, "chat", {"provider": "openai", "api": "chat"}),
    "responses": (OpenAIResponses, "responses", {"provider": "openai", "api": "responses"}),
    "anthropic": (Anthropic, "anthropic", {"provider": "anthropic"}),
    "deepseek": (DeepSeek, "chat", {"provider": "custom"}),
    "azure-chat": (AzureChat, "chat", {"provider": "azure", "api_version": API_VERSION}),
    "azure-responses": (AzureResponses, "responses", {"provider": "azure", "api_version": API_VERSION, "api": "responses"}),
    "bedrock": (Bedrock, "anthropic", {"provider": "bedrock", "region": REGION}),
    "vertex": (Vertex, "anthropic", {"provider": "vertex", "region": REGION, "project": PROJECT}),
}


@pytest.mark.parametrize("how", ["native", "tool", "prompt"])
@pytest.mark.parametrize("name", WIRES)
def test_parts_over_each_wire(name: str, how: str) -> None:
    kind, wire, fields = WIRES[name]

    class Reporting(kind):  # type: ignore[misc, valid-type]
        def think(self, body: Json) -> Said:
            return Said(calls=[("c1", "respond", REPORT)]) if how == "tool" else Said(TEXT)

    with Reporting() as mock, PROGRAM.session(connections={"lab": {**KEY, **fields, "base_url": mock.url}}) as session:
        seen = session.call("walk", how)
        for body in mock.seen:
            check_request(wire, body)
    assert seen[-1] == "Report {title: Hello, rows: [Row {name: a, n: 1}, Row {name: b, n: 2}]} 2 true"
    rows = "[Row {name: a, n: 1}, Row {name: b, n: 2}]"
    assert seen[-2] == f"Progress::Done(Hello) Progress::Done({rows})"
    shown = (wire, how) != ("responses", "tool")  # the mock sends calls of this wire whole
    assert (len(seen) > 2) is shown, seen


@pytest.mark.parametrize("name", ["chat", "anthropic"])
def test_tool_rounds_come_before(name: str) -> None:
    kind, _, fields = WIRES[name]

    class Looking(kind):  # type: ignore[misc, valid-type]
        def think(self, body: Json) -> Said:
            return Said(TEXT) if len(self.seen) > 1 else Said(calls=[("c1", "Sky__at", {"place": "x"})])

    with Looking() as mock, PROGRAM.session(connections={"lab": {**KEY, **fields, "base_url": mock.url}}) as session:
        seen = session.call("with_tools")
    assert seen[-3:-1] == ["a", "b"] and seen[-1].startswith("Hello ")


CHAT = {**KEY, "provider": "openai", "api": "chat"}
ODD = concerto.compile("""
    connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    schema Odd { title: String, x: Any }
    schema Full { title: String, n: Option<Int> = Some(5), tags: Array<String> = ["t"] }
    model M { provider: lab, base: "m-1" }
    pub fn odd() -> Result<Odd, Error> {
        let s = M.stream_with_schema<Odd>("go")?;
        for part in s { let _ = part.title; }
        Ok(s.done()?)
    }
    pub fn full() -> Result<Array<String>, Error> {
        let s = M.stream_with_schema<Full>("go")?;
        let mut seen: Array<String> = [];
        for part in s { seen.push("${part.n} ${part.tags}"); }
        seen.push("${s.done()?}");
        Ok(seen)
    }
""")


def test_what_no_value_holds_refuses_the_reply_and_nothing_else() -> None:
    with OpenAIChat() as mock, ODD.session(connections={"lab": {**CHAT, "base_url": mock.url}}) as session:
        mock.think = lambda body: Said('{"title": "a", "x": ' + "9" * 400 + ', "y": 1}')  # type: ignore[method-assign]
        with pytest.raises(concerto.ProgramError, match="SchemaError"):
            session.call("odd")


def test_null_shows_the_default_that_stands_for_it() -> None:
    with OpenAIChat() as mock, ODD.session(connections={"lab": {**CHAT, "base_url": mock.url}}) as session:
        mock.think = lambda body: Said('{"title": "a", "n": null, "tags": null}')  # type: ignore[method-assign]
        *parts, whole = session.call("full")
    done = [field for part in parts for field in part.split(" ", 1) if field.startswith("Progress::Done")]
    assert {*done} == {"Progress::Done(Some(5))", "Progress::Done([t])"} and "Progress::Missing" in parts[0]
    assert len([part for part in parts if "Some(5)" in part]) > 1, "before the whole is there"
    assert whole == "Full {title: a, n: Some(5), tags: [t]}"
