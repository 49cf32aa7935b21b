"""Structs, enums, Results and Options, cells and closures: the values with a declaration or a wrapped value (V-5.4, L-6.9).

Hands on `StructType` and `make_struct_class` (one slotted Python class per declared type) with its base `Struct`, the built-in
record types and their table `RECORDS`, `EnumType`, `Variant` and `EnumValue`, `Cell` and `Closure`, `Some`, `NONE` with its class
`NoneOption`, `Ok` and `Err`, and the type `Way`, to all of `vm/` and, mostly through the package `vm/values`, to the compiler,
the runtime and the rooms above it, which make and read such values. Fields of a struct are slots `f0`, `f1`, … in declaration
order, so code that knows the type reads them by position; code that knows only the name asks `StructType.index`. Copy on write is
in `containers.py`, equality, display and casts in files of their own, and nothing here checks that a value fits its type. A
record is a struct type of the language's own; a new one is a `_record` that RECORDS has too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, ClassVar, Final

    from .media import Content
    from .types import Descriptor


class StructType:
    """The declaration behind a struct class.

    `key` names the type in descriptors and is unique in a program; `name` is what programs see. `kind` is "struct", "schema" or
    "record" (a built-in one). `types` holds a descriptor per field for deep casts, empty when nobody asks. `hidden` fields are
    left out of Display and JSON while they hold nil, 0 or an empty Array. `is_error`: has `impl Error`. `index` has the position
    of each field, from 0. `host` is for whoever embeds the program, None until then; the machine never looks at it.
    """

    __slots__ = ("name", "key", "fields", "kind", "types", "hidden", "is_error", "index", "host")

    def __init__(
        self,
        name: str,
        fields: Iterable[str],
        kind: str = "struct",
        *,
        key: str = "",
        types: tuple[Any, ...] = (),
        hidden: tuple[str, ...] = (),
        is_error: bool = False,
    ) -> None:
        self.name = name
        self.key = key or name
        self.fields = tuple(fields)
        self.kind = kind
        self.types = types
        self.hidden = frozenset(hidden)
        self.is_error = is_error
        self.index = {field: position for position, field in enumerate(self.fields)}
        self.host: Any = None


class Struct:
    """Base of every generated struct class."""

    __slots__ = ("shared",)
    decl: ClassVar[StructType]
    type_name: ClassVar[str]

    shared: bool

    @classmethod
    def of(cls, values: Iterable[Any]) -> Any:
        """Return a new value with `values` in field order, one for each field. Raises TypeError for another number of them."""
        return cls(*values)

    def values(self) -> tuple[Any, ...]:
        """Return the field values in order. Each generated class has its own, faster one."""
        return tuple(getattr(self, slot) for slot in self.__class__.__slots__)

    def copied(self, share: Callable[[Any], Any], plain: frozenset[Any]) -> Any:
        """Return a copy of one level; values of no kind in `plain` are shared between both. Each generated class has its own,
        faster one."""
        return type(self)(*[value if type(value) in plain else share(value) for value in self.values()])

    def get(self, field: str) -> Any:
        """Return the value of `field`, nil for a field that the type lacks (L-3.7.1)."""
        position = self.decl.index.get(field)
        return None if position is None else getattr(self, f"f{position}")

    def __repr__(self) -> str:
        return f"{self.type_name}{self.values()!r}"


_CONSTRUCTORS: dict[int, tuple[Any, Any, Any]] = {}


def _constructors(count: int) -> tuple[Any, Any, Any]:
    """Return `__init__`, `values` and `copied` for a class of `count` fields. They are compiled once per count: plain stores
    to attributes are the fastest that Python has."""
    if count not in _CONSTRUCTORS:
        slots = [f"f{i}" for i in range(count)]
        stores = "".join(f"\n    self.{slot} = {slot}" for slot in slots)
        source = f"def __init__(self, {', '.join(slots)}):\n    self.shared = False{stores}\n"
        source += f"def values(self):\n    return ({''.join(f'self.{slot}, ' for slot in slots)})\n"
        source += "def copied(self, share, plain):\n    other = new(type(self))\n    other.shared = False\n"
        for slot in slots:
            source += f"    value = other.{slot} = self.{slot}\n    if type(value) not in plain:\n        share(value)\n"
        source += "    return other\n"
        namespace: dict[str, Any] = {"new": object.__new__}
        exec(source, namespace)
        _CONSTRUCTORS[count] = (namespace["__init__"], namespace["values"], namespace["copied"])
    return _CONSTRUCTORS[count]


def make_struct_class(struct_type: StructType) -> type[Any]:
    """Return a new Python class, a subclass of Struct, whose instances are the values of `struct_type`; its constructor takes the
    fields by position, in order."""
    count = len(struct_type.fields)
    init, values, copied = _constructors(count)
    body = {
        "__slots__": tuple(f"f{i}" for i in range(count)),
        "__init__": init,
        "values": values,
        "copied": copied,
        "decl": struct_type,
        "type_name": struct_type.name,
    }
    return type(struct_type.name, (Struct,), body)


def _record(name: str, fields: dict[str, Descriptor], hidden: tuple[str, ...] = ()) -> type[Any]:
    """Return the class of a record with these fields, by name their types; `hidden` is as in `StructType`."""
    return make_struct_class(StructType(name, fields, "record", types=tuple(fields.values()), hidden=hidden))


_INT: Descriptor = ("int",)
_STRING: Descriptor = ("string",)
_BOOL: Descriptor = ("bool",)
_ANY_MAP: Descriptor = ("map", _STRING, ("any",))

# Records: the fields and their types (descriptors of `types.py`) in order. Times such as `at` are milliseconds since 1970,
# positions such as `start` count code points from 0, and an `end` is behind the last one.

Citation = _record("Citation", {"url": _STRING, "title": ("nilable", _STRING), "start": _INT, "end": _INT})

# Fields of Response in the order of O-1.106 to O-1.115, then of O-1.221, O-1.217 and O-1.225.
_Answer: Any = _record(
    "Response",
    {
        "text": _STRING, "tokens_in": _INT, "tokens_out": _INT, "model": _STRING, "provider": _STRING,
        "latency_ms": _INT, "finish": _STRING, "cost": ("nilable", ("float",)), "attempts": _INT, "cached": _BOOL,
        "data": _ANY_MAP, "tokens_cached": _INT, "tokens_cache_write": _INT, "tokens_reasoning": _INT,
        "reasoning": ("nilable", _STRING), "citations": ("array", ("struct", "Citation")),
    },
    hidden=("tokens_cached", "tokens_cache_write", "tokens_reasoning", "reasoning", "citations"),
)  # fmt: skip


class Response(_Answer):  # type: ignore[misc]
    """A reply of a model. `run`: id and messages of the run that it came from (M-5.22); they are no fields, so that they
    appear in no Display and no JSON."""

    __slots__ = ("run",)

    def __init__(self, *fields: Any) -> None:
        super().__init__(*fields)
        self.run: tuple[str, tuple[Any, ...]] = ("", ())

    def of_run(self, run: tuple[str, tuple[Any, ...]]) -> Response:
        """Set the run, and return this value."""
        self.run = run
        return self


_Described: Any = _record(
    "Media", {"kind": _STRING, "mime": _STRING, "bytes": _INT, "hash": _STRING, "name": ("nilable", _STRING)}
)  # fmt: skip


class Media(_Described):  # type: ignore[misc]
    """A picture, sound or document (O-1.200). `content` is a `media.Content`, no field: programs do not read it, it is in no
    Display and no JSON, and it counts where a field was changed. None in a Media that was read from JSON."""

    __slots__ = ("content",)

    def __init__(self, *fields: Any) -> None:
        super().__init__(*fields)
        self.content: Content | None = None

    @classmethod
    def holding(cls, content: Content, name: str | None) -> Media:
        """Return the Media of a content; of a link its address is the name."""
        media = cls(content.kind, content.mime, content.size, content.hash, content.url or name)
        media.content = content
        return media

    def copied(self, share: Callable[[Any], Any], plain: frozenset[Any]) -> Any:
        copy = super().copied(share, plain)
        copy.content = self.content
        return copy


_MESSAGE: dict[str, Descriptor] = {
    "role": _STRING, "content": _STRING, "tool_calls": ("array", ("struct", "ToolCall")), "tool_call_id": ("nilable", _STRING),
}  # fmt: skip
_ATTACHED: dict[str, Descriptor] = {"media": ("array", ("struct", "Media"))}
_LEFT_OUT = ("tool_calls", "tool_call_id", "media")
Message = _record("Message", {**_MESSAGE, **_ATTACHED}, hidden=_LEFT_OUT)
Chunk = _record("Chunk", {"text": _STRING})
Prompt = _record(
    "Prompt",
    {
        "text": _STRING, "model": ("nilable", _STRING), "temperature": ("nilable", ("float",)),
        "max_tokens": ("nilable", _INT), **_ATTACHED,
    },
    hidden=("media",),
)  # fmt: skip
ToolCall = _record("ToolCall", {"id": _STRING, "name": _STRING, "arguments": _ANY_MAP})
LedgerEntry = _record("LedgerEntry", {"identifier": _STRING, "keys": ("array", _STRING), "value": _STRING})
_AUTHOR: dict[str, Descriptor] = {"run": ("nilable", _STRING), "by": ("nilable", _STRING)}
Entry = _record(
    "Entry",
    {
        **_MESSAGE, "seq": _INT, "turn": _INT, **_AUTHOR, "origin": _STRING, "pinned": _BOOL, "tokens": _INT,
        "at": _INT, **_ATTACHED,
    },
    hidden=_LEFT_OUT,
)  # fmt: skip
Turn = _record(
    "Turn",
    {
        "turn": _INT, **_AUTHOR, "at": _INT, "tokens_in": _INT, "tokens_out": _INT, "meta": _ANY_MAP,
        "messages": ("array", ("struct", "Message")),
    },
)  # fmt: skip
Provenance = _record(
    "Provenance",
    {
        "origin": _STRING, "by": ("nilable", _STRING), "run": ("nilable", _STRING), "rule": ("nilable", _STRING),
        "seqs": ("array", _INT),
    },
)  # fmt: skip
_FLOAT: Descriptor = ("float",)
Fact = _record(
    "Fact",
    {
        "id": _INT, "name": _STRING, "content": ("any",), "source": _STRING, "relevance": _FLOAT, "recency": _FLOAT,
        "confidence": _FLOAT, "score": _FLOAT, "created_at": _INT, "last_accessed": _INT, "archived": _BOOL, "trust": _STRING,
        "provenance": ("struct", "Provenance"),
    },
)  # fmt: skip
Learned = _record("Learned", {"content": ("any",), "confidence": _FLOAT, "about": ("array", _STRING)})
Dominant = _record("Dominant", {"value": ("any",), "frequency": _FLOAT})
Observed = _record("Observed", {"key": _STRING, "count": _INT, "items": ("array", _ANY_MAP)})
Emit = _record("Emit", {"channel": _STRING, "payload": ("any",)})

HttpResponse = _record("HttpResponse", {"status": _INT, "body": _STRING, "headers": ("map", _STRING, _STRING)})
RegexMatch = _record(
    "RegexMatch", {"text": _STRING, "start": _INT, "end": _INT, "groups": ("array", ("option", _STRING))}
)
# What requests to models have used (L-7.16), and what is left of budgets (L-7.17).
ModelUsage = _record(
    "ModelUsage",
    {
        "attempts": _INT, "tokens_in": _INT, "tokens_out": _INT, "tokens_cached": _INT, "tokens_cache_write": _INT,
        "tokens_reasoning": _INT, "tokens_estimated": _INT, "cost": _FLOAT, "unpriced": _INT, "hosted_calls": _INT,
    },
)  # fmt: skip
BudgetLeft = _record(
    "BudgetLeft",
    {
        "tokens": ("nilable", _INT), "cost": ("nilable", _FLOAT), "model_calls": ("nilable", _INT), "steps": ("nilable", _INT),
        "seconds": ("nilable", _FLOAT),
    },
)  # fmt: skip
Url = _record(
    "Url",
    {
        "scheme": _STRING, "user": ("nilable", _STRING), "host": _STRING, "port": ("nilable", _INT), "path": _STRING,
        "query": ("nilable", _STRING), "fragment": ("nilable", _STRING),
    },
)  # fmt: skip
DateTime = _record(
    "DateTime",
    {
        "year": _INT, "month": _INT, "day": _INT, "hour": _INT, "minute": _INT, "second": _INT, "millisecond": _INT,
        "offset_minutes": _INT, "zone": _STRING,
    },
)  # fmt: skip

Passage = _record("Passage", {"text": _STRING, "start": _INT, "headings": ("array", _STRING)}, hidden=("headings",))
# What an MCP server has besides tools (O-4.51, O-4.53).
McpResource = _record(
    "McpResource",
    {
        "uri": _STRING, "name": _STRING, "title": ("nilable", _STRING), "description": ("nilable", _STRING),
        "mime": ("nilable", _STRING), "size": ("nilable", _INT),
    },
)  # fmt: skip
McpPrompt = _record(
    "McpPrompt",
    {
        "name": _STRING, "title": ("nilable", _STRING), "description": ("nilable", _STRING),
        "arguments": ("map", _STRING, _STRING), "required": ("array", _STRING),
    },
)  # fmt: skip

RECORDS: dict[str, type[Any]] = {
    cls.decl.name: cls
    for cls in (
        Response, Citation, Message, Chunk, Prompt, ToolCall, LedgerEntry, Entry, Turn, Fact, Provenance, Learned, Dominant,
        Observed, Emit, HttpResponse, RegexMatch, ModelUsage, BudgetLeft, Url, DateTime, Media, Passage, McpResource, McpPrompt,
    )
}


# ----------------------------------------------------------------
# Enum values (L-5.1.9).
#
# Enum values are immutable; nothing inside one is a place.


class Variant:
    """One variant: `fields` are the names of a struct variant, else empty; `arity` is the payload's length, `types` its
    descriptors."""

    __slots__ = ("name", "arity", "fields", "types")

    def __init__(self, name: str, arity: int = 0, fields: tuple[str, ...] = (), types: tuple[Any, ...] = ()) -> None:
        self.name = name
        self.arity = len(fields) or arity
        self.fields = fields
        self.types = types


class EnumType:
    """The declaration behind enum values; `key` is unique in a program, `name` is what programs see. `is_error`: has `impl
    Error`. `index` has the position of each variant, from 0, by name; `host` is as in `StructType`."""

    __slots__ = ("name", "key", "variants", "is_error", "index", "host")

    def __init__(
        self, name: str, variants: Iterable[Variant | str], *, key: str = "", is_error: bool = False
    ) -> None:
        self.name = name
        self.key = key or name
        self.variants = tuple(Variant(v) if isinstance(v, str) else v for v in variants)
        self.is_error = is_error
        self.index = {variant.name: position for position, variant in enumerate(self.variants)}
        self.host: Any = None


class EnumValue:
    """A variant by its number in the variants of its type `decl`, from 0, and its payload, None for a variant without one.

    `shared` says that the payload has been marked already (see `containers.share`).
    """

    __slots__ = ("decl", "variant", "payload", "shared")

    def __init__(self, decl: EnumType, variant: int, payload: tuple[Any, ...] | None = None) -> None:
        self.decl = decl
        self.variant = variant
        self.payload = payload
        self.shared = False

    @property
    def type_name(self) -> str:
        """The name of its type, which `typeof` gives."""
        return self.decl.name

    def __repr__(self) -> str:
        return f"{self.decl.name}::{self.decl.variants[self.variant].name}{self.payload or ''}"


# ----------------------------------------------------------------
# Function values: closures and the cells they share with their makers (L-5.9.3, L-5.1.15).
#
# The function inside a closure belongs to the linked program; all that is asked of it here is the attribute `name`, empty for
# an anonymous one.


class Cell:
    """A variable that closures share with the function that has it."""

    __slots__ = ("value",)

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Closure:
    """A function value: `function`, the linked code, with the `cells` that it has captured. A named function is equal to itself
    however often its name is read, an anonymous one only to the result of the same evaluation (L-5.3.1)."""

    __slots__ = ("function", "cells")
    type_name = "Function"

    def __init__(self, function: Any, cells: list[Cell] | tuple[Cell, ...] = ()) -> None:
        self.function = function
        self.cells = cells


# ----------------------------------------------------------------
# Option and Result: Some, NONE, Ok, Err (L-3.1.7, V-5.5).
#
# The four kinds are immutable and matched by class. A payload may be a container of a place: whoever takes it out of a value
# that stays alive marks it with `share`, which notes in `shared`, unset till then, that it has been here.

if TYPE_CHECKING:
    # Where an error was made and what it passed, of vm/values/ways.py: places, and a number for those left out
    Way = tuple[Any, ...]


class Some:
    """An Option that holds a value."""

    __slots__ = ("value", "shared")
    type_name = "Option"

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Some({self.value!r})"


class NoneOption:
    """The kind of the empty Option; its one value is `NONE`, which is not `nil` (L-5.3.1)."""

    __slots__ = ()
    type_name = "Option"

    def __repr__(self) -> str:
        return "NONE"


NONE: Final = NoneOption()


class Ok:
    """A Result that succeeded."""

    __slots__ = ("value", "shared")
    type_name = "Result"

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Ok({self.value!r})"


class Err:
    """A Result that failed; `value` is the error. `way` belongs to no value: nothing compares, shows or writes it (L-5.11.3)."""

    __slots__ = ("value", "shared", "way")
    type_name = "Result"

    def __init__(self, value: Any = None, way: Way = ()) -> None:
        self.value = value
        self.way = way

    def __repr__(self) -> str:
        return f"Err({self.value!r})"
