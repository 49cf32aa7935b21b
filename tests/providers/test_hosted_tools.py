"""Tools that providers run themselves, through the real SDKs against servers that keep their providers' rules (O-1.213, O-1.225
to O-1.229)."""

from __future__ import annotations

import json
from typing import Any

import concerto
import pytest

from ..oracles import check_request
from .hosted_mocks import (
    FOUND,
    LEAD,
    TITLE,
    URL,
    PlainChat,
    SearchingAnthropic,
    SearchingChat,
    SearchingResponses,
    SearchingXAI,
)
from .mocks import Json, Mock

PROGRAM = concerto.compile("""
    connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    connect other { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    tool Sky {
        description: "the sky",
        @describe("the sky now") @param("city", "where")
        pub fn at(self, city: String) -> String { "sun in ${city}" }
    }
    schema N { n: Int }
    memory log: Memory = Memory::new(tools: true);
    memory short: Memory = Memory::new(3, tools: true);
    memory lasting: Memory = Memory::new(tools: true).store("durable");
    memory plain: Memory = Memory::new(20);
    memory clean: Memory = Memory::new(tools: true).redact(|text| text.replace("Oslo", "there"));
    model Other { provider: other, base: "m-2", max_tokens: 90 }
    model M {
        provider: lab, base: "m-1", max_tokens: 50, system_prompt: "Answer.", hosted: [{ type: "web_search" }], fallback: [Other],
        timeout: 5, retry_policy: { max_attempts: 1 },
    }
    model T { provider: lab, base: "m-1", tools: [Sky], hosted: [{ type: "web_search" }] }
    fn memory_of(name: String) -> Memory {
        match name { "log" => log, "short" => short, "lasting" => lasting, "clean" => clean, _ => plain }
    }
    pub fn ask(text: String, of: String) -> Result<Response, AgentError> { M.with_memory(memory_of(of)).execute(text) }
    pub fn tell(text: String, of: String) -> Result<Response, AgentError> {
        let s = M.with_memory(memory_of(of)).stream(text)?;
        let mut told = "";
        for chunk in s { told += chunk.text; }
        assert_eq(told, s.response().text);
        Ok(s.response())
    }
    pub fn set(text: String, hosted: Array<Any>) -> Result<Response, AgentError> { M.with(hosted: hosted).execute(text) }
    pub fn mixed(text: String, of: String) -> Result<Response, AgentError> { T.with_memory(memory_of(of)).execute(text) }
    pub fn mixed_told(text: String, of: String) -> Result<Response, AgentError> {
        let s = T.with_memory(memory_of(of)).stream(text)?;
        for chunk in s {}
        Ok(s.response())
    }
    pub fn number(text: String) -> Result<Int, AgentError> { Ok(M.with(structured: "tool").execute_with_schema<N>(text)?.n) }
    pub fn rounds(text: String, most: Int) -> Result<Response, AgentError> { M.with(max_tool_rounds: most).execute(text) }
    pub fn roles() -> Array<String> { let mut all: Array<String> = []; for e in log.entries() { all.push(e.role); } all }
    pub fn kept() -> String { log.dump() }
    pub fn take(text: String) -> Result<Nil, Error> { log.load(text) }
    pub fn used(way: String, text: String) -> Result<Array<Int>, AgentError> {
        if way == "ask" { ask(text, "plain")?; } else { tell(text, "plain")?; }
        Ok([std::usage::last().hosted_calls, std::usage::spent().hosted_calls, std::usage::last().attempts])
    }
""")
KEY = {"api_key": "key-of-the-tests"}
ANTHROPIC = {"provider": "anthropic"}
RESPONSES = {"provider": "openai", "api": "responses"}
CHAT = {"provider": "openai", "api": "chat"}
XAI = {"provider": "xai", "api": "responses"}
WHOLE = LEAD + FOUND
FOUND_AT = (len(LEAD), len(WHOLE))
WAYS = pytest.mark.parametrize("way", ["ask", "tell"])

