"""The state of one check, and the operations every family of rules is written in.

Hands on `Checker` (infer, value, coerce, report), `Expected` (what the surroundings ask of an expression) and the frames of
propagation targets and loops. Must not know: the rules of any form; the tables of its sibling modules do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..decisions import Coercion, ErrToMessage, ToMessage, ToOption
from ..diagnostics import Diagnostics, Related
from ..hints.types import MILLISECONDS, branches_help, explain, milliseconds_help, number_help
from ..manifest import MemoryTables
from ..project import Project
from ..source import Source, Span
from ..symbols import (
    AliasSymbol,
    ConstSymbol,
    ContextSymbol,
    EnumSymbol,
    FunctionScope,
    FunctionSymbol,
    ImplSymbol,
    Local,
    ModelSymbol,
    ModuleSymbol,
    Offering,
    StepFunction,
    StructSymbol,
    Symbol,
    ToolSymbol,
    TraitSymbol,
    TypeParameterSymbol,
)
from ..syntax import ast
from ..syntax.ast import Nesting
from ..syntax.brackets import MAX_NESTING
from ..types import FLOAT, INT, NEVER, NIL, Generic, Implementation, Nilable, Nominal, Type, bare, option
from .relations import ERRONEOUS, MISMATCH, _Mismatch, convert, generic, is_complete, join, learn, nilable

# ----------------------------------------------------------------
# Private fields (L-8.4): usable in the module of their struct and its submodules.
#
# Hands on `ModuleMap` and `private_fields`.


class ModuleMap:
    """Which module the text at a place belongs to."""

    __slots__ = ("files", "borders", "hidden")

    def __init__(self, project: Project, modules: Sequence[ModuleSymbol]) -> None:
        self.files = {module.file: module for module in modules if module.home is None or module.home.file != module.file}
        # of each file, by place: where another module begins, or goes on behind one that is written out in it
        self.borders = {file: list(_borders(tree.items, self.files.get(file))) for file, tree in project.trees.items()}
        self.hidden: dict[StructSymbol, frozenset[str]] = {}  # private fields, of structs that were asked for

    def at(self, place: Span) -> ModuleSymbol:
        """The innermost module around a place."""
        borders = self.borders[place.file]
        before = bisect_right(borders, place.start, key=lambda border: border[0])
        inner = borders[before - 1][1] if before else None
        return inner or self.files[place.file]


def _borders(items: Sequence[ast.TopLevel], around: ModuleSymbol | None) -> Iterator[tuple[int, ModuleSymbol | None]]:
    for item in items:
        if isinstance(item, ast.Module) and item.items is not None and isinstance(item.symbol, ModuleSymbol):
            yield item.span.start, item.symbol
            yield from _borders(item.items, item.symbol)
            yield item.span.end, around


def private_fields(modules: ModuleMap, symbol: StructSymbol, place: Span) -> frozenset[str]:
    """The fields of a struct that code at `place` may not name."""
    home = symbol.home
    if home is None or isinstance(symbol.declaration, ast.Schema):
        return frozenset()
    hidden = modules.hidden.get(symbol)
    if hidden is None:
        hidden = modules.hidden[symbol] = frozenset([field.name.text for field in symbol.declaration.fields if not field.public])
    return frozenset() if not hidden or modules.at(place).is_inside(home) else hidden


# ----------------------------------------------------------------

class Expected(NamedTuple):
    """What a place asks of its expression: a type (None: any, and parts may be open), the code of a mismatch, and words that
    name the place. `used` is false where the value is thrown away."""

    type: Type | None = None
    code: str = "E2001"
    place: str = ""
    used: bool = True

    def of(self, type_: Type | None, place: str = "") -> Expected:
        """The same place's part of another type."""
        return Expected(type_, self.code, place or self.place) if type_ is not None else FREE

    @property
    def concrete(self) -> bool:
        return self.type is not None and is_complete(self.type)


