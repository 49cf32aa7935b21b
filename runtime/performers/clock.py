"""`std::time::now`, `now_ms`: the host's wall clock (L-7.6.1, G-14.5)."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> str | int:
    now = round(run.host.wall() * 1000)
    return now if effect.payload[0] == "now_ms" else utc_text(now)


def utc_text(now_ms: int) -> str:
    """`2030-01-02T03:04:05.678Z`."""
    seconds, milliseconds = divmod(now_ms, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03}Z"
