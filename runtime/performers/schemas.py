"""`parse_schema<T>(x)`: extraction and validation of a text, as of a reply, without a model (O-2.41)."""

from __future__ import annotations

from ..schema.extraction import extract
from ..schema.failures import schema_failure
from ..schema.json_text import JsonRefused
from ..schema.validation import Accepted, parse_violation, validate
from ..translation import failed, succeeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    name, text = effect.payload
    try:
        outcome = validate(run.schemas[name].shape, extract(text).value)
    except JsonRefused as refused:
        outcome = [parse_violation(refused.reason)]
    if isinstance(outcome, Accepted):
        return succeeded(run.builder.value(outcome.tree))
    return failed(schema_failure(outcome, text))
