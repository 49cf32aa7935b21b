"""The table of built-in functions and methods: one row each, signature, documentation and body together (V-2.8).

Checker, completion, dispatch and the reference page read these tables; no other place lists built-ins. `STD` fills module by
module: ask `modules.std_row`. `HIDDEN` has methods of handles that the checker does not know: what code made by the compiler and
the language's own texts call, and what is refused with a panic of its own when a program calls it behind `Any`. Dispatch looks
there first.

Hands on the tables (METHODS, ASSOCIATED, FUNCTIONS, STD, HIDDEN), `Row`, `KIND_OF`, `lookup` and `method_names`, mostly through
the package `vm/builtins`; the functions that declare a row (`method`, `associated`, `function`, `prelude`, `special`, `handle`,
`hidden`, `std`, `effect` and their like) and the guards of arguments (`text`, `integer`, `array` and so on, and `mismatch`, which
raises) to the files beside it, which have the rows; `hidden` and `HIDDEN` also to `interp/context_slots.py`, and `HIDDEN` to
`interp/dispatch.py`. What declares a row takes fields of `Row` as its `options` or named arguments, and raises ValueError for a
second row of one name (and receiver or module); a decorator gives the function back unchanged.

A row's `kind` says who does the work: `python` (its `body`, called with the receiver, if there is one, and every parameter),
`prelude` (its `source`, Concerto text with `self` and the parameters, for what calls functions), `handle` (its `body`, called
with the machine, the task, the receiver and every parameter, see `binding`), `effect` (the host: `prepare` checks the arguments
and gives the payload of the effect named `effect`; the host's answer is the result, unless `at_once`, called with the payload,
gives it without the host and not None), `special` (a form the compiler knows). A
*mut* body changes an owned receiver in place; a *mut* prelude gives the new receiver. The receiver is of the row's kind: callers
dispatch on its class. A *linear* body works on every item or character, and charges the run for many of them. `permission` is the
one that a program needs for the effect, `clause` where the specification says what the row does.

`special="schema"` on an effect or a method of a handle: its type argument is a schema, which `prepare` or the body gets before
the arguments. `special="numeric"` on a row with a Python body: its Float parameters take an Int as it is, and a Float result is
an Int when all of them are. `by_site` on a method of a handle: its parameters are those of a declaration, or its name counts, so
the body takes site and arguments as the loop gives them. `access` on a method of a hashmap, for entries in memory: "read" ends by
itself, "write" too where nobody watches and there is no file.
"""

from __future__ import annotations

from ..panics import Panic
from ..values.containers import Array, Map, Queue, RangeValue, Set, Stack, unkey
from ..values.errors import ErrorValue
from ..values.handles import (
    AgentRef,
    EmbedderRef,
    HashMapRef,
    HostStream,
    IndexRef,
    ItemStream,
    KeyedRef,
    LedgerQuery,
    LedgerRef,
    McpRef,
    MemoryRef,
    ModelBuilder,
    ModelRef,
    PipelineRef,
    SchemaRef,
    Stream,
    TaskHandle,
    ToolRef,
    TypedStream,
)
from ..values.objects import RECORDS, Closure, EnumValue, Err, NoneOption, Ok, Some
from ..values.types import typeof
from .signatures import name_in, parse_signature, parse_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar

    from ..values.types import Descriptor
    from .signatures import Parameter, Signature

    Body = TypeVar("Body", bound=Callable[..., Any])


class Row:
    """One built-in. `text` is its signature as written, which is parsed when somebody asks for it, since at start only names
    matter; `name` is the name in it. `receiver_text` is the receiver's type as written, "" for a function, and `receiver` the
    same without type arguments. `doc` is what the reference shows, `module` the module of `std::`, "" for any other row. The
    docstring of the module says what the other fields are."""

    __slots__ = (
        "receiver", "receiver_text", "name", "text", "kind", "mut", "doc", "body", "source", "clause", "linear",
        "special", "module", "effect", "permission", "prepare", "at_once", "by_site", "access", "_signature",
    )  # fmt: skip

    def __init__(
        self,
        receiver_text: str,
        text: str,
        *,
        kind: str = "python",
        clause: str,
        doc: str = "",
        body: Any = None,
        source: str = "",
        mut: bool = False,
        linear: bool = False,
        special: str = "",
        module: str = "",
        effect: str = "",
        permission: str = "",
        prepare: Any = None,
        at_once: Any = None,
        by_site: bool = False,
        access: str = "",
    ) -> None:
        self.receiver_text = receiver_text
        self.receiver = receiver_text.partition("<")[0]
        self.text = text
        self.name = name_in(text)
        self.kind = kind
        self.clause = clause
        self.doc = doc
        self.body = body
        self.source = source
        self.mut = mut
        self.linear = linear
        self.special = special
        self.module = module
        self.effect = effect
        self.permission = permission
        self.prepare = prepare
        self.at_once = at_once
        self.by_site = by_site
        self.access = access
        self._signature: Signature | None = None

    @property
    def signature(self) -> Signature:
        """The parsed `text`. Raises ValueError or IndexError when it is malformed, and so do the properties that read it."""
        if self._signature is None:
            self._signature = parse_signature(self.text)
        return self._signature

    @property
    def takes_schema(self) -> bool:
        """Whether this is an effect whose `prepare` gets the schema of a type argument before the arguments."""
        return self.kind == "effect" and self.special == "schema"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.signature.parameters

    @property
    def result(self) -> Descriptor:
        """The descriptor of what a call gives."""
        return self.signature.result

    @property
    def type_parameters(self) -> tuple[str, ...]:
        return self.signature.type_parameters

    @property
    def receiver_type(self) -> Descriptor | None:
        """The receiver's type with its type parameters; None for a function."""
        return parse_type(self.receiver_text) if self.receiver_text else None

    @property
    def defaults(self) -> tuple[Any, ...]:
        """The default of each parameter in order, `REQUIRED` where it has none."""
        return tuple(parameter.default for parameter in self.parameters)

    def __repr__(self) -> str:
        return f"Row({self.receiver_text + '.' if self.receiver else ''}{self.text})"


