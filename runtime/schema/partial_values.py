"""Parts of a value of a schema, made of what has come of a reply (O-2.71, O-2.73).

A *Partial* of a schema has its fields, each of them `Missing` (it has not begun, cannot be shown before it is whole, or does not
fit), `Growing` with what has come of it, or `Done` with its value. Only a String, an Array and a Map can be `Growing`.

Hands on `Parts` and NOTHING to `calls/typed_streams.py`. Nothing is raised for a reply that does not fit. Each element of a list
is compared with the schema and made a value once, however often it is shown. What does not fit is not shown; that the reply is
refused is told at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ...vm.panics import Panic
from ...vm.schema import PROGRESS, is_optional, partial_key
from ...vm.values import NONE, Array, EnumValue, Map, Some, share
from .growing_json import GrowingObject
from .validation import PartValidator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.schema import Field, SchemaType
    from ..records import TreeBuilder

UNFIT = object()
NOTHING = object()  # no further element has come


class Parts:
    """What has come of one reply for the schema type `shape`. `builder` makes values of the types of the program. `fields` has
    what is known of each field by its name, `reply` the object as far as it was read."""

    __slots__ = ("reply", "fields", "_validator", "_builder", "_cls", "_progress", "_missing")

    def __init__(self, shape: SchemaType, builder: TreeBuilder) -> None:
        self.reply = GrowingObject()
        self._validator = PartValidator(shape)
        self._builder = builder
        self._cls = builder.classes[partial_key(shape[1])]
        self._progress = builder.classes[PROGRESS]
        self._missing = EnumValue(self._progress, self._progress.index["Missing"])
        self.fields = {field[0]: _FieldPart(field, shape[2]) for field in shape[3]}

    def feed(self, text: str) -> bool:
        """Take the next text of the reply; return whether that changed `reply.version`, which says when to show a new Partial."""
        before = self.reply.version
        self.reply.feed(text)
        return self.reply.version != before

    def value(self) -> Any:
        """Return a Partial of what has come so far."""
        return self._cls.of([self._field(part) for part in self.fields.values()])

    def whole(self, value: Any) -> Any:
        """Return the Partial in which every field is Done, of `value`, the accepted Struct of the whole reply."""
        return self._cls.of([self._state("Done", share(field)) for field in value.values()])

    def element(self, name: str, number: int) -> Any:
        """Return an element of the field `name`, an Array, by its number from 0; NOTHING when it is not whole yet, does not fit
        or stands behind one that does not. KeyError for a name that is no field."""
        part = self.fields[name]
        self._take_elements(part)
        return part.values[number] if number < len(part.values) else NOTHING

    # ------------------------------------------------------------ fields

    def _state(self, name: str, value: Any) -> Any:
        return EnumValue(self._progress, self._progress.index[name], (value,))

    def _field(self, part: _FieldPart) -> Any:
        if part.done is not None:
            return part.done
        name = part.name
        if name not in self.reply.members:
            if self.reply.growing == name and self.reply.grows_as_text and part.kind[0] == "string":
                return self._state("Growing", part.wrapped(self.reply.text))
            return self._missing
        if self.reply.growing == name:
            return self._growing(part)
        part.done = self._done(part)
        return part.done

    def _done(self, part: _FieldPart) -> Any:
        raw = self.reply.members[part.name]
        if raw is None and part.may_be_null:
            return self._state("Done", NONE)
        if raw is None and part.default is not None:  # null counts as absence (O-2.2)
            value = self._converted(part.kind, part.default, False)
            return self._missing if value is UNFIT else self._state("Done", part.wrapped(value))
        if part.tag in ("array", "map"):
            self._take_elements(part)
            is_sound = isinstance(raw, list if part.tag == "array" else dict) and len(part.values) == len(raw)
            return self._state("Done", part.wrapped(share(part.container()))) if is_sound else self._missing
        value = self._converted(part.kind, raw, part.coerces)
        return self._missing if value is UNFIT else self._state("Done", part.wrapped(value))

    def _growing(self, part: _FieldPart) -> Any:
        if part.tag not in ("array", "map"):
            return self._missing
        self._take_elements(part)
        return self._state("Growing", part.wrapped(part.container()))

    def _take_elements(self, part: _FieldPart) -> None:
        """Make values of the elements, or entries, that have become whole."""
        raw = self.reply.members.get(part.name)
        if not isinstance(raw, list if part.tag == "array" else dict) or part.is_unfit:
            return
        count = len(raw) - (self.reply.open_parts if self.reply.growing == part.name else 0)
        if count <= len(part.values):
            return
        # The key goes in together with its value: an entry that does not fit leaves both lists at the entries before it.
        names: Iterable[Any] = raw if isinstance(raw, dict) else range(len(raw))
        for name in list(islice(names, len(part.values), count)):
            value = self._converted(part.kind[1], raw[name], part.coerces)
            if value is UNFIT:
                part.is_unfit = True
                return
            part.keys.append(name)
            part.values.append(value)

    def _converted(self, kind: SchemaType, raw: Any, coerces: bool) -> Any:
        tree = self._validator.tree(kind, raw, coerces)
        if tree is None:
            return UNFIT
        try:
            return share(self._builder.value(tree.tree))
        except ValueError:  # a part of type Any with a number beyond Float
            return UNFIT
        except Panic as panic:
            if panic.code != "P103":
                raise
            return UNFIT  # one that nests too deeply


class _FieldPart:
    """What is known of one field. `values` are its elements, or the values of its entries, as far as they were taken; `keys` are
    their indices, or the names of the entries. `done` is its state once it has ended. `is_unfit`: an element did not fit.
    `may_be_null`: null is None; `default` stands for null in any other field that has one, None without."""

    __slots__ = ("name", "kind", "tag", "is_option", "may_be_null", "default", "coerces", "values", "keys", "done", "is_unfit")

    def __init__(self, field: Field, modes: SchemaType) -> None:
        self.name, self.kind = field[0], field[1]
        self.tag = self.kind[0]
        self.is_option = bool(field[2]) or is_optional(modes, field)
        self.default = field[4] if field[3] else None
        self.may_be_null = is_optional(modes, field) or bool(field[2]) and self.default is None
        self.coerces = "coerce" in modes
        self.values: list[Any] = []
        self.keys: list[Any] = []
        self.done: Any = None
        self.is_unfit = False

    def container(self) -> Any:
        """Return a new Array or Map of what was taken."""
        if self.tag == "array":
            return Array(list(self.values))
        return Map(dict(zip(self.keys, self.values, strict=True)))

    def wrapped(self, value: Any) -> Any:
        """Return a value as the field has it."""
        return Some(value) if self.is_option else value
