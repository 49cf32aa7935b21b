"""The abstract syntax tree: one class for each construct of the language, every node with its exact span.

Hands on the node classes: the productions build them; every later phase, the formatter, the hints, the language server,
`cli/dump.py` and `cli/python_signatures.py` read them. Fields made by `annotation` are empty after parsing and are filled by the
resolver and the checker. Beside that resolver and checker rewrite a few forms in place (such as `f(x=2)`, the words of memories
and the body of a function by a model), and a check with a cache takes bodies out. Also hands on `walk` for all nodes of a tree,
`items_of` and `ungrouped`; `copy_tree` to `incremental` and the resolver; `node`, which makes a class of nodes, to `symbols`;
`written_names` to the formatter and `cli/dump.py`; and `Nesting`, through which a walk that calls itself goes down, and
`on_fresh_stack`, so that deep trees do not exhaust Python's stack. What a name denotes, and whether a tree is right, is decided
elsewhere.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from typing import Any, Literal, TypeVar, dataclass_transform

from ...vm.record import FieldSpec, field, fields_of, record
from ..source import Span

T = TypeVar("T")


def annotation(init: Literal[False] = False) -> Any:
    """Return a field that is None after parsing and that the resolver or the checker fills. The comment at such a field names
    what it then holds: records of `compiler/symbols.py` and `compiler/decisions.py`, types of `compiler/types.py`. `init` is for
    type checkers alone."""
    return field(init=init, is_derived=True)


@dataclass_transform(eq_default=False, field_specifiers=(field, annotation))
def node(cls: type[T]) -> type[T]:
    """Make a class of nodes. Its fields may be given by position, because naming them would cost a third of the time of a parse
    (V-8.7); those that it has of `Item` by name alone."""
    return record(cls)


@node
class Node:
    """The base of all nodes. `span` is what the node covers of the source."""

    span: Span

    def children(self) -> Iterator[Node]:
        """Yield the child nodes in the order of the fields, which mostly is the order of the source. Annotations are no children,
        nor is `left` of a `Pipe`, which stands in `applied`."""
        for name in _places(self):
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, Node):
                        yield item


def walk(root: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, in no promised order; the stack is of its own, so the tree may be of any depth."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.children())


def items_of(items: Iterable[TopLevel]) -> Iterator[TopLevel]:
    """Yield the items of a file in the order of the source, those of modules that are written out in braces among them; such
    modules may stand inside each other to any depth."""
    open_ = [iter(items)]
    while open_:
        item = next(open_[-1], None)
        if item is None:
            open_.pop()
            continue
        yield item
        if isinstance(item, Module) and item.items is not None:
            open_.append(iter(item.items))


def written_names(kind: type[Node]) -> list[str]:
    """Return the names of all fields of a class but the annotations and `left` of a `Pipe`, which stands in its `applied`: those
    that the parser fills, the span, and `omitted` of a function."""
    return [name for name, row in fields_of(kind).items() if not (isinstance(row, FieldSpec) and row.is_derived)]


_WITHOUT_NODES = frozenset(("Span", "Span | None", "bool", "float", "int", "str", "str | None"))
_names_by_class: dict[object, list[str]] = {}  # what `_places` has worked out so far


def _types_of(kind: type[Node]) -> dict[str, str]:
    """Return the types of the fields as they are written, by name."""
    types: dict[str, str] = {}
    for cls in reversed(kind.__mro__):
        types.update(cls.__dict__.get("__annotations__", {}))
    return types


def _places(node: Node) -> list[str]:
    """Return the names of the fields that may hold nodes."""
    names = _names_by_class.get(type(node))
    if names is None:
        types = _types_of(type(node))
        names = [name for name in written_names(type(node)) if types[name] not in _WITHOUT_NODES]
        _names_by_class[type(node)] = names
    return names


N = TypeVar("N", bound=Node)
_parts_by_class: dict[type, tuple[list[str], list[str], list[str]]] = {}  # names of fields: shared, copied, annotations


def copy_tree(tree: N) -> N:
    """Return a copy of a tree, its annotations empty. It goes down without `Nesting`: RecursionError for a deep tree."""
    copy: N = _copy(tree, {})
    return copy


def _copy(value: Any, copies: dict[int, Node]) -> Any:
    """Return a copy of a node or of the value of a field. A node may stand in a tree twice, as `Pipe.left` does: `copies` has
    those made so far by the `id` of their originals."""
    if isinstance(value, list):
        return [_copy(item, copies) for item in value]
    if isinstance(value, tuple):
        return tuple([_copy(item, copies) for item in value])
    if not isinstance(value, Node):
        return value
    copy = copies.get(id(value))
    if copy is None:
        kind = type(value)
        shared, inside, blank = _parts_by_class.get(kind) or _parts(value)
        copy = copies[id(value)] = object.__new__(kind)
        for name in shared:
            setattr(copy, name, getattr(value, name))
        for name in blank:
            setattr(copy, name, None)
        for name in inside:
            setattr(copy, name, _copy(getattr(value, name), copies))
    return copy


def _parts(node: Node) -> tuple[list[str], list[str], list[str]]:
    rows, types = fields_of(node), _types_of(type(node))
    blank = [name for name, row in rows.items() if isinstance(row, FieldSpec) and row.is_derived and not row.init]
    rest = [name for name in rows if name not in blank]
    inside = [name for name in rest if types[name] not in _WITHOUT_NODES]
    parts = [name for name in rest if name not in inside], inside, blank
    _parts_by_class[type(node)] = parts
    return parts


@node
class Expr(Node):
    """`type` is the checked type of the expression itself; `coercion` what the place it stands in makes of it, or None."""

    # annotations
    type: Any = annotation()  # types.Type of the expression itself, before `coercion`
    coercion: Any = annotation()  # decisions.Coercion the place it stands in asks for, or None


@node
class TypeExpr(Node):
    pass


@node
class Pattern(Node):
    type: Any = annotation()  # types.Type of the value it is matched against


@node
class Stmt(Node):
    pass


@node
class Item(Node):
    """A declaration. `doc` is the text of the `///` comments before it."""

    decorators: list[Decorator] = field(factory=list, kw_only=True)
    public: bool = field(default=False, kw_only=True)
    doc: str | None = field(default=None, kw_only=True)
    symbol: Any = annotation()  # symbols.Symbol it declares


@node
class Ident(Node):
    """A name where it is written: declarations, fields, labels, keys."""

    text: str


@node
class Argument(Node):
    """`value` or `name: value`."""

    name: Ident | None
    value: Expr


@node
class Decorator(Node):
    """`@name` or `@name(arguments)`; `parenthesised` tells `@name()` from `@name`."""

    name: Ident
    arguments: list[Argument]
    parenthesised: bool


# Expressions with a body: blocks, branches, loops, closures, and what leaves them.


@node
class Block(Expr):
    """`{ statements; result }`; `result` is the final expression without `;`, or None."""

    statements: list[Stmt]
    result: Expr | None


@node
class If(Expr):
    """`otherwise` is a Block, another If, or None."""

    condition: Expr
    then: Block
    otherwise: Expr | None


@node
class MatchArm(Node):
    """`pattern if guard => body`."""

    pattern: Pattern
    guard: Expr | None
    body: Expr


@node
class Match(Expr):
    """`match subject { arms }`."""

    subject: Expr
    arms: list[MatchArm]


@node
class For(Expr):
    """`'label: for pattern in iterable { … }`; `label` is None where it is not written, as in the other loops."""

    label: Ident | None
    pattern: Pattern
    iterable: Expr
    body: Block
    failure: Any = annotation()  # over a Stream: the coercion of the error that cuts it, or None


@node
class While(Expr):
    """`'label: while condition { … }`."""

    label: Ident | None
    condition: Expr
    body: Block


@node
class Loop(Expr):
    """`'label: loop { … }`."""

    label: Ident | None
    body: Block


@node
class CatchClause(Node):
    """`catch`, `catch T`, `catch T(e)`."""

    type: TypeExpr | None
    name: Ident | None
    body: Block
    binding: Any = annotation()  # the Local of `name`
    caught: Any = annotation()  # types.Type it catches, None for all
    lifts_text: Any = annotation()  # whether a text that it catches becomes an error (L-3.12.17)


@node
class Try(Expr):
    """`try { … }` with its catch clauses, in the order in which they are tried."""

    body: Block
    catches: list[CatchClause]
    rethrow: Any = annotation()  # (type, coercion) of errors that no clause catches and that are converted on their way outward


@node
class Parameter(Node):
    """`name: type = default`, or `self` / `mut self` (`is_self`).

    A closure parameter that takes its argument apart carries a `pattern`, and `_` as its name.
    """

    name: Ident
    type: TypeExpr | None
    default: Expr | None = None
    is_self: bool = False
    mutable: bool = False
    decorators: list[Decorator] = field(factory=list)
    pattern: Pattern | None = None
    doc: str | None = None
    binding: Any = annotation()  # its Local


@node
class Closure(Expr):
    """`|a, b: T| body`, `|| -> T { … }`, and `fn (a: A) -> T { … }` (`function_form`)."""

    parameters: list[Parameter]
    result: TypeExpr | None
    body: Expr
    function_form: bool = False
    scope: Any = annotation()  # symbols.FunctionScope


@node
class Return(Expr):
    """`return value`; `value` is None for a plain `return`."""

    value: Expr | None


@node
class Throw(Expr):
    """`throw value`."""

    value: Expr


@node
class Break(Expr):
    """`break 'label value`; both are None where they are not written."""

    label: Ident | None
    value: Expr | None


@node
class Continue(Expr):
    """`continue 'label`."""

    label: Ident | None


# Expressions that start or await tasks, and `listen`.


@node
class Await(Expr):
    """`await operand` (`postfix` false) or `operand.await`."""

    operand: Expr
    postfix: bool
    tasks: Any = annotation()  # list[TaskBody]: of the elements of a tuple


@node
class Spawn(Expr):
    """`spawn operand`."""

    operand: Expr
    task: Any = annotation()  # TaskBody


@node
class TaskBody(Expr):
    """What runs in a task of its own, or an `async` block; made by the resolver around an expression of the tree. `kind`: await,
    race, spawn, parallel, async, listen; `pattern` takes the element of a `parallel for`."""

    kind: str
    pattern: Pattern | None
    body: Expr
    scope: Any = annotation()  # symbols.FunctionScope


@node
class AsyncBlock(Expr):
    """`async { … }` as an expression."""

    body: Block
    task: Any = annotation()  # TaskBody


@node
class ParallelFor(Expr):
    """`parallel for pattern in iterable limit n { … }`; `limit` is None where it is not written."""

    pattern: Pattern
    iterable: Expr
    limit: Expr | None
    body: Block
    task: Any = annotation()  # TaskBody


@node
class ListenHandler(Node):
    """Written as a match arm; L-2.6.6 is checked after parsing."""

    pattern: Pattern
    guard: Expr | None
    body: Expr
    task: Any = annotation()  # TaskBody of the closure's body
    schema: Any = annotation()  # StructSymbol that its parameter is annotated with


@node
class Listen(Expr):
    """`listen operand { handlers }`."""

    operand: Expr
    handlers: list[ListenHandler]


# Expressions: literals, operators, access, calls.


@node
class IntLiteral(Expr):
    """`value` may be 2**63 only directly under unary minus (L-1.4.1)."""

    value: int


@node
class FloatLiteral(Expr):
    value: float


@node
class StringLiteral(Expr):
    """`word`: written bare, as the tier of a fact (M-2.6)."""

    value: str
    word: bool = False


@node
class BoolLiteral(Expr):
    value: bool


@node
class NilLiteral(Expr):
    pass


@node
class Interpolation(Expr):
    """A string with holes: `parts` are StringLiteral (text, may be missing between holes) and other expressions (holes)."""

    parts: list[Expr]


@node
class PathExpr(Expr):
    """A name or path: `x`, `self`, `a::b`, `Set<Int>::new`. One segment and no arguments is the plain name."""

    segments: list[Ident]
    type_arguments: list[TypeExpr] | None = None  # after the segments, before `member`
    member: Ident | None = None  # NAME of `path<T>::NAME`
    binding: Any = annotation()  # symbols.Symbol it denotes


@node
class ArrayExpr(Expr):
    items: list[Expr]


@node
class MapEntry(Node):
    """`key: value`. A key written as one bare word is a StringLiteral of that word (L-2.6.2); `(k)` keeps the expression k."""

    key: Expr
    value: Expr


@node
class MapExpr(Expr):
    entries: list[MapEntry]


@node
class TupleExpr(Expr):
    items: list[Expr]


@node
class GroupExpr(Expr):
    """`(e)`: kept for the formatter and for L-2.6.2; means what `inner` means."""

    inner: Expr


def ungrouped(node: Expr) -> Expr:
    """Return what stands in the brackets of `((e))`, any other expression as it is."""
    while isinstance(node, GroupExpr):
        node = node.inner
    return node


@node
class FieldInit(Node):
    """`name: value`; `x` alone is `x: x` with `shorthand` set."""

    name: Ident
    value: Expr
    shorthand: bool = False


@node
class StructExpr(Expr):
    """`Path<T> { a: 1, b, ..base }`."""

    path: list[Ident]
    type_arguments: list[TypeExpr] | None
    fields: list[FieldInit]
    base: Expr | None
    binding: Any = annotation()  # the struct, schema or variant symbol


@node
class RangeExpr(Expr):
    """`start..end`, or `..=` with `inclusive`; either side may be missing."""

    start: Expr | None
    end: Expr | None
    inclusive: bool


@node
class Unary(Expr):
    """`operator` is `-` or `!`."""

    operator: str
    operand: Expr


@node
class Binary(Expr):
    """Arithmetic, comparison, `&&`, `||`, `??`. `operator` is the token's text."""

    operator: str
    left: Expr
    right: Expr