# Keys are (receiver, name); in FUNCTIONS the name alone, in STD (module without `std::`, name).
METHODS: dict[tuple[str, str], Row] = {}
ASSOCIATED: dict[tuple[str, str], Row] = {}
FUNCTIONS: dict[str, Row] = {}
STD: dict[tuple[str, str], Row] = {}
HIDDEN: dict[tuple[str, str], Row] = {}


def _enter(row: Row, table: dict[Any, Row], key: Any) -> None:
    if key in table:
        raise ValueError(f"built-in defined twice: {row!r}")
    table[key] = row


def _decorator(table: str, receiver: str, text: str, options: dict[str, Any]) -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        row = Row(receiver, text, body=body, doc=body.__doc__ or "", **options)
        enter(row, table)
        return body

    return register


def enter(row: Row, table: str) -> None:
    """Put a row into a table of built-ins: `table` is "function", "std", "method", "hidden" or "associated". Returns nothing.
    Raises ValueError for a second row of one name (and receiver or module)."""
    if table == "function":
        _enter(row, FUNCTIONS, row.name)
    elif table == "std":
        _enter(row, STD, (row.module, row.name))
    else:
        _enter(row, {"method": METHODS, "hidden": HIDDEN, "associated": ASSOCIATED}[table], (row.receiver, row.name))


def method(receiver: str, text: str, **options: Any) -> Callable[[Body], Body]:
    """Declare a method with a Python body: `body(receiver, *every_parameter)`."""
    return _decorator("method", receiver, text, options)


def associated(receiver: str, text: str, **options: Any) -> Callable[[Body], Body]:
    """Declare a function of a type, called as `Type::name(…)`, with a Python body."""
    return _decorator("associated", receiver, text, options)


def function(text: str, **options: Any) -> Callable[[Body], Body]:
    """Declare a global function with a Python body."""
    return _decorator("function", "", text, options)


def prelude(receiver: str, text: str, *, clause: str, doc: str, source: str, mut: bool = False) -> None:
    """Declare a method written in Concerto: it calls functions, so it must run on the machine's own frames."""
    enter(Row(receiver, text, kind="prelude", clause=clause, doc=doc, source=source, mut=mut), "method")


def special(text: str, *, clause: str, doc: str) -> None:
    """Declare a global function that the compiler turns into instructions."""
    enter(Row("", text, kind="special", clause=clause, doc=doc), "function")


def handle(receivers: str | tuple[str, ...], text: str, **options: Any) -> Callable[[Body], Body]:
    """Declare a method of a handle, or of several kinds of them: `body(machine, task, receiver, *every_parameter)`. `doc`
    replaces the body's docstring where rows of one body differ."""
    return _of_handles("method", receivers, text, options)


def hidden(receivers: str | tuple[str, ...], text: str, **options: Any) -> Callable[[Body], Body]:
    """Declare a method of a handle that the checker does not know: code made by the compiler calls it, or a program behind
    `Any`."""
    return _of_handles("hidden", receivers, text, {"clause": "", **options})


def _of_handles(
    table: str, receivers: str | tuple[str, ...], text: str, options: dict[str, Any]
) -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        for receiver in (receivers,) if isinstance(receivers, str) else receivers:
            enter(Row(receiver, text, kind="handle", body=body, **{"doc": body.__doc__ or "", **options}), table)
        return body

    return register


def std(module: str, text: str, **options: Any) -> Callable[[Body], Body]:
    """Declare a function of the module `std::…` with a Python body."""
    return _decorator("std", "", text, {"module": module, **options})


def effect(text: str, *, effect: str, clause: str, permission: str = "", special: str = "") -> Callable[[Body], Body]:
    """Declare a global function that the host performs, as `std_effect` does."""
    return _effect("function", "", text, effect, clause, permission, special)


