"""The laws of section 12 about log, view and store, over random histories and policies.

One machine holds: I1 pairing (M-12.1), I2 FIFO and I23 differential (M-12.2, M-12.23), I3 bound (M-12.3), I4 shape (M-12.4),
I5 pins (M-12.5), I7 atomic (M-12.7, with a fault at a drawn step of the store), I9 purity (M-12.9), I10 run scope (M-12.10),
I12 round trip (M-12.12), I13 isolation (M-12.13) and I15 fork and rewind (M-12.15).
"""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

import pytest
from concerto.runtime.memory.entries import check_units
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.keys import memory_key
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Msg
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from . import reference
from .histories import ROLES, TEXTS, base_forms, policies, tool_units, turns

PROMPT = "and now?"


class FaultySqlite(SqliteStore):
    """Fails at the statement `countdown` counts down to, as a full disk would."""

    countdown: int | None = None

    def _step(self):
        if self.countdown is not None:
            self.countdown -= 1
            if self.countdown < 0:
                raise sqlite3.OperationalError("database or disk is full")

    def _rows(self, statement, values=()):
        self._step()
        return super()._rows(statement, values)

    def _change(self, statement, values):
        self._step()
        return super()._change(statement, values)

    def _change_all(self, statement, rows):
        self._step()
        super()._change_all(statement, rows)


def told(entry):
    """What the model knows of an entry."""
    calls = [call.as_json() for call in entry.message.calls]
    return entry.seq, entry.turn, entry.run, entry.role, entry.message.content, calls, entry.pinned, entry.tokens


