"""A redaction that is declared over what was stored without it (M-8.27, M-8.28, M-12.30)."""

from __future__ import annotations

import asyncio

import pytest
from concerto.runtime.memory import redaction
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy, RecallPolicy, SummaryPolicy
from concerto.runtime.memory.redaction import pii
from concerto.runtime.memory.remembering import Facts, Recalling
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.runtime.memory.summaries import refresh
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KEY = ("app", "m", "")
SECRET, HIDDEN = "mail ada@example.org now", "mail [redacted:email] now"


class Counting:
    """A redactor that gives of what it gave something else again, so that a second time shows."""

    def __init__(self, mark="one"):
        self.mark = mark
        self.asked = []

    def __call__(self, text):
        self.asked.append(text)
        return f"<{text}>" if text else text


class Ticking:
    seconds = 1_000.0

    def __call__(self):
        self.seconds += 1
        return self.seconds


TIME = Ticking()


def memory_of(store, *redact, **policy):
    return Memory(Policy(redact=redact, **policy), name="m", store=store, key=KEY, clock=TIME)


def sent(memory, prompt="q"):
    """The texts of a request, which then commits."""
    run_id, asked = f"r{memory.version()}", [Msg("user", prompt)]
    run = open_run([Attached(memory)], run_id, asked, recall=Recalling(None), tools_offered=True)
    head = [message.content for message in run.head]
    calls = [call.arguments for message in run.head for call in message.calls or ()]
    run.commit("reply")
    return head, calls


def test_entries_of_before_are_rewritten_once_and_those_of_now_never(store):
    call = Call("c", "f", {"q": "b"})
    memory_of(store).append_all([Msg("user", "a"), Msg("assistant", "", (call,)), Msg("tool", "d", (), "c")])
    redact = Counting()
    later = memory_of(store, redact)
    assert sent(later) == (["<a>", "", "<d>"], [{"q": "<b>"}])
    redact.asked.clear()
    assert sent(later)[0] == ["<a>", "", "<d>", "<q>", "<reply>"]
    assert redact.asked == ["q", "reply"], "what was shown before, or written under it, costs nothing"
    assert [entry.content for entry in later.messages()][:1] == ["a"], "what is stored stays"
    another = memory_of(store, Counting("two"))
    assert sent(another)[0][:1] == ["<a>"] and "<<q>>" in sent(another)[0]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([Msg("user", "a")], [Msg("system", "a")]),
        (
            [Msg("assistant", "", (Call("c", "f", {}),)), Msg("tool", "d", (), "c")],
            [Msg("assistant", "", (Call("e", "f", {}),)), Msg("tool", "d", (), "e")],
        ),
        (
            [Msg("assistant", "", (Call("c", "f", {}),)), Msg("tool", "d", (), "c")],
            [Msg("assistant", "", (Call("c", "f", {}),)), Msg("tool", "d", (), "c", True)],
        ),
    ],
)
def test_a_load_shows_the_messages_that_it_brings(store, before, now):
    """With the texts and numbers of those before, but of another role, of other calls, or failed."""
    other = Memory(Policy(), name="m", store=store, key=("app", "other", ""), clock=TIME)
    other.append_all(now)
    memory_of(store).append_all(before)
    later = memory_of(store, Counting())

    def head():
        run = open_run([Attached(later)], "r", [Msg("user", "q")], recall=Recalling(None), tools_offered=True)
        return [(message.role, message.call_id, message.is_error, [call.id for call in message.calls]) for message in run.head]

    shown = head()
    later.load(other.dump())
    assert head() == [(message.role, message.call_id, message.is_error, [call.id for call in message.calls]) for message in now]
    assert head() != shown


def test_a_rewind_and_a_clear_forget_what_was_before(store):
    memory_of(store).append("user", "a")
    later = memory_of(store, Counting())
    later.append("user", "b")
    later.rewind(-1)
    later.append("user", "c")
    assert sent(later)[0] == ["<c>"]
    later.clear()
    later.append("user", "d")
    assert sent(later)[0] == ["<d>"]
    assert sent(memory_of(store, Counting()).fork("x"))[0][:1] == ["<d>"]


def test_facts_and_summaries_of_before(store):
    before = memory_of(store, recall=RecallPolicy(k=3), summary=SummaryPolicy(every_turns=1, by=("host", "s")))
    facts = Facts(before)
    facts.keep(facts.drafted("contact", {"mail": "ada@example.org"}))
    before.append("user", SECRET)

    async def summarise(previous, entries):
        folded.append((previous, [entry.message.content for entry in entries]))
        return f"{previous}|{entries[0].message.content}"

    folded: list = []
    asyncio.run(refresh(before, "", summarise))
    later = memory_of(store, pii, recall=RecallPolicy(k=3), summary=SummaryPolicy(every_turns=1, by=("host", "s")))
    head, _ = sent(later, "contact mail")
    text = "\n".join(head)
    assert "ada@example.org" not in text and "[summary] |" + HIDDEN in text and '- contact: {"mail":"[redacted:email]"}' in text
    asyncio.run(refresh(later, "", summarise))
    assert folded[1][0] == "|" + HIDDEN
    assert [held.content for held in later.kept_facts()] == [{"mail": "ada@example.org"}]


def test_a_redactor_that_fails_sends_nothing(store):
    memory_of(store).append("user", "a")

    def fails(text):
        raise ValueError("no")

    with pytest.raises(MemoryFailure, match="nothing was sent") as raised:
        memory_of(store, fails).view()
    assert raised.value.variant == "Redaction"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(["plain", "later", "rewind", "pin", "window"]), min_size=1, max_size=10))
def test_no_request_holds_what_is_rewritten(steps, open_store):
    """M-12.30: whoever wrote what, in whatever order."""
    store = open_store()
    plain, later = memory_of(store), memory_of(store, pii, window=3)
    marked = False
    for number, step in enumerate(steps):
        if step == "plain" and not marked:  # from then on all programs that write the key declare it (M-8.28)
            plain.append("user", f"{SECRET} {number}")
        elif step == "pin" and not marked:
            plain.pin("system", f"{SECRET} {number}")
        elif step == "rewind":
            later.rewind(max(-1, number - 3))
        else:
            marked = True
            later.append("user", f"{SECRET} {number}")
        shown = [message.content for message in later.view()[0].messages("q")]
        assert not any("ada@" in text for text in shown)


def test_a_view_of_many_entries_is_rewritten_once_and_the_room_for_it_is_bounded(monkeypatch):
    monkeypatch.setattr(redaction, "KEPT_TEXTS", 4)
    store, redactor = VolatileStore(), Counting()
    keys = [("app", "m", str(number), "") for number in range(6)]
    for key in keys:
        Memory(Policy(), name="m", store=store, key=key).append_all([Msg("user", f"x{n}") for n in range(10)])
    policy = Policy(redact=(redactor,), window=9)
    memories = [Memory(policy, name="m", store=store, key=key) for key in keys]
    for _ in range(3):
        assert len(memories[0].view()[0].window) == 9
    assert len(redactor.asked) == len(set(redactor.asked)) <= 10
    for memory in memories * 3:
        memory.view()
        assert len(policy.shown._newer) + len(policy.shown._older) <= 4 * 10
