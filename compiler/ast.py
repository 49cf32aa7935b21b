"""The abstract syntax tree.

Built by the grammar, read by every later phase. Each node carries its exact span. The fields behind the comment
"annotations" are empty after parsing and are filled by the checker; nothing else changes a tree.
Must not know: tokens, types' rules, bytecode.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from .source import Span


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    span: Span

    def children(self) -> Iterator[Node]:
        """Child nodes in source order of the fields."""
        for f in fields(self):
            if f.metadata.get("annotation"):
                continue
            yield from _nodes(getattr(self, f.name))


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _nodes(item)


def _annotation() -> Any:
    return field(default=None, metadata={"annotation": True}, repr=False)


# ---------------------------------------------------------------- names, paths, decorators


@dataclass(slots=True, kw_only=True, eq=False)
class Ident(Node):
    """A name where it is written: declarations, fields, labels, keys."""

    text: str


@dataclass(slots=True, kw_only=True, eq=False)
class Argument(Node):
    """`value` or `name: value`."""

    name: Ident | None
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Decorator(Node):
    name: Ident
    arguments: list[Argument]
    parenthesised: bool


# ---------------------------------------------------------------- types as written


@dataclass(slots=True, kw_only=True, eq=False)
class TypeExpr(Node):
    pass


@dataclass(slots=True, kw_only=True, eq=False)
class NamedType(TypeExpr):
    """`a::B<C, D>`; `arguments` is None without angle brackets."""

    path: list[Ident]
    arguments: list[TypeExpr] | None
    binding: Any = _annotation()  # resolver.symbols.Symbol it denotes


@dataclass(slots=True, kw_only=True, eq=False)
class NilableType(TypeExpr):
    inner: TypeExpr


@dataclass(slots=True, kw_only=True, eq=False)
class FunctionType(TypeExpr):
    parameters: list[TypeExpr]
    result: TypeExpr | None


@dataclass(slots=True, kw_only=True, eq=False)
class TupleType(TypeExpr):
    """`()`, `(A,)`, `(A, B)`. `(A)` is grouping and gives A itself."""

    items: list[TypeExpr]


@dataclass(slots=True, kw_only=True, eq=False)
class LiteralType(TypeExpr):
    """A string literal as a type."""

    value: str


@dataclass(slots=True, kw_only=True, eq=False)
class UnionType(TypeExpr):
    members: list[TypeExpr]


# ---------------------------------------------------------------- expressions


@dataclass(slots=True, kw_only=True, eq=False)
class Expr(Node):
    # annotations
    type: Any = _annotation()  # checker.types.Type of the expression itself, before `coercion`
    coercion: Any = _annotation()  # checker.coercions.Coercion the place it stands in asks for, or None


@dataclass(slots=True, kw_only=True, eq=False)
class IntLiteral(Expr):
    """`value` may be 2**63 only directly under unary minus (L-1.4.1)."""

    value: int


@dataclass(slots=True, kw_only=True, eq=False)
class FloatLiteral(Expr):
    value: float


@dataclass(slots=True, kw_only=True, eq=False)
class StringLiteral(Expr):
    """`word`: written bare, as the tier of a fact (M-2.6)."""

    value: str
    word: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class BoolLiteral(Expr):
    value: bool


@dataclass(slots=True, kw_only=True, eq=False)
class NilLiteral(Expr):
    pass


@dataclass(slots=True, kw_only=True, eq=False)
class Interpolation(Expr):
    """A string with holes: `parts` are StringLiteral (text, may be missing between holes) and other expressions (holes)."""

    parts: list[Expr]


@dataclass(slots=True, kw_only=True, eq=False)
class PathExpr(Expr):
    """A name or path: `x`, `self`, `a::b`, `Set<Int>::new`. One segment and no arguments is the plain name."""

    segments: list[Ident]
    type_arguments: list[TypeExpr] | None = None  # after the segments, before `member`
    member: Ident | None = None  # NAME of `path<T>::NAME`
    binding: Any = _annotation()  # resolver.symbols.Symbol it denotes


@dataclass(slots=True, kw_only=True, eq=False)
class ArrayExpr(Expr):
    items: list[Expr]


@dataclass(slots=True, kw_only=True, eq=False)
class MapEntry(Node):
    """`key: value`. A key written as one bare word is a StringLiteral of that word (L-2.6.2); `(k)` keeps the expression k."""

    key: Expr
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class MapExpr(Expr):
    entries: list[MapEntry]


@dataclass(slots=True, kw_only=True, eq=False)
class TupleExpr(Expr):
    items: list[Expr]


@dataclass(slots=True, kw_only=True, eq=False)
class GroupExpr(Expr):
    """`(e)`: kept for the formatter and for L-2.6.2; means what `inner` means."""

    inner: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class FieldInit(Node):
    """`name: value`; `x` alone is `x: x` with `shorthand` set."""

    name: Ident
    value: Expr
    shorthand: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class StructExpr(Expr):
    """`Path<T> { a: 1, b, ..base }`."""

    path: list[Ident]
    type_arguments: list[TypeExpr] | None
    fields: list[FieldInit]
    base: Expr | None
    binding: Any = _annotation()  # the struct, schema or variant symbol


@dataclass(slots=True, kw_only=True, eq=False)
class RangeExpr(Expr):
    start: Expr | None
    end: Expr | None
    inclusive: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Unary(Expr):
    """`operator` is `-` or `!`."""

    operator: str
    operand: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Binary(Expr):
    """Arithmetic, comparison, `&&`, `||`, `??`. `operator` is the token's text."""

    operator: str
    left: Expr
    right: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Assign(Expr):
    """`target = value` (`operator` is `=`) or `target op= value` (`operator` is `+=` …)."""

    operator: str
    target: Expr
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Pipe(Expr):
    """`left |> …` after L-2.3.1 and L-2.3.2: `applied` is the rewritten call, which holds `left` as an argument."""

    # No child of its own: a walk meets it inside `applied`, and meeting it twice would double the work at each pipe.
    left: Expr = field(metadata={"annotation": True})
    applied: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Cast(Expr):
    operand: Expr
    target: TypeExpr


