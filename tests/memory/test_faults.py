"""The laws about whole calls, with a fault at a drawn point of each: provider, tool, redactor, summariser, statement of the
store, cancellation, death of the process (M-12.6 to M-12.8, and I1, I5, I11, I18 on the way).

A call is made as programs make it, over a scripted provider and a SQLite file. Whatever happens, the log is what the acknowledged
turns make it, and what a dead process did not acknowledge is there whole or not at all.
"""

from __future__ import annotations

import asyncio
import tempfile

import pytest
from concerto.runtime.calls.call import prepare_execute, prepare_execute_with_schema
from concerto.runtime.calls.services import Services
from concerto.runtime.calls.settings import call_settings
from concerto.runtime.calls.usage import Metrics
from concerto.runtime.connections import resolve_all
from concerto.runtime.errors import CallFailure
from concerto.runtime.memory.conversation import Conversation
from concerto.runtime.memory.entries import check_units
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy, SummaryPolicy
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg, Reply, ToolDef
from concerto.runtime.schema.strategy import Schema
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from .faults import POINTS, SYSTEM, Crash, Faults, Model, Store

ANSWER = Schema("Answer", ["object", "Answer", [], [["n", ["int"], False, False, None, None]]])
FIND = ToolDef("T__find", "finds", {"type": "object", "properties": {}})
OFFLINE = resolve_all([{}])["offline"]
WAYS = [(point, kind) for point, kinds in POINTS.items() for kind in kinds]
FAULTS = st.none() | st.tuples(st.sampled_from(WAYS), st.integers(0, 3) | st.integers(4, 20))
BAD = st.sampled_from(["no JSON {0}", '{{"n": "x{0}"}}', "{{}} {0}"])
LENGTHS = st.sampled_from([0, 0, 0, 200])


