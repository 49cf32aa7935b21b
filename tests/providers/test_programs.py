"""Programs of the language against servers that keep their providers' documented rules, through the real SDKs."""

from __future__ import annotations

import json
from typing import Any

import concerto
import pytest

from ..oracles import check_request
from .cloud_mocks import API_VERSION, PROJECT, REGION, AzureChat, AzureResponses, Bedrock, Vertex
from .mocks import Anthropic, DeepSeek, Gemini, Mock, NumberedGemini, OpenAIChat, OpenAIResponses, PlainResponses
from .rules import RULES

PROVIDERS: dict[str, tuple[type[Mock], str, dict[str, Any]]] = {
    "openai-chat": (OpenAIChat, "chat", {"provider": "openai", "api": "chat"}),
    "openai-responses": (OpenAIResponses, "responses", {"provider": "openai", "api": "responses"}),
    "responses-without-reasoning": (PlainResponses, "responses", {"provider": "openai", "api": "responses"}),
    "anthropic": (Anthropic, "anthropic", {"provider": "anthropic"}),
    "gemini": (Gemini, "chat", {"provider": "google"}),
    "gemini-numbered": (NumberedGemini, "chat", {"provider": "google"}),
    "deepseek": (DeepSeek, "chat", {"provider": "custom", "structured": "native"}),
    "azure-chat": (AzureChat, "chat", {"provider": "azure", "api_version": API_VERSION}),
    "azure-responses": (AzureResponses, "responses", {"provider": "azure", "api_version": API_VERSION, "api": "responses"}),
    "bedrock": (Bedrock, "anthropic", {"provider": "bedrock", "region": REGION}),
    "vertex": (Vertex, "anthropic", {"provider": "vertex", "region": REGION, "project": PROJECT, "structured": "native"}),
}
EXPECTED = {"openai-chat": ["chat-effort"], "azure-chat": ["chat-effort"], "responses-without-reasoning": ["responses-include"]}
"""Rules that a provider tells us of by refusing the first request, once a session."""
STATELESS = ("openai-chat", "azure-chat")

PROGRAM = concerto.compile("""
    connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    schema N { n: Int }
    tool Sky {
        description: "the sky",
        @describe("the sky now") @param("city", "where")
        pub fn at(self, city: String) -> String { "sun in ${city}" }
    }
    memory log: Memory = Memory::new(tools: true);
    memory short: Memory = Memory::new(5, tools: true);
    memory lasting: Memory = Memory::new(tools: true).store("durable");
    memory plain: Memory = Memory::new(20);
    memory clean: Memory = Memory::new(tools: true).redact(|text| text.replace("Oslo", "there"));
    memory shaped: Memory = Memory::new(tools: true).shape(|messages| messages);
    model M { provider: lab, base: "m-1", system_prompt: "Answer.", tools: [Sky] }
    model Bare { provider: lab, base: "m-1" }
    model Warm { provider: lab, base: "m-1", temperature: 0.2 }
    model Other { provider: lab, base: "m-2", tools: [Sky] }

    fn memory_of(name: String) -> Memory {
        match name { "log" => log, "short" => short, "plain" => plain, "lasting" => lasting, "clean" => clean, _ => shaped }
    }
    pub fn ask(text: String, of: String) -> Result<String, AgentError> { Ok(M.with_memory(memory_of(of)).execute(text)?.text) }
    pub fn other(text: String) -> Result<String, AgentError> { Ok(Other.with_memory(log).execute(text)?.text) }
    pub fn bare(text: String) -> Result<String, AgentError> { Ok(Bare.with_memory(log).execute(text)?.text) }
    pub fn warm(text: String) -> Result<String, AgentError> { Ok(Warm.execute(text)?.text) }
    pub fn tell(text: String, of: String) -> Result<String, AgentError> {
        let mut told = "";
        for chunk in M.with_memory(memory_of(of)).stream(text)? { told += chunk.text; }
        Ok(told)
    }
    pub fn number(text: String) -> Result<Int, AgentError> { Ok(M.with_memory(log).execute_with_schema<N>(text)?.n) }
    pub fn counts(text: String) -> Result<Array<Int>, AgentError> {
        let r = Bare.with_memory(log).execute(text)?;
        Ok([r.tokens_in, r.tokens_cached, r.tokens_out, r.tokens_reasoning])
    }
    pub fn kept() -> String { log.dump() }
    pub fn take(text: String) -> Result<Nil, Error> { log.load(text) }
    pub fn shown() -> String { "${log.entries()} ${log.view("x")} ${log.messages()}" }
""")