@dataclass(slots=True, kw_only=True, eq=False)
class Propagate(Expr):
    """`operand?`."""

    operand: Expr
    failure: Any = _annotation()  # the coercion of the error on its way to its target, or None


@dataclass(slots=True, kw_only=True, eq=False)
class Await(Expr):
    """`await operand` (`postfix` false) or `operand.await`."""

    operand: Expr
    postfix: bool
    tasks: Any = _annotation()  # list[TaskBody]: of the elements of a tuple


@dataclass(slots=True, kw_only=True, eq=False)
class Spawn(Expr):
    operand: Expr
    task: Any = _annotation()  # TaskBody


@dataclass(slots=True, kw_only=True, eq=False)
class TaskBody(Expr):
    """What runs in a task of its own, or an `async` block; made by the resolver around an expression of the tree. `kind`: await,
    race, spawn, parallel, async, listen; `pattern` takes the element of a `parallel for`."""

    kind: str
    pattern: Pattern | None
    body: Expr
    scope: Any = _annotation()  # resolver.symbols.FunctionScope


@dataclass(slots=True, kw_only=True, eq=False)
class Call(Expr):
    """`callee(arguments)`. `a::b::f<T>(x)` has a PathExpr callee with type arguments."""

    callee: Expr
    arguments: list[Argument]
    target: Any = _annotation()  # checker.calls.CallTarget
    tasks: Any = _annotation()  # list[TaskBody]: the operands of `race`


@dataclass(slots=True, kw_only=True, eq=False)
class MethodCall(Expr):
    """`receiver.name<T>(arguments)`."""

    receiver: Expr
    name: Ident
    type_arguments: list[TypeExpr] | None
    arguments: list[Argument]
    target: Any = _annotation()  # checker.calls.CallTarget
    held: Any = _annotation()  # SlotRefs of the clauses of the function that may see what it writes


@dataclass(slots=True, kw_only=True, eq=False)
class FieldAccess(Expr):
    """`receiver.name` without a call. `receiver.name<T>` without call is refused by the checker."""

    receiver: Expr
    name: Ident
    type_arguments: list[TypeExpr] | None = None
    target: Any = _annotation()  # checker.calls.FieldTarget
    held: Any = _annotation()  # SlotRef of the clause that loads this slot at entry


@dataclass(slots=True, kw_only=True, eq=False)
class TupleAccess(Expr):
    """`receiver.N`."""

    receiver: Expr
    index: int


