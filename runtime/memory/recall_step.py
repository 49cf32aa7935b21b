"""The step `recall`: the facts a run shows for its prompt, and their access when its turn commits (M-10.15).

Hands on `Recalling`, and `recalled_for` for a view. Must not know: how facts are ranked, where the text is placed.
"""

from __future__ import annotations

from .facts import TRUST, content_text
from .remembering import MESSAGES, Facts
from .tokens import count_text
from .views import Recalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .facts import Fact
    from .memory import Memory
    from .turns import Attached
    from .views import View


def recalled_for(
    element: Attached, prompt: str, task: Any, by: str | None = None, beside: Sequence[Attached] = ()
) -> Recalled | None:
    """Nothing is touched yet. `by`: who is shown them; `beside`: the other elements of its list. What may stand in the system
    message comes from the program and its user only."""
    step = element.policy.recall
    if step is None:
        return None
    trusted = TRUST[:2] if step.inject == "System" else TRUST
    facts = Facts(element.memory, task, by)
    shown = _shown(element, beside, prompt) if step.tiers is not None and MESSAGES in step.tiers else frozenset()
    found = facts.recall(
        prompt, step.k, step.tiers, step.min_confidence, touch=False, half_life=step.half_life, trusted=trusted, shown=shown
    )
    lines = [(hit.score, _line(*shown_fact(element.memory, hit.fact))) for hit in found]
    return Recalled(step.inject, lines, [hit.fact for hit in found], facts.degraded)


def shown_fact(memory: Memory, fact: Fact) -> tuple[str, Any]:
    """Name and content as they may go to a model: the redaction of now, whenever they were stored (M-8.27)."""
    if not memory.policy.redact:
        return fact.name, fact.content
    from .older_text import json_shown

    return json_shown(memory.policy, fact.name), json_shown(memory.policy, fact.content)


def _shown(element: Attached, beside: Sequence[Attached], prompt: str) -> frozenset[int]:
    """The messages of the log that the request shows where no fact takes their room (M-10.40)."""
    seqs: set[int] = set()
    for one in (element, *beside):
        if one.memory == element.memory:
            view, _ = one.memory.view(prompt_tokens=count_text(prompt), policy=one.policy, name=one.view)
            seqs.update(entry.seq for entry in view.entries)
    return frozenset(seqs)


def _line(name: str, content: Any) -> str:
    """One line, whatever they hold: a fact cannot pass for two."""
    return " ".join(f"- {name}: {content_text(content)}".split("\n")).replace("\r", " ")


def count_access(memory: Memory, recalled: Recalled, view: View, task: Any) -> None:
    """Of those a limit of tokens left in the request."""
    if view.facts or recalled.degraded:
        Facts(memory, task).recalled(recalled.facts[: view.facts], recalled.degraded)


class Recalling:
    """The recall steps of a call, for the task that makes it and the model it asks."""

    __slots__ = ("task", "by", "attached")

    def __init__(self, task: Any, by: str | None = None, attached: Sequence[Attached] = ()) -> None:
        self.task = task
        self.by = by
        self.attached = attached

    def find(self, element: Attached, prompt: str) -> Recalled | None:
        return recalled_for(element, prompt, self.task, self.by, self.attached)

    def count(self, element: Attached, recalled: Recalled, view: View) -> None:
        count_access(element.memory, recalled, view, self.task)
