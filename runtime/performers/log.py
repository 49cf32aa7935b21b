"""`std::log`: a line to the host's sink, which no text can break or disguise (L-7.9.2, G-10.4)."""

from __future__ import annotations

from ...vm.bytecode.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> None:
    level, text = effect.payload
    run.host.log(level, printable(run.redactor.clean(text)))