@node
class Assign(Expr):
    """`target = value` (`operator` is `=`) or `target op= value` (`operator` is `+=` …)."""

    operator: str
    target: Expr
    value: Expr


@node
class Pipe(Expr):
    """`left |> …` after L-2.3.1 and L-2.3.2: `applied` is the rewritten call, which holds `left` as an argument."""

    # No child of its own: a walk meets it inside `applied`, and meeting it twice would double the work at each pipe.
    left: Expr = field(is_derived=True)
    applied: Expr


@node
class Cast(Expr):
    """`operand as target`."""

    operand: Expr
    target: TypeExpr
    catchable: Any = annotation()  # whether a `try` around it takes its failure (L-3.5.8)


@node
class Propagate(Expr):
    """`operand?`."""

    operand: Expr
    together: Any = annotation()  # true over an Array or tuple of Results (L-3.12.10)
    failure: Any = annotation()  # the coercion of the error on its way to its target, or None


@node
class Call(Expr):
    """`callee(arguments)`. `a::b::f<T>(x)` has a PathExpr callee with type arguments."""

    callee: Expr
    arguments: list[Argument]
    target: Any = annotation()  # decisions.CallTarget
    tasks: Any = annotation()  # list[TaskBody]: the operands of `race`
    memory: Any = annotation()  # MemorySymbol that this chain makes a value of


