"""Lists of overlapping views of one log: what a request shows is the union of what each view shows alone, in log order (M-12.21).

`python -m tests.memory.listed_views SEED COUNT` runs so many.
"""

from __future__ import annotations

import random
import sys
import time

from concerto.runtime.memory.memories import Memories
from concerto.runtime.memory.policy import Declaration, Policy, SummaryPolicy
from concerto.runtime.memory.summaries import due_fold, store_fold
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg
from concerto.vm.values import MemoryRef

VIEWS = ("a", "b", "c", "d")
TURNS = 14
LISTS = 12  # of one log


def _policy(rng: random.Random, inner: tuple[str, Policy] | None) -> Policy:
    window = rng.choice((None, 2, 4, 7))
    low = rng.choice((None, None, 1)) if window else None
    summary = SummaryPolicy(every_turns=rng.choice((None, 2)), whole=rng.random() < 0.3) if rng.random() < 0.4 else None
    return Policy(
        roles=rng.choice((None, None, frozenset(("user", "assistant")), frozenset(("user",)), frozenset(("assistant",)))),
        window=window, window_low=low, window_turns=rng.choice((None, None, 2, 5)) if window is None else None,
        prune=rng.choice((None, None, 0.6)), pin_roles=frozenset(rng.choice(((), (), ("system",)))), pins_in_view=True,
        clip=rng.choice((None, 8)), summary=summary, only_summary=summary is not None and rng.random() < 0.2, inner=inner,
    )  # fmt: skip


def _declared(rng: random.Random) -> list[Declaration]:
    """Views of the log and of each other."""
    made = [Declaration("log", Policy(tools=True))]
    for name in VIEWS:
        inner = rng.choice([None, None, *(each for each in made[1:] if not each.policy.only_summary)])
        made.append(Declaration(name, _policy(rng, None if inner is None else (inner.name, inner.policy)), of="log"))
    return made


def _fill(rng: random.Random, memory) -> None:
    for number in range(rng.randrange(2, TURNS)):
        if rng.random() < 0.3:
            memory.append("system", f"m{memory.head().next} rule")
            continue
        at = memory.head().next
        calls = [Call(f"c{number}", "find", {})]
        said = rng.choice(("", f"m{at + 1} let me see"))
        unit = [Msg("assistant", said, calls), Msg("tool", f"m{at + 2} found a long text", (), f"c{number}")]
        unit = unit if rng.random() < 0.4 else []
        word = rng.choice(("alpha", "beta", "gamma")) * 3
        last = Msg("assistant", f"m{at + 1 + len(unit)} about {word}")
        memory.append_all([Msg("user", f"m{at} ask {word}"), *unit, last])
        for name in (name for name, policy in memory.views.items() if policy.summary is not None and rng.random() < 0.8):
            fold = due_fold(memory, name)
            if fold is not None:
                store_fold(memory, fold, f"{len(fold.entries)} more")


def lists(seed: int, count: int):
    rng = random.Random(seed)
    done = shown = empty = 0
    while done < count:
        memories = Memories(_declared(rng))
        memory = memories["log"]
        _fill(rng, memory)
        seqs = {entry.seq: entry.message for entry in memory.entries()}
        for _ in range(min(LISTS, count - done)):
            names = [rng.choice(VIEWS) for _ in range(rng.randrange(2, 5))]
            attached = [Attached(memories.at(MemoryRef(name)).memory, name) for name in names]
            alone = [set(memory.view(policy=each.policy, name=each.view)[0].seqs) for each in attached]
            run = open_run(attached, "r", [Msg("user", "now")], tools_offered=True, auto=False)
            found = [_seq_of(message, seqs) for message in run.head]
            found = [seq for seq in found if seq is not None]
            place = f"seed {seed}, list {done}: {names}"
            assert found == sorted(set(found)), f"{place} shows {found}"
            assert set(found) == set().union(*alone), f"{place} shows {found} of {alone}"
            done += 1
            shown += len(found)
            empty += not found
    return {"lists": done, "shown": shown, "of nothing": empty}


def _seq_of(message: Msg, seqs: dict[int, Msg]) -> int | None:
    """As the texts say it; a summary is of none, and a call may have no text."""
    if message.content.startswith("m"):
        return int(message.content.split()[0][1:])
    return next((seq for seq, held in seqs.items() if message is held), None)


if __name__ == "__main__":
    started = time.monotonic()
    print(lists(int(sys.argv[1]), int(sys.argv[2])), f"{time.monotonic() - started:.1f} s")
    sys.exit(0)
