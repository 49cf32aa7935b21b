"""The algorithm of a call: requests, memory, strategies, retries, cache, log, counters (O-1.5, O-2.6, O-2.7, O-3.2)."""

import json

import pytest
from concerto.runtime.calls.call import execute, execute_with_schema
from concerto.runtime.calls.reply_cache import ReplyCache
from concerto.runtime.calls.settings import call_settings
from concerto.runtime.errors import CallFailure
from concerto.runtime.memory.conversation import Conversation
from concerto.runtime.memory.memory import Memory
from concerto.runtime.records import Msg, ToolDef
from concerto.runtime.schema.strategy import Schema

KIND = Schema("Kind", ["object", "Kind", [], [["kind", ["enum", ["bug", "task"]], False, False, None, None]]])
GOOD = '{"kind": "task"}'
BLOCK = (
    "\n\nReply with one JSON value that matches this JSON Schema, and nothing else:\n"
    '{"type":"object","properties":{"kind":{"type":"string","enum":["bug","task"]}},"required":["kind"]}'
)


def model(made, connection="offline", fields=None, decorators=None, **options):
    return call_settings("Sorter", fields or {}, decorators or {}, made.connections[connection], **options)


def contents(log):
    return [(message.role, message.content) for message in log.messages()]


def failure_of(finish, work):
    with pytest.raises(CallFailure) as raised:
        finish(work)
    return raised.value


def test_a_request_is_system_memory_prompt(bench, finish):
    made = bench(["hello"])
    log = Memory()
    log.append("system", "in the middle")
    log.append("user", "old")
    settings = model(made, fields={"system_prompt": "S"})
    response = finish(execute(made.services, settings, "new", Conversation(log), run_id="r"))
    assert made.messages() == [[("system", "S"), ("system", "in the middle"), ("user", "old"), ("user", "new")]]
    assert contents(log) == [("system", "in the middle"), ("user", "old"), ("user", "new"), ("assistant", "hello")]
    assert [(entry.turn, entry.run) for entry in log.entries()][-2:] == [(2, "r"), (2, "r")]
    assert response.text == "hello"


def test_without_memory_nothing_is_kept(bench, finish):
    made = bench()
    for prompt in ("a", "b"):
        finish(execute(made.services, model(made), prompt, run_id=prompt))
    assert made.messages() == [[("user", "a")], [("user", "b")]]


def test_manual_mode_reads_and_never_writes(bench, finish):
    made = bench()
    log = Memory()
    log.append("user", "old")
    finish(execute(made.services, model(made), "new", Conversation(log, auto=False), run_id="r"))
    assert made.messages() == [[("user", "old"), ("user", "new")]]
    assert len(log) == 1


def test_the_response(bench, finish):
    made = bench([{"text": "t", "tokens_in": 3, "tokens_out": 4, "finish": "length", "model": "real-1"}])
    response = finish(execute(made.services, model(made), "p", run_id="r"))
    assert response.as_json() == {
        "text": "t",
        "tokens_in": 3,
        "tokens_out": 4,
        "model": "real-1",
        "provider": "offline",
        "latency_ms": 0,
        "finish": "length",
        "cost": 0.0,
        "attempts": 1,
        "cached": False,
        "data": {},
        "tokens_cached": 0,
        "tokens_cache_write": 0,
        "tokens_reasoning": 0,
        "reasoning": None,
    }


def test_a_failed_call_writes_nothing(bench, finish):
    made = bench([{"error": "auth"}])
    log = Memory()
    failure = failure_of(finish, execute(made.services, model(made), "p", Conversation(log), run_id="r"))
    assert failure.variant == "AuthenticationFailed"
    assert (len(log), log.version()) == (0, 0)
    assert made.metrics.errors == 1


def test_transport_retries_send_the_same_record(bench, finish):
    made = bench([{"error": "rate_limit"}, {"error": "server"}, "done"])
    log = Memory()
    response = finish(execute(made.services, model(made), "p", Conversation(log), run_id="r"))
    assert (response.text, response.attempts) == ("done", 3)
    assert made.requests[0] is made.requests[1] is made.requests[2]
    assert made.slept == [0.5, 1.0]
    assert (made.metrics.model_calls, made.metrics.retries) == (3, 2)
    assert len(log) == 2


def test_exhausted_retries_tell_the_number(bench, finish):
    made = bench([{"error": "server"}] * 3)
    failure = failure_of(finish, execute(made.services, model(made), "p", run_id="r"))
    assert failure.message == "offline-1: scripted error: server (3 attempts)"
    assert (failure.variant, failure.fields["status"]) == ("ProviderUnavailable", 500)


