"""M-14.4: recall among many facts by their words, from a memory of the session, and from a file that another handle writes too.

Words are drawn as in a language, a few very often and most rarely; a question has two rare words and three frequent ones. Facts
were last used at some time of 90 days.
"""

from __future__ import annotations

import random
import tempfile
import tracemalloc
from functools import partial
from pathlib import Path

from concerto.runtime.memory.fact_index import FactIndex
from concerto.runtime.memory.facts import Fact
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.stores.sqlite import SqliteStore

from ..execution import require
from ..figures import Figure, Target
from ..sampling import Plan, interleave

RECALL = Target("M-14.4", 20)
VOCABULARY = 20_000
QUESTIONS = 20
AGE = 90 * 86_400_000


def recall(plan: Plan) -> list[Figure]:
    """Median of questions, the index made before: it follows every `remember`."""
    sizes = (1_000, 10_000) if plan.quick else (10_000, 100_000)
    works = []
    for size in sizes:
        memory, questions = _remembered(size)
        require(_ask(memory, questions[:1]), 1)
        works.append(partial(_ask, memory, questions))
    return [
        Figure(
            f"recall_{size}", samples.median / QUESTIONS * 1e3, "ms", RECALL, spread=samples.spread,
            note=f"one of {QUESTIONS} questions among {size:,} facts",
        )
        for size, samples in zip(sizes, interleave(works, plan), strict=True)
    ]  # fmt: skip


def followed_recall(plan: Plan) -> list[Figure]:
    """A handle that has the facts of a file in its index; between two questions another one writes one of them."""
    size = 1_000 if plan.quick else 100_000
    facts, questions = _facts(size, "persistent")
    with tempfile.TemporaryDirectory(prefix="concerto-bench-") as folder:
        stores = [SqliteStore(str(Path(folder) / "memory.db")) for _ in range(2)]
        memory = Memory(name="bench", store=stores[0])
        stores[1].keep(memory.key, 0, facts, ())
        work = partial(_ask_and_write, memory, stores[1], facts, questions)
        require(work(), len(questions))
        (samples,) = interleave([work], plan)
        for store in stores:
            store.close()
    each = samples.median / QUESTIONS * 1e3
    note = f"{size:,} facts in a file: another handle writes one, this one recalls"
    return [Figure("recall_followed", each, "ms", RECALL, spread=samples.spread, note=note)]


def index_of_facts(plan: Plan) -> list[Figure]:
    """What recall looks through, beside the facts: its bytes, and the time to make it, once a process and key."""
    size = 1_000 if plan.quick else 20_000
    facts, _ = _facts(size, "session")
    require(len(FactIndex(facts)), size)
    (samples,) = interleave([partial(FactIndex, facts)], plan)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = FactIndex(facts)
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return [
        Figure("index_bytes", held / len(kept), "B", note=f"the index of a fact of 12 words, beside it, among {size:,}"),
        Figure("index_fact", samples.median / size * 1e6, "µs", spread=samples.spread, note="to index one fact"),
    ]


def _facts(size: int, tier: str) -> tuple[list[Fact], list[str]]:
    """With questions about them."""
    drawn = random.Random(size)
    words = ["".join(drawn.choice("abcdefghijklmnoprstuvw") for _ in range(drawn.randint(3, 9))) for _ in range(VOCABULARY)]

    def word(least: int) -> str:
        return words[min(least + int(drawn.paretovariate(1.0)), VOCABULARY) - 1]

    def said(count: int) -> str:
        return " ".join(word(0) for _ in range(count))

    newest = Memory().now()
    facts = [
        Fact(number, tier, f"{word(500)} {number}", said(10), accessed=drawn.randint(newest - AGE, newest))
        for number in range(size)
    ]
    return facts, [f"{word(500)} {said(3)} {word(500)}" for _ in range(QUESTIONS)]


def _remembered(size: int) -> tuple[Memory, list[str]]:
    facts, questions = _facts(size, "session")
    memory = Memory(name="bench")
    memory.session.keep(memory.key, 0, facts, ())
    return memory, questions


def _ask(memory: Memory, questions: list[str]) -> int:
    """How many were answered."""
    facts = Facts(memory)
    return sum(bool(facts.recall(question, 10)) for question in questions)


def _ask_and_write(memory: Memory, other: SqliteStore, facts: list[Fact], questions: list[str]) -> int:
    """How many were answered."""
    answered = 0
    for number, question in enumerate(questions):
        other.keep(memory.key, 0, [facts[number].changed(accessed=memory.now())], ())
        answered += bool(Facts(memory).recall(question, 10, touch=False))
    return answered