SERVERS: dict[str, tuple[type[Mock], str, Json]] = {
    "anthropic": (SearchingAnthropic, "anthropic", ANTHROPIC),
    "responses": (SearchingResponses, "responses", RESPONSES),
    "chat": (SearchingChat, "chat", CHAT),
    "xai": (SearchingXAI, "responses", XAI),
}


def session_on(mock: Mock, fields: Json, other: Mock | None = None, to: Json | None = None, **options: Any) -> concerto.Session:
    second = {} if other is None else {"other": {**KEY, **(to or fields), "base_url": other.url}}
    return PROGRAM.session(connections={"lab": {**KEY, **fields, "base_url": mock.url}, **second}, **options)


def places(response: Any) -> list[tuple[str, str | None, int, int]]:
    return [(each.url, each.title, each.start, each.end) for each in response.citations]


def check(mock: Mock, wire: str) -> None:
    """No rule was broken, and the SDK's own types know every request."""
    assert mock.broken == []
    for body in mock.seen:
        check_request(wire, body)


@WAYS
@pytest.mark.parametrize("name", SERVERS)
def test_a_reply_names_its_sources(name: str, way: str) -> None:
    """O-1.225: in code points of the text, whatever the wire counts in, and the same streamed or not."""
    kind, wire, fields = SERVERS[name]
    with kind() as mock, session_on(mock, fields) as session:
        response = session.call(way, "search the weather", "plain")
        assert response.text == WHOLE
        cited = places(response)
        assert cited[0] == (URL, TITLE, *FOUND_AT) and response.text[slice(*cited[0][2:])] == FOUND
        # what reaches beyond its text ends there: on chat completions the text is one, elsewhere a part of it
        assert cited[1:] == ([] if name == "anthropic" else [(URL, TITLE, 0 if name == "chat" else len(LEAD), len(WHOLE))])
        assert session.call(way, "hello", "plain").citations == ([] if name != "chat" else response.citations)
        check(mock, wire)


NOTE = {"type": "url_citation", "url": URL, "title": TITLE, "start_index": 0, "end_index": 1}
WRONG: list[tuple[list[Any], str]] = [
    ([NOTE] * 1001, "more than 1000 parts"),
    ([{**NOTE, "title": "x" * 2**20}], "larger than"),
    ([{**NOTE, "url": None}], "has no url"),
    ([{**NOTE, "start_index": -1}], "is below 0"),
    ([{**NOTE, "end_index": "4"}], "is a text, not a number"),
    (["here"], "is a text, no object"),
]


@WAYS
@pytest.mark.parametrize(("notes", "words"), WRONG, ids=[words for _, words in WRONG])
def test_sources_that_are_none_are_no_reply(notes: list[Any], words: str, way: str) -> None:
    class Noting(SearchingResponses):
        def part(self, text: str, given: list[Json]) -> Json:
            return super().part(text, notes)

    class NotingChat(SearchingChat):
        def message(self, said: Any) -> Json:
            told = [{"type": note["type"], "url_citation": note} if isinstance(note, dict) else note for note in notes]
            return {**super().message(said), "annotations": told}

    for kind, fields in ((Noting, RESPONSES), (NotingChat, CHAT)):
        with kind() as mock, session_on(mock, fields) as session:
            with pytest.raises(concerto.ProgramError, match=words) as caught:
                session.call(way, "search once", "plain")
            assert caught.value.error.variant == "InvalidResponse"


