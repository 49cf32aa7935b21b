"""The next chunk of a reply that is on its way (O-1.72 to O-1.75). Must not know: providers, how the reply was asked for."""

from __future__ import annotations

from ..streams import STREAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    stream = effect.payload
    try:
        return await run.state[STREAMS][stream.effect].next(effect)
    finally:
        stream.walked = False
