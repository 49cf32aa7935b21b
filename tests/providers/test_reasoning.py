"""How much a model thinks, what it shows of it, and what a program adds to a request, through the real SDKs against servers that
keep their providers' rules (O-1.210, O-1.211)."""

from __future__ import annotations

import threading
from typing import Any

import concerto
import pytest
from concerto.vm.providers import PROVIDERS, WRITTEN

from ..oracles import check_request
from .mocks import Anthropic, DeepSeek, Json, Mock, OpenAIChat, OpenAIResponses, Said
from .rules import Broken

PROGRAM = concerto.compile("""
    connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    schema N { n: Int }
    model M { provider: lab, base: "m-1" }
    pub fn ask(text: String, effort: String?) -> Result<Array<String>, AgentError> {
        let r = M.with(reasoning: effort).execute(text)?;
        Ok([r.text, r.reasoning ?? "nothing", "${r.tokens_reasoning}"])
    }
    pub fn tell(text: String, effort: String?) -> Result<Array<String>, AgentError> {
        let s = M.with(reasoning: effort).stream(text)?;
        for chunk in s {}
        let r = s.response();
        Ok([r.text, r.reasoning ?? "nothing", "${r.tokens_reasoning}"])
    }
    pub fn within(text: String, tokens: Int, most: Int?) -> Result<String, AgentError> {
        Ok(M.with(reasoning_tokens: tokens, max_tokens: most).execute(text)?.text)
    }
    pub fn each(texts: Array<String>, effort: String) -> Result<Array<String>, AgentError> {
        let mut told: Array<String> = [];
        for each in parallel for text in texts { M.with(reasoning: effort).execute(text)?.text } { told.push(each?); }
        Ok(told)
    }
    pub fn typed(text: String, effort: String) -> Result<Int, AgentError> {
        Ok(M.with(reasoning: effort, structured: "tool").execute_with_schema<N>(text)?.n)
    }
""")
KEY = {"api_key": "key-of-the-tests"}


class Summarising(OpenAIResponses):
    """A model that shows summaries to whoever asks for them."""

    def output(self, said: Said, body: Json) -> list[Json]:
        made = super().output(said, body)
        if (body.get("reasoning") or {}).get("summary"):
            made[0]["summary"] = [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}]
        return made


class Unverified(OpenAIResponses):
    """The same for an organisation that is not verified."""

    def check(self, body: Json, headers: Json) -> None:
        if (body.get("reasoning") or {}).get("summary"):
            words = "Your organization must be verified to generate reasoning summaries."
            raise Broken("responses-summary", words, "reasoning.summary", "unsupported_value")
        super().check(body, headers)


class Older(Anthropic):
    """A model before 4.6."""

    refused = "adaptive"


RESPONSES = {"provider": "openai", "api": "responses"}
ANTHROPIC = {"provider": "anthropic"}
CHAT = {"provider": "openai", "api": "chat"}


def session_on(mock: Mock, fields: Json) -> concerto.Session:
    return PROGRAM.session(connections={"lab": {**KEY, **fields, "base_url": mock.url}})