@dataclass(slots=True, kw_only=True, eq=False)
class Index(Expr):
    receiver: Expr
    index: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Block(Expr):
    """`{ statements; result }`; `result` is the final expression without `;`, or None."""

    statements: list[Stmt]
    result: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class If(Expr):
    """`otherwise` is a Block, another If, or None."""

    condition: Expr
    then: Block
    otherwise: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class MatchArm(Node):
    pattern: Pattern
    guard: Expr | None
    body: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Match(Expr):
    subject: Expr
    arms: list[MatchArm]


@dataclass(slots=True, kw_only=True, eq=False)
class For(Expr):
    label: Ident | None
    pattern: Pattern
    iterable: Expr
    body: Block
    failure: Any = _annotation()  # over a Stream: the coercion of the error that cuts it, or None


@dataclass(slots=True, kw_only=True, eq=False)
class While(Expr):
    label: Ident | None
    condition: Expr
    body: Block


@dataclass(slots=True, kw_only=True, eq=False)
class Loop(Expr):
    label: Ident | None
    body: Block


@dataclass(slots=True, kw_only=True, eq=False)
class CatchClause(Node):
    """`catch`, `catch T`, `catch T(e)`."""

    type: TypeExpr | None
    name: Ident | None
    body: Block
    binding: Any = _annotation()  # the Local of `name`
    caught: Any = _annotation()  # checker Type it catches, None for all


@dataclass(slots=True, kw_only=True, eq=False)
class Try(Expr):
    body: Block
    catches: list[CatchClause]
    rethrow: Any = _annotation()  # (type, coercion) of errors that no clause catches and that are converted on their way outward


@dataclass(slots=True, kw_only=True, eq=False)
class Parameter(Node):
    """`name: type = default`, or `self` / `mut self` (`is_self`).

    A closure parameter that takes its argument apart carries a `pattern`, and `_` as its name.
    """

    name: Ident
    type: TypeExpr | None
    default: Expr | None = None
    is_self: bool = False
    mutable: bool = False
    decorators: list[Decorator] = field(default_factory=list)
    pattern: Pattern | None = None
    binding: Any = _annotation()  # its Local


@dataclass(slots=True, kw_only=True, eq=False)
class Closure(Expr):
    """`|a, b: T| body`, `|| -> T { … }`, and `fn (a: A) -> T { … }` (`function_form`)."""

    parameters: list[Parameter]
    result: TypeExpr | None
    body: Expr
    function_form: bool = False
    scope: Any = _annotation()  # resolver.symbols.FunctionScope


@dataclass(slots=True, kw_only=True, eq=False)
class AsyncBlock(Expr):
    body: Block
    task: Any = _annotation()  # TaskBody


@dataclass(slots=True, kw_only=True, eq=False)
class Return(Expr):
    value: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class Throw(Expr):
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Break(Expr):
    label: Ident | None
    value: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class Continue(Expr):
    label: Ident | None


@dataclass(slots=True, kw_only=True, eq=False)
class ParallelFor(Expr):
    pattern: Pattern
    iterable: Expr
    limit: Expr | None
    body: Block
    task: Any = _annotation()  # TaskBody


@dataclass(slots=True, kw_only=True, eq=False)
class ListenHandler(Node):
    """Written as a match arm; L-2.6.6 is checked after parsing."""

    pattern: Pattern
    guard: Expr | None
    body: Expr
    task: Any = _annotation()  # TaskBody of the closure's body
    schema: Any = _annotation()  # StructSymbol that its parameter is annotated with


@dataclass(slots=True, kw_only=True, eq=False)
class Listen(Expr):
    operand: Expr
    handlers: list[ListenHandler]


@dataclass(slots=True, kw_only=True, eq=False)
class ErrorExpr(Expr):
    """Stands where recovery gave up; has type Any and causes no second diagnostic."""


# ---------------------------------------------------------------- patterns


@dataclass(slots=True, kw_only=True, eq=False)
class Pattern(Node):
    # annotation: type of the value it is matched against
    type: Any = _annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class WildcardPattern(Pattern):
    pass


@dataclass(slots=True, kw_only=True, eq=False)
class LiteralPattern(Pattern):
    """String, Int, Float, Bool or nil; a negative number carries its sign in `value`."""

    value: str | int | float | bool | None


@dataclass(slots=True, kw_only=True, eq=False)
class RangePattern(Pattern):
    start: int | float | None
    end: int | float | None
    inclusive: bool