# What a `.` may follow without brackets.
_SIMPLE = (
    ast.PathExpr, ast.FieldAccess, ast.TupleAccess, ast.Index, ast.Call, ast.MethodCall, ast.StringLiteral, ast.ArrayExpr,
    ast.MapExpr, ast.Propagate, ast.Interpolation, ast.IntLiteral,
)  # fmt: skip
FREE = Expected()
DISCARD = Expected(used=False)


@dataclass(slots=True)
class Raise:
    """An error on its way: where, of which type, by which construct (`?`, `throw`, `try`, `statement`)."""

    node: ast.Node
    type: Type
    by: str


@dataclass(slots=True)
class Target:
    """Where `?`, throw and return lead: `kind` is function, closure, async, task, try or none (module level). `result`
    is None while a closure's result is not known. `asynchronous`: `await` may stand in it, and in what is inside it (L-9.1.1)."""

    kind: str
    scope: FunctionScope | None = None
    name: str = ""
    result: Type | None = None
    accepts_all: bool = False
    asynchronous: bool = False
    test: bool = False
    fails_with: Type | None = None  # errors leave as this type, though the result is no Result (L-3.12.5)
    raised: list[Raise] = field(default_factory=list)
    returns: list[tuple[ast.Expr, Type]] = field(default_factory=list)
    noted: bool = False  # W0020 is told once in each


@dataclass(slots=True)
class LoopFrame:
    """A loop, or the body of a task, which break and continue do not leave: `kind` is then that of the TaskBody."""

    kind: str
    label: str | None
    breaks: list[tuple[ast.Expr | None, Type]] = field(default_factory=list)


class WaitingBounds(NamedTuple):
    """Type arguments whose bounds are looked at when all impls are known."""

    owner: str
    parameters: Sequence[TypeParameterSymbol]
    found: Sequence[Type]
    span: Span


ExpressionRule = Callable[["Checker", Any, Expected], Type]
Lint = Callable[["Checker", ast.Expr, Type, Type], None]  # the value, its type, and the one expected

# Forms whose first child may itself be such a form: walked from the innermost outward, without recursion.
SPINES: dict[type[ast.Node], str] = {
    ast.Binary: "left",
    ast.MethodCall: "receiver",
    ast.FieldAccess: "receiver",
    ast.TupleAccess: "receiver",
    ast.Index: "receiver",
    ast.Propagate: "operand",
    ast.Cast: "operand",
    ast.Call: "callee",
    ast.Pipe: "left",
}


HEAVIEST = 5_000  # what a type may weigh: walks over types take as many steps
CONSTANT_VALUES = 500_000  # that constants may be made of together, beside one for each character of the program
FORM_FIELDS = 10_000  # that the JSON forms of schemas may have together, beside one for each character
MATCH_STEPS = 1_000_000  # that questions about patterns may take in a program beyond the length of these
DEEPEST = MAX_NESTING + 8  # and how deep it may be: a written one, with what inference puts around it


