"""Static types as values.

Shared by resolver, checker and codegen; equal types are equal objects by value; the most frequent compare themselves, which
mostly means that they are one object. Must not know: trees, symbols, bytecode.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

SHOWN = 24  # levels of a type that a message spells
MOST_SHOWN = 200  # and parts of it: types share their parts, so that few levels may have thousands
MEMBERS_SHOWN = 40  # and members of a string union

_set = object.__setattr__


class Room:
    """How many parts of a type may still be spelled."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_SHOWN


@dataclass(frozen=True, slots=True)
class Type:
    """Base of all types; `str(t)` is the spelling in source (L-4.1.7), cut where it is very long. `weight`: how many types it is
    made of, itself included; `depth`: how many stand inside each other; types share their parts, so that few lines can make very
    heavy ones. `is_open`: an `Open` or a `Parameter` is in it; `has_parameters`: a type parameter of a declaration is."""

    weight: int = field(init=False, compare=False, repr=False, default=1)
    depth: int = field(init=False, compare=False, repr=False, default=1)
    is_open: bool = field(init=False, compare=False, repr=False, default=False)
    has_parameters: bool = field(init=False, compare=False, repr=False, default=False)
    _hash: int | None = field(init=False, compare=False, repr=False, default=None)

    def spell(self, levels: int, room: Room) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.spell(SHOWN, Room())


def _measure(type_: Type, parts: Iterable[Type]) -> None:
    weight = depth = 1
    for part in parts:
        weight += part.weight
        if part.depth >= depth:
            depth = part.depth + 1
        if part.is_open:
            _set(type_, "is_open", True)
        if part.has_parameters:
            _set(type_, "has_parameters", True)
    _set(type_, "weight", weight)
    _set(type_, "depth", depth)


def _hashed(type_: Type, *parts: object) -> int:
    """The hash of these, computed once: without that it takes a walk over all that the type is made of."""
    known = type_._hash
    if known is None:
        known = hash(parts)
        _set(type_, "_hash", known)
    return known


def _listed(types: Iterable[Type], levels: int, room: Room) -> str:
    if not levels:
        return "…"
    texts: list[str] = []
    for type_ in types:
        if room.left <= 0:
            texts.append("…")
            break
        room.left -= 1
        texts.append(type_.spell(levels - 1, room))
    return ", ".join(texts)


@dataclass(frozen=True, slots=True)
class Simple(Type):
    """Types without parameters: Int Float String Bool Nil Any Range Bytes, `never` (diverges), the handles of L-3.1.21."""

    name: str

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Simple and self.name == other.name)

    def spell(self, levels: int, room: Room) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Generic(Type):
    """Array Map Option Result Set Queue Stack Task Schema: `name<arguments>`; PipelineRef, whose arguments nobody writes."""

    name: str
    arguments: tuple[Type, ...]

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Generic and self.name == other.name and self.arguments == other.arguments)

    def __hash__(self) -> int:
        return _hashed(self, self.name, self.arguments)

    def __post_init__(self) -> None:
        _measure(self, self.arguments)

    def spell(self, levels: int, room: Room) -> str:
        return self.name if self.name == "PipelineRef" else f"{self.name}<{_listed(self.arguments, levels, room)}>"


@dataclass(frozen=True, slots=True)
class Tuple(Type):
    items: tuple[Type, ...]

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Tuple and self.items == other.items)

    def __hash__(self) -> int:
        return _hashed(self, Tuple, self.items)

    def __post_init__(self) -> None:
        _measure(self, self.items)

    def spell(self, levels: int, room: Room) -> str:
        inside = _listed(self.items, levels, room)
        return f"({inside},)" if len(self.items) == 1 else f"({inside})"


@dataclass(frozen=True, slots=True)
class Nilable(Type):
    inner: Type

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Nilable and self.inner == other.inner)

    def __hash__(self) -> int:
        return _hashed(self, Nilable, self.inner)

    def __post_init__(self) -> None:
        _measure(self, (self.inner,))

    def spell(self, levels: int, room: Room) -> str:
        return f"{_listed((self.inner,), levels, room)}?"