def finish(work):
    """Nothing here waits for an event loop."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


class CallMachine(RuleBasedStateMachine):
    """Beside the memory a list of what each turn holds, as (role, content)."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="concerto-faults-")
        self.faults = Faults(self.folder.name)
        self.turns = []
        self.calls = 0
        self.store = None

    def teardown(self):
        if self.store is not None:  # an example may end before it starts
            self.store.close()
        self.folder.cleanup()

    @initialize(
        tools=st.booleans(), summary=st.booleans(), budget=st.sampled_from([None, 60]), redacts=st.booleans(),
        pins=st.booleans(), how=st.sampled_from(["Append", "Serial", "Reject"]), record=st.booleans(),
    )  # fmt: skip
    def start(self, tools, summary, budget, redacts, pins, how, record):
        self.policy = Policy(
            tools=tools, tokens=budget, on_conflict=how, on_failure="Record" if record else "Discard",
            window=4 if summary else None, summary=SummaryPolicy() if summary else None,
            redact=(self.redact,) if redacts else (),
        )  # fmt: skip
        self.open()
        if pins:
            self.memory.pin("user", "pinned")
            self.turns.append([("user", "pinned")])

    def open(self):
        self.store = Store(self.faults)
        self.memory = Memory(self.policy, name="chat", store=self.store)

    def redact(self, text):
        self.faults.at("redactor", ValueError("no redactor today"))
        return text

    async def summarise(self, previous, messages):
        self.faults.at("summariser", ValueError("no summariser today"))
        return f"{previous} {len(messages)}".strip()

    # ------------------------------------------------------------ calls

    @rule(fault=FAULTS, rounds=st.integers(0, 2), length=LENGTHS, chats=st.booleans())
    def ask(self, fault, rounds, length, chats):
        reply = f"reply-{self.calls}"
        self.call(fault, [*self.rounds(rounds), Reply(reply)], reply, "q" * length, rounds, chats=chats)

    @rule(fault=FAULTS, bad=st.lists(BAD, max_size=4), rounds=st.integers(0, 1), length=LENGTHS)
    def ask_for_an_answer(self, fault, bad, rounds, length):
        """A schema call whose first attempts fail, each with its own tool rounds."""
        good, script = f'{{"n": {self.calls}}}', []
        refused = [text.format(f"bad-{self.calls}-{n}") for n, text in enumerate(bad)]
        for text in refused:
            script += [*self.rounds(rounds), Reply(text)]
        script += [*self.rounds(rounds), Reply(good)]
        self.call(fault, script, good, "q" * length, rounds, refused=refused, schema=True)

    def rounds(self, count):
        return [Reply("", calls=[Call(f"c{n}a", "T__find", {}), Call(f"c{n}b", "T__find", {})]) for n in range(count)]

    def call(self, fault, script, reply, tail, rounds, *, refused=(), schema=False, chats=False):
        number, self.calls = self.calls, self.calls + 1
        prompt = f"prompt-{number}-{tail}"
        expected = [("user", prompt), *self.stored_rounds(rounds), ("assistant", reply)]
        before = self.memory.dump()
        (point, kind), left = fault or ((None, ""), 0)
        self.faults.plant(point, left, kind)
        try:
            finish(self.made(f"r{number}", script, prompt, refused, schema, chats))
        except Crash:
            self.after_a_crash(before, prompt, number)
        except (CallFailure, RuntimeError, asyncio.CancelledError) as failure:
            self.faults.none()
            self.after_a_failure(before, failure)
        else:
            self.faults.none()
            self.turns.append(expected)

    async def made(self, run_id, script, prompt, refused, schema, chats):
        model = Model(self.faults, script, prompt, refused)
        services = Services(
            provider=lambda name: model, sleep=None, random=lambda: 0.0, clock=lambda: 0.0, metrics=Metrics(), tools=model,
        )  # fmt: skip
        fields = {"base": "m", "system_prompt": SYSTEM, "structured": "native", "retry_policy": {"max_attempts": 3}}
        ours = call_settings("M", fields, {}, OFFLINE, tools=[FIND])
        conversation = Conversation(self.memory, summarise=lambda memory, view: self.summarise)
        if schema:
            commit = await prepare_execute_with_schema(services, ours, prompt, ANSWER, conversation, run_id=run_id)
        else:
            messages = [Msg("system", "only here"), Msg("user", prompt)] if chats else ()
            commit = await prepare_execute(services, ours, prompt, conversation, run_id=run_id, messages=messages)
        commit()
        await conversation.fold()

    def stored_rounds(self, count):
        if not self.policy.tools:
            return []
        one = [("assistant", ""), ("tool", "of c{0}b"), ("tool", "of c{0}a")]
        return [(role, text.format(n)) for n in range(count) for role, text in one]

    # ------------------------------------------------------------ what they leave

    def after_a_failure(self, before, failure):
        if self.faults.happened is not None and self.faults.happened[0] == "summariser":
            assert self.faults.happened[1] == "cancel"  # another fault of it fails no turn
            self.turns.append(self.last_turn())
            return
        cause = getattr(failure, "cause", "cancelled" if isinstance(failure, asyncio.CancelledError) else "")
        if self.policy.on_failure == "Record" and cause and self.memory.dump() != before:
            last = self.last_turn()
            assert last[0][0] == "user" and last[-1][0] == "assistant" and "[interrupted" in last[-1][1]
            assert self.memory.entries()[-1].origin == "host"
            self.turns.append(last)
            return
        assert self.memory.dump() == before

    def last_turn(self):
        return [(entry.role, entry.message.content) for entry in self.memory.turns(1)[0][1]]

    def after_a_crash(self, before, prompt, number):
        """The turn is there whole or not at all, and the same run again makes no second one (M-5.10)."""
        self.store.close()
        self.open()
        known = self.memory.appended(f"r{number}")
        if known:
            self.turns.append(self.last_turn())
            assert known[0].content == prompt and known[-1].role == "assistant"
        else:
            assert self.memory.dump() == before
        open_run([Attached(self.memory)], f"r{number}", [Msg("user", prompt)], tools_offered=True).commit("again")
        if not known:
            self.turns.append([("user", prompt), ("assistant", "again")])

    @rule()
    def open_again(self):
        self.store.close()
        self.open()

    # ------------------------------------------------------------ laws

    @invariant()
    def the_log_is_the_acknowledged_turns(self):
        if not hasattr(self, "memory"):
            return
        entries = self.memory.entries()
        assert [(entry.role, entry.message.content) for entry in entries] == [each for turn in self.turns for each in turn]
        check_units([entry.message for entry in entries])
        assert len({entry.turn for entry in entries}) == len(self.turns)
        head = self.memory.head()
        assert (head.length, head.turns, head.version) == (len(entries), len(self.turns), len(self.turns))

    @invariant()
    def covered_and_shown_are_all(self):
        """I11: no unit is lost between summary and window, whenever the summariser or its store failed."""
        if not hasattr(self, "memory") or self.policy.summary is None or self.policy.tokens is not None:
            return
        state = self.store.views(self.memory.key).get("")
        upto = state.upto if state is not None else -1
        try:
            shown = set(self.memory.view()[0].seqs)
        except MemoryFailure:
            return
        assert {entry.seq for entry in self.memory.entries() if entry.seq > upto} <= shown


CallMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
TestFaults = CallMachine.TestCase


@pytest.mark.parametrize(("point", "kind"), WAYS)
def test_every_point_fails_in_every_way(point, kind):
    """One after another, until the call passes fewer: a point that no call passes would show nothing."""
    left, machine = 0, CallMachine()
    machine.start(True, True, None, True, False, "Serial", False)
    while left == 0 or machine.faults.happened is not None:
        machine.call(None, [Reply("a")], "a", "", 0)
        machine.call(((point, kind), left), [*machine.rounds(1), Reply("b")], "b", "", 1)
        assert left or machine.faults.happened == (point, kind)
        machine.the_log_is_the_acknowledged_turns()
        machine.covered_and_shown_are_all()
        left += 1
    machine.teardown()
