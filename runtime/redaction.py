"""Values on their way to a sink, without the secrets in their texts (G-10.3).

Hands on `without_secrets`, a copy where a text changes and the value itself where none does. Must not know: sinks.
"""

from __future__ import annotations

from ..vm.panics import Panic
from ..vm.values import Array, EnumValue, Err, ErrorValue, Map, Ok, Queue, Set, Some, Stack, Struct, elements
from ..vm.values.structural import make_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .secrets import Redactor


def without_secrets(value: Any, redactor: Redactor) -> Any:
    try:
        return _cleaned(value, redactor)
    except RecursionError:
        raise Panic("P103", "value nested too deeply") from None


def _cleaned(value: Any, redactor: Redactor) -> Any:
    kind = type(value)
    if kind is str:
        return redactor.clean(value)
    if kind is Array:
        return Array([_cleaned(item, redactor) for item in value.items])
    if kind is tuple:
        return tuple([_cleaned(item, redactor) for item in value])
    if kind is Map:
        return Map({_cleaned(key, redactor): _cleaned(item, redactor) for key, item in value.items.items()})
    if kind is Set:
        return make_set(_cleaned(item, redactor) for item in elements(value))
    if kind is Queue or kind is Stack:
        return kind(type(value.items)(_cleaned(item, redactor) for item in value.items))
    if isinstance(value, Struct):
        return value.of([_cleaned(part, redactor) for part in value.values()])
    if kind in (Some, Ok, Err):
        return kind(_cleaned(value.value, redactor))
    if kind is EnumValue and value.payload is not None:
        return EnumValue(value.decl, value.variant, _cleaned(value.payload, redactor))
    if kind is ErrorValue:
        fields = {name: _cleaned(part, redactor) for name, part in value.fields.items()}
        return ErrorValue(value.family, value.variant, redactor.clean(value.message), fields)
    return value