@dataclass(frozen=True, slots=True)
class Function(Type):
    parameters: tuple[Type, ...]
    result: Type

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Function and self.parameters == other.parameters and self.result == other.result
        )

    def __hash__(self) -> int:
        return _hashed(self, self.parameters, self.result)

    def __post_init__(self) -> None:
        _measure(self, (*self.parameters, self.result))

    def spell(self, levels: int, room: Room) -> str:
        head = f"fn({_listed(self.parameters, levels, room)})"
        return head if self.result == NIL else f"{head} -> {_listed((self.result,), levels, room)}"


@dataclass(frozen=True, slots=True)
class Union(Type):
    """A set of string literals."""

    members: tuple[str, ...]
    known: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", frozenset(self.members))

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Union and self.members == other.members)

    def __hash__(self) -> int:
        return _hashed(self, self.members)

    def holds(self, text: str) -> bool:
        """Whether the text is a member, in a time that does not depend on their number."""
        return text in self.known

    def spell(self, levels: int, room: Room) -> str:
        shown = [f'"{member}"' for member in self.members[:MEMBERS_SHOWN]]
        return " | ".join([*shown, "…"] if len(self.members) > MEMBERS_SHOWN else shown)


@dataclass(eq=False, slots=True)
class Implementation:
    """`impl<parameters> X<arguments> for target`, as the trait X knows it."""

    parameters: tuple[Nominal, ...]
    arguments: tuple[Type, ...]
    target: Type


class Implementations:
    """The impls of a trait in the order in which they were met. Those that may suit are found by the head of their target and the
    forms of their arguments: a trait may have thousands, and each be asked for."""

    __slots__ = ("every", "numbers", "_found_by")

    def __init__(self) -> None:
        self.every: list[Implementation] = []
        self.numbers: dict[Implementation, int] = {}
        # By head, None for all; then by the positions of arguments that have a form; then by these forms.
        self._found_by: dict[str | None, dict[tuple[int, ...], dict[tuple[object, ...], list[Implementation]]]] = {}

    def add(self, made: Implementation, head: str) -> None:
        self.numbers[made] = len(self.every)
        self.every.append(made)
        forms = [form(argument, made.parameters) for argument in made.arguments]
        fixed = tuple([at for at, one in enumerate(forms) if one is not None])
        for key in (head, None):
            alike = self._found_by.setdefault(key, {}).setdefault(fixed, {})
            alike.setdefault(tuple([forms[at] for at in fixed]), []).append(made)

    def offered(self, head: str | None, arguments: tuple[Type, ...], free: tuple[Nominal, ...] = ()) -> list[Implementation]:
        """All that may suit these arguments, of which `free` stand for any type, and some that do not. None: of any head."""
        forms = [form(argument, free) for argument in arguments]
        found: list[list[Implementation]] = []
        for fixed, alike in self._found_by.get(head, {}).items():
            wanted = tuple([forms[at] if at < len(forms) else None for at in fixed])
            found += alike.values() if None in wanted else [alike.get(wanted, [])]
        made = [one for some in found for one in some]
        return made if len(found) == 1 else sorted(made, key=self.numbers.__getitem__)

    def has(self, head: str) -> bool:
        return head in self._found_by


def form(type_: Type, free: tuple[Nominal, ...]) -> object:
    """What two types have in common where one may be matched with the other; None for one that fits every type."""
    match type_:
        case Open() | Parameter():
            return None
        case Nominal():
            return None if type_ in free else (type_.kind, type_.name, type_.key)
        case Generic():
            return type_.name
        case Tuple():
            return len(type_.items)
        case Function():
            return -1 - len(type_.parameters)
        case Nilable():
            return Nilable
    return None if type_ == ANY else type_