def test_one_attempt_is_no_retry(bench, finish):
    made = bench([{"error": "server"}])
    settings = model(made, decorators={"retry": {"max": 1}})
    assert failure_of(finish, execute(made.services, settings, "p", run_id="r")).message == "offline-1: scripted error: server"


def test_a_wait_beyond_the_deadline_ends_the_call(bench, finish):
    made = bench([{"error": "server"}, "late"], remaining=lambda: 0.1)
    failure_of(finish, execute(made.services, model(made), "p", run_id="r"))
    assert made.slept == []


def test_the_retries_of_a_run_are_bounded(bench, finish):
    made = bench([{"error": "server"}] * 40)
    settings = model(made, decorators={"retry": {"max": 40}})
    failure_of(finish, execute(made.services, settings, "p", run_id="r"))
    assert made.metrics.retries == 10


def test_three_requests_for_two_invalid_replies(bench, finish):
    made = bench(["no json", '{"kind": "wish"}', f"Sure: {GOOD}"])
    log = Memory()
    log.append("user", "old")
    settings = model(made, fields={"system_prompt": "S"})
    call = execute_with_schema(made.services, settings, "p", KIND, Conversation(log), run_id="r", retry_message="Try.")
    accepted = finish(call)
    assert accepted.tree == ("object", "Kind", [("kind", "task")])
    assert accepted.repaired
    head = [("system", "S"), ("user", "old")]
    why = "p\n\nYour previous reply was not accepted:\n- "
    assert made.messages() == [
        [*head, ("user", "p")],
        [*head, ("user", f"{why}$: not valid JSON: no JSON object in the text\n\nTry.{BLOCK}")],
        [*head, ("user", f'{why}$.kind: expected one of "bug", "task"; got "wish"\n\nTry.{BLOCK}')],
    ]
    assert contents(log) == [("user", "old"), ("user", "p"), ("assistant", f"Sure: {GOOD}")]
    assert made.metrics.schema_retries == 2


def test_never_valid(bench, finish):
    made = bench(["no"] * 3)
    log = Memory()
    failure = failure_of(finish, execute_with_schema(made.services, model(made), "p", KIND, Conversation(log), run_id="r"))
    assert (failure.kind, failure.variant, failure.fields["attempts"]) == ("SchemaError", "MaxRetriesExceeded", 3)
    assert failure.fields["last_error"].variant == "ParseError"
    assert failure.fields["raw_response"] == "no"
    assert (len(log), log.version()) == (0, 0)
    assert len(made.requests) == 3


def test_a_cut_reply_is_named_as_such(bench, finish):
    made = bench([{"text": '{"kind": "ta', "finish": "length"}, GOOD])
    finish(execute_with_schema(made.services, model(made), "p", KIND, run_id="r"))
    assert "- $: the reply was cut off at the token limit\n" in made.messages()[1][0][1]


def test_validators_run_once_the_structure_is_accepted(bench, finish):
    made = bench(["{}", GOOD, '{"kind": "bug"}'])
    seen = []

    async def validators(tree):
        seen.append(tree)
        return [("$", "rejected by validator")] if tree[2][0][1] == "task" else []

    accepted = finish(execute_with_schema(made.services, model(made), "p", KIND, run_id="r", validators=validators))
    assert accepted.tree[2] == [("kind", "bug")]
    assert len(seen) == 2
    assert "\n- $: rejected by validator\n" in made.messages()[2][0][1]


def test_an_error_ends_the_schema_attempts(bench, finish):
    made = bench(["no", {"error": "refusal"}, GOOD])
    log = Memory()
    failure = failure_of(finish, execute_with_schema(made.services, model(made), "p", KIND, Conversation(log), run_id="r"))
    assert failure.variant == "ContentFiltered"
    assert len(made.requests) == 2 and len(log) == 0


def test_transport_retries_happen_inside_a_schema_attempt(bench, finish):
    made = bench(["no", {"error": "server"}, GOOD])
    finish(execute_with_schema(made.services, model(made), "p", KIND, run_id="r"))
    assert made.requests[1] is made.requests[2]
    assert (made.metrics.retries, made.metrics.schema_retries, made.metrics.model_calls) == (1, 1, 3)


