"""Which context a call was made with, for what runs within it: tools, hooks, validators, functions of the host (O-3.28).

Hands on `context_around`. Must not know: how they are run.
"""

from __future__ import annotations

from ..vm.effects import AgentCall, ModelCall
from ..vm.values import UNSET, Stream, share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..vm.effects import Effect


def context_around(effect: Effect) -> Any:
    """That of the innermost call with one: the effect itself, or what the tasks above it wait for; nil without any."""
    at, task = effect, effect.task
    while True:
        asked = at.payload if at is not None else None
        if type(asked) is Stream:  # a tool of a reply that is read piece by piece
            asked = asked.effect.payload
        if type(asked) in (ModelCall, AgentCall) and asked.context is not UNSET:
            return share(asked.context)
        task = task.parent
        if task is None:
            return None
        at = task.effect
