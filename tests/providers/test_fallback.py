"""Models that take calls over from one another, across providers that keep their documented rules, through the real SDKs
(O-1.230, O-1.234 to O-1.236)."""

from __future__ import annotations

import json
import random
from typing import Any

import concerto
import pytest

from ..oracles import check_request
from .test_programs import PROVIDERS, known

PROGRAM = concerto.compile("""
    connect one { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    connect two { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    schema N { n: Int }
    tool Sky {
        description: "the sky",
        @describe("the sky now") @param("city", "where")
        pub fn at(self, city: String) -> String { emit("looked", city); "sun in ${city}" }
    }
    memory log: Memory = Memory::new(tools: true);
    @retry(max: 1)
    model A { provider: one, base: "m-1", system_prompt: "Answer.", tools: [Sky], timeout: 0.3, fallback: [B] }
    @retry(max: 1)
    model B { provider: two, base: "m-2", timeout: 5 }

    pub fn ask(text: String) -> Result<(String, String), AgentError> {
        let r = A.with_memory(log).execute(text)?;
        Ok((r.text, r.provider))
    }
    pub fn tell(text: String) -> Result<(String, String), AgentError> {
        let s = A.with_memory(log).stream(text)?;
        let mut told = "";
        for chunk in s { told += chunk.text; }
        Ok((told, s.response().provider))
    }
    pub fn number(text: String) -> Result<(String, String), AgentError> {
        let n = A.without_tools().with_memory(log).execute_with_schema<N>(text)?.n;
        Ok(("${n}", "two"))
    }
    pub fn kept() -> Array<String> { log.messages().map(|m| m.role) }
""")
PAIRS = [
    (one, two)
    for one in ("openai-chat", "openai-responses", "anthropic", "gemini")
    for two in ("openai-responses", "anthropic", "gemini")
    if one != two
] + [("azure-chat", "bedrock"), ("bedrock", "vertex"), ("vertex", "azure-responses")]
# Who wants a state with each call; the rule.
SIGNED = {**dict.fromkeys(("anthropic", "bedrock", "vertex"), "anthropic-first"), "gemini": "gemini-signature"}
FAULTS = [429, 500, 404, "reset", "hang"]
REASONS = dict(zip(FAULTS, ["rate_limit", "server", "not_found", "connection", "timeout"], strict=True))


class Two:
    """A session on two servers; the model A asks the first one. `told` are the reasons of takeovers."""

    def __init__(self, first: str, second: str, breaker: Any = None, **options: Any) -> None:
        self.names = first, second
        self.breaker = {} if breaker is None else {"breaker": breaker}
        self.options = options
        self.told: list[str] = []
        self.looked: list[str] = []

    def __enter__(self) -> Two:
        self.one, self.two = (PROVIDERS[name][0]().__enter__() for name in self.names)
        fields = [{"api_key": "key-of-the-tests", **PROVIDERS[name][2]} for name in self.names]
        connections = {
            "one": {**fields[0], "base_url": self.one.url, **self.breaker},
            "two": {**fields[1], "base_url": self.two.url},
        }
        self.session = PROGRAM.session(connections=connections, **self.options)
        self.session.on("model:fallback", lambda payload: self.told.append(payload["reason"]))
        self.session.on("looked", self.looked.append)
        return self

    def __exit__(self, *given: object) -> None:
        self.session.__exit__(*given)
        self.one.__exit__(*given)
        self.two.__exit__(*given)

    def call(self, name: str, *given: Any) -> Any:
        return self.session.call(name, *given)

    def check(self) -> None:
        """No server's rule was broken, and the SDKs' own types know every request."""
        for name, mock in zip(self.names, (self.one, self.two), strict=True):
            assert set(mock.broken) <= {"chat-effort", *SIGNED.values()}  # which a session learns of
            assert len(mock.broken) <= 1
            for body in mock.seen:
                check_request(PROVIDERS[name][1], known(body))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", ["ask", "tell", "number"])
def test_every_fault_on_every_way(fault, way):
    with Two("openai-chat", "anthropic") as both:
        both.one.faults = [fault]
        said = both.call(way, "hello")
        assert said == (("7", "two") if way == "number" else ("echo hello", "two"))
        assert both.told == [REASONS[fault]]
        assert both.call("kept") == ["user", "assistant"]
        assert (len(both.one.seen), len(both.two.seen)) == (1, 1)
        both.check()