class Bench:
    """A session on one provider's mock."""

    def __init__(self, name: str) -> None:
        kind, self.wire, fields = PROVIDERS[name]
        self.mock = kind()
        self.name = name
        self.fields = {"api_key": "key-of-the-tests", **fields}

    def __enter__(self) -> Bench:
        self.mock.__enter__()
        self.session = self.opened()
        return self

    def opened(self, **options: Any) -> concerto.Session:
        return PROGRAM.session(connections={"lab": {**self.fields, "base_url": self.mock.url}}, **options)

    def __exit__(self, *given: object) -> None:
        self.session.__exit__(*given)
        self.mock.__exit__(*given)

    def call(self, name: str, *given: Any) -> Any:
        return self.session.call(name, *given)

    def check(self, broken: list[str] | None = None) -> None:
        """No rule was broken but those a session learns of, and the SDK's own types know every request."""
        assert self.mock.broken == (EXPECTED.get(self.name, []) if broken is None else broken)
        for body in self.mock.seen:
            check_request(self.wire, known(body))


STATES = ("reasoning_content", "extra_content")


def known(body: Any) -> Any:
    """Without what a provider adds to the wire of another and the SDK's types have no name for."""
    if isinstance(body, dict):
        return {name: known(value) for name, value in body.items() if name not in STATES}
    return [known(item) for item in body] if isinstance(body, list) else body


@pytest.fixture(params=PROVIDERS)
def bench(request):
    with Bench(request.param) as made:
        yield made


WAYS = pytest.mark.parametrize("way", ["ask", "tell"])


@WAYS
def test_tools_in_two_turns(bench, way):
    """D2: what a provider wants back goes back in the rounds of a call and in the next turn, streamed or not."""
    assert "sun in Oslo, sun in Rome" in bench.call(way, "both weather", "log")
    assert "sun in Oslo" in bench.call(way, "weather and weather", "log")  # one call in each of two rounds
    assert bench.call(way, "thanks", "log") == "echo thanks"
    bench.check()


def test_another_provider_under_the_same_name_gets_none_of_it(bench):
    """O-1.209: the connection leads elsewhere now, to who speaks the same wire and has a model of the same id."""
    bench.call("ask", "weather", "log")
    text = bench.call("kept")
    with Bench(bench.name) as other:
        other.call("take", text)
        other.call("ask", "thanks", "log")
        sent = json.dumps(other.mock.seen)
    assert not any(word in sent for word in ("thought_signature", "I think about", "gAAAA", "redacted_thinking"))


