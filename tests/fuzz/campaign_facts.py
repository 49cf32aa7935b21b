"""Rewind, fork, erase, load and facts (M-12.28): over random histories no fact names a message that is not its own, and what is
kept, forgotten and observed is what a naive model says, in which every message is an object.
"""

from __future__ import annotations

import copy
import random
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy, Rule
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Msg

from ..memory import servers
from .campaign import Campaign, Figures

NAMES = ("a", "b", "c")
BRANCHES = ("", "x", "y", "z")
LEARNED = Rule(
    name="seen", on="turn", by=lambda one: one.data["model"], when=lambda group: len(group.members) > 1,
    store=lambda group: (len(group.members), 1.0, []),
)  # fmt: skip
MAKERS = ("append", "turn", "turn", "remember", "remember", "observed rewind", "rewind", "fork", "switch", "erase", "erase run",
          "clear", "dump", "load", "conflict", "ephemeral ends")  # fmt: skip


class Message:
    """A message, the same in all branches that copied it."""

    def __init__(self, text: str, turn: int, run: str | None) -> None:
        self.text = text
        self.turn = turn
        self.run = run


class Branch:
    """`log` by seq; `sources` of facts by (tier, name); `seen`: the messages of each observation."""

    def __init__(self) -> None:
        self.log: dict[int, Message] = {}
        self.next = self.turns = 0
        self.facts: dict[tuple[str, str], frozenset[Message]] = {}
        self.seen: list[frozenset[Message]] = []

    def add(self, texts: list[str], run: str | None) -> frozenset[Message]:
        made = [Message(text, self.turns, run) for text in texts]
        self.log.update(zip(range(self.next, self.next + len(made)), made, strict=True))
        self.next += len(made)
        self.turns += 1
        return frozenset(made)

    def remove(self, gone: set[Message]) -> None:
        self.log = {seq: one for seq, one in self.log.items() if one not in gone}
        self.facts = {name: of for name, of in self.facts.items() if not of & gone}
        self.seen = [of for of in self.seen if not of & gone]

    def copied(self, below: int | None = None, turns: int = 0) -> Branch:
        """Messages are shared, and no ephemeral fact is copied. With `below` it is as it was with these numbers of entries and
        turns."""
        made = copy.copy(self)
        made.log, made.seen = dict(self.log), list(self.seen)
        made.facts = {at: of for at, of in self.facts.items() if at[0] != "ephemeral"}
        if below is not None:
            made.remove({one for seq, one in self.log.items() if seq >= below})
            made.next, made.turns = below, turns
        return made