class Checker:
    __slots__ = (
        "sources", "diagnostics", "error_count", "expressions", "nesting", "targets", "loops", "nominals", "modules",
        "connections", "mockable", "offering", "agents", "manifest", "servers", "tools",
        "aliases", "constants", "methods", "self_type", "deferring", "main", "visited", "mutating", "links",
        "traits", "models", "trait_symbols", "implementations", "offers", "made_by", "field_types", "error_impls",
        "waiting_bounds",
        "outside", "step_functions", "concurrent", "memory_tables", "memory_defaults", "contexts", "heads",
        "match_steps", "constant_room",
        "open_lets", "filling", "slot_changes",
        "form_room", "form_sizes", "texts", "lints", "computed_bounds", "fields_of",
    )  # fmt: skip

    def __init__(
        self,
        sources: dict[str, Source],
        diagnostics: Diagnostics,
        expressions: dict[type[ast.Expr], ExpressionRule],
        mutating: frozenset[str],
        lints: Sequence[Lint] = (),
    ) -> None:
        self.sources = sources
        self.lints = lints  # that look at each value that went where a type is expected
        self.mutating = mutating  # names of methods that may change their receiver
        self.links: set[ast.Expr] = set()  # links of places that are written: on a Map `.name` is the key there (L-5.5.1)
        # expressions that belong to the code around the body they stand in, and the targets and loops they have there
        self.outside: dict[ast.Expr, tuple[list[Target], list[LoopFrame]]] = {}
        self.diagnostics = diagnostics
        self.expressions = expressions
        self.error_count = 0  # unchanged between two moments: what was done meanwhile is sound
        self.nesting = Nesting()
        self.targets: list[Target] = []
        self.loops: list[LoopFrame] = []
        self.nominals: dict[str, StructSymbol | EnumSymbol] = {}
        self.fields_of: dict[Symbol, Any] = {}  # of structs and variants whose literals were met (`expressions.Fields`)
        self.contexts: dict[str, ContextSymbol] = {}
        self.modules: ModuleMap
        self.connections: list[str] = []  # names of those declared, for suggestions
        self.mockable: list[str] = []  # names of models, agents and tools, for suggestions
        self.offering: list[Offering] = []  # all that gives tools to models
        self.tools: dict[ToolSymbol, Type] = {}  # the types of tools that implement traits
        self.servers: Mapping[str, Mapping[str, object]] = {}  # MCP servers of the manifest by name
        self.agents: Mapping[str, Mapping[str, object]] | None = None  # those of the manifest by name; None: there is none
        self.manifest: dict[str, dict[str, object]] = {}  # fields of connections that Concerto.toml gives
        self.aliases: dict[AliasSymbol, Type | None] = {}  # None: being resolved
        self.constants: dict[ConstSymbol, str] = {}  # busy, done, failed
        self.visited: set[StructSymbol] = set()  # structs whose JSON form was looked at, and found fine
        self.main: FunctionSymbol | None = None
        self.methods: dict[str, dict[str, FunctionSymbol]] = {}  # by the head of their type, then by name
        self.traits: dict[str, list[TraitSymbol]] = {}  # by the names of their methods
        self.models: dict[ModelSymbol, Type] = {}  # types of those that have an impl
        self.trait_symbols: dict[str, TraitSymbol] = {}  # by the unique names of their types
        self.implementations: dict[Implementation, ImplSymbol] = {}
        self.offers: dict[tuple[Nominal, str, Any], list[Any]] = {}  # of types without type arguments, by method and module
        self.made_by: dict[ImplSymbol, Implementation] = {}
        self.field_types: dict[int, tuple[Any, dict[str, Type]]] = {}
        self.error_impls: list[ImplSymbol] = []
        self.waiting_bounds: list[WaitingBounds] | None = []  # None: all impls are known
        self.step_functions: list[StepFunction] = []  # of memories, that may ask nothing of the host
        self.computed_bounds: list[ast.Expr] = []  # of declared memories, which ask no model and no memory
        self.slot_changes: list[tuple[ast.Call | ast.MethodCall, str]] = []  # methods that change a slot, by name
        self.concurrent: list[list[ast.TaskBody]] = []  # operands that run at once
        self.memory_tables = MemoryTables()  # what Concerto.toml says of memories
        self.memory_defaults: dict[str, dict[str, Any]] = {}  # its default steps, with symbols of the program
        self.self_type: Type | None = None  # what `Self` is in the present impl
        self.heads: dict[Type, Any] = {}  # the constructors of types that were matched (`constructors.Heads`)
        self.match_steps = MATCH_STEPS
        self.constant_room = CONSTANT_VALUES + sum([len(source.text) for source in sources.values()])
        self.filling: ast.MethodCall | None = None  # a call that changes its receiver, while its arguments are typed
        self.open_lets: list[tuple[ast.Let, Local]] = []  # of the present function, their types not known yet (L-3.2.8)
        self.form_room = FORM_FIELDS + sum([len(source.text) for source in sources.values()])  # of JSON forms (G-5.13)
        self.form_sizes: dict[Type, tuple[int, int]] = {}
        self.texts: dict[Local, ast.Expr] = {}  # what immutable variables of text begin as
        self.deferring: bool = False  # whether the present function has a `let` without initialiser

    # ------------------------------------------------------------ expressions

    def infer(self, node: ast.Expr, expected: Expected = FREE) -> Type:
        """Types an expression; `expected` guides literals, constructors, closures and tails, but nothing is converted."""
        if node.type is None:
            if self.outside and node in self.outside:
                return self._infer_outside(node, expected)
            if type(node) in SPINES:
                self._infer_spine(node)
            if node.type is None:
                found: Type = self.nesting.call(self.expressions[type(node)], self, node, expected)
                node.type = self.bounded(found, node.span)
        return node.type  # type: ignore[no-any-return]

    def bounded(self, type_: Type, span: Span) -> Type:
        """The type, or after a report the erroneous one if a walk over it would take too long (G-5.8)."""
        return type_ if type_.weight <= HEAVIEST and type_.depth <= DEEPEST else self.too_large(span)

    def too_large(self, span: Span) -> Type:
        message = "a type nests too deeply or is made of too many types"
        return self.report("E0114", span, message, help="declare a struct for a part")

    def _infer_outside(self, node: ast.Expr, expected: Expected) -> Type:
        inside = self.targets, self.loops
        self.targets, self.loops = self.outside.pop(node)
        found = self.infer(node, expected)
        self.targets, self.loops = inside
        return found

    def _infer_spine(self, node: ast.Expr) -> None:
        chain: list[ast.Expr] = []
        at = node
        while type(at) in SPINES and at.type is None:
            chain.append(at)
            if getattr(at, "memory", None) is not None:  # the links of its chain are steps
                break
            if isinstance(at, ast.MethodCall) and at.name.text in self.mutating:
                self.written(at.receiver)
            below = getattr(at, SPINES[type(at)])
            if isinstance(at, ast.Pipe) and not isinstance(below, (ast.Pipe, ast.Propagate)):
                break
            at = below
        for inner in reversed(chain[1:]):
            inner.type = self.bounded(self.expressions[type(inner)](self, inner, FREE), inner.span)

    def written(self, place: ast.Expr) -> None:
        """Notes the links of a place before it is typed."""
        while True:
            if isinstance(place, (ast.FieldAccess, ast.TupleAccess, ast.Index)):
                self.links.add(place)
                place = place.receiver
            elif isinstance(place, ast.GroupExpr):
                place = place.inner
            else:
                return

    def value(self, node: ast.Expr, expected: Expected) -> Type:
        """Types an expression and converts it to what its place asks for."""
        found = self.infer(node, expected)
        return self.coerce(node, found, expected)

    def coerce(self, node: ast.Expr, found: Type, expected: Expected) -> Type:
        """Fills `node.coercion`, or reports the mismatch."""
        wanted = expected.type
        if wanted is None or found is ERRONEOUS:
            return found
        coercion = convert(found, wanted)
        if isinstance(coercion, _Mismatch):
            self.mismatch(node, found, wanted, expected)
            return ERRONEOUS
        if found.is_open:
            learn(node, wanted)
        self.note_message(node.span, found, coercion)
        node.coercion = coercion
        if found is not wanted:
            for lint in self.lints:
                lint(self, node, found, wanted)
        return NEVER if found == NEVER else wanted

    def note_message(self, span: Span, found: Type, coercion: Coercion | None) -> None:
        """W0020, once in a function: an error becomes its message (L-3.3.16)."""
        made: object = coercion.inner if isinstance(coercion, ToOption) else coercion
        if not isinstance(made, (ToMessage, ErrToMessage)) or not self.targets:
            return
        target = self.function_target
        if target.noted:
            return
        target.noted = True
        kind = found.arguments[1] if isinstance(found, Generic) else found
        self.report(
            "W0020", span, f"the error `{kind}` becomes its message, a String",
            help=f"to keep its kind, write `{kind}` where `String` stands; for the message alone, `.message`",
        )  # fmt: skip

    def tail(self, node: ast.Expr, expected: Expected) -> Type:
        """An expression whose value becomes the value of the form around it: a coercion site if the type is known."""
        return self.value(node, expected) if expected.concrete else self.infer(node, expected)

    def join_branches(self, branches: list[tuple[ast.Expr, Type]], code: str = "E2021") -> Type:
        """The join of branch values; converts each branch; reports the first that does not join."""
        joined: Type = NEVER
        for node, found in branches:
            wider = join(joined, found)
            if wider is None:
                self.report(
                    code, node.span, f"the branches disagree: `{joined}` and `{found}`",
                    help=branches_help(joined, found, self.text(node)[1:-1]),
                )
                return ERRONEOUS
            joined = wider
        for node, found in branches:
            coercion = convert(found, joined)
            node.coercion = None if coercion is MISMATCH else coercion
        return joined

    # ------------------------------------------------------------ targets

    @property
    def target(self) -> Target:
        return self.targets[-1]

    @property
    def function_target(self) -> Target:
        """The function, closure or initialiser that `return` leaves."""
        return next(t for t in reversed(self.targets) if t.kind != "try")

    @property
    def in_try(self) -> bool:
        return self.target.kind == "try"

    # ------------------------------------------------------------ reports

    def report(
        self,
        code: str,
        span: Span,
        message: str,
        *,
        help: str | None = None,
        first: Span | None = None,
        note: str = "first defined here",
    ) -> Type:
        """Reports and hands back the erroneous type, so that a rule can `return c.report(…)`."""
        related = () if first is None else (Related(first, note),)
        self.error_count += code.startswith("E")
        self.diagnostics.report(code, span, message, help=help, related=related)
        return ERRONEOUS

    def missing_value(self, node: ast.Node, result: Type, body: ast.Expr | None = None) -> Type:
        """E2022: a path of a body gives no value (L-3.8.4); `body` is what ends without one."""
        message = f"{self.function_target.name} gives no value of type `{result}` on some path"
        return self.report("E2022", node.span, message, help=missing_value_help(body or node, result))

    def mismatch(self, node: ast.Expr, found: Type, wanted: Type, expected: Expected) -> Type:
        if expected.code == "E2023" and found == NIL and isinstance(node, ast.Block) and node.result is None:
            return self.missing_value(node, wanted)
        if found == NIL:
            help: str | None = self._nothing_help(node, wanted)
        elif wanted == NIL and expected.code == "E2023":
            is_main = self.function_target.name == "`main`"
            help = "`main` gives no value: drop it" if is_main else f"declare the result: `-> {found}`"
        elif isinstance(wanted, Nilable) and (some := _in_some(node)) is not None and found == option(wanted.inner):
            help = f"`{wanted}` takes the value itself: {self.text(some)}"
        elif (filled := self.filled_by(node)) is not None:
            any_of = "Map<String, Any> = {}" if generic(filled.type, "Map") else "Array<Any> = []"
            help = f"`{filled.name}` has the type of its first use; for several kinds: `let mut {filled.name}: {any_of};`"
        elif isinstance(node, ast.StringLiteral) and wanted in (INT, FLOAT):
            help = number_help(node.value, wanted)
        elif (found, wanted) == (FLOAT, INT) and expected.place in MILLISECONDS:
            help = milliseconds_help(node, self.text(node)[1:-1])
        else:
            help = explain(found, wanted)
        where = f" for {expected.place}" if expected.place else ""
        message = f"expected `{wanted}`{where}, found `{found}`"
        return self.report(expected.code, node.span, message, help=help)

    def filled_by(self, node: ast.Expr) -> Local | None:
        """The variable with the type of its first use that the expression is put into by the present call."""
        if self.filling is None or all(argument.value is not node for argument in self.filling.arguments):
            return None
        place = self.filling.receiver
        local = place.binding if isinstance(place, ast.PathExpr) else None
        return local if isinstance(local, Local) and local.learned else None

    def _nothing_help(self, node: ast.Expr, wanted: Type) -> str:
        """For nil where a value is expected: the literal, or a call that has no result."""
        while isinstance(node, ast.GroupExpr) or (isinstance(node, ast.Block) and node.result is not None):
            node = node.inner if isinstance(node, ast.GroupExpr) else node.result  # type: ignore[assignment]
        if isinstance(node, ast.Call) and isinstance(node.callee, ast.PathExpr) and node.callee.segments[-1].text == "emit":
            return "`emit` alone returns nothing; for the answer of the host write `await emit(channel, payload)?`"
        if isinstance(node, (ast.Call, ast.MethodCall)):
            return f"{self.text(node)} returns nothing"
        if isinstance(node, (ast.For, ast.While)):
            return "the loop has no value; end with a value or `return`"
        return f"`nil` is a value of `{nilable(wanted)}`"

    def operand(self, node: ast.Node, stand_in: str) -> str:
        """A node as it is written, to be put before a `.` or into brackets; `stand_in` for what is long or needs brackets."""
        written = " ".join(self.sources[node.span.file].text[node.span.start : node.span.end].split())
        simple = isinstance(node, _SIMPLE) and len(written) <= 40 and "`" not in written
        return written if simple else stand_in

    def text(self, node: ast.Node) -> str:
        """A node as it is written, for messages; long ones are cut."""
        written = " ".join(self.sources[node.span.file].text[node.span.start : node.span.end].split())
        return f"`{written}`" if len(written) <= 40 else f"`{written[:39]}…`"

    # ------------------------------------------------------------ declared types

    def declared(self, type_: Type) -> StructSymbol | EnumSymbol | None:
        """The symbol behind a nominal type."""
        symbol = self.nominals.get(type_.unique_name) if isinstance(type_, Nominal) else None
        return symbol if symbol is not None and bare(symbol.type) == bare(type_) else None


