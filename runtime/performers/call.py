"""`std::call`: the call of a model or agent in which code of the program runs (L-7.18). Must not know: who runs it."""

from __future__ import annotations

from ..call_contexts import context_around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    return context_around(effect)
