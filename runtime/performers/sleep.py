"""`std::time::sleep`: a wait on the host's clock (L-7.6.2)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> None:
    (milliseconds,) = effect.payload
    if milliseconds:
        await run.host.sleep(milliseconds / 1000)