FULL: Json = {
    "type": "web_search", "max_uses": 3, "allowed_domains": ["smhi.se"], "user_location": {"city": "Åre", "country": "SE"},
}  # fmt: skip
PLACE = {"type": "approximate", "city": "Åre", "country": "SE"}
WRITTEN: dict[str, tuple[str, list[Json], Json]] = {
    "anthropic": (
        "anthropic", [FULL],
        {"tools": [{**FULL, "type": "web_search_20250305", "name": "web_search", "user_location": PLACE}]},
    ),
    "anthropic, newer": (
        "anthropic",
        [
            {"type": "web_search", "blocked_domains": ["ads.example"], "version": "20260318"},
            {"type": "code_execution", "version": "20260521"},
        ],
        {
            "tools": [
                {"type": "web_search_20260318", "name": "web_search", "blocked_domains": ["ads.example"]},
                {"type": "code_execution_20260521", "name": "code_execution"},
            ]
        },
    ),
    "responses": (
        "responses", [{**FULL, "context_size": "low"}],
        {
            "tools": [
                {
                    "type": "web_search", "filters": {"allowed_domains": ["smhi.se"]}, "search_context_size": "low",
                    "user_location": PLACE,
                }
            ],
            "max_tool_calls": 3,
        },
    ),
    "responses, code": (
        "responses", [{"type": "web_search"}, {"type": "code_execution", "memory": "4g"}],
        {
            "tools": [
                {"type": "web_search"},
                {"type": "code_interpreter", "container": {"type": "auto", "memory_limit": "4g"}},
            ]
        },
    ),
    "chat": (
        "chat", [{"type": "web_search", "context_size": "high", "user_location": {"country": "SE"}}],
        {
            "web_search_options": {
                "search_context_size": "high",
                "user_location": {"type": "approximate", "approximate": {"country": "SE"}},
            }
        },
    ),
    "xai": (
        "xai", [{"type": "web_search", "blocked_domains": ["ads.example"], "max_uses": None}],
        {"tools": [{"type": "web_search", "filters": {"excluded_domains": ["ads.example"]}}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_what_each_wire_says(name: str) -> None:
    server, hosted, parts = WRITTEN[name]
    kind, wire, fields = SERVERS[server]
    with kind() as mock, session_on(mock, fields) as session:
        session.call("set", "hello", hosted)
        body = mock.seen[-1]
        assert mock.broken == [] and {part: body[part] for part in parts} == parts
        if server != "xai":  # OpenAI's types have no excluded domains
            check_request(wire, body)


@pytest.mark.parametrize("name", SERVERS)
def test_without_hosted_tools_nothing_of_them_is_sent(name: str) -> None:
    kind, _, fields = SERVERS[name]
    with kind() as mock, session_on(mock, fields) as session:
        session.call("set", "hello", [])
        assert not {"tools", "web_search_options", "max_tool_calls", "container"} & mock.seen[-1].keys()


# ---------------------------------------------------------------- interrupted replies


@WAYS
def test_an_interrupted_reply_goes_on(way: str) -> None:
    """O-1.226: what has come goes back as it came, once more than the mock interrupts; the whole is one reply and one entry."""
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC) as session:
        response = session.call(way, "search, and pause", "log")
        assert (response.text, response.finish, response.attempts) == (LEAD + FOUND + FOUND, "stop", 3)
        assert [place[2:] for place in places(response)] == [FOUND_AT, (len(WHOLE), len(WHOLE) + len(FOUND))]
        assert (response.tokens_out, response.tokens_in) == (75, session.metrics().tokens_in)
        sent = [body["messages"] for body in mock.seen]
        assert [message["role"] for message in sent[2]] == ["user", "assistant"]
        begun, more = sent[1][1]["content"], sent[2][1]["content"]
        assert more[: len(begun)] == begun and begun[-1]["type"] == more[-1]["type"] == "server_tool_use"
        assert begun[-1]["input"] == {"query": "weather"}
        assert session.call("roles") == ["user", "assistant"]
        check(mock, "anthropic")
        # the next call sends the whole message back, with all that is sealed
        session.call(way, "thanks", "log")
        kinds = [block["type"] for block in mock.seen[-1]["messages"][1]["content"]]
        assert kinds[2:] == ["text", *["server_tool_use", "web_search_tool_result", "text"] * 2]
        check(mock, "anthropic")


@WAYS
def test_an_interrupted_reply_takes_rounds(way: str) -> None:
    class Endless(SearchingAnthropic):
        pauses = 10**9

    with Endless() as mock, session_on(mock, ANTHROPIC) as session:
        with pytest.raises(concerto.ProgramError, match="after 10 rounds") as caught:
            session.call(way, "search, and pause", "log")
        assert caught.value.error.variant == "ToolLoopLimit" and len(mock.seen) == 11
        assert session.call("roles") == []
    refused = pytest.raises(concerto.ProgramError, match="after 1 rounds")
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC) as session, refused:
        session.call("rounds", "search, and pause", 1)
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC) as session:
        assert session.call("rounds", "search, and pause", 2).text == LEAD + FOUND + FOUND


@pytest.mark.parametrize("fault", [500, "reset"])
def test_another_model_begins_an_interrupted_reply_anew(fault: int | str) -> None:
    """The part that has come is nothing to another provider; its hosted tools are those of the call."""
    with SearchingAnthropic() as mock, SearchingResponses() as other, session_on(mock, ANTHROPIC, other, RESPONSES) as session:
        mock.faults = [None, fault]
        response = session.call("ask", "search, and pause", "log")
        assert (response.text, response.model, response.attempts) == (WHOLE, "m-2", 3)
        assert other.seen[0]["tools"] == [{"type": "web_search"}] and LEAD not in json.dumps(other.seen, ensure_ascii=False)
        assert [place[2:] for place in places(response)][0] == FOUND_AT
        check(other, "responses")


def test_a_stream_that_was_read_is_not_begun_anew() -> None:
    with SearchingAnthropic() as mock, SearchingResponses() as other, session_on(mock, ANTHROPIC, other, RESPONSES) as session:
        mock.faults = [None, 500]
        with pytest.raises(concerto.ProgramError, match="not now"):
            session.call("tell", "search, and pause", "log")
        assert other.seen == [] and session.call("roles") == []


def test_a_retry_goes_on_with_the_same_part() -> None:
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC) as session:
        mock.faults = [None, 500]
        response = session.call("mixed", "search, and pause", "log")
        assert response.text == LEAD + FOUND + FOUND and mock.seen[1] == mock.seen[2]
        check(mock, "anthropic")