CONNECTIONS = {
    "lab": {"provider": "custom", "base_url": "http://x", "default_model": "tiny"},
    "claude": {"provider": "anthropic", "default_model": "c"},
    "gpt": {"provider": "openai", "default_model": "g"},
}
OPEN = Schema("Open<Int>", ["object", "Open<Int>", [], [["m", ["map", ["int"]], False, False, None, None]]])


@pytest.mark.parametrize(
    ("connection", "structured", "schema", "strategy", "form"),
    [
        ("offline", None, KIND, "native", KIND.strict),
        ("gpt", None, KIND, "native", KIND.strict),
        ("gpt", None, OPEN, "native", OPEN.plain),
        ("claude", None, KIND, "native", KIND.strict),
        ("claude", None, OPEN, "tool", OPEN.plain),
        ("lab", None, KIND, "prompt", KIND.plain),
        ("lab", "native", KIND, "native", KIND.strict),
        ("gpt", "tool", KIND, "tool", KIND.plain),
        ("gpt", "prompt", KIND, "prompt", KIND.plain),
    ],
)
def test_strategies(bench, finish, connection, structured, schema, strategy, form):
    made = bench(None, CONNECTIONS)
    settings = model(made, connection, {"structured": structured})
    finish(execute_with_schema(made.services, settings, "p", schema, run_id="r"))
    request = made.requests[0]
    assert (request.schema.strategy, request.schema.json) == (strategy, form)
    assert request.schema.name == schema.name.replace("<", "_").replace(">", "_")
    assert [tool.name for tool in request.tools] == (["respond"] if strategy == "tool" else [])
    assert request.tool_choice == ({"name": "respond"} if strategy == "tool" else "auto")
    block = BLOCK if strategy == "prompt" else ""
    assert made.messages()[0] == [("user", "p" + block)]


def test_the_tool_strategy_reads_the_arguments(bench, finish):
    call = {"tool_calls": [{"tool": "respond", "arguments": {"kind": "bug"}}]}
    made = bench([call])
    log = Memory()
    settings = model(made, fields={"structured": "tool"})
    accepted = finish(execute_with_schema(made.services, settings, "p", KIND, Conversation(log), run_id="r"))
    assert accepted.tree[2] == [("kind", "bug")]
    assert contents(log) == [("user", "p"), ("assistant", '{"kind":"bug"}')]
    assert accepted.response.text == '{"kind":"bug"}'


def test_respond_is_required_beside_other_tools(bench, finish):
    made = bench([{"tool_calls": [{"tool": "respond", "arguments": {"kind": "bug"}}]}])
    settings = model(made, fields={"structured": "tool"}, tools=[ToolDef("T__a", "d", {"type": "object"})])
    finish(execute_with_schema(made.services, settings, "p", KIND, run_id="r"))
    assert made.requests[0].tool_choice == "required"
    assert [tool.name for tool in made.requests[0].tools] == ["T__a", "respond"]


def test_calls_of_tools_that_were_not_offered(bench, finish):
    made = bench([{"text": "let me", "tool_calls": [{"tool": "T.a", "arguments": {"x": 1}}]}, "done"])
    log = Memory()
    response = finish(execute(made.services, model(made), "p", Conversation(log), run_id="r"))
    assert (response.text, response.attempts) == ("done", 2)
    records = [message.as_json() for message in made.requests[1].messages]
    assert records == [
        {"role": "user", "content": "p"},
        {"role": "assistant", "content": "let me", "calls": [{"id": "call_1", "name": "T__a", "arguments": {"x": 1}}]},
        {
            "role": "tool",
            "content": '{"error":"unknown tool T__a; no tools are offered"}',
            "call_id": "call_1",
            "is_error": True,
        },
    ]
    assert contents(log) == [("user", "p"), ("assistant", "done")]
    assert made.requests[0].id != made.requests[1].id


def test_the_tool_loop_is_bounded(bench, finish):
    made = bench([{"text": f"round {n}", "tool_calls": [{"tool": "T.a"}]} for n in range(9)])
    failure = failure_of(finish, execute(made.services, model(made, fields={"max_tool_rounds": 2}), "p", run_id="r"))
    assert (failure.variant, failure.fields["rounds"], failure.fields["text"]) == ("ToolLoopLimit", 2, "round 2")
    assert len(made.requests) == 3


def test_no_rounds_at_all(bench, finish):
    made = bench([{"tool_calls": [{"tool": "T.a"}]}])
    failure = failure_of(finish, execute(made.services, model(made, fields={"max_tool_rounds": 0}), "p", run_id="r"))
    assert failure.variant == "ToolLoopLimit"


