"""What values of a program are in Python (O-9.38): the classes for what Python has nothing of the kind for, and the conversion in
both directions.

Hands on `Struct`, `Enum`, `Ok`, `Err`, `ErrorValue` and `Handle` to users (`Media` stands in `media.py`) and to what makes,
writes or describes such values; `to_python`, `from_python`, its first half `read_value` and the type `Run` to the modules of this
folder that call programs, are called by them, or read their data; `Misfit` to `python_functions`; `exported` to `callbacks`;
`bare_struct`, UNKNOWN and PLAIN to the classes of a program's own types (`declared_classes`) and what is made of them. A new kind
of value is a row in `_TO_PYTHON`, one in `_FROM_PYTHON`, and for places of any type one in `_NATURAL` or a case in `natural`.
Classes of the machine never reach a user. Secrets are not looked for here.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import chain, islice
from typing import Any, TypeVar

from ..runtime.access.secrets import clean_text
from ..vm import values as v
from ..vm.interp.link import Program
from ..vm.panics import Panic
from ..vm.values.errors import FOR_MODEL
from ..vm.values.limits import INT_MAX, INT_MIN, LONGEST_STRING, limits, utf8_size
from ..vm.values.metering import STRIDE, look
from ..vm.values.objects import RECORDS
from ..vm.values.types import plain_name, type_text
from .media import Media, media_in


class Struct(Mapping[str, Any]):
    """A struct, a schema value or a record: `s.name`, `s["name"]`, `dict(s)`.

    `Struct("Point", x=1, y=2)` makes one to pass to a program; so does `Struct("Point", {"x": 1})`, for field names that are no
    Python names. A field named like a method of mappings, or `type_name`, is reached by `s["items"]`. A field that it does not
    have raises KeyError there, AttributeError behind a dot; `s.name = …` raises AttributeError, since a Struct does not change.
    Two of equal type name and fields are equal; none can be hashed.
    """

    __slots__ = ("_fields", "_type_name")
    _fields: dict[str, Any]
    _type_name: str

    def __init__(self, type_name: str, fields: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        object.__setattr__(self, "_type_name", type_name)
        object.__setattr__(self, "_fields", {**(fields or {}), **more})

    @property
    def type_name(self) -> str:
        """The name of the type in the program."""
        return self._type_name

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"{self._type_name} has no field {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("values of a program do not change; make a new Struct")

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and other._type_name == self._type_name and other._fields == self._fields

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self._type_name}({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Struct, (self._type_name, self._fields)


S = TypeVar("S", bound=Struct)


def bare_struct(made: type[S], type_name: str, fields: dict[str, Any]) -> S:
    """Return an instance of `Struct` or a class below it with these fields, by their names in the program, unchecked."""
    value = made.__new__(made)
    object.__setattr__(value, "_type_name", type_name)
    object.__setattr__(value, "_fields", fields)
    return value


@dataclass(frozen=True, slots=True, eq=False)
class Enum:
    """A value of an enum: the names of its `type` and `variant`. `data` is None, the one value, a tuple of two or more, or a dict
    of named parts. Two of equal type, variant and data are equal."""

    type: str
    variant: str
    data: Any = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Enum):
            return NotImplemented
        return (self.type, self.variant, self.data) == (other.type, other.variant, other.data)

    def __hash__(self) -> int:
        return hash((self.type, self.variant, self.data))


@dataclass(frozen=True, slots=True)
class Ok:
    """`Ok(value)` of a Result."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class Err:
    """`Err(value)` of a Result."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class ErrorValue:
    """An error of a built-in family: `kind` is the family, such as "TaskError", `variant` the case of it, None for none, `fields`
    what it carries beside its message."""

    kind: str
    variant: str | None = None
    message: str = ""
    fields: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Handle:
    """A model, memory or other declaration of the program by its name: `Handle("HashMap", "prices")`. A closure comes as one of
    kind "Function", which a program does not take back."""

    kind: str
    name: str


class _Unknown:
    """A default that only the program can compute; it stands in signatures and models, and is taken for a field left out."""

    def __repr__(self) -> str:
        return "..."


UNKNOWN: Any = _Unknown()

# The conversion, in both directions.

LONG_FORM = frozenset({"variant", "data"})
PLAIN = frozenset({int, float, str, bool, bytes, type(None)})  # whose values are the same in both, and cannot change
MOST_COPIED = 1_000_000  # values made of parts that a value holds more than once
MOST_READ = 20_000_000  # parts read from a value of Python
LONG = 1024  # characters of a text that is worth remembering


# ---------------------------------------------------------------- to Python


def to_python(value: Any) -> Any:
    """Return the value of Python for a value of the machine, what is inside it too: numbers, texts, bytes, bools and nil as they
    are, tuples as tuples, arrays, sets, queues and stacks as lists, maps as dicts, ranges as dicts of `start`, `end` and
    `inclusive`, `Some(x)` as x and `None` as None, the others as the classes above or as `Media`, one whose content is elsewhere
    as a Struct; an error without what it has for a model alone. Lists and dicts are made anew wherever they occur. Raise the
    machine's Panic P103 for a value whose shared parts would become more than MOST_COPIED values, before they are made (G-6.10),
    P013 for a Map of whose keys two are one in Python, what ends the run if it reaches a limit meanwhile, and RecursionError for
    a value that is nested deeper than Python can follow."""
    return value if type(value) in PLAIN else _Exporter().export(value)


def exported(value: Any, function: Callable[[v.Closure], Any]) -> Any:
    """Do what `to_python` does, and return for each function of the program in the value what `function` makes of it. Raises as
    `to_python` does."""
    return value if type(value) in PLAIN else _Exporter(function).export(value)


class _Exporter:
    """One conversion to Python; its methods raise what `to_python` raises. `function` makes something of a function of the
    program; None: a Handle. `sizes` is how many values a part has become, by its identity; `count` how many all have; `copied`
    how many of those were made of parts that had been converted before; `pace` the count at which the memory limit is looked at
    next."""

    __slots__ = ("function", "sizes", "count", "copied", "pace")

    def __init__(self, function: Callable[[v.Closure], Any] | None = None) -> None:
        self.function = function
        self.sizes: dict[int, int] = {}
        self.count = 0
        self.copied = 0
        self.pace = STRIDE

    def export(self, value: Any) -> Any:
        """Return the value of Python for one value of the machine."""
        self.count += 1
        kind = type(value)
        if kind in PLAIN:
            return value
        # Large values are converted in strides, between which the memory limit is looked at.
        if self.count >= self.pace:
            self.pace = self.count + STRIDE
            look()
        # Values of the machine stay alive during the conversion, so an identity means one value.
        size = self.sizes.get(id(value))
        if size is not None:
            self.copied += size
            if self.copied > MOST_COPIED:
                raise Panic("P103", self.too_many(value, size))
        before = self.count
        rule = _TO_PYTHON.get(kind)
        if rule is not None:
            result = rule(self, value)
        elif isinstance(value, v.Struct):
            decl = value.decl
            fields = dict(zip(decl.fields, map(self.export, value.values()), strict=True))
            result = bare_struct(Struct if decl.host is None else decl.host.of(decl), decl.name, fields)
        else:
            result = Handle(v.typeof(value), getattr(value, "name", ""))
        if size is None:
            # The value itself and all that was made inside it.
            self.sizes[id(value)] = self.count - before + 1
        return result

    def too_many(self, value: Any, size: int) -> str:
        """Return the message of the panic."""
        counted = f"{self.count} values made for Python, {self.copied} of them copies of parts met before"
        last = f"the last one {v.typeof(value)} of {size} values"
        return f"size limit exceeded: {MOST_COPIED} copies of shared values (limit `copies`): {counted}, {last}"

    def items(self, value: Any) -> list[Any]:
        return [self.export(item) for item in v.elements(value)]

    def map(self, value: v.Map) -> dict[Any, Any]:
        """Return a dict of the entries. Raise P013 where Python takes two keys for one, as 1 and true: an entry would be lost."""
        entries = {key: self.export(item) for key, item in value.entries()}
        if len(entries) < len(value.items):
            raise Panic("P013", f"a Map with the keys {_same_keys(value)} is no dict of Python, where they are one key")
        return entries

    def enum(self, value: v.EnumValue) -> Enum:
        """Return an Enum; `data` depends on the number and the names of its parts."""
        variant = value.decl.variants[value.variant]
        payload = tuple(map(self.export, value.payload or ()))
        data: Any = payload
        if variant.fields:
            data = dict(zip(variant.fields, payload, strict=True))
        elif len(payload) < 2:
            data = payload[0] if payload else None
        host = value.decl.host
        return Enum(value.decl.name, variant.name, data) if host is None else host.enum_value(value.decl, value.variant, data)

    def closure(self, value: v.Closure) -> Any:
        return Handle("Function", value.function.name) if self.function is None else self.function(value)

    def media(self, value: Any) -> Media | Struct:
        """Return a Media; one without content has its fields alone."""
        if value.content is not None:
            return Media.of(value.content, value.f4)
        return Struct("Media", dict(zip(value.decl.fields, value.values(), strict=True)))

    def error(self, value: v.ErrorValue) -> ErrorValue:
        """Return an ErrorValue without what is only for a model."""
        fields = {name: self.export(part) for name, part in value.fields.items() if name != FOR_MODEL}
        return ErrorValue(value.family, value.variant, value.message, fields)


def _same_keys(value: v.Map) -> str:
    """Return the first two keys that are one in Python."""
    firsts: dict[Any, Any] = {}
    pairs = ((firsts.setdefault(key, key), key) for key, _ in value.entries())
    return next(f"{v.display(first)} and {v.display(key)}" for first, key in pairs if first is not key)


_TO_PYTHON: dict[type, Callable[[_Exporter, Any], Any]] = {
    v.Array: _Exporter.items,
    v.Set: _Exporter.items,
    v.Queue: _Exporter.items,
    v.Stack: _Exporter.items,
    tuple: lambda exporter, value: tuple(map(exporter.export, value)),
    v.Map: _Exporter.map,
    v.Some: lambda exporter, value: exporter.export(value.value),
    v.NoneOption: lambda exporter, value: None,
    v.Ok: lambda exporter, value: Ok(exporter.export(value.value)),
    v.Err: lambda exporter, value: Err(exporter.export(value.value)),
    v.EnumValue: _Exporter.enum,
    v.ErrorValue: _Exporter.error,
    v.RangeValue: lambda exporter, value: {"start": value.start, "end": value.end, "inclusive": value.inclusive},
    v.Closure: _Exporter.closure,
    v.Media: _Exporter.media,
}


# ---------------------------------------------------------------- from Python


class Misfit(TypeError):
    """A value of another type than is expected: `place`, what was `wanted` there, and what was `found`."""

    public_name = "TypeError"

    def __init__(self, place: str, wanted: str, found: str) -> None:
        super().__init__(f"{place}: expected {wanted}, got {found}")
        self.place = place
        self.wanted = wanted
        self.found = found


Run = Callable[[int, list[Any]], Awaitable[Any]]  # calls a function of the program: its number, its arguments; its value


async def from_python(
    value: Any, program: Program, run: Run, expected: tuple[Any, ...] = ("any",), what: str = "the value",
    longest: int = LONGEST_STRING,
) -> Any:
    """Return the value of the machine, of the type descriptor `expected`, for a value of Python. A descriptor is a tuple of a
    word and what belongs to it: `("int",)`, `("array", ("int",))`, `("struct", KEY)`; with `("any",)` the Python type decides.
    Raise TypeError, naming the place `what`, for what has no mapping or does not fit, such as a text of more than `longest` bytes
    in UTF-8, and let Panics pass, of the conversion, and all that `run` raises. `run` calls a function of the program by its
    number: fields that are left out get their defaults from one."""
    result, left_out = read_value(value, program, expected, what, longest=longest)
    if not left_out:
        return result
    return read_value(value, program, expected, what, [await run(number, []) for number in left_out], longest)[0]


def read_value(
    value: Any, program: Program, expected: tuple[Any, ...], what: str, defaults: Sequence[Any] = (),
    longest: int = LONGEST_STRING,
) -> tuple[Any, list[int]]:
    """Do what `from_python` does without calling a function of the program: return the value, and the numbers of the functions
    that give the fields that are left out. Those fields hold None until a second call has their values in `defaults`, in the same
    order. Raise TypeError and let Panics pass as `from_python`; what a method of a class of the host raises is a TypeError
    too."""
    reader = _Reader(program, defaults, longest)
    try:
        return reader.read(value, expected, what), reader.left_out
    except RecursionError:
        raise TypeError(f"{what}: it is nested too deep, or holds itself") from None
    except (TypeError, Panic):
        raise
    except Exception as error:  # of a class of the host's own, in a method that the conversion uses
        raise TypeError(f"{what}: reading it raised {type(error).__name__}") from error


def _inside(what: str, step: str) -> str:
    """Return the place of a part: `argument 'x' of f, at ['a'][0]`. The path is of the value, not of the function."""
    # Behind the last colon, since a name in the place may hold the words too.
    is_path = ", at " in what.rpartition(": ")[2]
    return f"{what}{step}" if is_path else f"{what}, at {step.removeprefix('.')}"


class _Reader:
    """One conversion from Python. The methods that are rows of `_FROM_PYTHON` read one kind: of a value, the type descriptor
    `expected` and the place `what` they return the value of the machine, and raise TypeError, which names the place, for what
    does not fit. `left_out` has the numbers of the functions of fields that were left out, `defaults` what those gave, in the
    second reading; `count` counts the parts that were read, `longest` is how many bytes a text or bytes may have. `converted`
    has what parts have become, by the expected type and their identity, so that a part that stands in many places is read once;
    `alive` holds those parts, since Python may give an identity again to what comes later. `keys` are those of the declared
    types."""

    def __init__(self, program: Program, defaults: Sequence[Any], longest: int) -> None:
        self.longest = longest
        self.left_out: list[int] = []
        self.count = 0
        self.converted: dict[tuple[Any, ...], dict[int, Any]] = {}
        self.alive: list[Any] = []
        self.defaults = iter(defaults)
        self.program = program
        self.types = program.declared
        self.keys = {entry[1] for entry in program.types if entry[0] in ("struct", "schema", "enum")}

    def read(self, value: Any, expected: tuple[Any, ...], what: str) -> Any:
        """Return the value of the machine for a part of the type `expected`, a type descriptor."""
        self.count += 1
        if self.count > MOST_READ:
            raise TypeError(f"{what}: the value has more than {MOST_READ} parts")
        kind = type(value)
        if kind in PLAIN and not (kind is str and len(value) > LONG):
            return self.convert(value, expected, what)
        earlier = self.converted.setdefault(expected, {})
        if id(value) in earlier:
            # What stands in two places is marked shared, so that a write copies it first (V-5.7).
            return v.share(earlier[id(value)])
        result = earlier[id(value)] = self.convert(value, expected, what)
        self.alive.append(value)
        return result

    def convert(self, value: Any, expected: tuple[Any, ...], what: str) -> Any:
        """Do what `read` promises, without looking for an earlier conversion."""
        head = expected[0]
        # Nothing is asked for, so the Python type decides.
        if head == "any":
            return self.natural(value, what)
        if head == "nilable":
            return None if value is None else self.read(value, expected[1], what)
        if head == "option":
            return v.NONE if value is None else v.Some(self.read(value, expected[1], what))
        rule = _FROM_PYTHON.get(head)
        if rule is None:
            raise self.misfit(value, expected, what)
        return rule(self, value, expected, what)

    def misfit(self, value: Any, expected: tuple[Any, ...], what: str) -> TypeError:
        """Return the error for a value of another type."""
        return Misfit(what, type_text(expected), type(value).__name__)

    def natural(self, value: Any, what: str) -> Any:
        """Return the value that a part is by itself, where any type may stand."""
        for kinds, expected in _NATURAL:
            if isinstance(value, kinds):
                return self.convert(value, expected, what)
        if isinstance(value, tuple):
            parts = enumerate(self.listed(value, len(value), what))
            return tuple(self.read(item, ("any",), _inside(what, f"[{at}]")) for at, item in parts)
        if isinstance(value, Struct | Enum):
            name = value._type_name if isinstance(value, Struct) else value.type
            return self.convert(value, ("enum" if isinstance(value, Enum) else "struct", self.declared(name, what)), what)
        if isinstance(value, Handle):
            return self.handle(value, ("handle", value.kind), what)
        if isinstance(value, Media):
            return self.media(value, ("struct", "Media"), what)
        raise TypeError(f"{what}: {type(value).__name__} has no counterpart in a program")

    def declared(self, name: str, what: str) -> str:
        """Return the key of the one declared type of this name; raise TypeError if there is none, or more than one."""
        keys = [key for key in self.keys if plain_name(key) == name] or [key for key in RECORDS if key == name]
        if len(keys) != 1:
            raise TypeError(f"{what}: the program has {'several types' if keys else 'no type'} {name}")
        return str(keys[0])

    # ------------------------------------------------------------ scalars

    def integer(self, value: Any, expected: tuple[Any, ...], what: str) -> int:
        # A bool is an int in Python, and no Int here.
        if type(value) is not int:
            raise self.misfit(value, expected, what)
        if not INT_MIN <= value <= INT_MAX:
            spelled = value if value.bit_length() <= 256 else f"an int of {value.bit_length()} bits"
            raise TypeError(f"{what}: {spelled} is beyond Int, which has 64 bits")
        return value

    def number(self, value: Any, expected: tuple[Any, ...], what: str) -> float:
        """Read an int or float as Float."""
        if type(value) not in (int, float):
            raise self.misfit(value, expected, what)
        try:
            return float(value)
        except OverflowError:
            raise TypeError(f"{what}: an int of {value.bit_length()} bits is beyond Float") from None

    def text(self, value: Any, expected: tuple[Any, ...], what: str) -> str:
        """Read a str. Lone surrogates and hidden tag characters do not get into a program."""
        if not isinstance(value, str):
            raise self.misfit(value, expected, what)
        return self.cleaned(str.__str__(value), what)  # a subclass may say otherwise of itself

    def cleaned(self, text: str, what: str) -> str:
        """Return a text as a program may have it. Raise TypeError for one that is too long for a String (G-6.1)."""
        text = clean_text(text)
        # A character takes at most four bytes, so a short text needs no count.
        if len(text) * 4 > self.longest:
            self.held(utf8_size(text), what)
        return text

    def held(self, size: int, what: str) -> None:
        """Raise TypeError for a text, or bytes, of more bytes than a value may have."""
        if size > self.longest:
            raise TypeError(f"{what}: {size} bytes; a value of a program has at most {self.longest}")

    def binary(self, value: Any, expected: tuple[Any, ...], what: str) -> bytes:
        """Read bytes, or what has their buffer, under the limit of texts (G-6.1)."""
        if not isinstance(value, bytes | bytearray | memoryview):
            raise self.misfit(value, expected, what)
        self.held(memoryview(value).nbytes, what)
        return bytes(value)

    def boolean(self, value: Any, expected: tuple[Any, ...], what: str) -> bool:
        if type(value) is not bool:
            raise self.misfit(value, expected, what)
        return value

    def nil(self, value: Any, expected: tuple[Any, ...], what: str) -> None:
        if value is not None:
            raise self.misfit(value, expected, what)

    def union(self, value: Any, expected: tuple[Any, ...], what: str) -> str:
        """Read one of the strings of a union."""
        if value not in expected[1]:
            raise Misfit(what, type_text(expected), repr(value))
        return str(value)

    def prompt(self, value: Any, expected: tuple[Any, ...], what: str) -> Any:
        """Read a Struct of the record Prompt, or a str as one."""
        if isinstance(value, Struct):
            return self.struct(value, ("struct", "Prompt"), what)
        return v.Prompt.of((self.text(value, expected, what), None, None, None, v.Array([])))

    # ------------------------------------------------------------ wholes

    def items(self, value: Any, expected: tuple[Any, ...], what: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise self.misfit(value, expected, what)
        parts = enumerate(self.listed(value, len(value), what))
        return [self.read(item, expected[1], _inside(what, f"[{at}]")) for at, item in parts]

    def listed(self, parts: Iterable[Any], count: int, what: str) -> list[Any]:
        """Return the parts of a collection that says it has so many. Raise TypeError for one that is too large, or gives more or
        fewer: a class of the host's own may give parts without end."""
        self.within(count, what)
        found = list(islice(parts, count + 1))
        if len(found) != count:
            raise TypeError(f"{what}: a collection of {count} items gives {'more' if len(found) > count else 'fewer'}")
        return found

    def within(self, count: int, what: str) -> None:
        """Raise TypeError for a collection that is too large."""
        if count > limits.items:
            raise TypeError(f"{what}: {count} items; a collection of a program has at most {limits.items}")

    def tuple_of(self, value: Any, expected: tuple[Any, ...], what: str) -> tuple[Any, ...]:
        """Read a tuple of just as many parts."""
        if not isinstance(value, tuple) or len(value) != len(expected[1]):
            raise self.misfit(value, expected, what)
        places = [_inside(what, f"[{at}]") for at in range(len(value))]
        return tuple(map(self.read, value, expected[1], places))

    def map_of(self, value: Any, expected: tuple[Any, ...], what: str) -> v.Map:
        """Read a mapping that is no Struct; its keys are str, int, bool or bytes."""
        if not isinstance(value, Mapping) or isinstance(value, Struct):
            raise self.misfit(value, expected, what)
        entries: dict[Any, Any] = {}
        for key, item in self.listed(value.items(), len(value), what):
            if type(key) not in (str, int, bool, bytes):
                raise TypeError(f"{what}: {key!r} cannot be a key; use str, int, bool or bytes")
            read = v.key_of(self.read(key, expected[1], f"{what}: a key"))
            # Texts may differ in characters only that do not get into a program.
            if read in entries:
                raise TypeError(f"{what}: {key!r} and another key are the same key in a program")
            entries[read] = self.read(item, expected[2], _inside(what, f"[{key!r}]"))
        return v.Map(entries)

    def result(self, value: Any, expected: tuple[Any, ...], what: str) -> Any:
        if isinstance(value, Ok):
            return v.Ok(self.read(value.value, expected[1], what))
        if isinstance(value, Err):
            return v.Err(self.read(value.value, expected[2], what))
        raise self.misfit(value, expected, what)

    def struct(self, value: Any, expected: tuple[Any, ...], what: str) -> Any:
        """Read a Struct of that name, or a mapping with its fields; for a Media also what `media_in` reads. Optional fields,
        those with a default, and hidden arrays of a record may be left out."""
        if expected[1] == "Media" and not isinstance(value, Mapping):
            return self.media(value, expected, what)
        given = value
        if isinstance(value, Struct):
            value = value._fields  # a field may be called like a method of mappings
        record = RECORDS.get(expected[1])
        cls = record or self.types.struct_class(expected[1])
        if not isinstance(value, Mapping):
            value = _fields_of(value, cls.decl)
        if value is None or (isinstance(given, Struct) and given._type_name != type_text(expected)):
            raise self.misfit(given, expected, what)
        # A misspelt optional field would otherwise be dropped in silence.
        unknown = [name for name in self.listed(value, len(value), what) if name not in cls.decl.index]
        if unknown:
            raise TypeError(f"{what}: {type_text(expected)} has no field {unknown[0]!r}")
        defaults = {} if record else self.types.field_defaults(expected[1])
        parts = []
        for name, kind in zip(cls.decl.fields, cls.decl.types, strict=True):
            if name not in value and name in defaults:
                self.left_out.append(defaults[name])
                parts.append(next(self.defaults, None))
                continue
            if name not in value and record and kind[0] == "array" and name in cls.decl.hidden:
                parts.append(v.Array([]))
                continue
            if name not in value and kind[0] not in ("option", "nilable"):
                raise TypeError(f"{what}: {type_text(expected)} lacks the field {name!r}")
            parts.append(self.read(value.get(name), kind, _inside(what, f".{name}")))
        return cls.of(parts)

    def media(self, value: Any, expected: tuple[Any, ...], what: str) -> Any:
        """Read a Media, a path, bytes, or a picture of Pillow."""
        try:
            media = media_in(value)
        except (ValueError, OSError) as error:
            raise TypeError(f"{what}: {error}") from None
        if media is None:
            raise self.misfit(value, expected, what)
        return v.Media.holding(media.content, None if media.name is None else self.cleaned(media.name, what))

    def enum(self, value: Any, expected: tuple[Any, ...], what: str) -> v.EnumValue:
        """Read an Enum, or one of the JSON forms of L-5.1.9 and L-5.1.21: a mapping, or the name alone."""
        decl = self.types.enum_type(expected[1])
        root = getattr(value, "root", None) if _is_model(value) else None
        if root is not None:  # a model of Pydantic for an enum holds one for its variant
            value = root if isinstance(root, str) else _fields_of(root, None)
        if isinstance(value, str):
            value = Enum(decl.name, value, None)
        # The JSON form with keys `variant` and `data`.
        elif isinstance(value, Mapping) and self.is_long_form(value, what):
            value = Enum(decl.name, value["variant"], value.get("data"))
        if not isinstance(value, Enum) or value.type != decl.name:
            raise self.misfit(value, expected, what)
        if value.variant not in decl.index:
            raise TypeError(f"{what}: {decl.name} has no variant {value.variant!r}")
        number = decl.index[value.variant]
        variant = decl.variants[number]
        what = f"{what}: the data of {decl.name}::{variant.name}"
        if not variant.arity:
            self.nil(value.data, ("nil",), what)
            return v.EnumValue(decl, number, None)
        return v.EnumValue(decl, number, self.payload(value.data, variant, what))

    def is_long_form(self, value: Mapping[Any, Any], what: str) -> bool:
        if len(value) > len(LONG_FORM):
            return False
        return set(self.listed(value, len(value), what)) <= LONG_FORM and isinstance(value.get("variant"), str)

    def payload(self, data: Any, variant: Any, what: str) -> tuple[Any, ...]:
        """Read the parts of a variant: a dict of named ones, one value, or a tuple or list."""
        if variant.fields:
            data = data if isinstance(data, Mapping) else _fields_of(data, None)
            if data is None or set(self.listed(data, len(data), what)) != set(variant.fields):
                raise TypeError(f"{what}: expected a dict of {', '.join(variant.fields)}")
            data = tuple(data[name] for name in variant.fields)
        elif variant.arity == 1:
            data = (data,)
        elif isinstance(data, list):
            data = tuple(self.listed(data, len(data), what))
        return self.tuple_of(data, ("tuple", variant.types), what)

    def error(self, value: Any, expected: tuple[Any, ...], what: str) -> Any:
        """Read an ErrorValue of the family or of one below it."""
        if not isinstance(value, ErrorValue) or not v.is_family(value.kind, expected[1]):
            raise self.misfit(value, expected, what)
        fields = {name: self.read(part, ("any",), _inside(what, f".{name}")) for name, part in value.fields.items()}
        return v.ErrorValue(value.kind, value.variant, self.cleaned(value.message, what), fields)

    def handle(self, value: Any, expected: tuple[Any, ...], what: str) -> Any:
        """Read a Handle as the declaration of the program that it names."""
        program = self.program
        for ref in chain.from_iterable(program.handles.values()) if isinstance(value, Handle) else ():
            if (v.typeof(ref), ref.name) == (expected[1], value.name):
                return ref
        raise TypeError(f"{what}: expected a Handle of kind {expected[1]} of the program, got {value!r}")