@node
class MethodCall(Expr):
    """`receiver.name<T>(arguments)`."""

    receiver: Expr
    name: Ident
    type_arguments: list[TypeExpr] | None
    arguments: list[Argument]
    target: Any = annotation()  # decisions.CallTarget
    held: Any = annotation()  # SlotRefs of the clauses of the function that may see what it writes
    memory: Any = annotation()  # MemorySymbol that this chain makes a value of


@node
class FieldAccess(Expr):
    """`receiver.name` without a call. `receiver.name<T>` without call is refused by the checker."""

    receiver: Expr
    name: Ident
    type_arguments: list[TypeExpr] | None = None
    target: Any = annotation()  # decisions.FieldByPosition, FieldByName or FieldOfError, or a SlotAccess
    held: Any = annotation()  # SlotRef of the clause that loads this slot at entry


@node
class TupleAccess(Expr):
    """`receiver.N`."""

    receiver: Expr
    index: int


@node
class Index(Expr):
    """`receiver[index]`; a slice where the index is a RangeExpr."""

    receiver: Expr
    index: Expr


@node
class ErrorExpr(Expr):
    """Stands where recovery gave up, or for a form that was refused as a whole; has type Any and causes no second diagnostic.
    `inside`: what of it is an expression all the same."""

    inside: list[Expr] = field(factory=list)


