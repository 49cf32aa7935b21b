"""Static types as values.

Shared by resolver, checker and codegen; equal types are equal objects by value; the most frequent compare themselves, which
mostly means that they are one object. Must not know: trees, symbols, bytecode.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

SHOWN = 24  # levels of a type that a message spells


@dataclass(frozen=True, slots=True)
class Type:
    """Base of all types; `str(t)` is the spelling in source (L-4.1.7). `weight`: how many types it is made of, itself included;
    types share their parts, so that few lines can make very heavy ones."""

    weight: int = field(init=False, compare=False, repr=False, default=1)

    def spell(self, levels: int) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.spell(SHOWN)


def _weigh(type_: Type, parts: Iterable[Type]) -> None:
    object.__setattr__(type_, "weight", 1 + sum([part.weight for part in parts]))


def _listed(types: Iterable[Type], levels: int) -> str:
    return ", ".join([type_.spell(levels - 1) for type_ in types]) if levels else "…"


@dataclass(frozen=True, slots=True)
class Simple(Type):
    """Types without parameters: Int Float String Bool Nil Any Range, `never` (diverges), the handles of L-3.1.21."""

    name: str

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Simple and self.name == other.name)

    def spell(self, levels: int) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Generic(Type):
    """Array Map Option Result Set Queue Stack Task Schema: `name<arguments>`; PipelineRef, whose arguments nobody writes."""

    name: str
    arguments: tuple[Type, ...]

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Generic and self.name == other.name and self.arguments == other.arguments)

    def __post_init__(self) -> None:
        _weigh(self, self.arguments)

    def spell(self, levels: int) -> str:
        return self.name if self.name == "PipelineRef" else f"{self.name}<{_listed(self.arguments, levels)}>"


@dataclass(frozen=True, slots=True)
class Tuple(Type):
    items: tuple[Type, ...]

    def __post_init__(self) -> None:
        _weigh(self, self.items)

    def spell(self, levels: int) -> str:
        inside = _listed(self.items, levels)
        return f"({inside},)" if len(self.items) == 1 else f"({inside})"


@dataclass(frozen=True, slots=True)
class Nilable(Type):
    inner: Type

    def __post_init__(self) -> None:
        _weigh(self, (self.inner,))

    def spell(self, levels: int) -> str:
        return f"{_listed((self.inner,), levels)}?"


@dataclass(frozen=True, slots=True)
class Function(Type):
    parameters: tuple[Type, ...]
    result: Type

    def __post_init__(self) -> None:
        _weigh(self, (*self.parameters, self.result))

    def spell(self, levels: int) -> str:
        head = f"fn({_listed(self.parameters, levels)})"
        return head if self.result == NIL else f"{head} -> {_listed((self.result,), levels)}"


@dataclass(frozen=True, slots=True)
class Union(Type):
    """A set of string literals."""

    members: tuple[str, ...]

    def spell(self, levels: int) -> str:
        return " | ".join(f'"{m}"' for m in self.members)


@dataclass(eq=False, slots=True)
class Implementation:
    """`impl<parameters> X<arguments> for target`, as the trait X knows it."""

    parameters: tuple[Nominal, ...]
    arguments: tuple[Type, ...]
    target: Type


@dataclass(eq=False, slots=True)
class Facts:
    """What impls and bounds say about a nominal type; every mention of the type shares it. `bounds`: of a type parameter.
    `implementations`: of a trait. `is_error`: it has `impl Error` (L-3.11.14)."""

    bounds: tuple[Nominal, ...] = ()
    implementations: list[Implementation] = field(default_factory=list)
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
            _weigh(self, self.arguments)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Nominal and self.name == other.name and self.kind == other.kind and self.key == other.key
            and self.arguments == other.arguments and self.plain == other.plain
        )  # fmt: skip

    @property
    def unique_name(self) -> str:
        return self.key or self.name

    @property
    def bare(self) -> Nominal:
        """Without type arguments, which do not exist at run time (L-3.1.22)."""
        return self.of(()) if self.arguments else self

    def of(self, arguments: tuple[Type, ...]) -> Nominal:
        return Nominal(self.kind, self.name, arguments, self.key, self.plain, self.facts)

    def spell(self, levels: int) -> str:
        return f"{self.name}<{_listed(self.arguments, levels)}>" if self.arguments else self.name


def bare(type_: Type) -> Type:
    """The type without type arguments of its own."""
    return type_.bare if isinstance(type_, Nominal) else type_


@dataclass(frozen=True, slots=True)
class Parameter(Type):
    """A type parameter that a call is to find the type for; inside its own declaration it is a Nominal of kind parameter."""

    name: str

    def spell(self, levels: int) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Open(Type):
    """A side that inference has not found yet (`[]`, `None`, the other side of `Ok(x)`)."""

    def spell(self, levels: int) -> str:
        return "_"


INT = Simple("Int")
FLOAT = Simple("Float")
STRING = Simple("String")
BOOL = Simple("Bool")
NIL = Simple("Nil")
ANY = Simple("Any")
RANGE = Simple("Range")
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
LIBRARY_RECORDS = (Nominal("record", "HttpResponse"), Nominal("record", "RegexMatch"))


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
