"""Whatever a memory holds and shows, each request made from it is one that both providers take: the parameter types of their
SDKs, and the rules about roles and tool results that their servers hold to (M-12.1, M-4.17, M-4.20, O-1.103)."""

from __future__ import annotations

from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy, RecallPolicy, SummaryPolicy
from concerto.runtime.memory.remembering import Facts, Recalling
from concerto.runtime.memory.summaries import due_fold, store_fold
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.memory.views import with_lead
from concerto.runtime.providers.anthropic import Anthropic
from concerto.runtime.providers.openai import OpenAIChat, OpenAIResponses
from concerto.runtime.records import Call, Msg, Request, ToolDef
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ..oracles import check_request
from .histories import TEXTS, policies, tool_units, turns

FIND = ToolDef("find", "finds", {"type": "object", "properties": {}})
WIRES = {
    name: made(resolve("c", [{"c": fields}]), {}, Redactor())
    for name, fields, made in (
        ("chat", {"provider": "openai", "api": "chat"}, OpenAIChat),
        ("responses", {"provider": "openai"}, OpenAIResponses),
        ("anthropic", {"provider": "anthropic"}, Anthropic),
    )
}
PLACES = st.sampled_from(["System", "Prefix", "Suffix", "Prompt"])
BOUNDS = st.builds(
    lambda retain, window: Policy(retain=retain, window=window), st.none() | st.integers(2, 9), st.none() | st.integers(2, 9)
)  # which most often leave a tool unit in the request
SUMMARIES = st.none() | st.builds(SummaryPolicy, inject=PLACES, role=st.sampled_from(["System", "User"]))


@st.composite
def memories(draw):
    """A memory in a state that calls and direct writes lead to."""
    policy = draw(policies() | BOUNDS)
    recall = draw(st.none() | st.builds(RecallPolicy, inject=PLACES))
    policy = policy.replaced(summary=draw(SUMMARIES), recall=recall, clip=draw(st.none() | st.just(12)))
    memory = Memory(policy)
    for number, messages in enumerate(draw(st.lists(turns() | tool_units(), max_size=6))):
        memory.append_all(distinct(messages, f"t{number}"))
        fold = due_fold(memory)
        if fold is not None and draw(st.booleans()):
            store_fold(memory, fold, draw(TEXTS) or "a summary")
    for seq in draw(st.lists(st.integers(0, 12), max_size=2)):
        memory.set_pinned(seq, True)
    if draw(st.booleans()):
        held = Facts(memory)
        held.keep(held.drafted("fact", draw(TEXTS)))
    if memory.head().turns and draw(st.booleans()):
        memory.rewind(draw(st.integers(0, memory.head().turns - 1)))
    return memory


def distinct(messages, mark):
    """Ids of calls differ between the turns of a conversation, as those of providers do."""
    made, unit = [], 0
    for message in messages:
        unit += message.role != "tool"
        calls = [Call(f"{mark}-{unit}-{call.id}", call.name, call.arguments, call.text) for call in message.calls]
        call_id = None if message.call_id is None else f"{mark}-{unit}-{message.call_id}"
        made.append(Msg(message.role, message.content, calls, call_id, message.is_error))
    return made


@given(
    memories(), memories(), st.none() | TEXTS, TEXTS, st.sampled_from([True, True, False]), st.lists(tool_units(), max_size=2),
    st.none() | st.integers(40, 400),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_request_is_accepted(memory, other, system, prompt, offered, rounds, budget):
    attached = [Attached(memory)] if budget is None else [Attached(other), Attached(memory)]
    try:
        run = open_run(
            attached, "r", [Msg("user", prompt)], system=system, tools_offered=offered, tokens=budget, recall=Recalling(None)
        )
    except MemoryFailure as failure:
        assume(failure.variant != "Overflow")
        raise
    flying = [message for number, unit in enumerate(rounds if offered else ()) for message in distinct(unit, f"now{number}")]
    messages = [*run.head, Msg("user", with_lead(run.lead, prompt)), *flying]
    if budget is not None:
        messages = distinct_views(messages)
    for wire, provider in WIRES.items():
        request = Request(id="r", connection="c", model="m", messages=messages, tools=[FIND] if offered else [])
        arguments = provider.lower(request)
        check_request(wire, arguments)
        STRICT[wire](arguments)


def distinct_views(messages):
    """The two memories of the list were drawn apart, so their ids may meet."""
    seen, made, renamed = set(), [], {}
    for message in messages:
        if message.calls:
            renamed = {call.id: call.id if call.id not in seen else f"{call.id}-2" for call in message.calls}
            seen.update(renamed)
            calls = [Call(renamed[call.id], call.name, call.arguments, call.text) for call in message.calls]
            message = Msg(message.role, message.content, calls)
        elif message.call_id is not None:
            message = Msg(message.role, message.content, (), renamed[message.call_id], message.is_error)
        made.append(message)
    return made


# ---------------------------------------------------------------- what the servers refuse


def strict_chat(arguments):
    """Results stand right behind the assistant message whose calls they answer, each call is answered once."""
    waiting = set()
    for message in arguments["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        waiting = {call["id"] for call in message.get("tool_calls", ())}
        assert len(waiting) == len(message.get("tool_calls", ()))
        assert message["role"] in ("system", "user", "assistant")
        assert not waiting or (message["role"] == "assistant" and arguments["tools"])
        assert isinstance(message.get("content"), str) or waiting
    assert not waiting
    assert arguments["messages"][-1]["role"] in ("user", "tool")


def strict_responses(arguments):
    """An output names a call before it; each call has one output."""
    waiting, known = set(), set()
    for item in arguments["input"]:
        if item.get("type") == "function_call":
            assert item["call_id"] not in known and arguments["tools"]
            known.add(item["call_id"])
            waiting.add(item["call_id"])
        elif item.get("type") == "function_call_output":
            waiting.remove(item["call_id"])
        else:
            assert item["role"] in ("system", "user", "assistant") and not waiting
    assert not waiting


def strict_anthropic(arguments):
    """The user begins and speaks last; what one message calls, the next one answers, and only that; no text is blank."""
    waiting, known = [], set()
    for message in arguments["messages"]:
        blocks = message["content"]
        assert message["role"] in ("user", "assistant")
        if isinstance(blocks, str):
            assert blocks.strip() and not waiting
            continue
        assert blocks and all(block["type"] != "text" or block["text"].strip() for block in blocks)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(waiting)
        assert not results or (message["role"] == "user" and len(results) == len(blocks))
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert not waiting or (message["role"] == "assistant" and arguments["tools"])
        assert len({*known, *waiting}) == len(known) + len(waiting)
        known.update(waiting)
    assert not waiting
    assert arguments["messages"][0]["role"] == arguments["messages"][-1]["role"] == "user"
    assert "system" not in arguments or arguments["system"].strip()


STRICT = {"chat": strict_chat, "responses": strict_responses, "anthropic": strict_anthropic}