# Items of the core language.


@node
class TypeParameter(Node):
    """`T: A + B` in the brackets of a declaration; `bounds` are the A and B."""

    name: Ident
    bounds: list[TypeExpr]


@node
class SlotRef(Node):
    """`memory.slot` in a clause."""

    owner: Ident
    slot: Ident
    binding: Any = annotation()  # symbols.Symbol of the memory
    local: Any = annotation()  # symbols.Local that holds what was loaded at entry
    found: Any = annotation()  # symbols.Slot
    kind: Any = annotation()  # the word of its clause


@node
class Clause(Node):
    """`needs a.b, c.d` or `reads …` (`kind` is the word)."""

    kind: str
    slots: list[SlotRef]
    failure: Any = annotation()  # decisions.Coercion of the error for the function's result


@node
class Function(Item):
    """`body` is None when it ends in `;`, and where a check with a cache left it out of the tree: `omitted` is its place then,
    else None; a default of a trait is never left out. `by` is the model of `fn f() -> R by M { prompt }`, whose body is the
    prompt; the checker replaces the two by a body that asks the model. `foreign_name` is the NAME of `fn f() = "NAME";` in an
    `extern` block."""

    name: Ident
    is_async: bool
    type_parameters: list[TypeParameter]
    parameters: list[Parameter]
    result: TypeExpr | None
    clauses: list[Clause]
    by: Expr | None
    body: Block | None
    foreign_name: StringLiteral | None = field(default=None)
    scope: Any = annotation()  # symbols.FunctionScope
    prompt: Any = annotation()  # the block of a function by a model, once the checker has made a body of it
    omitted: Span | None = field(init=False)