class History:
    """One memory and its model, which do the same."""

    def __init__(self, store: Any, rng: random.Random, key: str) -> None:
        self.rng = rng
        self.session = store if isinstance(store, VolatileStore) else VolatileStore()
        self.clock = lambda: 1_000.0
        self.policy = Policy(learn=(LEARNED,), on_conflict="Fork")
        self.main = Memory(
            self.policy, name=key, store=store, key=("app", key, ""), clock=self.clock, session=self.session
        )
        self.model = {"": Branch()}
        self.at = ""
        self.runs = 0
        self.texts = 0
        self.dumps: list[tuple[str, Branch]] = []
        self.done: list[str] = []

    @property
    def memory(self) -> Memory:
        return self.main.with_key((*self.main.key[:-1], self.at))

    @property
    def branch(self) -> Branch:
        return self.model[self.at]

    def step(self) -> None:
        made = self.rng.choice(MAKERS)
        self.done.append(f"{made}@{self.at}")
        getattr(self, made.replace(" ", "_"))()

    def _text(self) -> str:
        self.texts += 1
        return f"m{self.texts}"

    def append(self) -> None:
        text = self._text()
        self.memory.append("user", text)
        self.branch.add([text], None)

    def _begun(self) -> Any:
        self.runs += 1
        return open_run([Attached(self.memory)], f"r{self.runs}", [Msg("user", self._text())], by="M")

    def _learn(self, branch: Branch, made: frozenset[Message]) -> None:
        branch.facts = {at: of for at, of in branch.facts.items() if at[0] != "ephemeral"}
        branch.seen.append(made)
        if len(branch.seen) > 1:
            tier = "persistent" if self.main.keeps else "session"
            branch.facts[tier, "seen/M"] = frozenset().union(*branch.seen)

    def turn(self) -> None:
        run = self._begun()
        prompt, reply = run.prompt[0].content, self._text()
        run.commit(reply)
        self._learn(self.branch, self.branch.add([prompt, reply], run.run_id))

    def conflict(self) -> None:
        """A turn that comes too late goes to a branch at its snapshot."""
        run = self._begun()
        below, turns = self.branch.next, self.branch.turns
        before = self.branch
        self.append()
        self.remember()
        prompt, reply = run.prompt[0].content, self._text()
        name = f"conflict-{run.run_id}"
        snapshot = before.copied(below, turns)
        run.commit(reply)
        before.facts = {at: of for at, of in before.facts.items() if at[0] != "ephemeral"}
        if self.main.keeps:  # facts of the session are those of the log they were written beside
            snapshot.facts = {at: of for at, of in snapshot.facts.items() if at[0] == "persistent"}
        self._learn(snapshot, snapshot.add([prompt, reply], run.run_id))
        self.model[name] = snapshot

    def remember(self) -> None:
        known = sorted(self.branch.log)
        seqs = self.rng.sample(known, min(len(known), self.rng.randrange(3)))
        tiers = ["ephemeral", "session", *(["persistent"] if self.main.keeps else [])]
        name, tier = self.rng.choice(NAMES), self.rng.choice(tiers)
        facts = Facts(self.memory)
        facts.keep(facts.drafted(name, self._text(), tier=tier, seqs=seqs))
        self.branch.facts[tier, name] = frozenset(self.branch.log[seq] for seq in seqs)

    def rewind(self) -> None:
        turn = self.rng.randrange(-1, max(self.branch.turns, 1))
        self.memory.rewind(turn)
        branch = self.branch
        if turn >= branch.turns - 1:
            return
        gone = {seq: one for seq, one in branch.log.items() if one.turn > turn}
        branch.remove(set(gone.values()))
        branch.next = min(gone, default=branch.next)
        branch.turns = turn + 1

    def observed_rewind(self) -> None:
        self.rewind()
        self.append()

    def fork(self) -> None:
        name = self.rng.choice(BRANCHES[1:])
        if name in self.model:
            with pytest.raises(MemoryFailure, match="there is a branch"):
                self.memory.fork(name)
            return
        self.memory.fork(name)
        self.model[name] = self.branch.copied()

    def switch(self) -> None:
        self.at = self.rng.choice(sorted(self.model))

    def erase(self) -> None:
        known = sorted(self.branch.log)
        seqs = self.rng.sample(known, min(len(known), 1 + self.rng.randrange(2)))
        if seqs:
            self.memory.erase(seqs)
            self._gone({self.branch.log[seq] for seq in seqs})

    def erase_run(self) -> None:
        runs = sorted({one.run for one in self.branch.log.values() if one.run})
        if runs:
            run = self.rng.choice(runs)
            self.memory.erase(run=run)
            self._gone({one for one in self.branch.log.values() if one.run == run})

    def _gone(self, gone: set[Message]) -> None:
        """From every branch whose log has it; what a branch has lost before it does not know any more."""
        for held in self.model.values():
            held.remove(gone & set(held.log.values()))

    def clear(self) -> None:
        self.memory.clear()
        self.branch.log = {}

    def dump(self) -> None:
        self.dumps.append((self.memory.dump(), self.branch.copied()))

    def load(self) -> None:
        if not self.dumps:
            return
        text, held = self.rng.choice(self.dumps)
        self.memory.load(text)
        self.model[self.at] = held.copied()

    def ephemeral_ends(self) -> None:
        self.memory.end_ephemeral()
        self.branch.facts = {at: of for at, of in self.branch.facts.items() if at[0] != "ephemeral"}

    def check(self) -> None:
        for name, held in self.model.items():
            memory = self.main.with_key((*self.main.key[:-1], name))
            entries = {entry.seq: entry.message.content for entry in memory.entries()}
            assert entries == {seq: one.text for seq, one in held.log.items()}, name
            found = [*memory.session_facts(), *memory.stored_facts()]
            assert sorted((fact.tier, fact.name) for fact in found) == sorted(held.facts), name
            for fact in found:
                texts = {entries[seq] for seq in fact.seqs if seq in entries}
                of = {one.text for one in held.facts[fact.tier, fact.name]}
                assert texts <= of, f"{name}: {fact.name} of {sorted(of)} names {sorted(texts - of)}"
                assert max(fact.seqs, default=-1) < memory.head().next, f"{name}: {fact.name} names what comes later"
            assert len(memory.seen()) == len(held.seen), name


def histories(store_of: Callable[[int], Any]) -> Callable[[int, int], Figures]:
    def run(seed: int, count: int) -> Figures:
        steps = facts = 0
        for case in range(count):
            rng = random.Random(f"{seed}-{case}")
            history = History(store_of(case), rng, f"m{seed}_{case}")
            try:
                for _ in range(rng.randrange(4, 24)):
                    history.step()
                    history.check()
            except Exception as error:
                raise AssertionError(f"case {case} of seed {seed}: {' '.join(history.done)}: {error!r}") from error
            steps += len(history.done)
            facts += sum(len(held.facts) for held in history.model.values())
        return {"steps": steps, "facts at the end": facts}

    return run


def of_sqlite(seed: int, count: int) -> Figures:
    from concerto.runtime.memory.stores.sqlite import SqliteStore

    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(str(Path(folder) / "memory.db"))
        store._live().execute("PRAGMA synchronous=OFF")  # nobody pulls the plug here
        try:
            return histories(lambda case: store)(seed, count)
        finally:
            store.close()


def of_postgres(seed: int, count: int) -> Figures:
    try:
        servers.postgres_programs()
        from concerto.runtime.memory.stores.postgres import PostgresStore
    except (pytest.skip.Exception, ImportError):
        return {"servers": "none here"}
    with servers.postgres_url() as url:
        store = PostgresStore(url)
        try:
            return histories(lambda case: store)(seed, count)
        finally:
            store.close()


def of_redis(seed: int, count: int) -> Figures:
    try:
        servers.redis_server()
        from concerto.runtime.memory.stores.redis import RedisStore
    except (pytest.skip.Exception, ImportError):
        return {"servers": "none here"}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = RedisStore(stack.enter_context(servers.redis_url(folder)))
        try:
            return histories(lambda case: store)(seed, count)
        finally:
            store.close()


CAMPAIGNS = [
    Campaign("facts over histories, volatile", "M-12.28", 150, 10_000, histories(lambda case: VolatileStore())),
    Campaign("facts over histories, SQLite", "M-12.28", 30, 10_000, of_sqlite),
    Campaign("facts over histories, PostgreSQL", "M-12.28", 8, 500, of_postgres),
    Campaign("facts over histories, Redis", "M-12.28", 8, 500, of_redis),
]