@dataclass(eq=False, slots=True)
class Facts:
    """What impls and bounds say about a nominal type; every mention of the type shares it. `bounds`: of a type parameter.
    `implementations`: of a trait. `is_error`: it has `impl Error` (L-3.11.14)."""

    bounds: tuple[Nominal, ...] = ()
    implementations: Implementations = field(default_factory=Implementations)
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Nominal(Type):
    """A declared struct, schema, enum, trait, record, error family or model with an impl, or a type parameter: `kind` is one of
    these words. `key` tells declared types of one name apart; it is empty where the name does. `plain`: an enum whose
    variants hold nothing."""

    kind: str
    name: str
    arguments: tuple[Type, ...] = ()
    key: str = ""
    plain: bool = False
    facts: Facts = field(default_factory=Facts, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.arguments:
            _measure(self, self.arguments)
        elif self.kind == "parameter":
            _set(self, "has_parameters", True)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Nominal and self.name == other.name and self.kind == other.kind and self.key == other.key
            and self.arguments == other.arguments and self.plain == other.plain
        )  # fmt: skip

    def __hash__(self) -> int:
        return _hashed(self, self.kind, self.name, self.arguments, self.key)

    @property
    def unique_name(self) -> str:
        return self.key or self.name

    @property
    def bare(self) -> Nominal:
        """Without type arguments, which do not exist at run time (L-3.1.22)."""
        return self.of(()) if self.arguments else self

    def of(self, arguments: tuple[Type, ...]) -> Nominal:
        return Nominal(self.kind, self.name, arguments, self.key, self.plain, self.facts)

    def spell(self, levels: int, room: Room) -> str:
        return f"{self.name}<{_listed(self.arguments, levels, room)}>" if self.arguments else self.name


def bare(type_: Type) -> Type:
    """The type without type arguments of its own."""
    return type_.bare if isinstance(type_, Nominal) else type_


@dataclass(frozen=True, slots=True)
class Parameter(Type):
    """A type parameter that a call is to find the type for; inside its own declaration it is a Nominal of kind parameter."""

    name: str

    def __post_init__(self) -> None:
        _set(self, "is_open", True)

    def spell(self, levels: int, room: Room) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Open(Type):
    """A side that inference has not found yet (`[]`, `None`, the other side of `Ok(x)`)."""

    def __post_init__(self) -> None:
        _set(self, "is_open", True)

    def spell(self, levels: int, room: Room) -> str:
        return "_"


INT = Simple("Int")
FLOAT = Simple("Float")
STRING = Simple("String")
BOOL = Simple("Bool")
NIL = Simple("Nil")
ANY = Simple("Any")
RANGE = Simple("Range")
BYTES = Simple("Bytes")
NEVER = Simple("never")
OPEN = Open()

# Handles (L-3.1.21) and built-in records (L-3.1.20).
MODEL_REF = Simple("ModelRef")
MODEL_BUILDER = Simple("ModelBuilder")
AGENT_REF = Simple("AgentRef")
AGENT_BUILDER = Simple("AgentBuilder")  # a ModelBuilder of an agent, as the compiler knows it; it cannot be written
MEMORY = Simple("Memory")
KEYED_MEMORY = Simple("KeyedMemory")
STREAM = Simple("Stream")
CHUNK = Nominal("record", "Chunk")
TOOL_REF = Simple("ToolRef")
MCP_REF = Simple("McpRef")
SCHEMA_REF = Simple("SchemaRef")
LEDGER = Simple("Ledger")
PROMPT = Nominal("record", "Prompt")
RESPONSE = Nominal("record", "Response")
MESSAGE = Nominal("record", "Message")
TOOL_CALL = Nominal("record", "ToolCall")
PROVENANCE = Nominal("record", "Provenance")
FACT = Nominal("record", "Fact")
DOMINANT = Nominal("record", "Dominant")
LEARNED = Nominal("record", "Learned")
OBSERVED = Nominal("record", "Observed")
LEDGER_ENTRY = Nominal("record", "LedgerEntry")
ENTRY = Nominal("record", "Entry")
TURN = Nominal("record", "Turn")
EMIT = Nominal("record", "Emit")
LIBRARY_RECORDS = tuple(
    Nominal("record", name) for name in ("HttpResponse", "RegexMatch", "ModelUsage", "BudgetLeft", "Url", "DateTime")
)


def array(item: Type) -> Generic:
    return Generic("Array", (item,))


def map_(key: Type, value: Type) -> Generic:
    return Generic("Map", (key, value))


def hashmap(key: Type, value: Type) -> Generic:
    return Generic("HashMap", (key, value))


def pipeline(input: Type, output: Type) -> Type:
    """The handle of a pipeline, as `.run` is typed."""
    return Generic("PipelineRef", (input, output))


def memory_of(context: Type) -> Generic:
    """`Memory<C>`: a memory whose slots are those of the context C (M-2.2)."""
    return Generic("Memory", (context,))


def option(item: Type) -> Generic:
    return Generic("Option", (item,))


def result(value: Type, error: Type) -> Generic:
    return Generic("Result", (value, error))


def error(family: str) -> Nominal:
    return Nominal("error", family)


ERROR = error("Error")