@node
class Field(Node):
    """A field of a struct, schema or variant. `optional`: written `name?: T`, legal in schemas only (L-2.6.5)."""

    name: Ident
    type: TypeExpr
    default: Expr | None
    optional: bool = False
    public: bool = False
    decorators: list[Decorator] = field(factory=list)
    doc: str | None = None


@node
class Struct(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    fields: list[Field]


@node
class Schema(Item):
    """`fields` is None for the body-less `schema T;`."""

    name: Ident
    type_parameters: list[TypeParameter]
    fields: list[Field] | None


@node
class Variant(Node):
    """Unit (`items` and `fields` None), tuple (`items`) or struct (`fields`)."""

    name: Ident
    items: list[TypeExpr] | None
    fields: list[Field] | None
    doc: str | None = None


@node
class Enum(Item):
    """`enum NAME<T> { variants }`."""

    name: Ident
    type_parameters: list[TypeParameter]
    variants: list[Variant]


@node
class Trait(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    methods: list[Function]


@node
class Impl(Item):
    """`impl T { … }` (`trait` None) or `impl X for T { … }`."""

    type_parameters: list[TypeParameter]
    trait: TypeExpr | None
    target: TypeExpr
    methods: list[Function]


@node
class Const(Item):
    """`const NAME: type = value;`."""

    name: Ident
    type: TypeExpr
    value: Expr


@node
class TypeAlias(Item):
    """`type NAME<T> = target;`."""

    name: Ident
    type_parameters: list[TypeParameter]
    target: TypeExpr


@node
class UseTree(Node):
    """`path`, `path as alias`, `path::*` (`glob`), `path::{…}` (`group`)."""

    path: list[Ident]
    alias: Ident | None = None
    glob: bool = False
    group: list[UseTree] | None = None


@node
class Use(Item):
    tree: UseTree


@node
class InitStatement(Node):
    """`NAME.method(…);` at module level (O-0.7)."""

    call: MethodCall


TopLevel = Item | InitStatement


@node
class Module(Item):
    """`mod a;` (`items` None) or `mod a { … }`."""

    name: Ident
    items: list[TopLevel] | None


# Contexts of memory.


@node
class Slot(Node):
    """A slot of a tier of a context: `mut name: type = default`."""

    name: Ident
    mutable: bool
    type: TypeExpr
    default: Expr | None
    decorators: list[Decorator] = field(factory=list)


@node
class Tier(Node):
    """`persistent`, `session` or `ephemeral`."""

    kind: str
    slots: list[Slot]


@node
class Context(Item):
    """`context NAME { tiers }`: what a memory holds beside its messages."""

    name: Ident
    tiers: list[Tier]


# Items of orchestration: configured declarations, tools, pipelines, stores; `mock`.


@node
class ConfigEntry(Node):
    """`key: value`, a field of a declaration in braces."""

    key: Ident
    value: Expr


@node
class Config(Item):
    """`model NAME { … }`, `agent NAME { … }`, `connect NAME { … }`, `embedder NAME { … }`: `kind` is the word."""

    kind: str
    name: Ident
    entries: list[ConfigEntry]

    @property
    def declares(self) -> str:
        """Return what it declares, `model`, `agent`, `connect` or `embedder`: an `agent` with a provider and no connector is a
        model (O-1.260)."""
        keys = {entry.key.text for entry in self.entries}
        return "model" if self.kind == "agent" and "provider" in keys and "connector" not in keys else self.kind


@node
class Channel(Item):
    """`channel NAME: T -> U;`, a question to the host, or without `-> U` a notice."""

    name: Ident
    payload: TypeExpr
    answer: TypeExpr | None


@node
class Extern(Item):
    """`extern python "MODULE" { … }`: signatures of functions of the host's language, which get an empty body in the resolver."""

    language: Ident
    module: StringLiteral
    functions: list[Function]


@node
class Mock(Stmt):
    """`mock M { … }`: entries, or one expression as the answer of a channel or of a function that a model or Python answers.
    `path` are the segments before the name."""

    name: Ident
    config: list[ConfigEntry]
    answer: Expr | None = None
    path: list[Ident] = field(factory=list)
    # annotation: the declared symbol it stands in for
    target: Any = annotation()


@node
class Mcp(Item):
    """`mcp NAME { … }`: `entries` are the fields, `functions` the signatures of its tools, which have no body."""

    name: Ident
    entries: list[ConfigEntry]
    functions: list[Function]


@node
class ToolField(Node):
    """`name: type = default`, a field of the state of a tool."""

    name: Ident
    type: TypeExpr
    default: Expr | None
    doc: str | None = None


@node
class Tool(Item):
    """`entries` holds `description: …`; `fields` the state."""

    name: Ident
    trait: Ident | None
    entries: list[ConfigEntry]
    fields: list[ToolField]
    methods: list[Function]
    impl: Any = annotation()  # the Impl of the trait


@node
class Stage(Node):
    """A stage with parameters and body, or `stage name = expr;` (`value`)."""

    name: Ident
    parameters: list[Parameter]
    result: TypeExpr | None
    body: Block | None
    value: Expr | None
    decorators: list[Decorator] = field(factory=list)
    doc: str | None = None


@node
class Pipeline(Item):
    """`pipeline NAME(parameter) -> result { … }`; `parameter` and `result` are None where they are not written."""

    name: Ident
    parameter: Parameter | None
    result: TypeExpr | None
    stages: list[Stage]


@node
class Store(Item):
    """`memory NAME: type = value;`, `hashmap …`, `ledger …`, `index …`: `kind` is the word."""

    kind: str
    name: Ident
    type: TypeExpr
    value: Expr
    block: Any = annotation()  # the MemoryBlock that it stands for


@node
class MemoryBlock(Item):
    """`memory NAME { … }`, with or without `: type`. The resolver makes a `Store` with a chain of steps of it, which shares the
    values of the fields, and which the later phases read in its place."""

    name: Ident
    type: TypeExpr | None
    entries: list[ConfigEntry]


# Patterns.


@node
class WildcardPattern(Pattern):
    pass


@node
class LiteralPattern(Pattern):
    """String, Int, Float, Bool or nil; a negative number carries its sign in `value`."""

    value: str | int | float | bool | None


@node
class RangePattern(Pattern):
    """`start..end`, or `..=` with `inclusive`; a bound that is None is left out."""

    start: int | float | None
    end: int | float | None
    inclusive: bool


@node
class BindPattern(Pattern):
    """`x`, `mut x`, `x @ p`. A bare `x` may turn out to be a constant or a unit variant (L-5.8.2): then `constant` is set and
    `binding` is not."""

    name: Ident
    mutable: bool
    inner: Pattern | None = None
    binding: Any = annotation()  # its Local
    constant: Any = annotation()  # the ConstSymbol, VariantSymbol or BuiltinSymbol (None) it denotes instead
    is_field: Any = annotation()  # whether it is the short form of `name: name` in a pattern of fields
    again: Any = annotation()  # the Span where the pattern binds the name first, unless it is a variant


@node
class PathPattern(Pattern):
    """`E::V` or another path of two or more segments, without arguments."""

    path: list[Ident]
    binding: Any = annotation()  # symbols.Symbol it denotes, None for an unknown one


@node
class TupleStructPattern(Pattern):
    """`E::V(p, q)`, `Some(p)`, `Ok(p)`."""

    path: list[Ident]
    items: list[Pattern]
    binding: Any = annotation()  # symbols.Symbol that the path denotes; of a bare variant after the checker


@node
class FieldPattern(Node):
    """`x`, `mut x` (pattern is the BindPattern of the name, `shorthand` set) or `x: p`."""

    name: Ident
    pattern: Pattern
    shorthand: bool


@node
class StructPattern(Pattern):
    """`Path { fields, .. }`; `rest` is true when `..` stands at the end."""

    path: list[Ident]
    fields: list[FieldPattern]
    rest: bool
    binding: Any = annotation()  # symbols.Symbol that the path denotes; of a bare variant after the checker


@node
class TuplePattern(Pattern):
    items: list[Pattern]


@node
class RestPattern(Pattern):
    """`..` or `..name`, only among the items of an ArrayPattern."""

    name: Ident | None
    binding: Any = annotation()  # the Local of `name`


@node
class ArrayPattern(Pattern):
    """`[p, q, ..rest]`; at most one of the items is a RestPattern."""

    items: list[Pattern]


@node
class OrPattern(Pattern):
    """`p | q | r`."""

    alternatives: list[Pattern]
    doubtful: Any = annotation()  # set of names that not every alternative binds, unless they are variants


# One file as a whole.


@node
class ErrorItem(Item):
    """Stands where recovery gave up on an item."""


@node
class Comment(Node):
    """Trivia: `//…`, `/*…*/`, `///…`, `#!…` as written, `text` without its line end. `own_line`: nothing but blanks before it."""

    text: str
    own_line: bool


@node
class Program(Node):
    """One file: its items and initialisation statements in source order, and every comment in source order."""

    items: list[TopLevel]
    comments: list[Comment]


# Statements.


@node
class ExprStmt(Stmt):
    """`e;` or a block-like form that ends at its brace (`terminated` false)."""

    expr: Expr
    terminated: bool


@node
class Let(Stmt):
    """`let pattern: type = value;`; `type` and `value` are None where they are not written."""

    pattern: Pattern
    type: TypeExpr | None
    value: Expr | None


@node
class ItemStmt(Stmt):
    item: Item


@node
class EmptyStmt(Stmt):
    """A lone `;`."""


# Types as written.


@node
class NamedType(TypeExpr):
    """`a::B<C, D>`; `arguments` is None without angle brackets."""

    path: list[Ident]
    arguments: list[TypeExpr] | None
    binding: Any = annotation()  # symbols.Symbol it denotes


@node
class NilableType(TypeExpr):
    """`inner?`."""

    inner: TypeExpr


@node
class FunctionType(TypeExpr):
    """`fn(A, B) -> R`; `result` is None where it is not written."""

    parameters: list[TypeExpr]
    result: TypeExpr | None


@node
class TupleType(TypeExpr):
    """`()`, `(A,)`, `(A, B)`. `(A)` is grouping and gives A itself."""

    items: list[TypeExpr]


@node
class LiteralType(TypeExpr):
    """A string literal as a type."""

    value: str


@node
class UnionType(TypeExpr):
    """`"a" | "b"`."""

    members: list[TypeExpr]


# A tree may nest 256 deep, and each level costs a walker several Python frames (G-5.6, L-2.6.7). `Nesting.call` moves every
# SEGMENT-th level to a thread of its own, which has a recursion budget of its own. A host without threads (WebAssembly) has
# no other code that the limit protects: there it is raised for the time of the walk and put back (G-5.7).

SEGMENT = 40  # levels per thread; a walker may use up to 20 frames a level
FRAMES = 1000  # that a segment may use, where it has no thread of its own
DEEPEST = 100 * SEGMENT  # what the source alone may ask for is far less; a walk that goes on is refused as too deep


class Nesting:
    """Counts the levels of one walk. A walker makes one and goes down through `call`."""

    __slots__ = ("depth",)

    def __init__(self) -> None:
        self.depth = 0

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return `function(*arguments)`, called one level deeper. Raise RecursionError at the first SEGMENT-th level beyond
        DEEPEST. What the function raises passes through."""
        depth = self.depth
        self.depth = depth + 1
        try:
            # Most levels are plain calls; only every SEGMENT-th pays for a thread.
            if (depth + 1) % SEGMENT:
                return function(*arguments)
            if depth >= DEEPEST:
                raise RecursionError("a walk goes too deep")
            return on_fresh_stack(function, *arguments)
        finally:
            self.depth = depth


def on_fresh_stack(function: Callable[..., T], *arguments: Any) -> T:
    """Return `function(*arguments)`, called in a thread of its own, whose recursion budget is fresh; where no thread can be
    started, called in this one with more frames. An exception of the function is raised here."""
    outcome: list[T] = []
    failure: list[BaseException] = []
    # Context variables, such as the budget of the hints, must reach the new thread.
    context = copy_context()

    def run() -> None:
        try:
            outcome.append(context.run(function, *arguments))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="concerto-compiler")
    try:
        thread.start()
    except RuntimeError:  # no thread can be started
        return with_more_frames(function, *arguments)
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def with_more_frames(function: Callable[..., T], *arguments: Any) -> T:
    """Return `function(*arguments)`, called with a recursion limit that is FRAMES higher."""
    sys.setrecursionlimit(sys.getrecursionlimit() + FRAMES)
    try:
        return function(*arguments)
    finally:
        sys.setrecursionlimit(sys.getrecursionlimit() - FRAMES)