SENT: dict[str, tuple[type[Mock], str, Json, dict[str, Json]]] = {
    "chat": (OpenAIChat, "chat", CHAT, {"high": {"reasoning_effort": "high"}, "none": {"reasoning_effort": "none"}}),
    "responses": (
        Summarising, "responses", RESPONSES,
        {"high": {"reasoning": {"effort": "high", "summary": "auto"}}, "none": {"reasoning": {"effort": "none"}}},
    ),
    "anthropic": (
        Anthropic, "anthropic", ANTHROPIC, {
            "high": {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
            "none": {"thinking": {"type": "disabled"}},
        },
    ),
    "older anthropic": (
        Older, "anthropic", ANTHROPIC,
        {"high": {"thinking": {"type": "enabled", "budget_tokens": 16384}}, "none": {"thinking": {"type": "disabled"}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", ["ask", "tell"])
@pytest.mark.parametrize("name", SENT)
def test_what_each_wire_says(name: str, way: str) -> None:
    kind, wire, fields, parts = SENT[name]
    with kind() as mock, session_on(mock, fields) as session:
        for effort, part in parts.items():
            assert session.call(way, "hello", effort)[0] == "echo hello"
            assert {key: mock.seen[-1].get(key) for key in part} == part
        session.call(way, "hello", None)
        assert not {"reasoning", "reasoning_effort", "thinking", "output_config"} & mock.seen[-1].keys()
        assert set(mock.broken) <= {"anthropic-adaptive"} and len(mock.broken) <= 1  # the refused form is sent once
        for body in mock.seen:
            check_request(wire, body)


@pytest.mark.parametrize("way", ["ask", "tell"])
@pytest.mark.parametrize(
    ("kind", "fields", "shown"),
    [
        (Summarising, RESPONSES, "First.\n\nThen."), (Anthropic, ANTHROPIC, "about echo hello"),
        (DeepSeek, {"provider": "custom"}, "I think about the answer at some length."), (OpenAIChat, CHAT, "nothing"),
        (Unverified, RESPONSES, "nothing"),
    ],
)  # fmt: skip
def test_what_a_provider_shows(kind: type[Mock], fields: Json, shown: str, way: str) -> None:
    with kind() as mock, session_on(mock, fields) as session:
        tokens = "0" if kind is OpenAIChat else "20"
        assert session.call(way, "hello", "low") == ["echo hello", shown, tokens]
        assert mock.broken == (["responses-summary"] if kind is Unverified else [])


@pytest.mark.parametrize(
    ("kind", "fields", "broken"), [(Older, ANTHROPIC, "anthropic-adaptive"), (Unverified, RESPONSES, "responses-summary")]
)
def test_requests_that_are_refused_together(kind: type[Mock], fields: Json, broken: str) -> None:
    """Each was made before the first refusal came, and each is sent again in the other form (O-1.138)."""
    together = threading.Barrier(3)

    class Waiting(kind):  # type: ignore[misc, valid-type]
        def check(self, body: Json, headers: Json) -> None:
            try:
                super().check(body, headers)
            except Broken:
                together.wait(10)
                raise

    with Waiting() as mock, session_on(mock, fields) as session:
        assert session.call("each", ["a", "b", "c"], "high") == ["echo a", "echo b", "echo c"]
        assert mock.broken == [broken] * 3 and len(mock.seen) == 6
        assert session.call("each", ["d"], "high") == ["echo d"] and len(mock.seen) == 7


def test_a_number_of_tokens() -> None:
    """It is a part of `max_tokens`: without that there is room for the text beside it, with too little nothing is sent."""
    with Older() as mock, session_on(mock, ANTHROPIC) as session:
        assert session.call("within", "hello", 2000, None) == "echo hello"
        assert mock.seen[-1]["max_tokens"] == 4096 + 2000
        assert session.call("within", "hello", 2000, 2001) == "echo hello"
        with pytest.raises(concerto.ProgramError, match="2000 tokens of it are for reasoning: set it higher"):
            session.call("within", "hello", 2000, 2000)
        assert len(mock.seen) == 2 and mock.broken == []
    with Anthropic() as mock, session_on(mock, ANTHROPIC) as session:  # a newer one chooses by itself
        assert session.call("within", "hello", 2000, None) == "echo hello"
        assert mock.broken == ["anthropic-enabled"] and mock.seen[-1]["thinking"]["type"] == "adaptive"
    for kind, fields in ((OpenAIChat, CHAT), (OpenAIResponses, RESPONSES)):
        with kind() as mock, session_on(mock, fields) as session:
            with pytest.raises(concerto.ProgramError, match="reasoning_tokens is not carried by"):
                session.call("within", "hello", 2000, None)
            assert mock.seen == []
        with kind() as mock, session_on(mock, {**fields, "unsupported": "drop"}) as session:
            assert session.call("within", "hello", 2000, None) == "echo hello"


def test_a_model_that_thinks_is_not_forced_to_call() -> None:
    class Calling(Anthropic):
        def think(self, body: Json) -> Said:
            return Said(calls=[("c1", body["tools"][-1]["name"], {"n": 7})])

    with Calling() as mock, session_on(mock, ANTHROPIC) as session:
        assert session.call("typed", "hello", "high") == 7 and mock.broken == []
        assert session.call("typed", "hello", "none") == 7 and mock.seen[-1]["tool_choice"]["type"] == "tool"


# ---------------------------------------------------------------- extra


@pytest.mark.parametrize("name", ["chat", "responses", "anthropic"])
def test_what_a_program_adds_stands_in_the_body(name: str) -> None:
    kind, _, fields, _ = SENT[name]
    source = """
        connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1", extra: { service_tier: "flex", metadata: { a: 1 } } }
        model M { provider: lab, base: "m-1", extra: { metadata: { team: "b", parts: [1, true, nil] }, top_k: 40 } }
        pub fn ask(text: String) -> Result<String, AgentError> { Ok(M.execute(text)?.text) }
    """
    with kind() as mock:
        given: Any = {"lab": {**KEY, **fields, "base_url": mock.url, "extra": {"service_tier": "flex"}}}
        with concerto.compile(source).session(connections=given) as session:
            if name == "anthropic":  # the mock refuses top_k, as the model does
                with pytest.raises(concerto.ProgramError, match="top_k"):
                    session.call("ask", "hello")
            else:
                assert session.call("ask", "hello") == "echo hello"
            body = mock.seen[-1]
            assert body["service_tier"] == "flex" and body["top_k"] == 40
            assert body["metadata"] == {"team": "b", "parts": [1, True, None]}


@pytest.mark.parametrize("name", ["chat", "responses", "anthropic"])
def test_what_concerto_writes_is_not_overwritten(name: str) -> None:
    kind, _, fields, _ = SENT[name]
    for part in ("model", "stream", "temperature"):
        with kind() as mock:
            given: Any = {"lab": {**KEY, **fields, "base_url": mock.url, "extra": {part: "x"}}}
            refused = pytest.raises(concerto.ProgramError, match=f"Concerto writes `{part}` itself")
            with PROGRAM.session(connections=given) as session, refused:
                session.call("ask", "hello", None)
            assert mock.seen == []


def test_the_table_names_all_that_is_written() -> None:
    """Whatever a request has, `WRITTEN` has it too: else a program could overwrite it."""
    assert {wire for row in PROVIDERS.values() for wire in row.wires} == WRITTEN.keys()
    wires = {"chat": "chat", "responses": "responses", "anthropic": "messages"}
    for kind, wire, fields, parts in SENT.values():
        with kind() as mock, session_on(mock, fields) as session:
            for effort in (*parts, None):
                session.call("ask", "hello", effort)
                session.call("tell", "hello", effort)
            assert not {key for body in mock.seen for key in body} - WRITTEN[wires[wire]]