@dataclass(slots=True, kw_only=True, eq=False)
class BindPattern(Pattern):
    """`x`, `mut x`, `x @ p`. A bare `x` may turn out to be a constant or a unit variant (L-5.8.2): then `constant` is set."""

    name: Ident
    mutable: bool
    inner: Pattern | None = None
    binding: Any = _annotation()  # its Local
    constant: Any = _annotation()  # the ConstSymbol or VariantSymbol it denotes instead


@dataclass(slots=True, kw_only=True, eq=False)
class PathPattern(Pattern):
    """`E::V` or another path of two or more segments, without arguments."""

    path: list[Ident]
    binding: Any = _annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class TupleStructPattern(Pattern):
    """`E::V(p, q)`, `Some(p)`, `Ok(p)`."""

    path: list[Ident]
    items: list[Pattern]
    binding: Any = _annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class FieldPattern(Node):
    """`x`, `mut x` (pattern is the BindPattern of the name, `shorthand` set) or `x: p`."""

    name: Ident
    pattern: Pattern
    shorthand: bool


@dataclass(slots=True, kw_only=True, eq=False)
class StructPattern(Pattern):
    path: list[Ident]
    fields: list[FieldPattern]
    rest: bool
    binding: Any = _annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class TuplePattern(Pattern):
    items: list[Pattern]


@dataclass(slots=True, kw_only=True, eq=False)
class RestPattern(Pattern):
    """`..` or `..name`, only among the items of an ArrayPattern."""

    name: Ident | None
    binding: Any = _annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class ArrayPattern(Pattern):
    items: list[Pattern]


@dataclass(slots=True, kw_only=True, eq=False)
class OrPattern(Pattern):
    alternatives: list[Pattern]


# ---------------------------------------------------------------- statements


@dataclass(slots=True, kw_only=True, eq=False)
class Stmt(Node):
    pass


@dataclass(slots=True, kw_only=True, eq=False)
class ExprStmt(Stmt):
    """`e;` or a block-like form that ends at its brace (`terminated` false)."""

    expr: Expr
    terminated: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Let(Stmt):
    pattern: Pattern
    type: TypeExpr | None
    value: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class Mock(Stmt):
    name: Ident
    config: list[ConfigEntry]
    # annotation: the declared symbol it stands in for
    target: Any = _annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class ItemStmt(Stmt):
    item: Item


@dataclass(slots=True, kw_only=True, eq=False)
class EmptyStmt(Stmt):
    """A lone `;`."""


# ---------------------------------------------------------------- items


@dataclass(slots=True, kw_only=True, eq=False)
class Item(Node):
    decorators: list[Decorator] = field(default_factory=list)
    public: bool = False
    doc: str | None = None
    symbol: Any = _annotation()  # resolver.symbols.Symbol it declares


@dataclass(slots=True, kw_only=True, eq=False)
class TypeParameter(Node):
    name: Ident
    bounds: list[TypeExpr]


@dataclass(slots=True, kw_only=True, eq=False)
class SlotRef(Node):
    owner: Ident
    slot: Ident
    binding: Any = _annotation()  # resolver.symbols.Symbol of the memory
    local: Any = _annotation()  # resolver.symbols.Local that holds what was loaded at entry
    found: Any = _annotation()  # resolver.symbols.Slot
    kind: Any = _annotation()  # the word of its clause


@dataclass(slots=True, kw_only=True, eq=False)
class Clause(Node):
    """`needs a.b, c.d` or `reads …` (`kind` is the word)."""

    kind: str
    slots: list[SlotRef]
    failure: Any = _annotation()  # checker.coercions.Coercion of the error for the function's result


@dataclass(slots=True, kw_only=True, eq=False)
class Function(Item):
    """`body` is None when it ends in `;`."""

    name: Ident
    is_async: bool
    type_parameters: list[TypeParameter]
    parameters: list[Parameter]
    result: TypeExpr | None
    clauses: list[Clause]
    body: Block | None
    scope: Any = _annotation()  # resolver.symbols.FunctionScope


