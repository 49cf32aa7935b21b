"""Static types as values: what the checker computes with, and how a type is spelt in a message.

Hands on the classes of types (`Simple`, `Generic`, `Nominal` and their like), the constants and constructors below, and what
impls say about a type (`Implementation`, in the `Facts` of it) to the rest of the compiler and to what shows types (the language
server and `cli/python_signatures.py`). Types are immutable, but for the `Facts` of a Nominal, and compare by value. Hashing,
comparing and `type_name` call themselves for the parts, so that a type that nests too deeply raises RecursionError; the checker
and the pipeline report that as E0114. How types relate (conversion, join) is in `checker/relations.py`; nothing is reported here.
A new predeclared type is a constant here and a row of `resolver/names.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .source import quoted

LEVELS_SHOWN = 24  # levels of a type that a message spells
PARTS_SHOWN = 200  # and parts of it: types share their parts, so that few levels may have thousands
MEMBERS_SHOWN = 40  # and members of a string union

_set = object.__setattr__  # types are frozen: computed fields are set once, when a type is made


class SpellingBudget:
    """How many parts of one type a message may still spell."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = PARTS_SHOWN


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

    def spell(self, levels: int, budget: SpellingBudget) -> str:
        """Return the spelling in source with at most `levels` levels inside each other; each part takes one from `budget`.
        What is cut is written `…`. Each class of types has its own; NotImplementedError in this one."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.spell(LEVELS_SHOWN, SpellingBudget())


def _measure(type_: Type, parts: Iterable[Type]) -> None:
    """Set the computed fields of a new type from those of its parts, which avoids a walk over all of it."""
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
    """Return the hash of `parts`, computed once: otherwise each look-up in a dict takes a walk over all that the type is made
    of."""
    value = type_._hash
    if value is None:
        value = hash(parts)
        _set(type_, "_hash", value)
    return value


def _listed(types: Iterable[Type], levels: int, budget: SpellingBudget) -> str:
    if not levels:
        return "…"
    texts: list[str] = []
    for type_ in types:
        if budget.left <= 0:
            texts.append("…")
            break
        budget.left -= 1
        texts.append(type_.spell(levels - 1, budget))
    return ", ".join(texts)


def _bracketed(type_: Type, levels: int, budget: SpellingBudget, *kinds: type[Type]) -> str:
    """Return the spelling of a part; where it is of one of these kinds, in the brackets without which what stands beside it would
    belong to its own last part."""
    text = _listed((type_,), levels, budget)
    return f"({text})" if isinstance(type_, kinds) else text


@dataclass(frozen=True, slots=True)
class Simple(Type):
    """Types without parameters: Int Float String Bool Nil Any Range Bytes, `never` (diverges), the handles of L-3.1.21."""

    name: str

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Simple and self.name == other.name)

    def spell(self, levels: int, budget: SpellingBudget) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Generic(Type):
    """A predeclared type with type arguments, `name<arguments>`, such as Array, Result or HashMap; Memory with a context;
    PipelineRef, whose arguments nobody writes."""

    name: str
    arguments: tuple[Type, ...]

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Generic and self.name == other.name and self.arguments == other.arguments)

    def __hash__(self) -> int:
        return _hashed(self, self.name, self.arguments)

    def __post_init__(self) -> None:
        _measure(self, self.arguments)

    def spell(self, levels: int, budget: SpellingBudget) -> str:
        if self.name == "PipelineRef":
            return self.name
        name = "Stream" if self.name == HOST_STREAM else self.name
        return f"{name}<{_listed(self.arguments, levels, budget)}>"


@dataclass(frozen=True, slots=True)
class Tuple(Type):
    """`(A, B)`, `(A,)`, `()`."""

    items: tuple[Type, ...]

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Tuple and self.items == other.items)

    def __hash__(self) -> int:
        return _hashed(self, Tuple, self.items)

    def __post_init__(self) -> None:
        _measure(self, self.items)

    def spell(self, levels: int, budget: SpellingBudget) -> str:
        inside = _listed(self.items, levels, budget)
        return f"({inside},)" if len(self.items) == 1 else f"({inside})"


@dataclass(frozen=True, slots=True)
class Nilable(Type):
    """`T?`. Made by `relations.nilable`, since a T that holds nil already stays as it is (L-3.1.8)."""

    inner: Type

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Nilable and self.inner == other.inner)

    def __hash__(self) -> int:
        return _hashed(self, Nilable, self.inner)

    def __post_init__(self) -> None:
        _measure(self, (self.inner,))

    def spell(self, levels: int, budget: SpellingBudget) -> str:
        return f"{_bracketed(self.inner, levels, budget, Union, Function)}?"


@dataclass(frozen=True, slots=True)
class Function(Type):
    """`fn(A, B) -> R`; a function without result has the result Nil, which is not spelt."""

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

    def spell(self, levels: int, budget: SpellingBudget) -> str:
        head = f"fn({_listed(self.parameters, levels, budget)})"
        return head if self.result == NIL else f"{head} -> {_bracketed(self.result, levels, budget, Union)}"


@dataclass(frozen=True, slots=True)
class Union(Type):
    """A string union, `"a" | "b"`: its members in the order of the source. `known` is the same as a set."""

    members: tuple[str, ...]
    known: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", frozenset(self.members))

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Union and self.members == other.members)

    def __hash__(self) -> int:
        return _hashed(self, self.members)

    def holds(self, text: str) -> bool:
        """Return whether a text is a member, in a time that does not depend on how many there are."""
        return text in self.known

    def spell(self, levels: int, budget: SpellingBudget) -> str:
        members = [quoted(member) for member in self.members[:MEMBERS_SHOWN]]
        return " | ".join([*members, "…"] if len(self.members) > MEMBERS_SHOWN else members)


@dataclass(eq=False, slots=True)
class Implementation:
    """`impl<parameters> X<arguments> for target`, as the trait X knows it. Compared by identity: each impl is one object."""

    parameters: tuple[Nominal, ...]
    arguments: tuple[Type, ...]
    target: Type


class Implementations:
    """The impls of a trait in the order in which they were declared: `every` has them, `numbers` the place of each in it, from 0.
    Those that may suit are found by the head of their target and the forms of their arguments: a trait may have thousands, and
    each may be looked up."""

    __slots__ = ("every", "numbers", "_index")

    def __init__(self) -> None:
        self.every: list[Implementation] = []
        self.numbers: dict[Implementation, int] = {}
        # By head, None for all; then by the positions of arguments that have a form; then by these forms.
        self._index: dict[str | None, dict[tuple[int, ...], dict[tuple[object, ...], list[Implementation]]]] = {}

    def add(self, implementation: Implementation, head: str) -> None:
        """Append an impl; `head` is what is left of its target at run time (`relations.kind_head`)."""
        self.numbers[implementation] = len(self.every)
        self.every.append(implementation)
        # An argument without form fits every type, so that it cannot be part of the key.
        forms = [form(argument, implementation.parameters) for argument in implementation.arguments]
        fixed = tuple([position for position, one in enumerate(forms) if one is not None])
        for key in (head, None):
            by_forms = self._index.setdefault(key, {}).setdefault(fixed, {})
            by_forms.setdefault(tuple([forms[position] for position in fixed]), []).append(implementation)

    def offered(self, head: str | None, arguments: tuple[Type, ...], free: tuple[Nominal, ...] = ()) -> list[Implementation]:
        """Return the impls that may suit a trait with these arguments, in the order of declaration: all that do, and some that do
        not. `free` are type parameters that stand for any type; `head` None means targets of any head."""
        forms = [form(argument, free) for argument in arguments]
        groups: list[list[Implementation]] = []
        for fixed, by_forms in self._index.get(head, {}).items():
            # Where the sought type has no form either, every impl of the group may suit.
            key = tuple([forms[position] if position < len(forms) else None for position in fixed])
            groups += by_forms.values() if None in key else [by_forms.get(key, [])]
        candidates = [implementation for group in groups for implementation in group]
        return candidates if len(groups) == 1 else sorted(candidates, key=self.numbers.__getitem__)

    def has(self, head: str) -> bool:
        """Return whether there is an impl whose target has this head."""
        return head in self._index

    def heads(self) -> list[str]:
        """Return the heads of all targets."""
        return [head for head in self._index if head is not None]


def form(type_: Type, free: tuple[Nominal, ...]) -> object:
    """Return a key that two types share if one may be matched with the other; None for a type that fits every type."""
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
    """What impls and bounds say about a nominal type; every mention of the type shares one object, which is filled while impls
    are declared and takes no part in comparing types. `bounds`: of a type parameter. `implementations`: of a trait.
    `is_error`: it has `impl Error` (L-3.11.14). `payload`: of an enum of the program, what its variants hold. `never_written`:
    what `is_plain` of `codegen/generator.py` has found for an enum."""

    bounds: tuple[Nominal, ...] = ()
    implementations: Implementations = field(default_factory=Implementations)
    is_error: bool = False
    payload: tuple[Type, ...] = ()
    never_written: bool | None = None


@dataclass(frozen=True, slots=True)
class Nominal(Type):
    """A type that is told by its name. `kind` says what has the name: "struct", "schema", "enum", "trait", a "context" of
    memories, a "record" of the language, a built-in family of errors ("error"), a "model" or "tool" with an impl, or a type
    "parameter" inside its own declaration. `key` tells declared types of one name apart; it is empty where the name does.
    `plain`: an enum whose variants hold nothing."""

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
        """Return the name that no other declared type of the program has."""
        return self.key or self.name

    @property
    def bare(self) -> Nominal:
        """Return the type without type arguments, which do not exist at run time (L-3.1.22)."""
        return self.of(()) if self.arguments else self

    def of(self, arguments: tuple[Type, ...]) -> Nominal:
        """Return the same declared type with other type arguments; it shares the facts."""
        return Nominal(self.kind, self.name, arguments, self.key, self.plain, self.facts)

    def spell(self, levels: int, budget: SpellingBudget) -> str:
        return f"{self.name}<{_listed(self.arguments, levels, budget)}>" if self.arguments else self.name


def bare(type_: Type) -> Type:
    """Return a nominal type without its type arguments, any other type as it is."""
    return type_.bare if isinstance(type_, Nominal) else type_


def absent_as_nil(type_: Type | None) -> bool:
    """Return whether a type is a `T?` whose one absence is nil, so that `Some(p)` and `None` may be written for it (L-5.8.13):
    in `Option<T>?` they are patterns of the Option."""
    return isinstance(type_, Nilable) and not (isinstance(type_.inner, Generic) and type_.inner.name == "Option")


@dataclass(frozen=True, slots=True)
class Parameter(Type):
    """A type parameter that a call is to find the type for; inside its own declaration it is a Nominal of kind parameter."""

    name: str

    def __post_init__(self) -> None:
        _set(self, "is_open", True)

    def spell(self, levels: int, budget: SpellingBudget) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Open(Type):
    """A side whose type inference does not know yet (`[]`, `None`, the other side of `Ok(x)`)."""

    def __post_init__(self) -> None:
        _set(self, "is_open", True)

    def spell(self, levels: int, budget: SpellingBudget) -> str:
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
TYPED_STREAM, ITEM_STREAM = "TypedStream", "ItemStream"  # generic: of a schema, and of the elements of a field of one
HOST_STREAM = "HostStream"  # `Stream<T>`: what a function of Python gives one by one (P-1.3)
TOOL_REF = Simple("ToolRef")
MCP_REF = Simple("McpRef")
SCHEMA_REF = Simple("SchemaRef")
LEDGER = Simple("Ledger")
EMBEDDER_REF = Simple("EmbedderRef")
PROMPT = Nominal("record", "Prompt")
RESPONSE = Nominal("record", "Response")
CITATION = Nominal("record", "Citation")
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
MEDIA = Nominal("record", "Media")
LIBRARY_RECORDS = (
    *(Nominal("record", name) for name in ("HttpResponse", "RegexMatch", "ModelUsage", "BudgetLeft", "Url", "DateTime")),
    *(Nominal("record", name) for name in ("McpResource", "McpPrompt")),
    MEDIA, Nominal("record", "Passage"),
)


def array(item: Type) -> Generic:
    """Return `Array<item>`."""
    return Generic("Array", (item,))


def map_(key: Type, value: Type) -> Generic:
    """Return `Map<key, value>`."""
    return Generic("Map", (key, value))


def hashmap(key: Type, value: Type) -> Generic:
    """Return `HashMap<key, value>`."""
    return Generic("HashMap", (key, value))


# Handles whose length their own method gives, by kind; each as the opcode IS, which tests the kind of a value, tells it.
MEASURED = {"HashMap": hashmap(ANY, ANY), "Ledger": LEDGER, "Memory": MEMORY, "Index": Generic("Index", (ANY,))}


def pipeline(input: Type, output: Type) -> Type:
    """Return the handle of a pipeline, by which its `.run` is typed."""
    return Generic("PipelineRef", (input, output))


def memory_of(context: Type) -> Generic:
    """Return `Memory<C>`: a memory whose slots are those of the context C (M-2.2)."""
    return Generic("Memory", (context,))


def option(item: Type) -> Generic:
    """Return `Option<item>`."""
    return Generic("Option", (item,))


def result(value: Type, error: Type) -> Generic:
    """Return `Result<value, error>`."""
    return Generic("Result", (value, error))


def error(family: str) -> Nominal:
    """Return the type of a built-in error family, as `HttpError`."""
    return Nominal("error", family)


ERROR = error("Error")


def is_stream(type_: Type | None) -> bool:
    """Return whether a `for` walks over a value of this type piece by piece, as the pieces arrive (O-1.72, O-2.70)."""
    return type_ == STREAM or (isinstance(type_, Generic) and type_.name in (TYPED_STREAM, ITEM_STREAM, HOST_STREAM))


def of_host(type_: Type | None) -> bool:
    """Return whether a type is `Stream<T>`, of what Python gives one by one (P-1.3)."""
    return isinstance(type_, Generic) and type_.name == HOST_STREAM


def type_name(type_: Type) -> str:
    """Return a text that tells a type from all others of the program: modules may have types of one name, also in its parts."""
    match type_:
        case Nilable():
            return f"{type_name(type_.inner)}?"
        case Tuple():
            return f"({', '.join(map(type_name, type_.items))}{',' if len(type_.items) == 1 else ''})"
        case Function():
            return f"fn({', '.join(map(type_name, type_.parameters))}) -> {type_name(type_.result)}"
        case Union():
            return " | ".join(f'"{member}"' for member in type_.members)
    arguments = type_.arguments if isinstance(type_, (Nominal, Generic)) else ()
    head = type_.unique_name if isinstance(type_, Nominal) else type_.name if isinstance(type_, Generic) else str(type_)
    return f"{head}<{','.join(map(type_name, arguments))}>" if arguments else head
