"""Random trees of tasks with random latencies, against a calculation of what must come of them (O-6.2 to O-6.16, V-6.5)."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .runs import Run


@dataclass
class Ended:
    """What a tree gives: when, its value, and the calls whose turns are kept, with their times."""

    at: int
    value: str
    turns: list[tuple[int, str]]


@dataclass
class Call:
    milliseconds: int
    name: str = ""

    def text(self) -> str:
        return f'said(M.execute("{self.name} {self.milliseconds}"))'

    def end(self, start: int) -> Ended:
        at = start + self.milliseconds
        return Ended(at, self.name, [(at, self.name)])


@dataclass
class Sequence:
    parts: list

    def text(self) -> str:
        return "(" + " + ".join(part.text() for part in self.parts) + ")"

    def end(self, start: int) -> Ended:
        ended, at = [], start
        for part in self.parts:
            ended.append(part.end(at))
            at = ended[-1].at
        return Ended(at, "".join(e.value for e in ended), [turn for e in ended for turn in e.turns])


@dataclass
class Both:
    parts: list

    def text(self) -> str:
        return f"all(await ({', '.join(part.text() for part in self.parts)},))"

    def end(self, start: int) -> Ended:
        ended = [part.end(start) for part in self.parts]
        return Ended(max(e.at for e in ended), "".join(e.value for e in ended), [turn for e in ended for turn in e.turns])


@dataclass
class Race:
    parts: list

    def text(self) -> str:
        return f"race({', '.join(part.text() for part in self.parts)})"

    def end(self, start: int) -> Ended:
        ended = [part.end(start) for part in self.parts]
        first = min(ended, key=lambda e: e.at)
        return Ended(first.at, first.value, [turn for e in ended for turn in e.turns if turn[0] <= first.at])


@dataclass
class Each:
    calls: list
    limit: int

    def text(self) -> str:
        prompts = ", ".join(f'"{call.name} {call.milliseconds}"' for call in self.calls)
        return f"all(parallel for q in [{prompts}] limit {self.limit} {{ said(M.execute(q)) }})"

    def end(self, start: int) -> Ended:
        free, ended = [start] * self.limit, []
        for call in self.calls:
            ended.append(call.end(heappop(free)))
            heappush(free, ended[-1].at)
        return Ended(max(e.at for e in ended), "".join(e.value for e in ended), [turn for e in ended for turn in e.turns])


calls = st.builds(Call, st.integers(1, 10**6))
several = st.lists(calls, min_size=1, max_size=4)
trees = st.recursive(
    calls | st.builds(Each, several, st.integers(1, 3)),
    lambda inner: st.one_of(*[st.builds(kind, st.lists(inner, min_size=1, max_size=3)) for kind in (Sequence, Both, Race)]),
    max_leaves=8,
)

HEAD = """
memory log: Memory = Memory::new();
model M { provider: openai, base: "m", memory: log }
fn said(r: Result<Response, AgentError>) -> String { let text = r.unwrap().text; emit("said", text); text }
fn all(parts: Any) -> String { let mut text = ""; for part in parts { text = text + part; } text }
"""


def name_calls(tree) -> list[Call]:
    found, pending = [], [tree]
    while pending:
        node = pending.pop(0)
        if isinstance(node, Call):
            node.name = f"c{len(found)}."
            found.append(node)
        pending += getattr(node, "parts", None) or getattr(node, "calls", [])
    return found


@settings(max_examples=60, deadline=None)
@given(trees, st.booleans())
def test_random_trees(tree, asyncio: bool) -> None:
    named = name_calls(tree)
    expected = tree.end(0)
    times = [at for at, _ in expected.turns]
    assume(len(set(times)) == len(times))  # ties are for the programs of the suite
    run = Run(f'{HEAD} fn main() {{ emit("value", {tree.text()}); }}', asyncio=asyncio)
    outcome = run.finish()
    assert outcome.panic is None
    kept = [name for _, name in sorted(expected.turns)]
    assert run.emits == [*(("said", name) for name in kept), ("value", expected.value)]
    assert run.log == kept
    assert len(run.session.memories["log"].messages()) == 2 * len(kept)  # of a loser not even the question
    assert len(run.slow.asked) <= len(named)
    machine = run.session.machine
    assert not machine.roots and machine.at_work == 0 and not run.session.work


@settings(max_examples=20, deadline=None)
@given(trees)
def test_keys_do_not_depend_on_latencies(tree) -> None:
    """Which calls are made may depend on them; a call that is made has the same key."""
    keys = []
    for factor in (1, -1):
        named = name_calls(tree)
        for call in named:
            call.milliseconds = call.milliseconds if factor > 0 else 10**6 + 1 - call.milliseconds
        run = Run(f'{HEAD} fn main() {{ emit("value", {tree.text()}); }}')
        seen: dict[str, str] = {}
        keys.append(seen)
        suspend = run.session.machine.suspend

        def noted(task, kind, payload, suspend=suspend, seen=seen, machine=run.session.machine):
            suspend(task, kind, payload)
            if kind == "model":
                seen[payload.prompt.split()[0]] = machine.effects[-1].key

        run.session.machine.suspend = noted
        run.finish()
    first, second = keys
    assert first and len(set(first.values())) == len(first)
    assert {name: first[name] for name in first.keys() & second.keys()} == {
        name: second[name] for name in first.keys() & second.keys()
    }
