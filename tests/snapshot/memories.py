"""What is done to memories between snapshots, and a program with memories of every kind."""

from __future__ import annotations

from typing import Any

from concerto.runtime.memory.facts import Observation, next_number
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.remembering import Facts, observe
from concerto.runtime.memory.summaries import due_fold, store_fold
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg

from .programs import Run, program_of

PROGRAM = program_of("""
    fn short(before: String, new: Array<Message>) -> String { "short" }
    memory plain: Memory = Memory::new();
    memory bounded: Memory = Memory::new(4);
    memory kept: Memory = Memory::new(6, tools: true).per(user).pin([System]);
    memory cut: Memory = Memory::new().window(4, low: 2);
    memory folded: Memory = Memory::new(5).window(2).summary(short);
    fn main() { }
""")
MEMORIES = ("plain", "bounded", "ada", "bob", "cut", "folded")


def idle() -> Any:
    return Run(PROGRAM, lambda session: None).session


def memory(session: Any, name: str) -> Any:
    return session.memories["kept"].key(user=name) if name in ("ada", "bob") else session.memories[name]


def run_turn(memory: Any, run: str, tools: bool) -> None:
    made = open_run([Attached(memory)], run, [Msg("user", f"asked in {run}")], tools_offered=tools)
    if tools:
        made.add_round("looks", [Call("c", "find", {"q": 1})], [Msg("tool", "found", (), "c")])
    made.commit(f"said in {run}", tokens_in=3, tokens_out=4)


def fold(memory: Any) -> None:
    due = due_fold(memory, "")
    if due is not None:
        store_fold(memory, due, "in short")


def remember(memory: Any, name: str, tier: str, task: Any = None) -> None:
    facts = Facts(memory, task)
    facts.keep(facts.drafted(name, {"n": name}, tier=tier))


def fork(memory: Any, name: str) -> None:
    try:
        made = memory.fork(name)
    except MemoryFailure as failure:
        assert failure.variant == "Exists"
        made = memory.branch(name)
    made.append("user", "in a branch")
    made.erase(run="r1")


def load(memory: Any) -> None:
    memory.load(memory.dump())


def at(memory: Any, n: int) -> int:
    """The number of an entry that is there."""
    found = memory.entries()
    return int(found[n % len(found)].seq) if found else 0


def observe_of(memory: Any, n: int) -> None:
    """An observation that an entry gave rise to, which leaves with it."""
    number = next_number([one for one in memory.seen() if one.topic == "u"])
    memory.session.keep(memory.key, 5, [], [], [Observation("u", number, {"n": n}, [at(memory, n)], "user")])


DEEDS: dict[str, Any] = {
    "append": lambda m, n: m.append("user", f"text {n}"),
    "append many": lambda m, n: [m.append("assistant", f"{n}.{i}") for i in range(n)],
    "pin": lambda m, n: m.pin("user", f"pinned {n}"),
    "turn": lambda m, n: run_turn(m, f"r{n}", False),
    "turn with tools": lambda m, n: run_turn(m, f"t{n}", True),
    "set pinned": lambda m, n: m.set_pinned(at(m, n), n % 3 > 0),
    "rewind": lambda m, n: m.rewind(max(m.head().turns - 2 - n % 3, -1)),
    "erase seqs": lambda m, n: m.erase([at(m, n)]),
    "erase run": lambda m, n: m.erase(run=f"r{n}"),
    "erase": lambda m, n: m.erase(),
    "clear": lambda m, n: m.clear(),
    "fold": lambda m, n: fold(m),
    "load": lambda m, n: load(m),
    "fork": lambda m, n: fork(m, f"b{n % 3}"),
    "remember": lambda m, n: remember(m, f"f{n % 4}", "session"),
    "ephemeral": lambda m, n: remember(m, f"f{n % 4}", "ephemeral", "0"),
    "forget": lambda m, n: Facts(m, "0").forget(f"f{n % 4}"),
    "access": lambda m, n: Facts(m, "0").fact(f"f{n % 4}"),
    "observe": lambda m, n: observe(Facts(m), "t", {"n": n}),
    "observe of": observe_of,
}
