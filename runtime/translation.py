"""Between values of the machine and the plain data of the runtime (L-5.1.20, O-1.106, O-1.117, O-2.12).

Hands on machine values for responses, accepted schema trees and failures, and plain data for config fields. Must not know: calls.
"""

from __future__ import annotations

from ..vm.handles import message_array
from ..vm.schema import bare_name
from ..vm.values import (
    NONE,
    Array,
    EnumValue,
    Err,
    ErrorValue,
    Map,
    Ok,
    Response,
    Some,
    Struct,
    from_json,
    unkey,
)
from .errors import CallFailure, Returned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from . import call_results


def to_plain(value: Any) -> Any:
    """Plain data of a config value: None, bool, int, float, str, list, dict; other values their type name in a TypeError."""
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, (Array, tuple)):
        return [to_plain(item) for item in (value.items if isinstance(value, Array) else value)]
    if isinstance(value, Map):
        return {unkey(key): to_plain(item) for key, item in value.items.items()}
    if isinstance(value, Some):
        return to_plain(value.value)
    if value is NONE:
        return None
    raise TypeError(type(value).__name__)


def response_value(response: call_results.Response) -> Any:
    """The record `Response` (O-1.106 ff.)."""
    value = Response.of([from_json(part) for part in response.as_json().values()])
    return value.of_run((response.run_id, tuple(message_array(response.appended).items)))


def error_value(failure: CallFailure) -> ErrorValue:
    if type(failure) is Returned:
        value: ErrorValue = failure.value
        return value
    fields = {
        name: error_value(part) if isinstance(part, CallFailure) else from_json(part) for name, part in failure.fields.items()
    }
    return ErrorValue(failure.kind, failure.variant, failure.message, fields)


def failed(failure: CallFailure) -> Err:
    return Err(error_value(failure))


def succeeded(value: Any) -> Ok:
    return Ok(value)


class TreeBuilder:
    """Makes values of accepted schema trees (schema/validation.py) with the classes of one program."""

    def __init__(self, classes: Mapping[str, Any]) -> None:
        self.classes = classes

    def value(self, node: Any) -> Any:
        if not isinstance(node, tuple):
            return node
        tag = node[0]
        if tag == "object":
            made: Struct = self.classes[bare_name(node[1])].of([self.value(part) for _, part in node[2]])
            return made
        if tag == "array":
            return Array([self.value(part) for part in node[1]])
        if tag == "map":
            return Map({key: self.value(part) for key, part in node[1]})
        if tag == "some":
            return Some(self.value(node[1]))
        if tag == "none":
            return NONE
        if tag == "enum":
            decl = self.classes[node[1]]
            return EnumValue(decl, decl.index[node[2]])
        return from_json(node[1])  # any