# ---------------------------------------------------------------- what goes back


@pytest.mark.parametrize("way", ["mixed", "mixed_told"])
@pytest.mark.parametrize("of", ["log", "short", "plain", "clean"])
def test_tools_of_both_kinds_in_one_reply(of: str, way: str) -> None:
    """The call of the hosted tool waits for the results of the others, and its own result stands in the next message. Whatever a
    memory keeps of it, the API takes it back."""
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC) as session:
        for text in ("search both", "thanks", "search both", "weather", "search once", "thanks", "search, and pause"):
            response = session.call(way, text, of)
            assert (FOUND in response.text) == ("search" in text)
            # of a stream the text of the round before is a part of its own
            assert all(response.text[start:end] == FOUND for _, _, start, end in places(response))
            assert bool(places(response)) == ("search" in text)
        check(mock, "anthropic")
        first = mock.seen[1]["messages"]
        assert [block["type"] for block in first[1]["content"]][2:] == ["text", "server_tool_use", "tool_use"]
        assert [block["type"] for block in first[2]["content"]] == ["tool_result"]


@WAYS
def test_a_store_keeps_it_for_the_next_session(way: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SearchingAnthropic() as mock:
        with session_on(mock, ANTHROPIC) as session:
            session.call(way, "search once", "lasting")
        with session_on(mock, ANTHROPIC) as session:
            session.call(way, "thanks", "lasting")
        kinds = [block["type"] for block in mock.seen[-1]["messages"][1]["content"]]
        assert "web_search_tool_result" in kinds
        check(mock, "anthropic")


@WAYS
@pytest.mark.parametrize("name", ["responses", "xai"])
def test_items_of_hosted_tools_go_back(name: str, way: str) -> None:
    kind, wire, fields = SERVERS[name]
    with kind() as mock, session_on(mock, fields) as session:
        session.call(way, "search once", "log")
        session.call(way, "thanks", "log")
        kinds = [item.get("type") for item in mock.seen[-1]["input"]]
        assert kinds == [None, "reasoning", "web_search_call", "web_search_call", "message", None]
        check(mock, wire)


def test_a_changed_dump_is_sent_as_the_record_has_it() -> None:
    """A state that lost the result of a call, or holds other things than blocks, goes back without its blocks."""
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC) as session:
        session.call("ask", "search once", "log")
        kept = json.loads(session.call("kept"))
        state = next(part for part in kept["log"][1]["parts"] if part["kind"] == "state")
        blocks = json.loads(state["text"])
        for changed in (
            [block for block in blocks if block["type"] != "web_search_tool_result"],
            [block for block in blocks if block["type"] != "server_tool_use"],
            [{**block, "tool_use_id": ["x"]} if "tool_use_id" in block else block for block in blocks],
            [*blocks, 7, {"type": "server_tool_use"}],
        ):
            state["text"] = json.dumps(changed)
            session.call("take", json.dumps(kept))
            session.call("ask", "thanks", "log")
            sent = mock.seen[-1]["messages"][1]["content"]
            assert not any(block["type"].startswith(("server", "web")) for block in sent if isinstance(block, dict))


