"""The validators a program adds to schemas, run on an accepted value and the values of schemas in it (O-2.18, O-2.19).

Hands on `validators`, what `judge` takes. Must not know: attempts, replies.
"""

from __future__ import annotations

from ..vm.panics import Panic
from ..vm.schema import objects
from ..vm.values import Err, Ok, typeof
from .schema.validation import objects_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..vm.effects import Effect
    from .running import Running
    from .schema.verdict import Validators

REJECTED = "rejected by validator"


def validators(run: Running, effect: Effect, schema: str) -> Validators | None:
    """Those of a schema and of the schemas in it, run for the task that waits for `effect`; None if there are none."""
    codes = {held.shape[1]: held.validators for held in run.schemas.values() if held.validators}
    if not any(kind[1] in codes for kind in objects(run.schemas[schema].shape)):
        return None

    async def rejections(tree: Any) -> list[tuple[str, str]]:
        found = []
        for path, part in objects_of(tree):
            for code in codes.get(part[1], ()):
                message = _rejection(await run.call(effect, code, [run.builder.value(part)]))  # each gets a value of its own
                if message is not None:
                    found.append((path, message))
        return found

    return rejections


def _rejection(outcome: Any) -> str | None:
    value = outcome.value if type(outcome) in (Ok, Err) else None
    if type(outcome) is Ok and type(value) is bool:
        return None if value else REJECTED
    if type(outcome) is Err and type(value) is str:
        return value
    raise Panic("P007", f"expected Result<Bool, String> of a validator, found {typeof(outcome)}")