def test_a_session_may_run_tools(bench, finish):
    class Adder:
        async def run(self, settings, calls):
            return [Msg("tool", str(call.arguments["x"] + 1), call_id=call.id) for call in calls]

    made = bench([{"tool_calls": [{"tool": "T.a", "arguments": {"x": 1}}]}, "2"], tools=Adder())
    finish(execute(made.services, model(made), "p", run_id="r"))
    assert [m.content for m in made.requests[1].messages] == ["p", "", "2"]
    assert made.metrics.tool_calls == 1


def test_tool_rounds_do_not_reach_the_next_schema_attempt(bench, finish):
    made = bench([{"tool_calls": [{"tool": "T.a"}]}, "no", GOOD])
    finish(execute_with_schema(made.services, model(made), "p", KIND, run_id="r"))
    assert [len(messages) for messages in made.messages()] == [1, 3, 1]


def test_the_cache_answers_an_equal_first_request(bench, finish):
    made = bench(["one", "two", "three"])
    cache = ReplyCache({"ttl_seconds": 10}, lambda: made.now)
    settings = model(made, cache=cache)
    log = Memory()
    first = finish(execute(made.services, settings, "p", run_id="1"))
    again = finish(execute(made.services, settings, "p", run_id="2"))
    assert (first.text, first.cached, again.text, again.cached) == ("one", False, "one", True)
    assert (again.tokens_in, again.tokens_out, again.cost, again.attempts) == (0, 0, 0.0, 0)
    assert made.metrics.cache_hits == 1
    finish(execute(made.services, settings, "p", Conversation(log), run_id="3"))
    assert contents(log) == [("user", "p"), ("assistant", "one")]
    made.now = 10.5
    assert finish(execute(made.services, settings, "p", run_id="4")).text == "two"
    assert finish(execute(made.services, settings, "q", run_id="5")).text == "three"


def test_the_cache_keeps_neither_failures_nor_tool_turns(bench, finish):
    made = bench([{"error": "auth"}, {"tool_calls": [{"tool": "T.a"}]}, "x", "y", "z"])
    settings = model(made, cache=ReplyCache({}, lambda: made.now))
    failure_of(finish, execute(made.services, settings, "p", run_id="1"))
    texts = [finish(execute(made.services, settings, "p", run_id=str(n))).text for n in range(3)]
    assert texts == ["x", "y", "y"]


def test_the_cache_keeps_the_accepted_reply_of_a_schema_call(bench, finish):
    made = bench(["no", GOOD])
    settings = model(made, cache=ReplyCache({}, lambda: made.now))
    finish(execute_with_schema(made.services, settings, "p", KIND, run_id="1"))
    again = finish(execute_with_schema(made.services, settings, "p", KIND, run_id="2"))
    assert again.response.cached and again.tree[2] == [("kind", "task")]
    assert len(made.requests) == 2


def test_log(bench, finish):
    made = bench(["no", {"error": "server"}, GOOD])
    settings = model(made, decorators={"log": {}})
    finish(execute_with_schema(made.services, settings, "p", KIND, run_id="r"))
    assert [channel for channel, _ in made.emits] == ["model:log"] * 3
    rows = [payload for _, payload in made.emits]
    assert [(row["attempt"], row["schema_attempt"], row["ok"], row["text"]) for row in rows] == [
        (1, 1, True, "no"),
        (1, 2, False, None),
        (2, 2, True, GOOD),
    ]
    assert rows[1]["error"] == "offline-1: scripted error: server"
    assert list(rows[0]) == [
        "model", "connection", "method", "attempt", "schema_attempt", "ok", "prompt", "text", "error", "tokens_in",
        "tokens_out", "latency_ms",
    ]  # fmt: skip
    assert (rows[0]["method"], rows[0]["prompt"], rows[0]["error"]) == ("execute_with_schema", "p", None)


def test_counters(bench, finish):
    made = bench([{"text": "a", "tokens_in": 10, "tokens_out": 5}, {"text": "b", "tokens_in": 1, "tokens_out": 1}])
    finish(execute(made.services, model(made), "p", run_id="1"))
    finish(execute(made.services, model(made, fields={"base": "other"}), "p", run_id="2"))
    counted = made.metrics.as_json()
    assert counted["total_tokens"] == 17
    assert counted["tokens_by_model"] == {"offline-1": 15, "other": 2}
    assert counted["tokens_by_connection"] == {"offline": 17}
    assert counted["model_calls"] == 2
    json.dumps(counted)
