"""Values on their way to a sink, without the secrets in their texts (G-10.3).

Hands on `without_secrets`, a copy where a text changes and the value itself where none does. Must not know: sinks.
"""

from __future__ import annotations

from ..vm.panics import Panic
from ..vm.values import Array, EnumValue, Err, ErrorValue, Map, Ok, Queue, Set, Some, Stack, Struct, elements
from ..vm.values.metering import LARGE, look
from ..vm.values.sharing import PLAIN
from ..vm.values.structural import make_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .secrets import Redactor


def without_secrets(value: Any, redactor: Redactor) -> Any:
    try:
        return _Cleaner(redactor).cleaned(value)
    except RecursionError:
        raise Panic("P103", "value nested too deeply") from None


class _Cleaner:
    """One walk; what a value holds many times is cleaned once."""

    __slots__ = ("redactor", "known")

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self.known: dict[int, Any] = {}

    def cleaned(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return self.redactor.clean(value)
        if kind in PLAIN:
            return value
        found = self.known.get(id(value))
        if found is None:
            if len(self.known) % LARGE == 0:
                look()
            found = self.known[id(value)] = self.whole(value, kind)
        return found

    def whole(self, value: Any, kind: Any) -> Any:
        clean = self.cleaned
        if kind is Array:
            return Array([clean(item) for item in value.items])
        if kind is tuple:
            return tuple([clean(item) for item in value])
        if kind is Map:
            return Map({clean(key): clean(item) for key, item in value.items.items()})
        if kind is Set:
            return make_set(clean(item) for item in elements(value))
        if kind is Queue or kind is Stack:
            return kind(type(value.items)(clean(item) for item in value.items))
        if isinstance(value, Struct):
            return value.of([clean(part) for part in value.values()])
        if kind in (Some, Ok, Err):
            return kind(clean(value.value))
        if kind is EnumValue and value.payload is not None:
            return EnumValue(value.decl, value.variant, clean(value.payload))
        if kind is ErrorValue:
            fields = {name: clean(part) for name, part in value.fields.items()}
            return ErrorValue(value.family, value.variant, self.redactor.clean(value.message), fields)
        return value
