"""The validators a program adds to a schema, run on an accepted value (O-2.18, O-2.19).

Hands on `validators`, what `judge` takes. Must not know: attempts, replies.
"""

from __future__ import annotations

from ..vm.panics import Panic
from ..vm.values import Err, Ok, typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..vm.effects import Effect
    from .running import Running
    from .schema.verdict import Validators

REJECTED = "rejected by validator"


def validators(run: Running, effect: Effect, schema: str) -> Validators | None:
    """Those of a schema, run for the task that waits for `effect`."""
    codes = run.schemas[schema].validators
    if not codes:
        return None

    async def rejections(tree: Any) -> list[str]:
        given = [await run.call(effect, code, [run.builder.value(tree)]) for code in codes]  # each gets a value of its own
        return [message for outcome in given if (message := _rejection(outcome)) is not None]

    return rejections


def _rejection(outcome: Any) -> str | None:
    value = outcome.value if type(outcome) in (Ok, Err) else None
    if type(outcome) is Ok and type(value) is bool:
        return None if value else REJECTED
    if type(outcome) is Err and type(value) is str:
        return value
    raise Panic("P007", f"expected Result<Bool, String> of a validator, found {typeof(outcome)}")