def test_a_container_stays_for_a_call() -> None:
    """O-1.226: the place where code runs is named while the call lasts, and not by the next one."""
    hosted = [{"type": "code_execution"}]
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC) as session:
        response = session.call("set", "code, and pause", hosted)
        assert response.text == LEAD + FOUND + FOUND
        session.call("set", "thanks", hosted)
        assert mock.containers == [None, "container_1", "container_2", None]
        check(mock, "anthropic")


# ---------------------------------------------------------------- what is not carried


CARRIED = 'the hosted tool "web_search" is not carried by'


@pytest.mark.parametrize(
    ("fields", "hosted", "words"),
    [
        ({"provider": "xai"}, FULL, f'{CARRIED} the chat API of provider `xai`; use `api: "responses"`'),
        ({"provider": "mistral"}, FULL, f"{CARRIED} provider `mistral`; it has no hosted tools; `openai`, `anthropic`, `xai`"),
        ({"provider": "groq"}, FULL, f"{CARRIED} the chat API of provider `groq`"),
        (CHAT, {"type": "code_execution"}, '"code_execution" is not carried by the chat API .* use `api: "responses"`'),
        (CHAT, FULL, '`max_uses` of the hosted tool "web_search" is not carried by the chat API'),
        (ANTHROPIC, {"type": "web_search", "context_size": "low"}, "`context_size` of the hosted tool .* `anthropic`; it takes"),
        (XAI, {"type": "web_search", "version": "20250305"}, "it takes `allowed_domains`, `blocked_domains`"),
    ],
)
def test_what_the_host_s_connection_does_not_carry_is_an_error(fields: Json, hosted: Json, words: str) -> None:
    with SearchingChat() as mock, session_on(mock, fields) as session:
        with pytest.raises(concerto.ProgramError, match=words) as caught:
            session.call("set", "search", [hosted])
        assert mock.seen == [] and caught.value.error.variant == "InvalidRequest"


def test_several_tools_have_one_limit_on_the_responses_api() -> None:
    hosted = [{"type": "web_search", "max_uses": 2}, {"type": "code_execution"}]
    with SearchingResponses() as mock, session_on(mock, RESPONSES) as session:
        with pytest.raises(concerto.ProgramError, match="`max_uses` of one of several hosted tools is not carried"):
            session.call("set", "search", hosted)
        assert mock.seen == []


def test_what_is_not_carried_may_be_dropped() -> None:
    with PlainChat() as mock, session_on(mock, {"provider": "mistral", "unsupported": "drop"}) as session:
        assert session.call("set", "hello", [FULL]).text == "echo hello"
        assert "tools" not in mock.seen[0] and "web_search_options" not in mock.seen[0]


def test_what_is_dropped_needs_no_price() -> None:
    """O-1.227: nothing is reserved for tools that are not sent."""
    limits = concerto.Budgets(cost=1.0)
    fields = {"provider": "mistral", "unsupported": "drop"}
    with PlainChat() as mock, session_on(mock, fields, pricing={"m-1": PRICES}, budgets=limits) as session:
        assert session.call("set", "hello", [FULL]).text == "echo hello"
        assert session.metrics().hosted_calls == 0


