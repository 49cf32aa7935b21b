"""`parse_schema<T>(x)`: extraction, validation and validators on a text, as on a reply, without a model (O-2.41)."""

from __future__ import annotations

from ..records import Reply
from ..schema.failures import schema_failure
from ..schema.verdict import Verdict, judge
from ..translation import failed, succeeded
from ..validators import validators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    name, text = effect.payload
    outcome = await judge(run.schemas[name], Reply(text), validators(run, effect, name))
    if isinstance(outcome, Verdict):
        return succeeded(run.builder.value(outcome.tree))
    return failed(schema_failure(outcome, text))