class LogMachine(RuleBasedStateMachine):
    """A memory beside a list of entries."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="concerto-laws-")
        self.model: list = []  # what the log should hold, as entries read back
        self.policy = Policy()
        self.cut = self.next = self.turns = self.version = self.runs = 0
        self.forks = 0
        self.store = None
        self.now = 1000.0

    def make_store(self):
        return VolatileStore()

    def teardown(self):
        if self.store is not None:  # an example may end before it starts
            self.store.close()
        self.folder.cleanup()

    @initialize(policy=policies())
    def start(self, policy):
        self.policy = policy
        self.store = self.make_store()
        self.memory = Memory(policy, name="chat", store=self.store, clock=lambda: self.now)
        self.other = Memory(policy, name="chat:", store=self.store, key=memory_key("", "chat:"), clock=lambda: self.now)
        self.other.append("user", "of another key")
        self.other_dump = self.other.dump()

    # ------------------------------------------------------------ writing

    def committed(self, messages, run=None, pinned=False):
        """The model after a commit of these messages as one turn."""
        made = self.made(messages, run, pinned)
        self.next += len(messages)
        self.turns += 1
        self.version += 1
        self.model = reference.retained(self.policy, [*self.model, *made], reference.newest_unit(made))
        self.cut = reference.next_cut(self.policy, self.model, self.cut, self.next)

    def made(self, messages, run, pinned):
        """The entries a commit makes, by way of a memory that keeps everything."""
        keeper = Memory(Policy(pin_roles=self.policy.pin_roles), clock=lambda: self.now)
        keeper.append_all(messages)
        entries = [entry.moved(self.next + entry.seq, self.turns) for entry in keeper.entries()]
        for entry in entries:
            entry.run = run
        return [entry.with_pinned(True) for entry in entries] if pinned else entries

    @rule(role=ROLES, text=TEXTS)
    def append(self, role, text):
        self.memory.append(role, text)
        self.committed([Msg(role, text)])

    @rule(role=ROLES, text=TEXTS)
    def pin(self, role, text):
        self.memory.pin(role, text)
        self.committed([Msg(role, text)], pinned=True)

    @rule(messages=turns())
    def append_all(self, messages):
        assert self.memory.append_all(messages) == len(self.memory)
        self.committed(messages)

    @rule(
        prompt=TEXTS, reply=TEXTS, rounds=st.lists(tool_units(), max_size=2), ends=st.sampled_from(["ok", "ok", "fails", "again"])
    )
    def run_turn(self, prompt, reply, rounds, ends):
        before = self.memory.dump()
        self.runs += 1
        run_id = f"run-{self.runs}"
        try:
            run = open_run([Attached(self.memory)], run_id, [Msg("user", prompt)], tools_offered=True)
        except MemoryFailure as failure:
            assert failure.variant == "Overflow"
            assert self.memory.dump() == before
            return
        for number, unit in enumerate(rounds):
            run.add_round(f"{unit[0].content}{number}", unit[0].calls, unit[1:])
        assert self.memory.dump() == before
        if ends == "fails":
            run.abandon("refused", reply, cause="provider")
            assert self.memory.dump() == before
            return
        appended = run.commit(reply)
        stored = appended if self.policy.tools else [appended[0], appended[-1]]
        self.committed(stored, run_id)
        held = [(entry.role, entry.message.content) for entry in self.model if entry.run == run_id]
        assert [(message.role, message.content) for message in self.memory.appended(run_id)] == held
        if ends == "again" and held:
            done = self.memory.dump()
            again = open_run([Attached(self.memory, "")], run_id, [Msg("user", prompt)]) if self.fits() else None
            if again is not None:
                again.commit(reply)
                assert self.memory.dump() == done

    def fits(self):
        pins = sum(entry.tokens for entry in self.model if entry.pinned)
        return self.policy.tokens is None or pins <= self.policy.tokens

    @rule(at=st.integers(0, 30), on=st.booleans())
    def set_pinned(self, at, on):
        present = any(entry.seq == at for entry in self.model)
        assert self.memory.set_pinned(at, on) is present
        if present:
            unit = next(unit for unit in reference.units_of(self.model) if any(entry.seq == at for entry in unit))
            seqs = {entry.seq for entry in unit}
            self.model = [entry.with_pinned(on) if entry.seq in seqs else entry for entry in self.model]
            self.version += 1

    @rule()
    def clear(self):
        self.memory.clear()
        self.model = []
        self.version += 1
        self.cut = 0

    @rule(back=st.integers(0, 4))
    def rewind(self, back):
        turn = max(self.turns - 1 - back, -1)
        removed = self.memory.rewind(turn)
        assert removed == self.turns - max(turn + 1, 0)
        if removed:
            gone = [entry.seq for entry in self.model if entry.turn > turn]
            self.model = [entry for entry in self.model if entry.turn <= turn]
            self.next = gone[0] if gone else self.next
            self.turns = max(turn + 1, 0)
            self.version += 1
            self.cut = min(self.cut, self.next)

    @rule(seqs=st.lists(st.integers(0, 30), max_size=3))
    def erase(self, seqs):
        wanted = {e.seq for unit in reference.units_of(self.model) if any(e.seq in seqs for e in unit) for e in unit}
        assert self.memory.erase(seqs) == len(wanted)
        self.model = [entry for entry in self.model if entry.seq not in wanted]
        self.version += bool(wanted)

    # ------------------------------------------------------------ forks and dumps

    @rule()
    def fork_is_independent(self):
        self.forks += 1
        before = self.memory.dump()
        copy = self.memory.fork(f"b{self.forks}")
        assert copy.dump() == before
        copy.append("user", "only there")
        assert self.memory.dump() == before
        done = copy.dump()
        with pytest.raises(MemoryFailure):
            self.memory.fork(f"b{self.forks}")
        assert self.memory.branch(f"b{self.forks}").dump() == done
        copy.erase()
        assert self.memory.branches() == []
        assert self.memory.dump() == before

    def resync(self):
        """Reads the model anew where a rule of the test itself cannot know."""
        head = self.memory.head()
        self.model = self.memory.entries()
        self.next, self.turns, self.version = head.next, head.turns, head.version
        self.cut = self.stored_cut()

    @rule()
    def round_trip(self):
        text = self.memory.dump()
        other = Memory(self.policy, name="loaded", store=self.store, key=memory_key("", "loaded"))
        other.load(text)
        assert other.dump() == text
        assert other.entries() == self.memory.entries()
        other.erase()

    @rule()
    def read_everything(self):
        before = self.memory.dump()
        self.memory.messages().append(Msg("user", "aliased"))
        self.memory.last(3)
        self.memory.turns()
        self.memory.stats()
        self.memory.summary()
        assert self.memory.dump() == before

    # ------------------------------------------------------------ laws

    def stored_cut(self):
        state = self.store.views(self.memory.key).get("")
        return state.cut if state is not None else 0

    @invariant()
    def the_log_is_the_list(self):
        if not hasattr(self, "memory"):
            return
        held = self.memory.entries()
        assert [told(entry) for entry in held] == [told(entry) for entry in self.model]
        assert [message.content for message in self.memory.messages()] == [entry.message.content for entry in self.model]
        head = self.memory.head()
        assert (head.next, head.turns, head.version) == (self.next, self.turns, self.version)
        assert (len(self.memory), head.tokens) == (len(self.model), sum(entry.tokens for entry in self.model))
        check_units([entry.message for entry in held])
        for n in (-1, 0, 1, 3, 99):
            expected = [entry.message.content for entry in self.model][len(self.model) - n if 0 < n < len(self.model) else 0 :]
            assert [message.content for message in self.memory.last(n)] == (expected if n > 0 else [])

    @invariant()
    def the_view_is_that_of_the_list(self):
        if not hasattr(self, "memory"):
            return
        tokens = reference.prompt_tokens(PROMPT)
        if not self.fits():
            with pytest.raises(MemoryFailure) as raised:
                self.memory.view(prompt_tokens=tokens)
            assert raised.value.variant == "Overflow"
            return
        made, _ = self.memory.view(prompt_tokens=tokens)
        assert self.stored_cut() == self.cut
        assert made.seqs == reference.view(self.policy, self.model, self.cut, tokens)
        check_units(made.middle())
        pinned = {entry.seq for entry in self.model if entry.pinned}
        assert pinned <= set(made.seqs)
        if self.policy.tokens is not None and set(made.seqs) - pinned:
            assert made.tokens + tokens <= self.policy.tokens

    @invariant()
    def another_key_is_untouched(self):
        if hasattr(self, "memory"):
            assert self.other.dump() == self.other_dump


class BaseFormMachine(LogMachine):
    """The same without steps, which random policies rarely are."""

    @initialize(policy=base_forms())
    def start(self, policy):
        super().start(policy)


class DurableMachine(LogMachine):
    """The same over SQLite, with other handles and faults."""

    def make_store(self):
        return FaultySqlite(str(Path(self.folder.name) / "memory.db"))

    @rule()
    def open_again(self):
        self.store.close()
        self.store = self.make_store()
        self.memory = Memory(self.policy, name="chat", store=self.store, clock=lambda: self.now)
        self.other = Memory(self.policy, name="chat:", store=self.store, key=memory_key("", "chat:"), clock=lambda: self.now)

    @rule(
        messages=turns(), step=st.integers(0, 12), how=st.sampled_from(["append_all", "turn", "clear", "rewind", "load", "erase"])
    )
    def fails_at_a_step(self, messages, step, how):
        before = self.memory.dump()
        works = {
            "append_all": lambda: self.memory.append_all(messages),
            "turn": lambda: open_run([Attached(self.memory)], "failing", [Msg("user", "q")]).commit("a"),
            "clear": self.memory.clear,
            "rewind": lambda: self.memory.rewind(0),
            "load": lambda: self.memory.load(before),
            "erase": lambda: self.memory.erase([entry.seq for entry in self.model[:1]]),
        }
        self.store.countdown = step
        try:
            works[how]()
        except MemoryFailure as failure:
            self.store.countdown = None
            assert failure.variant in ("Store", "Overflow")
            assert self.memory.dump() == before
            return
        finally:
            self.store.countdown = None
        self.resync()


def test_what_is_stored_is_not_told_to_have_failed(tmp_path):
    """Nothing is read after the commit of `append_all`: the disk fills up at each of its statements in turn."""
    for step in range(20):
        store = FaultySqlite(str(tmp_path / f"{step}.db"))
        memory = Memory(Policy(), name="chat", store=store)
        store.countdown = step
        try:
            told = memory.append_all([Msg("user", "a"), Msg("assistant", "b")])
        except MemoryFailure:
            told = 0
        store.countdown = None
        assert told == len(memory)
        store.close()
    assert told == 2


SETTINGS = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "stateful_step_count": 30,
}
LogMachine.TestCase.settings = settings(max_examples=40, **SETTINGS)
BaseFormMachine.TestCase.settings = settings(max_examples=20, **SETTINGS)
DurableMachine.TestCase.settings = settings(max_examples=8, **SETTINGS)
TestVolatile = LogMachine.TestCase
TestBaseForm = BaseFormMachine.TestCase
TestSqlite = DurableMachine.TestCase