@dataclass(slots=True, kw_only=True, eq=False)
class Field(Node):
    name: Ident
    type: TypeExpr
    default: Expr | None
    optional: bool = False
    public: bool = False
    decorators: list[Decorator] = field(default_factory=list)
    doc: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Struct(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    fields: list[Field]


@dataclass(slots=True, kw_only=True, eq=False)
class Schema(Item):
    """`fields` is None for the body-less `schema T;`."""

    name: Ident
    type_parameters: list[TypeParameter]
    fields: list[Field] | None


@dataclass(slots=True, kw_only=True, eq=False)
class Variant(Node):
    """Unit (`items` and `fields` None), tuple (`items`) or struct (`fields`)."""

    name: Ident
    items: list[TypeExpr] | None
    fields: list[Field] | None
    doc: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Enum(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    variants: list[Variant]


@dataclass(slots=True, kw_only=True, eq=False)
class Trait(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    methods: list[Function]


@dataclass(slots=True, kw_only=True, eq=False)
class Impl(Item):
    """`impl T { … }` (`trait` None) or `impl X for T { … }`."""

    type_parameters: list[TypeParameter]
    trait: TypeExpr | None
    target: TypeExpr
    methods: list[Function]


@dataclass(slots=True, kw_only=True, eq=False)
class Const(Item):
    name: Ident
    type: TypeExpr
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class TypeAlias(Item):
    name: Ident
    type_parameters: list[TypeParameter]
    target: TypeExpr


@dataclass(slots=True, kw_only=True, eq=False)
class UseTree(Node):
    """`path`, `path as alias`, `path::*` (`glob`), `path::{…}` (`group`)."""

    path: list[Ident]
    alias: Ident | None = None
    glob: bool = False
    group: list[UseTree] | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Use(Item):
    tree: UseTree


@dataclass(slots=True, kw_only=True, eq=False)
class Module(Item):
    """`mod a;` (`items` None) or `mod a { … }`."""

    name: Ident
    items: list[TopLevel] | None


@dataclass(slots=True, kw_only=True, eq=False)
class ConfigEntry(Node):
    key: Ident
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Config(Item):
    """`model NAME { … }`, `agent NAME { … }`, `connect NAME { … }`: `kind` is the word."""

    kind: str
    name: Ident
    entries: list[ConfigEntry]


@dataclass(slots=True, kw_only=True, eq=False)
class Mcp(Item):
    name: Ident
    entries: list[ConfigEntry]
    functions: list[Function]


@dataclass(slots=True, kw_only=True, eq=False)
class ToolField(Node):
    name: Ident
    type: TypeExpr
    default: Expr | None
    doc: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Tool(Item):
    """`entries` holds `description: …`; `fields` the state."""

    name: Ident
    trait: Ident | None
    entries: list[ConfigEntry]
    fields: list[ToolField]
    methods: list[Function]
    impl: Any = _annotation()  # the Impl of the trait


@dataclass(slots=True, kw_only=True, eq=False)
class Stage(Node):
    """A stage with parameters and body, or `stage name = expr;` (`value`)."""

    name: Ident
    parameters: list[Parameter]
    result: TypeExpr | None
    body: Block | None
    value: Expr | None
    decorators: list[Decorator] = field(default_factory=list)
    doc: str | None = None
    scope: Any = _annotation()


@dataclass(slots=True, kw_only=True, eq=False)
class Pipeline(Item):
    name: Ident
    parameter: Parameter | None
    result: TypeExpr | None
    stages: list[Stage]


@dataclass(slots=True, kw_only=True, eq=False)
class Store(Item):
    """`memory NAME: type = value;`, `hashmap …`, `ledger …`: `kind` is the word."""

    kind: str
    name: Ident
    type: TypeExpr
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Slot(Node):
    name: Ident
    mutable: bool
    type: TypeExpr
    default: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class Tier(Node):
    """`persistent`, `session` or `ephemeral`."""

    kind: str
    slots: list[Slot]


@dataclass(slots=True, kw_only=True, eq=False)
class Context(Item):
    name: Ident
    tiers: list[Tier]


@dataclass(slots=True, kw_only=True, eq=False)
class ErrorItem(Item):
    """Stands where recovery gave up on an item."""


@dataclass(slots=True, kw_only=True, eq=False)
class InitStatement(Node):
    """`NAME.method(…);` at module level (O-0.7)."""

    call: MethodCall


TopLevel = Item | InitStatement


@dataclass(slots=True, kw_only=True, eq=False)
class Comment(Node):
    """Trivia: `//…`, `/*…*/`, `///…`, `#!…` as written, `text` without its line end. `own_line`: nothing but blanks before it."""

    text: str
    own_line: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Program(Node):
    """One file: its items and initialisation statements in source order, and every comment in source order."""

    items: list[TopLevel]
    comments: list[Comment]