def test_a_model_that_does_not_search() -> None:
    with PlainChat() as mock, session_on(mock, CHAT) as session:
        with pytest.raises(concerto.ProgramError, match="web_search_options"):
            session.call("ask", "hello", "plain")
        assert mock.broken == ["chat-search"]
    with PlainChat() as mock, session_on(mock, {**CHAT, "unsupported": "drop"}) as session:
        assert session.call("ask", "hello", "plain").text == "echo hello"
        assert mock.broken == ["chat-search"] and "web_search_options" not in mock.seen[-1]


def test_a_schema_by_a_tool_leaves_the_search_free() -> None:
    """With a tool of the provider beside it, `respond` is not forced: else the model could not search."""
    with SearchingResponses() as mock, session_on(mock, RESPONSES) as session:
        with pytest.raises(concerto.ProgramError):
            session.call("number", "hello")
        assert mock.seen[0]["tool_choice"] == "required"
        assert [tool["type"] for tool in mock.seen[0]["tools"]] == ["web_search", "function"]


def test_the_breakpoint_of_the_tools_stands_at_the_last_one() -> None:
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC) as session:
        long = "word " * 300
        for text in (f"hello {long}", "hello again"):
            session.call("ask", text, "log")
            session.call("mixed", text, "log")
        marked = ["cache_control" in tool for body in mock.seen for tool in body["tools"]]
        assert marked == [True, False, True, True, False, True]
        check(mock, "anthropic")


# ---------------------------------------------------------------- what it costs

PRICES = {"input_per_million": 0.0, "output_per_million": 0.0}
CALLS = {"anthropic": 1, "responses": 1, "chat": 1, "xai": 3}


@WAYS
@pytest.mark.parametrize("name", SERVERS)
def test_calls_are_counted_and_priced(name: str, way: str) -> None:
    """O-1.227: as the provider tells, and where it does not, as its reply shows or its documentation says."""
    kind, _, fields = SERVERS[name]
    with kind() as mock, session_on(mock, fields, pricing={"m-1": {**PRICES, "web_search": 10.0}}) as session:
        count = CALLS[name]
        assert session.call(way, "search once", "plain").cost == pytest.approx(0.01 * count)
        metrics = session.metrics()
        assert (metrics.hosted_calls, metrics.unpriced_calls) == (count, 0)
        assert metrics.estimated_cost == pytest.approx(0.01 * count)
        assert session.call("used", way, "search once") == [count, count, 1]
    with kind() as mock, session_on(mock, fields, pricing={"m-1": PRICES}) as session:
        assert session.call(way, "search once", "plain").cost is None
        assert session.metrics().unpriced_calls == 1
        if name != "chat":  # where each request searches
            assert session.call(way, "hello", "plain").cost == 0.0


def test_code_is_counted_and_priced() -> None:
    hosted, prices = [{"type": "code_execution"}], {"m-1": {**PRICES, "code_execution": 50.0}}
    for kind, fields in ((SearchingAnthropic, ANTHROPIC), (SearchingResponses, RESPONSES)):
        with kind() as mock, session_on(mock, fields, pricing=prices) as session:
            assert session.call("set", "code once", hosted).cost == pytest.approx(0.05)
            assert session.metrics().hosted_calls == 1


@WAYS
def test_the_parts_of_an_interrupted_reply_are_counted_together(way: str) -> None:
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC, pricing={"m-1": {**PRICES, "web_search": 10.0}}) as session:
        assert session.call("used", way, "search, and pause") == [2, 2, 3]
        assert session.metrics().estimated_cost == pytest.approx(0.02)


