"""M-14.4: recall among many facts by their words, from a memory of the session.

Words are drawn as in a language, a few very often and most rarely; a question has two rare words and three frequent ones. Facts
were last used at some time of 90 days.
"""

from __future__ import annotations

import random
from functools import partial

from concerto.runtime.memory.facts import Fact
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.remembering import Facts

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


def _remembered(size: int) -> tuple[Memory, list[str]]:
    drawn = random.Random(size)
    words = ["".join(drawn.choice("abcdefghijklmnoprstuvw") for _ in range(drawn.randint(3, 9))) for _ in range(VOCABULARY)]

    def word(least: int) -> str:
        return words[min(least + int(drawn.paretovariate(1.0)), VOCABULARY) - 1]

    def said(count: int) -> str:
        return " ".join(word(0) for _ in range(count))

    memory = Memory(name="bench")
    oldest, newest = memory.now() - AGE, memory.now()
    facts = [
        Fact(number, "session", f"{word(500)} {number}", said(10), accessed=drawn.randint(oldest, newest))
        for number in range(size)
    ]
    memory.session.keep(memory.key, 0, facts, ())
    return memory, [f"{word(500)} {said(3)} {word(500)}" for _ in range(QUESTIONS)]


def _ask(memory: Memory, questions: list[str]) -> int:
    """How many were answered."""
    facts = Facts(memory)
    return sum(bool(facts.recall(question, 10)) for question in questions)
