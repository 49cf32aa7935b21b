"""What an answer of a server is to a program, and a program's arguments to a server (O-4.45, O-4.46).

Hands on `value_of` and `plain_arguments`. Must not know: connections.
"""

from __future__ import annotations

import json

from ...vm.values import NONE, UNSET, from_json, to_json
from ..outside_text import clean_json, clean_text
from ..schema.json_text import JsonRefused, parse_json
from ..schema.validation import Accepted, validate
from .served import ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..translation import TreeBuilder
    from .served import Answer, Signature

MOST_BYTES = 1 << 20  # of a result (G-6.1)
RESULT = "result"  # the one key under which servers wrap what is no object


def plain_arguments(signature: Signature, values: Sequence[Any]) -> dict[str, Any]:
    """JSON of the arguments; what is left out takes its default, an Option without value is left out."""
    found: dict[str, Any] = {}
    for (name, _, optional, has_default, default, _), value in zip(signature.shape[3], values, strict=True):
        if value is UNSET and has_default:
            found[name] = default
        elif value is not UNSET and not (optional and value in (NONE, None)):
            found[name] = json.loads(to_json(value))
    return found


def plain_map(arguments: Any) -> dict[str, Any]:
    """JSON of the Map that `call` was given."""
    found: dict[str, Any] = json.loads(to_json(arguments))
    return found


def value_of(answer: Answer, signature: Signature | None, builder: TreeBuilder) -> Any:
    """The value of an answer that is no failure. Raises ServerFailure where it is too large or does not fit the declared type."""
    if _is_too_large(answer):
        raise ServerFailure(f"the result is larger than {MOST_BYTES} bytes", "ExecutionFailed")
    if signature is None or signature.result[3][0][1] == ["any"]:
        return from_json(_open(answer))
    if signature.result[3][0][1] == ["string"] and (answer.texts or answer.structured is None):
        return builder.value(_accepted(signature, clean_text(answer.text)))
    return builder.value(_accepted(signature, _parsed(signature, answer)))


def _is_too_large(answer: Answer) -> bool:
    structured = "" if answer.structured is None else json.dumps(answer.structured, ensure_ascii=False)
    return len(f"{answer.text}{structured}".encode("utf-8", "surrogatepass")) > MOST_BYTES


def _open(answer: Answer) -> Any:
    """Of no declared type: text that is no JSON stays text."""
    if answer.structured is not None:
        return clean_json(answer.structured)
    try:
        return clean_json(parse_json(answer.text))
    except JsonRefused:
        return clean_text(answer.text)


def _parsed(signature: Signature, answer: Answer) -> Any:
    if answer.structured is not None:
        return clean_json(answer.structured)
    try:
        return clean_json(parse_json(answer.text))
    except JsonRefused as refused:
        raise ServerFailure(f"the result of {signature.name} is no JSON: {refused.reason}", "ExecutionFailed") from None


def _accepted(signature: Signature, value: Any) -> Any:
    """The tree of the value. A server whose result is no object gives it as `{"result": …}`: what is inside counts where the
    object itself does not fit."""
    offers = [value]
    if isinstance(value, dict) and list(value) == [RESULT]:
        offers.append(value[RESULT])
    faults: Sequence[Any] = ()
    for offer in offers:
        accepted = validate(signature.result, {"value": offer})
        if isinstance(accepted, Accepted):
            return accepted.tree[2][0][1]
        faults = faults or accepted
    listed = "\n".join(f"- {violation.text}" for violation in faults)
    raise ServerFailure(f"the result of {signature.name} does not fit its declaration:\n{listed}", "ExecutionFailed")


def failure_text(answer: Answer) -> str:
    """What the tool says of its failure."""
    if answer.texts or answer.structured is None:
        return clean_text(answer.text)
    structured: Mapping[str, Any] = answer.structured
    return to_json(from_json(clean_json(structured)))
