"""`std::date`, as far as it needs the rules of zones (L-7.15): only the host has them. No permission guards anything here.

Must not know: the rules.
"""

from __future__ import annotations

from ...vm.values import Err, ErrorValue, Ok
from ...vm.values.records import DateTime
from ..dates import OPERATIONS, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    operation, *given = effect.payload
    try:
        return Ok(DateTime.of(OPERATIONS[operation](*given)))
    except Fault as fault:
        message, fields = str(fault), {}
        if fault.source is not None:
            fields["input"] = fault.source
        if fault.at is not None:
            message += f" at character {fault.at + 1}"
            return Err(ErrorValue("DateError", fault.variant, message, {**fields, "column": fault.at + 1}))
        return Err(ErrorValue("DateError", fault.variant, message, fields))
