"""How the checker records on the tree what it decided: which call, which field, which coercion.

The checker sets these records on `target` of calls and field accesses, on `coercion` of expressions, on `failure` of what errors
leave by, and on `rethrow` of a `try`; codegen reads them and decides nothing about names itself, and the language server reads
them to find what a name means; the target of an access to a slot is `symbols.SlotAccess`. Hands on these records, and the union
`Coercion` of those that convert; they are data alone, and nothing is checked or converted here. A new way to call something is a
class here, the place in the checker that makes it, and a case in `codegen/calls.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..vm.record import field, record
from .symbols import FunctionSymbol, StructSymbol, VariantSymbol
from .syntax import ast
from .types import Nominal, Type

# Calls.


@record
class CallTarget:
    """What a Call or MethodCall runs. `arguments`: one expression per parameter in parameter order; None stands for a missing
    argument whose default applies. `order`: 0-based indexes of the written `arguments` in evaluation order (as written)."""

    arguments: list[ast.Expr | None]
    order: list[int]


@record
class FunctionCall(CallTarget):
    """A declared function, called directly; also a method without `mut self` that is called by its path, `T::m(x, …)`: there
    `arguments` and `order` count the receiver, the first parameter."""

    function: FunctionSymbol


@record
class MethodTarget(CallTarget):
    """A declared method, called directly, as `x.m(…)`, or as `T::m(x, …)` where it has `mut self`. Neither `arguments` nor
    `order` count the receiver."""

    function: FunctionSymbol
    receiver: ast.Expr


@record
class ToolTarget(CallTarget):
    """A method of a tool, run by the host on the tool's state (O-4.6). `receiver` is bound to the tool. Neither
    `arguments` nor `order` count it."""

    function: FunctionSymbol
    receiver: ast.Expr


@record
class TraitCall(CallTarget):
    """A method of the trait type `trait`, chosen by the run-time type of the receiver (L-3.10.4). Neither `arguments` nor
    `order` count the receiver."""

    function: FunctionSymbol
    receiver: ast.Expr
    trait: Nominal


@record
class ValueCall(CallTarget):
    """A function value (closure, parameter, field of function type, Any). The callee expression is `callee`, or for
    `x.m()` with a field m of function type the FieldAccess that reads it."""

    callee: ast.Expr


@record
class BuiltinCall(CallTarget):
    """A built-in function (`receiver_kind` ""), a function of the library (`receiver_kind` "std::MODULE"), or a method of a
    statically known kind: a row of the registry (`vm/builtins`). For methods the receiver is the MethodCall's receiver, for
    `len(x)` of a handle, which has the kind of the handle, the argument; for `special` and `handle` rows codegen knows what to
    emit. `mutates`: the receiver is a place that is written (L-3.13.2) or a temporary. `absent_as_nil`: the Option that a
    method of a `T?` gives is a `U?` again (L-6.6.9)."""

    receiver_kind: str
    name: str
    mutates: bool = False
    type_arguments: tuple[Type, ...] = ()  # checked ones, e.g. T of execute_with_schema<T>
    schema: StructSymbol | None = None  # the schema that is asked for, by execute_with_schema and parse_schema
    partial: StructSymbol | None = None  # of the parts in which it arrives, by stream_with_schema (O-2.71)
    unwraps: bool = False  # the value is the field of what comes back (O-2.64)
    absent_as_nil: bool = False
    answer: Type | None = None  # what the answer to an awaited emit, or a resource, has to be (O-5.35, O-4.50)


@record
class DynamicCall(CallTarget):
    """A method on Any, found at run time; `names` are the names of trailing named arguments. `may_change`: some method of that
    name changes its receiver."""

    name: str
    names: list[str] = field(factory=list)
    may_change: bool = False


@record
class ConstructorCall(CallTarget):
    """`Some(x)`, `Ok(x)`, `Ok()`, `Err(e)`: `name`."""

    name: str


@record
class VariantCall(CallTarget):
    """`E::V(a, b)`."""

    variant: VariantSymbol


@record
class ErrorCall(CallTarget):
    """`F::new(msg)` and `F::V(msg)`. `fields` is always empty: these forms take nothing after the message; `F::V { … }` is a
    StructExpr, whose entries codegen takes as they are."""

    family: str
    variant: str | None
    fields: list[str] = field(factory=list)


@record
class RecordCall(CallTarget):
    """`Prompt::new(s)`, `Message::user(s)` …: constructors of built-in records: `record`, `constructor`."""

    record: str
    constructor: str


# Fields.


@record
class FieldByPosition:
    """A field of a struct, schema value or record; `index` is its place in the order of the declaration, from 0."""

    index: int


@record
class FieldByName:
    """A member of Any, a Map<String, V> or an error value, found at run time."""

    name: str


@record
class FieldOfError:
    """A member of an `Error`, which may be a struct or enum of the program (L-3.11.14)."""

    name: str


# Coercions (L-3.3): what happens to the value of an expression before it is used.


@dataclass(frozen=True, slots=True)
class ToFloat:
    """Int to Float."""


@dataclass(frozen=True, slots=True)
class ToOption:
    """T, nil or `T?` to Option<T>; `inner` converts first."""

    inner: object = None


@dataclass(frozen=True, slots=True)
class ToOk:
    """A value that ends a function which returns `target`, a `Result<T, E>`, to Ok of it (L-3.3.19); `inner` converts first."""

    target: Type
    inner: object = None


@dataclass(frozen=True, slots=True)
class FromOption:
    """Option<T> to T?: the value, or nil for None (L-3.3.14)."""

    target: Type


@dataclass(frozen=True, slots=True)
class ToPrompt:
    """String to Prompt."""


@dataclass(frozen=True, slots=True)
class ToError:
    """String to RuntimeError, only in throw and `?` (L-3.3.13) and where a `catch` takes texts too (L-3.12.17)."""


@dataclass(frozen=True, slots=True)
class ToMessage:
    """A built-in error to the String of its message (L-3.3.16)."""


@dataclass(frozen=True, slots=True)
class ErrToMessage:
    """`Result<T, E>` to `Result<T, String>`, E a built-in error (L-3.3.17)."""


@dataclass(frozen=True, slots=True)
class CheckAny:
    """Any to T, by a run-time check of the kind alone, without its parts; another kind is the panic P007 (L-3.3.3)."""

    target: Type


@dataclass(frozen=True, slots=True)
class ThroughFrom:
    """An error to the error type of its target by `impl From` (L-3.12.3)."""

    function: FunctionSymbol


Coercion = ToFloat | ToOption | ToOk | FromOption | ToPrompt | ToError | ToMessage | ErrToMessage | CheckAny | ThroughFrom