def _is_model(value: Any) -> bool:
    """Return whether a value is a model of Pydantic; who has one has imported that."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(value, pydantic.BaseModel)


def _fields_of(value: Any, decl: Any) -> dict[str, Any] | None:
    """Return the fields of an instance of a dataclass of the host, or of a model of Pydantic, by their names in the program of
    the declaration: one called `from` there is `from_` in Python, or has `from` as its alias. None for any other value."""
    aliases: dict[str, str] = {}
    if _is_model(value):
        model = type(value).model_fields
        names = list(model)
        aliases = {name: row.alias for name, row in model.items() if row.alias}
    elif is_dataclass(value) and not isinstance(value, type | _OWN):
        names = [field.name for field in fields(value)]
    else:
        return None
    known = {} if decl is None else decl.index
    own = {} if decl is None or decl.host is None else {python: name for name, python in decl.host.field_names(decl).items()}
    found = {name: getattr(value, name) for name in names}
    spelled = {name: name if name in known else own.get(name) or aliases.get(name, name) for name in found}
    return {spelled[name]: part for name, part in found.items() if part is not UNKNOWN}


_OWN = Enum | Ok | Err | ErrorValue | Handle  # these are dataclasses, and no structs
_NATURAL: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (type(None), ("nil",)),
    (bool, ("bool",)),
    (int, ("int",)),
    (float, ("float",)),
    (str, ("string",)),
    ((bytes, bytearray, memoryview), ("bytes",)),
    (list, ("array", ("any",))),
    (dict, ("map", ("any",), ("any",))),
    ((Ok, Err), ("result", ("any",), ("any",))),
    (ErrorValue, ("error", "Error")),
)
_Rule = Callable[[_Reader, Any, tuple[Any, ...], str], Any]
_FROM_PYTHON: dict[str, _Rule] = {
    "int": _Reader.integer, "float": _Reader.number, "string": _Reader.text, "bool": _Reader.boolean, "nil": _Reader.nil,
    "union": _Reader.union, "prompt": _Reader.prompt, "tuple": _Reader.tuple_of, "map": _Reader.map_of,
    "result": _Reader.result, "struct": _Reader.struct, "schema": _Reader.struct, "record": _Reader.struct, "enum": _Reader.enum,
    "bytes": _Reader.binary, "error": _Reader.error, "handle": _Reader.handle,
    "array": lambda r, value, expected, what: v.Array(r.items(value, expected, what)),
    "set": lambda r, value, expected, what: v.make_set(r.items(value, expected, what)),
    "queue": lambda r, value, expected, what: v.Queue(deque(r.items(value, expected, what))),
    "stack": lambda r, value, expected, what: v.Stack(r.items(value, expected, what)),
}  # fmt: skip
