"""Laws of the retry rule over arbitrary scripts (O-2.47 to O-2.53, M-5.2 to M-5.6)."""

import json

from concerto.runtime.calls.call import execute_with_schema
from concerto.runtime.calls.settings import call_settings
from concerto.runtime.errors import CallFailure
from concerto.runtime.memory.conversation import Conversation
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.schema.strategy import Schema
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Bench, finish

ANSWER = Schema("Answer", ["object", "Answer", [], [["n", ["int"], False, False, None, None]]])

GOOD = st.sampled_from(['{"n": 1}', 'so: {"n": 2}', '```json\n{"n": 3,}\n```'])
BAD = st.sampled_from(["", "no", "{}", '{"n": "x"}', "{" * 50, '{"n": 1.5}', "[1]"]) | st.text("abc{}", max_size=30)
FAULT = st.sampled_from([{"error": "rate_limit"}, {"error": "server"}, {"error": "timeout"}])
TOOL_ROUND = st.just({"text": "using a tool", "tool_calls": [{"tool": "T.a", "arguments": {"x": 1}}]})
STRATEGY = st.sampled_from(["native", "prompt", "tool"])
HISTORY = st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text(max_size=10)), max_size=5)


def ask(script, history, strategy, *, auto=True, attached=True, bound=None, retry_message=None):
    made = Bench(script, {})
    log = Memory(Policy(retain=bound))
    for role, text in history:
        log.append(role, text)
    before = [message.as_json() for message in log.messages()], log.version()
    fields = {"structured": strategy, "system_prompt": "S", "retry_policy": {"max_attempts": 4}}
    model = call_settings("M", fields, {}, made.connections["offline"])
    conversation = Conversation(log, auto) if attached else None
    work = execute_with_schema(made.services, model, "the prompt", ANSWER, conversation, run_id="r", retry_message=retry_message)
    try:
        return made, log, before, finish(work), None
    except CallFailure as failure:
        return made, log, before, None, failure


@given(st.lists(st.one_of(BAD, FAULT, TOOL_ROUND), max_size=8), GOOD, HISTORY, STRATEGY)
@settings(max_examples=150)
def test_memory_is_byte_identical_in_every_attempt(script, good, history, strategy):
    made, log, before, validated, failure = ask([*script, good], history, strategy)
    heads = {json.dumps([m.as_json() for m in r.messages[: 1 + len(history)]]) for r in made.requests}
    assert len(heads) == 1
    assert json.loads(heads.pop()) == [{"role": "system", "content": "S"}, *before[0]]
    for request in made.requests:
        if request.messages[-1].role == "tool":  # a later round of the attempt before
            continue
        assert len(request.messages) == 2 + len(history)
        assert request.messages[-1].content.startswith("the prompt")


@given(st.lists(BAD, min_size=1, max_size=3), GOOD, HISTORY, STRATEGY, st.integers(1, 5) | st.none())
@settings(max_examples=150)
def test_success_appends_exactly_one_turn(bad, good, history, strategy, bound):
    made, log, before, validated, failure = ask([*bad, good], history, strategy, bound=bound)
    assert failure is None
    turn = [("user", "the prompt"), ("assistant", validated.response.text)]
    whole = [*history, *turn]
    assert [(m.role, m.content) for m in log.messages()] == (whole if bound is None else whole[-bound:])
    assert log.version() == before[1] + 1


@given(st.lists(st.sampled_from(["no", "{}", '{"n": []}']), min_size=4, max_size=4), HISTORY, STRATEGY)
def test_all_attempts_failing_leaves_the_memory_untouched(bad, history, strategy):
    made, log, before, validated, failure = ask(bad, history, strategy)
    assert failure.variant == "MaxRetriesExceeded"
    assert ([message.as_json() for message in log.messages()], log.version()) == before
    assert len(made.requests) == 4


@given(st.integers(0, 3), STRATEGY, HISTORY)
def test_requests_do_not_grow_with_the_attempts(bad, strategy, history):
    """Equal violations give equal requests, however many attempts there were before."""
    made, *_ = ask(["no"] * bad + ['{"n": 1}'], history, strategy, retry_message="Only JSON.")
    sizes = [len(json.dumps([m.as_json() for m in request.messages])) for request in made.requests]
    assert len(sizes) == bad + 1
    assert len(set(sizes[1:])) <= 1
    rewritten = {request.messages[-1].content for request in made.requests[1:]}
    assert len(rewritten) <= 1


@given(st.lists(BAD, max_size=3), GOOD, STRATEGY)
def test_the_same_with_and_without_memory(bad, good, strategy):
    with_memory = ask([*bad, good], [], strategy)
    without = ask([*bad, good], [], strategy, attached=False)
    manual = ask([*bad, good], [], strategy, auto=False)
    assert with_memory[0].messages() == without[0].messages() == manual[0].messages()
    assert len(without[1]) == len(manual[1]) == 0
    assert with_memory[3].tree == without[3].tree == manual[3].tree


def test_no_later_request_holds_an_earlier_reply():
    made, *_ = ask(["FIRST", "SECOND", '{"n": "THIRD"}', '{"n": 1}'], [], "native")
    for request in made.requests:
        sent = json.dumps([m.as_json() for m in request.messages])
        assert "FIRST" not in sent and "SECOND" not in sent and "THIRD" not in sent
    assert "expected Int" in made.requests[3].messages[-1].content
    assert "expected Int" not in made.requests[2].messages[-1].content


def test_request_size_after_three_bad_replies():
    """V-8.10: with a memory of ordinary size, at most 1.6 times the first request."""
    history = [("user", "a question of ordinary length, with some detail"), ("assistant", "an answer " * 5)] * 10
    made, *_ = ask(["no", "{}", '{"n": []}', '{"n": 1}'], history, "native")
    sizes = [len(json.dumps(request.as_json())) for request in made.requests]
    assert sizes[3] / sizes[0] <= 1.6