def test_a_budget_of_cost_knows_them() -> None:
    """A request without a price for its hosted tools is not sent; one with a price reserves all that it may have run."""
    limits = concerto.Budgets(cost=0.05)
    with SearchingAnthropic() as mock:
        with session_on(mock, ANTHROPIC, pricing={"m-1": PRICES}, budgets=limits) as session:
            with pytest.raises(concerto.ProgramError, match="the hosted tool web_search of model m-1 has no price") as caught:
                session.call("ask", "search once", "plain")
            assert caught.value.error.variant == "Unpriced" and "`web_search`, for a thousand calls" in str(caught.value)
            assert session.call("set", "hello", []).cost == 0.0
        assert len(mock.seen) == 1
        prices = {"m-1": {**PRICES, "web_search": 10.0}}
        with session_on(mock, ANTHROPIC, pricing=prices, budgets=limits) as session:
            ten = "may have 10 calls of hosted tools, 10 for one without `max_uses`"
            with pytest.raises(concerto.ProgramError, match=ten) as caught:
                session.call("ask", "search once", "plain")
            assert caught.value.error.fields["wanted"] == pytest.approx(0.1)
            for _ in range(3):  # each reserves 0.03, and uses 0.01
                session.call("set", "search once", [{"type": "web_search", "max_uses": 3}])
            with pytest.raises(concerto.ProgramError, match="0.02 of 0.05 is left .* may have 3 calls of hosted tools"):
                session.call("set", "search once", [{"type": "web_search", "max_uses": 3}])


def test_a_request_that_breaks_counts_what_was_reserved() -> None:
    """G-6.4: what the provider has not told by then is what the request might have had run."""
    prices = {name: {**PRICES, "web_search": 10.0} for name in ("m-1", "m-2")}
    with SearchingAnthropic() as mock, session_on(mock, ANTHROPIC, pricing=prices) as session:
        mock.faults = ["reset"]
        with pytest.raises(concerto.ProgramError):
            session.call("set", "search", [{"type": "web_search", "max_uses": 4}])
        assert session.metrics().hosted_calls == 4 and session.metrics().estimated_cost == pytest.approx(0.04)


@pytest.mark.parametrize("count", [-1, 2.5, "many", True])
def test_a_count_that_is_none_makes_the_report_missing(count: Any) -> None:
    """G-9.7: then the blocks of the reply count."""

    class Wrong(SearchingAnthropic):
        def reply(self, said: Any, usage: Json, body: Json) -> Json:
            whole = super().reply(said, usage, body)
            whole["usage"]["server_tool_use"]["web_search_requests"] = count
            return whole

    with Wrong() as mock, session_on(mock, ANTHROPIC) as session:
        response = session.call("ask", "search once", "plain")
        assert (response.tokens_in, session.metrics().hosted_calls) == (0, 1)
        assert session.metrics().tokens_estimated > 0


# ---------------------------------------------------------------- the host


def test_citations_of_a_script_reach_the_host() -> None:
    cited = [{"url": URL, "title": TITLE, "start": 2, "end": 4}, {"url": "https://b.example"}]
    script = [{"text": "a 🌞b", "citations": cited, "hosted_calls": {"web_search": 2}}]
    with PROGRAM.session(offline_script=script) as session:
        response = session.call("ask", "hello", "plain")
        assert places(response) == [(URL, TITLE, 2, 4), ("https://b.example", None, 0, 4)]
        assert repr(response.citations[0]) == f"Citation(url={URL!r}, title={TITLE!r}, start=2, end=4)"
        assert session.metrics().hosted_calls == 2 and session.metrics().unpriced_calls == 0


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"citations": [{"title": "A"}]}, "citations does not take .*; write"),
        ({"citations": [{"url": "u", "start": 3, "end": 2}]}, "is for no part of the text, which has 4 code points"),
        ({"citations": [{"url": "u", "end": 5}]}, "is for no part of the text"),
        ({"hosted_calls": {"search": 1}}, "hosted_calls has no field search"),
        ({"hosted": ["search"]}, '"web_search", "code_execution"'),
    ],
)
def test_scripts_that_are_none(part: Json, words: str) -> None:
    with pytest.raises(ValueError, match=words), PROGRAM.session(offline_script=[{"text": "abcd", **part}]) as session:
        session.call("ask", "hello", "plain")