def associated_effect(owner: str, text: str, *, effect: str, clause: str) -> Callable[[Body], Body]:
    """Declare what the compiler calls for a form of the language that the host performs; `owner` is no type of the language."""
    return _effect("associated", "", text, effect, clause, "", owner=owner)


def std_effect(
    module: str, text: str, *, effect: str, clause: str, permission: str = "", at_once: Any = None
) -> Callable[[Body], Body]:
    """Declare a function of the module `std::…` that the host performs. The decorated function checks the arguments and
    returns the payload of the effect; its docstring is the documentation."""
    return _effect("std", module, text, effect, clause, permission, at_once=at_once)


def _effect(
    table: str, module: str, text: str, effect: str, clause: str, permission: str, special: str = "", owner: str = "",
    at_once: Any = None,
) -> Callable[[Body], Body]:
    def register(prepare: Body) -> Body:
        row = Row(
            owner, text, kind="effect", clause=clause, doc=prepare.__doc__ or "", module=module, effect=effect,
            permission=permission, prepare=prepare, at_once=at_once, special=special,
        )  # fmt: skip
        enter(row, table)
        return prepare

    return register


def std_prelude(module: str, text: str, *, clause: str, doc: str, source: str) -> None:
    """Declare a function of the module `std::…` written in Concerto: it calls functions or combines effects."""
    enter(Row("", text, kind="prelude", clause=clause, doc=doc, source=source, module=module), "std")


def std_special(module: str, text: str, *, clause: str, doc: str) -> None:
    """Declare a function of the module `std::…` that takes what only the compiler knows."""
    enter(Row("", text, kind="special", clause=clause, doc=doc, module=module), "std")


# The receiver kind, as in the keys of METHODS, of the values of a class.
KIND_OF: dict[type, str] = {
    int: "Int", float: "Float", str: "String", bool: "Bool", type(None): "Nil", tuple: "Tuple", bytes: "Bytes", Array: "Array",
    Map: "Map", Set: "Set", Queue: "Queue", Stack: "Stack", RangeValue: "Range", Some: "Option",
    NoneOption: "Option", Ok: "Result", Err: "Result", ErrorValue: "Error", EnumValue: "Enum", Closure: "Function",
    ModelRef: "ModelRef", AgentRef: "AgentRef", ModelBuilder: "ModelBuilder", MemoryRef: "Memory", SchemaRef: "SchemaRef",
    HashMapRef: "HashMap", LedgerRef: "Ledger", LedgerQuery: "LedgerQuery", TaskHandle: "Task",
    PipelineRef: "PipelineRef", Stream: "Stream", TypedStream: "TypedStream", ItemStream: "ItemStream",
    HostStream: "HostStream",
    ToolRef: "ToolRef", McpRef: "McpRef", KeyedRef: "KeyedMemory", EmbedderRef: "EmbedderRef", IndexRef: "Index",
    **{cls: name for name, cls in RECORDS.items()},
}  # fmt: skip


def lookup(kind: str, name: str) -> Row | None:
    """Return the row of a method of a receiver kind, else the one that every value has, else None; with kind "" the row of a
    global function or None. Rows of `HIDDEN` are not looked up."""
    if not kind:
        return FUNCTIONS.get(name)
    return METHODS.get((kind, name)) or METHODS.get(("Any", name))


def method_names(kind: str) -> list[str]:
    """Return the sorted names of all methods of a receiver kind and of those that every value has, for suggestions and
    completion."""
    return sorted(name for receiver, name in METHODS if receiver in (kind, "Any"))


# ----------------------------------------------------------------
# Argument guards: bodies take arguments whose static type may be Any, so each says what it expects (L-3.3.3).
#
# Each guard gives back the argument, or what its docstring says, or panics with P007.


def mismatch(expected: str, value: Any) -> NoReturn:
    """Raise P007 for a value of another kind than `expected`, which is the type as programs write it."""
    raise Panic("P007", f"expected {expected}, found {typeof(value)}")


def text(value: Any) -> str:
    return value if type(value) is str else mismatch("String", value)


def boolean(value: Any) -> bool:
    return value if type(value) is bool else mismatch("Bool", value)


def integer(value: Any) -> int:
    return value if type(value) is int else mismatch("Int", value)


def number(value: Any) -> Any:
    return value if type(value) is int or type(value) is float else mismatch("Int or Float", value)


def float_of(value: Any) -> float:
    """Return a Float, or an Int made one (L-3.3.4); P007 for any other value."""
    return float(number(value))


def array(value: Any) -> list[Any]:
    """Return the elements of an Array; P007 for any other value."""
    return value.items if type(value) is Array else mismatch("Array", value)


def table(value: Any) -> dict[Any, Any]:
    """Return the entries of a Map by dict key; P007 for any other value."""
    return value.items if type(value) is Map else mismatch("Map", value)


def key_text(key: Any) -> str:
    """Return a dict key of a Map whose keys are Strings; P007 for any other."""
    return text(unkey(key))


def binary(value: Any) -> bytes:
    return value if type(value) is bytes else mismatch("Bytes", value)