def _in_some(node: ast.Expr) -> ast.Expr | None:
    """What a written `Some(…)` holds."""
    if isinstance(node, ast.Call) and isinstance(node.callee, ast.PathExpr) and len(node.arguments) == 1:
        return node.arguments[0].value if node.callee.segments[-1].text == "Some" else None
    return None


def missing_value_help(body: ast.Node, result: Type) -> str:
    """What usually helps against E2022, told by the last statement."""
    last = body.statements[-1] if isinstance(body, ast.Block) and body.statements and body.result is None else None
    expression = last.expr if isinstance(last, ast.ExprStmt) else body
    if isinstance(expression, ast.If) and not has_final_else(expression):
        return "the `if` has no `else`: add `else { … }`, or a value behind it"
    if isinstance(last, ast.ExprStmt) and last.terminated and not isinstance(last.expr, ast.Assign):
        found = last.expr.type
        if found is not None and found not in (NIL, NEVER) and convert(found, result) is not MISMATCH:
            return "drop the `;` of the last expression"
    if (generic(result, "Result") or (None,))[0] == NIL:
        return "end with `Ok()`"
    return "end with a value or `return`"


def has_final_else(node: ast.If) -> bool:
    at: ast.Expr | None = node
    while isinstance(at, ast.If):
        at = at.otherwise
    return at is not None


# ----------------------------------------------------------------
# Expressions where the parser gave up.


def erroneous(c: Checker, node: ast.ErrorExpr, expected: Expected) -> Type:
    """The parser has reported it; what stands inside is looked at all the same."""
    for part in node.inside:
        c.infer(part)
    return ERRONEOUS


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.ErrorExpr: erroneous,
}