@pytest.mark.parametrize("way", ["ask", "tell"])
@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_rounds_that_are_done_go_on_elsewhere_and_no_state_with_them(one, two, way):
    """A round with the first provider's signed state; the second one refuses what it has not signed itself (O-1.209)."""
    with Two(one, two) as both:
        # chat completions refuse tools at the default effort once, which is asked again without being a retry
        both.one.faults = [None, None, 500] if one in ("openai-chat", "azure-chat") else [None, 500]
        text, provider = both.call(way, "weather and weather")
        assert provider == "two"
        if two in SIGNED:  # it gets the round as a text and is told to go on
            assert (text.strip(), both.looked) == ("echo (conversation contin", ["Oslo"])
            assert "-> sun in Oslo]" in json.dumps(both.two.seen[-1])
        else:
            assert "sun in Oslo, sun in Oslo" in text and both.looked == ["Oslo", "Oslo"]  # one by each model
        assert both.call("kept") == ["user", *["assistant", "tool"] * len(both.looked), "assistant"]
        sent = json.dumps(both.two.seen[0])
        assert not any(word in sent for word in ("thought_signature", "sig+of", "gAAAA", "I think about"))
        both.check()
        # the next turn goes to the first provider again: its own round in the form it signed, the other's without
        assert both.call(way, "thanks") == ("echo thanks", "one")
        both.check()


def test_what_no_model_answers_names_all():
    with Two("openai-responses", "anthropic") as both:
        both.one.faults, both.two.faults = [500], [529]
        with pytest.raises(concerto.ProgramError) as raised:
            both.call("ask", "hello")
        assert raised.value.error.message == "m-2: not now (models tried: A, B)"
        assert both.call("kept") == []


@pytest.mark.parametrize("seed", range(12))
def test_one_turn_or_none_whatever_fails(seed):
    """Random faults: a call gives an answer and one turn, or an error and none; budgets are never passed, no tool call lost."""
    chance = random.Random(seed)
    most = chance.randint(3, 14)
    with Two("openai-responses", "anthropic", budgets=concerto.Budgets(model_calls=most)) as both:
        for mock in (both.one, both.two):
            mock.faults = [chance.choice([None, None, 429, 500, 404, 400, "reset"]) for _ in range(12)]
        kept: list[str] = []
        for _ in range(6):
            way = chance.choice(["ask", "tell", "number"])
            looked = len(both.looked)
            try:
                both.call(way, chance.choice(["hello", "weather and weather"]))
            except concerto.ProgramError as failed:
                assert failed.error.kind.endswith("Error")
                assert both.call("kept") == kept
                continue
            now = both.call("kept")
            rounds = (len(both.looked) - looked) * ["assistant", "tool"]
            assert now == [*kept, "user", *rounds, "assistant"]
            kept = now
        assert len(both.one.seen) + len(both.two.seen) <= most
        assert both.session.metrics().model_calls == len(both.one.seen) + len(both.two.seen)
        both.check()


# ---------------------------------------------------------------- breakers


def test_a_breaker_is_shared_by_the_sessions_of_a_process():
    breaker = {"failures": 2, "seconds": 60}
    with Two("openai-responses", "anthropic", breaker=breaker) as both:
        url = both.one.url
        assert both.session.breakers() == {"one": concerto.Breaker("closed", 0, 0.0)}
        both.one.faults = [500, 500, 500]
        for _ in range(3):
            assert both.call("ask", "hello") == ("echo hello", "two")
        assert len(both.one.seen) == 2  # the third call was handed over at once
        assert both.told == ["server", "server", "connection"]
        found = both.session.breakers()["one"]
        assert (found.state, found.failures) == ("open", 2) and 50 < found.seconds_left <= 60
        fields = {"provider": "openai", "api_key": "k", "base_url": url, "api": "responses", "breaker": breaker}
        with PROGRAM.session(connections={"one": fields}) as other:
            assert other.breakers()["one"].state == "open"
        with PROGRAM.session(connections={"one": fields}, offline=True) as other:
            assert other.breakers()["one"].state == "closed"


def test_a_breaker_closes_after_a_trial():
    with Two("anthropic", "openai-responses", breaker={"failures": 1, "seconds": 0.05}) as both:
        both.one.faults = ["reset", 529]
        assert both.call("ask", "hello")[1] == "two"
        while both.session.breakers()["one"].state == "open":
            pass
        assert both.session.breakers()["one"].state == "trial"
        assert both.call("ask", "hello")[1] == "two"  # the trial failed
        assert both.session.breakers()["one"].failures == 2
        while both.session.breakers()["one"].state == "open":
            pass
        assert both.call("ask", "hello") == ("echo hello", "one")
        assert both.session.breakers()["one"] == concerto.Breaker("closed", 0, 0.0)