@WAYS
def test_a_store_keeps_it_for_the_next_session(bench, way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with bench.opened() as session:
        session.call(way, "both weather", "lasting")
    with bench.opened() as other:
        assert "sun in" in other.call(way, "weather", "lasting")
        assert other.call(way, "thanks", "lasting") == "echo thanks"
    held = b"".join(file.read_bytes() for file in (tmp_path / ".concerto").iterdir())
    assert (b'"kind":"state"' in held) == (bench.name not in STATELESS) and b"key-of-the-tests" not in held
    bench.check(EXPECTED.get(bench.name, []) * 2)


@WAYS
@pytest.mark.parametrize("of", ["plain", "short", "shaped"])
def test_other_memories(bench, way, of):
    """A bound may cut a log in front of a tool unit; a shape gives messages back as they were."""
    for text in ("weather", "thanks", "weather", "more", "both weather", "weather"):
        bench.call(way, text, of)
    bench.check()


def test_ways_may_alternate(bench):
    for way, text in (("ask", "weather"), ("tell", "both weather"), ("ask", "both weather"), ("tell", "weather")):
        assert "sun in Oslo" in bench.call(way, text, "log")
    bench.check()


def test_a_schema_and_its_retry(bench):
    bench.call("ask", "weather", "log")
    assert bench.call("number", "say it badly") == 7
    assert bench.call("number", "weather as a number") == 7
    bench.check()


def test_a_session_goes_on_from_a_dump_and_from_a_state(bench):
    bench.call("tell", "both weather", "log")
    text, state = bench.call("kept"), bench.session.dump()
    with bench.opened() as other:
        other.call("take", text)
        assert "sun in" in other.call("ask", "weather", "log")
    with bench.opened() as other:
        other.restore(state)
        assert "sun in" in other.call("ask", "weather", "log")
        assert other.call("kept").count('"kind":"state"') >= text.count('"kind":"state"')
    bench.check(EXPECTED.get(bench.name, []) * 3)


def test_no_program_sees_a_state(bench):
    bench.call("tell", "weather", "log")
    shown, kept = bench.call("shown"), bench.call("kept")
    for word in ("thought_signature", "I think about", "gAAAA", "signature", "EmwKAhgB"):
        assert word not in shown
    assert ('"kind":"state"' in kept) == (bench.name not in STATELESS)


def test_another_model_gets_none_of_it(bench):
    """O-1.209: same connection, another model. What it says of a call that lacks its state, units become text (O-1.138)."""
    bench.call("ask", "weather", "log")
    before = len(bench.mock.seen)
    bench.call("other", "thanks")
    sent = json.dumps(bench.mock.seen[before:])
    assert not any(word in sent for word in ("thought_signature", "I think about", "gAAAA", "redacted_thinking"))
    assert set(bench.mock.broken) <= {"deepseek-reasoning", "chat-effort", "responses-include"}


def test_units_whose_state_is_gone_are_sent_all_the_same(bench):
    """A function redacts: nothing is kept, and where calls without it are refused, they go as text from then on."""
    for text in ("weather", "thanks", "weather"):
        bench.call("ask", text, "clean")
    assert set(bench.mock.broken) <= {"deepseek-reasoning", "chat-effort", "responses-include"}
    assert len(bench.mock.broken) <= 2


def test_without_tools_units_are_texts(bench):
    bench.call("ask", "weather", "log")
    assert bench.call("bare", "thanks") == "echo thanks"
    bench.check()


def test_sampling_that_a_model_refuses_is_an_error_that_names_it(bench):
    refuses = bench.name in STATELESS or bench.wire == "anthropic"
    if not refuses:
        assert bench.call("warm", "hi") == "echo hi"
        return
    with pytest.raises(concerto.ProgramError, match="temperature"):
        bench.call("warm", "hi")
    assert bench.mock.broken[-1] in ("chat-sampling", "anthropic-sampling")


def test_what_is_cached_is_counted_apart(bench):
    long = "word " * 1200
    first, second = bench.call("counts", long), bench.call("counts", "and now")
    assert first[1] == 0 and second[0] > first[0]
    assert 1024 <= second[1] < second[0] and (bench.wire == "anthropic" or second[1] % 128 == 0)
    assert second[2] > second[3] and (second[3] == 20) == (bench.wire != "chat" or bench.name == "deepseek")


def test_what_is_cached_is_priced_apart(bench):
    """O-1.221: by the program's own prices; the run stays within a budget that full prices would break."""
    row = {"input_per_million": 10.0, "output_per_million": 0.0, "cached": 1.0}
    with bench.opened(pricing={"m-1": row}) as session:
        session.call("counts", "word " * 1200)
        before = session.metrics()
        tokens_in, cached, _, _ = session.call("counts", "and now")
        after = session.metrics()
    cost = after.estimated_cost - before.estimated_cost
    assert cost == pytest.approx(((tokens_in - cached) * 10 + cached * 1) / 1_000_000)
    assert (after.tokens_cached, after.tokens_in - before.tokens_in) == (cached, tokens_in)
    assert after.unpriced_calls == 0 and cached > 0


def test_every_rule_has_a_source_or_says_that_none_was_found():
    for rule in RULES.values():
        assert rule.says and (rule.confirmed is None or rule.source), rule.name
