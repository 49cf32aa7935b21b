"""The state of one check, and the operations every family of rules is written in.

Hands on `Checker`, which every rule of this folder takes as `c` (`infer`, `value`, `coerce`, `report`), `Expected` (what the
surroundings of an expression ask of it; FREE and DISCARD are two of them), and the frames for errors and loops (`Target`,
`Raise`, `LoopFrame`); SPINES to `assignment`, FORM_FIELDS to `json_shapes`, `PendingBounds` to `types`, `ModuleMap` to
`program`, `Takers` to `models`; `private_fields` to `expressions` and `operators`, and with `Checker` to the language server.
The rule of a form of the language (`ExpressionRule`) is a function in the table RULES of a sibling file; `program` puts the
tables together. Where something is checked that depends on the function around it, look at `Target`. What is wrong is reported
and not raised; but `Checker.body_of` raises BodyNeeded, and a walk over what nests too deeply RecursionError, which `functions`
and `program` report (E0114).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..decisions import Coercion, ErrToMessage, FunctionCall, MethodTarget, ToMessage, ToOk, ToOption, TraitCall
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
    MemorySymbol,
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
from ..types import FLOAT, INT, NEVER, NIL, STRING, Generic, Implementation, Nilable, Nominal, Type, Union, bare, option
from .relations import ERRONEOUS, MISMATCH, _Mismatch, convert, generic, is_complete, join_values, learn, nilable, reads_resource

# Private fields (L-8.4): usable in the module of their struct and its submodules.


class ModuleMap:
    """Which module the text at a place belongs to: a file may hold several, written out with `mod name { … }`."""

    __slots__ = ("files", "borders", "hidden")

    def __init__(self, project: Project, modules: Sequence[ModuleSymbol]) -> None:
        self.files = {module.file: module for module in modules if module.home is None or module.home.file != module.file}
        # of each file, by place: where another module begins, or goes on behind one that is written out in it
        self.borders = {file: list(_borders(tree.items, self.files.get(file))) for file, tree in project.trees.items()}
        self.hidden: dict[StructSymbol, frozenset[str]] = {}  # names of private fields; filled by `private_fields`

    def at(self, place: Span) -> ModuleSymbol:
        """Return the innermost module around a place, whose file must be one of the program. Raise KeyError for another."""
        borders = self.borders[place.file]
        # Borders are sorted by offset, as the items of a file are.
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
    """Return the names of the fields of a struct that code at `place`, in a file of the program, may not name; none of schemas
    and of structs that belong to no module (L-8.4)."""
    home = symbol.home
    if home is None or isinstance(symbol.declaration, ast.Schema):
        return frozenset()
    # Cached: a struct may have thousands of uses, and each asks.
    hidden = modules.hidden.get(symbol)
    if hidden is None:
        hidden = modules.hidden[symbol] = frozenset([field.name.text for field in symbol.declaration.fields if not field.public])
    return frozenset() if not hidden or modules.at(place).is_inside(home) else hidden


class Expected(NamedTuple):
    """What a place asks of its expression: a type (None: any, and parts of it may be open), the code of the diagnostic for a
    mismatch, and the words that name the place in its message. `used` is false where the value is thrown away. `ends`: the value
    ends a function, so that a T is wrapped where a `Result<T, E>` is returned (L-3.3.19). `guess`: the type guides constructors
    and closures, and a value of another type is none that is wrong here."""

    type: Type | None = None
    code: str = "E2001"
    place: str = ""
    used: bool = True
    ends: bool = False
    guess: bool = False

    def of(self, type_: Type | None, place: str = "") -> Expected:
        """Return what the same place asks of a part, of the type `type_`: the same code and, without `place`, the same words;
        FREE if that type is None."""
        return Expected(type_, self.code, place or self.place, guess=self.guess) if type_ is not None else FREE

    @property
    def concrete(self) -> bool:
        """Return whether the type is known in full, so that a value can be converted to it."""
        return self.type is not None and not self.guess and is_complete(self.type)


# Expressions that a `.` may follow without brackets.
_SIMPLE = (
    ast.PathExpr, ast.FieldAccess, ast.TupleAccess, ast.Index, ast.Call, ast.MethodCall, ast.StringLiteral, ast.ArrayExpr,
    ast.MapExpr, ast.Propagate, ast.Interpolation, ast.IntLiteral,
)  # fmt: skip
FREE = Expected()
DISCARD = Expected(used=False)


@dataclass(slots=True)
class Raise:
    """An error on its way: where, of which type, by which construct (`?`, `throw`, `try`, `as`, `statement`)."""

    node: ast.Node
    type: Type
    by: str


@dataclass(slots=True)
class Target:
    """Where `?`, throw and return lead: `kind` is function, closure, async, task, try, default (of a parameter) or none (module
    level). `name` stands in messages. `result` is None while it is not known (of a closure, a task, a stage), and for a `try`.
    `accepts_all`: errors of every type may leave though the result is Nil, as from `main`; `test`: it is a test. `raised` and
    `returns` collect what arrives, of a return the expression and its type. `scope` has the variables, None for a `try`, for a
    default and for none."""

    kind: str
    scope: FunctionScope | None = None
    name: str = ""
    result: Type | None = None
    accepts_all: bool = False
    test: bool = False
    fails_with: Type | None = None  # errors leave as this type, though the result is no Result (L-3.12.5)
    raised: list[Raise] = field(default_factory=list)
    returns: list[tuple[ast.Expr, Type]] = field(default_factory=list)
    warned_of_message: bool = False  # W0020 is reported once in each function

    @property
    def leads_nowhere(self) -> bool:
        """Whether nothing may be thrown or returned here (E3012)."""
        return self.kind in ("none", "default")


@dataclass(slots=True)
class LoopFrame:
    """A loop (`kind` is for, while or loop), or the body of a task, which break and continue do not leave: `kind` is then that of
    the TaskBody. `label` is None without one; `breaks` collects the values of `break`, None where it has none, with their
    types."""

    kind: str
    label: str | None
    breaks: list[tuple[ast.Expr | None, Type]] = field(default_factory=list)


class PendingBounds(NamedTuple):
    """Type arguments of a use of `owner` whose bounds are checked when all impls are known."""

    owner: str
    parameters: Sequence[TypeParameterSymbol]
    arguments: Sequence[Type]
    span: Span


TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incremental import Reuse

ExpressionRule = Callable[["Checker", Any, Expected], Type]
Lint = Callable[["Checker", ast.Expr, Type, Type], None]  # the value, its type, and the one expected

# Models with the fields of their connections, by what tells connections apart that carry other hosted tools.
Takers = dict[tuple[object, ...], tuple[ModelSymbol, dict[str, object]]]

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


# Limits that keep the time of a check in proportion to the length of the program (G-5.8 to G-5.13).
HEAVIEST = 5_000  # what a type may weigh: walks over types take as many steps
CONSTANT_VALUES = 500_000  # that constants may be made of together, beside one for each character of the program
FORM_FIELDS = 10_000  # that the JSON forms of schemas may have together, beside one for each character
MATCH_STEPS = 1_000_000  # that questions about patterns may take in a program beyond the length of these, those of W0004 apart
MOST_WORDS = 100  # parts of the initialiser of a variable of text that are read for the literals in it
DEEPEST = MAX_NESTING + 8  # levels a type may have: those of a written one, with what inference puts around it


class Checker:
    """What is known in one check of a program, at one moment of it. The tables are filled by the passes of `program`, in their
    order; `targets`, `loops`, `self_type`, `open_lets` and `deferring` change as the walk enters and leaves functions, `present`
    and `filling_call` within them. `sources` are the texts of the program by file, `expressions` the rule of each class of
    expression; `diagnostics` gets the reports."""

    __slots__ = (
        "sources", "diagnostics", "error_count", "expressions", "nesting", "targets", "loops", "nominals", "modules",
        "connections", "mockable", "tool_sources", "questions", "offers", "agents", "manifest", "servers", "tools",
        "aliases", "constants", "defaults", "methods", "self_type", "deferring", "main", "visited", "mutating", "written_links",
        "leaving",
        "traits", "models", "trait_symbols", "implementations", "trait_method_cache", "path_offers",
        "implementation_of", "field_types", "field_places", "error_impls",
        "pending_bounds",
        "outside", "step_functions", "concurrent", "memory_tables", "memory_defaults", "memory_circles", "view_circles",
        "contexts", "heads",
        "match_steps", "arm_steps", "constant_room",
        "open_lets", "filling_call", "stored_changes", "has_stored_hashmaps", "present", "some_of_nilable", "reply", "reply_used",
        "progress", "partials", "unfilled",
        "form_room", "form_sizes", "text_values", "reported_holes",
        "bare_variants", "irrefutable", "words", "lints", "computed_bounds", "fields_of",
        "memory_blocks", "reuse", "fallback_circles", "takers", "unstored", "connection_names", "offered",
        "from_functions", "from_impls",
        "parts", "parts_kept",
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
        self.lints = lints  # called for each value that went where another type object is expected
        self.mutating = mutating  # names of methods that may change their receiver
        # Links of places that are written: there `.name` of a Map is the key, not an optional value (L-5.5.1).
        self.written_links: set[ast.Expr] = set()
        self.leaving: set[ast.Node] = set()  # by which an error may leave to the function or `try` around
        # expressions that belong to the code around the body they stand in, and the targets and loops they have there
        self.outside: dict[ast.Expr, tuple[list[Target], list[LoopFrame]]] = {}
        self.diagnostics = diagnostics
        self.expressions = expressions
        self.error_count = 0  # if it is unchanged between two moments, what was checked meanwhile has no errors
        self.nesting = Nesting()
        self.targets: list[Target] = []
        self.loops: list[LoopFrame] = []
        self.nominals: dict[str, StructSymbol | EnumSymbol] = {}  # declared types by their unique names
        self.fields_of: dict[Symbol, Any] = {}  # of structs and variants with literals (`expressions.Fields`)
        self.contexts: dict[str, ContextSymbol] = {}  # by the unique names of their types
        self.modules: ModuleMap
        self.connections: list[str] = []  # names of those declared, for suggestions
        self.connection_names: Sequence[str] = ()  # with those predeclared and of the manifest, by alphabet, once asked for
        self.unstored: dict[Type, Type | None] = {}  # `stores.without_stored_form`
        self.takers: dict[ModelSymbol, Takers] = {}  # `models._takers`
        # of models that lead to one another by `fallback`: the last in the source; None for it once that was reported
        self.fallback_circles: dict[ModelSymbol, ModelSymbol | None] = {}
        self.mockable: list[str] = []  # names of models, agents and tools, for suggestions
        self.tool_sources: list[Offering] = []  # all that offers tools to models
        self.questions: set[str] = set()  # names of functions by models and of Python, and of channels that are answered
        self.offered: Any = None  # the names of what they offer, once asked for (`mocks.Offered`)
        self.offers: list[ToolSymbol] = []  # tools made of `questions` that a list of tools names; no declared tool is here
        self.tools: dict[ToolSymbol, Type] = {}  # the types of tools that implement traits
        self.servers: Mapping[str, Mapping[str, object]] = {}  # MCP servers of the manifest by name
        self.agents: Mapping[str, Mapping[str, object]] | None = None  # those of the manifest by name; None: there is none
        self.manifest: dict[str, dict[str, object]] = {}  # fields of connections that Concerto.toml gives
        self.aliases: dict[AliasSymbol, Type | None] = {}  # None: being resolved
        self.constants: dict[ConstSymbol, str] = {}  # state of folding: busy, done or failed
        self.defaults: dict[ast.Expr, object] = {}  # values of defaults of fields, as far as constants are made of them
        self.visited: set[StructSymbol | EnumSymbol] = set()  # those with a JSON form, as far as they were checked
        self.main: FunctionSymbol | None = None  # the function `main` of the root module
        self.methods: dict[str, dict[str, FunctionSymbol]] = {}  # by the head of their type, then by name
        self.traits: dict[str, list[TraitSymbol]] = {}  # by the names of their methods
        self.models: dict[ModelSymbol, Type] = {}  # types of those that have an impl
        self.trait_symbols: dict[str, TraitSymbol] = {}  # by the unique names of their types
        self.implementations: dict[Implementation, ImplSymbol] = {}  # the declarations of impls of traits
        # Methods that traits offer, by type, name, and module or trait; only of types of which nothing is open.
        self.trait_method_cache: dict[tuple[Type, str, Any], Any] = {}
        self.path_offers: dict[tuple[int, str, int], tuple[list[ImplSymbol], bool, Any]] = {}  # of `trait_calls.named_method`
        self.implementation_of: dict[ImplSymbol, Implementation] = {}  # the reverse of `implementations`
        # Fields by name, with the list they come from, by the identity of that list (`operators.fields_of`).
        self.field_types: dict[int, tuple[Any, dict[str, Type]]] = {}
        # Their places in the order of the declaration, with the number of fields that there were (`operators.field_of`).
        self.field_places: dict[StructSymbol, tuple[int, dict[str, int]]] = {}
        self.error_impls: list[ImplSymbol] = []  # of `impl Error for T`
        # of errors and what they convert to (`propagation.from_function`)
        self.from_functions: dict[tuple[Type, Type], FunctionSymbol | None] = {}
        self.from_impls: dict[Type, list[Implementation]] = {}
        self.parts: dict[tuple[Any, Type], tuple[int, Any]] = {}  # fields of generic types (`types.parts_in`)
        self.parts_kept = 0  # how many fields `parts` has; it is emptied when these are too many
        self.pending_bounds: list[PendingBounds] | None = []  # None: all impls are known
        self.step_functions: list[StepFunction] = []  # of memories, that may ask nothing of the host
        self.computed_bounds: list[ast.Expr] = []  # of declared memories; they may ask no model and no memory
        self.reply: StructSymbol | None = None  # the schema around replies that are no objects (O-2.64)
        self.reply_used = False  # some call asks for it
        self.progress: EnumSymbol | None = None  # of the fields of what arrives piece by piece (O-2.71)
        self.partials: dict[Type, StructSymbol] = {}  # `Partial<T>` by T
        self.unfilled: list[tuple[StructSymbol, Type]] | None = []  # those of them whose T has no fields yet; None: all have
        self.present: set[Local] = set()  # immutable variables of a type `T?` that hold a T here (`narrowing`)
        self.some_of_nilable = 0  # patterns `Some(…)` so far that stand on a `T?` (L-5.8.13)
        self.has_stored_hashmaps = False  # one whose entries are in a store, so that other sessions write them too
        # methods that change a slot or, where it is true, an entry of a hashmap, by name
        self.stored_changes: list[tuple[ast.Call | ast.MethodCall, str, bool]] = []
        self.concurrent: list[list[ast.TaskBody]] = []  # operands that run at once
        self.memory_blocks: list[tuple[str, int, int]] = []  # file, start and end, sorted: reports in there speak of fields
        self.memory_tables = MemoryTables()  # what Concerto.toml says of memories
        self.memory_defaults: dict[str, dict[str, Any]] = {}  # its default steps, with symbols of the program
        # numbers, equal for those that lead to one another by `like` and `Memory::of`, and by `Memory::of` alone
        self.memory_circles: dict[MemorySymbol, int] = {}
        self.view_circles: dict[MemorySymbol, int] = {}
        self.self_type: Type | None = None  # what `Self` is in the present impl
        self.heads: dict[Type, Any] = {}  # cache of `constructors.Reading.heads`
        self.match_steps = self.arm_steps = MATCH_STEPS  # the second for W0004, since a warning must not cost an error
        # values that constants may still be made of (G-5.10)
        self.constant_room = CONSTANT_VALUES + sum([len(source.text) for source in sources.values()])
        self.filling_call: ast.MethodCall | None = None  # a call that changes its receiver, while its arguments are typed
        self.open_lets: list[tuple[ast.Let, Local]] = []  # of the present function, their types not known yet (L-3.2.8)
        self.form_room = FORM_FIELDS + sum([len(source.text) for source in sources.values()])  # of JSON forms (G-5.13)
        self.form_sizes: dict[Type, tuple[int, int]] = {}  # of declared types: fields, levels (`json_shapes`)
        self.words: dict[Local, frozenset[str] | None] = {}  # literals that such a variable can hold, where that was asked
        self.bare_variants: set[Local] = set()  # what the resolver took for variables and is variants
        self.irrefutable = False  # a pattern of `let`, `for` or a parameter is checked
        self.reported_holes: set[ast.Expr] = set()  # of prompts
        self.text_values: dict[Local, ast.Expr] = {}  # what immutable variables of text stand for, or the Array of it
        self.reuse: Reuse | None = None  # of a check with a cache
        self.deferring: bool = False  # whether the present function has a `let` without initialiser

    # Questions that lead from one body into others.

    def is_answered(self, question: Span) -> bool:
        """Return whether the questions that begin in the file of this place need not be asked: an earlier check has answered
        them without an error, or nobody reads what is reported of the file."""
        return self.reuse is not None and question.file in self.reuse.records

    def called(self, target: object) -> FunctionSymbol | None:
        """Return the declared function that a call means, by its `target`; None for any other call, such as one of a tool's
        method, and for one through a trait of which there is not just one implementation: the run chooses."""
        if isinstance(target, (FunctionCall, MethodTarget)):
            return target.function
        if not isinstance(target, TraitCall):
            return None
        name, every = target.function.name, target.trait.facts.implementations.every
        return self.implementations[every[0]].method(name) or target.function if len(every) == 1 else None

    def body_of(self, function: FunctionSymbol, question: Span) -> ast.Block | None:
        """Return the body of a function that a question leads into, None for one without; `question` is where it begins.
        Raise BodyNeeded for a body that this check leaves out; where nobody reads what is reported of the file return None for
        it."""
        if self.reuse is not None:
            self.reuse.follow(question.file, function.declaration)
        return function.declaration.body

    # Expressions.

    def infer(self, node: ast.Expr, expected: Expected = FREE) -> Type:
        """Return the type of an expression and set `node.type`. `expected` guides literals, constructors, closures and tails,
        but nothing is converted. The first call decides: later ones return the same type, whatever they expect. ERRONEOUS after
        a report, also of a type that is too large (E0114). RecursionError of a walk that goes too deep passes through."""
        if node.type is None:
            # An operand of `spawn` belongs to the code around its task.
            if self.outside and node in self.outside:
                return self._infer_outside(node, expected)
            if type(node) in SPINES:
                self._infer_spine(node)
            if node.type is None:
                type_: Type = self.nesting.call(self.expressions[type(node)], self, node, expected)
                node.type = self.bounded(type_, node.span)
        return node.type  # type: ignore[no-any-return]

    def bounded(self, type_: Type, span: Span) -> Type:
        """Return the type; ERRONEOUS after a report, E0114, if walks over it would take too long (G-5.8)."""
        return type_ if type_.weight <= HEAVIEST and type_.depth <= DEEPEST else self.report_too_large(span)

    def report_too_large(self, span: Span) -> Type:
        """Report E0114 for a type that is too large or too deep, and return ERRONEOUS."""
        message = "a type nests too deeply or is made of too many types"
        return self.report("E0114", span, message, help="declare a struct for a part")

    def _infer_outside(self, node: ast.Expr, expected: Expected) -> Type:
        inner = self.targets, self.loops
        self.targets, self.loops = self.outside.pop(node)
        type_ = self.infer(node, expected)
        self.targets, self.loops = inner
        return type_

    def _infer_spine(self, node: ast.Expr) -> None:
        """Type what a left-deep chain begins with, from the innermost link outward; the outermost one is left to `infer`."""
        chain: list[ast.Expr] = []
        at = node
        while type(at) in SPINES and at.type is None:
            chain.append(at)
            if getattr(at, "memory", None) is not None:  # the links of its chain are steps
                break
            if isinstance(at, ast.MethodCall) and at.name.text in self.mutating:
                self.note_written_place(at.receiver)
            below = getattr(at, SPINES[type(at)])
            # The first left side of a pipe is an argument of a call, typed there against its parameter.
            if isinstance(at, ast.Pipe) and not isinstance(below, (ast.Pipe, ast.Propagate)):
                break
            if self.outside and below in self.outside:
                break
            # What the place of `N.resource(…)?` asks for is known to the `?` alone.
            if at is node and reads_resource(below):
                break
            at = below
        for inner in reversed(chain[1:]):
            inner.type = self.bounded(self.expressions[type(inner)](self, inner, FREE), inner.span)

    def note_written_place(self, place: ast.Expr) -> None:
        """Note that a chain of fields and indexes is written; must be called before it is typed."""
        while True:
            if isinstance(place, (ast.FieldAccess, ast.TupleAccess, ast.Index)):
                self.written_links.add(place)
                place = place.receiver
            elif isinstance(place, ast.GroupExpr):
                place = place.inner
            else:
                return

    def value(self, node: ast.Expr, expected: Expected) -> Type:
        """Type an expression and convert it to what its place asks for; return the type it then has, ERRONEOUS after a
        mismatch."""
        return self.coerce(node, self.infer(node, expected), expected)

    def coerce(self, node: ast.Expr, actual: Type, expected: Expected) -> Type:
        """Set `node.coercion` to what converts a value of type `actual` to the expected type and return the type the value then
        has, or report the mismatch, with the code of `expected` or E2022, and return ERRONEOUS. Warns of an error that becomes
        its message (W0020). An open side of a variable's type is learned on the way (L-3.2.8). Where no type is expected, or
        `actual` is ERRONEOUS, return `actual` and change nothing."""
        wanted = expected.type
        # What was reported must not be reported again as a mismatch.
        if wanted is None or actual is ERRONEOUS:
            return actual
        coercion = convert(actual, wanted)
        if isinstance(coercion, _Mismatch):
            if (narrower := self.narrowed(node, actual)) is not actual:
                return self.coerce(node, narrower, expected)
            if (union := self.union_of_words(node, wanted)) is not None:
                return self.coerce(node, union, expected)
            if expected.ends and (wrapping := _wrapped(actual, wanted)) is not None:
                coercion = wrapping
        if isinstance(coercion, _Mismatch):
            self.report_mismatch(node, actual, wanted, expected)
            return ERRONEOUS
        if actual.is_open:
            learn(node, wanted)
        self.warn_of_message(node.span, actual, coercion)
        node.coercion = coercion
        # The same object needs no lint, and most values have exactly the type that is expected.
        if actual is not wanted:
            for lint in self.lints:
                lint(self, node, actual, wanted)
        return NEVER if actual == NEVER else wanted

    def narrowed(self, node: ast.Expr, type_: Type) -> Type:
        """Return T where an expression is a variable of type `T?` that holds a value here (L-3.3.18), and give it that type;
        else `type_`, the type it has."""
        if not self.present or not isinstance(type_, Nilable):
            return type_
        variable = ast.ungrouped(node)
        if not isinstance(variable, ast.PathExpr) or variable.binding not in self.present:
            return type_
        # Codegen goes by the types of operands, those in brackets too.
        while node is not variable:
            node.type = type_.inner
            node = node.inner  # type: ignore[attr-defined]
        variable.type = type_.inner
        return type_.inner

    def union_of_words(self, node: ast.Expr, wanted: Type) -> Union | None:
        """Return the string union `wanted`, or the one inside an optional type, if an expression is an immutable variable of text
        that can only hold words of it (L-3.3.21); else None."""
        if node.type != STRING:  # an Array of literals stays one of Strings
            return None
        while isinstance(wanted, Nilable) or generic(wanted, "Option"):
            wanted = wanted.inner if isinstance(wanted, Nilable) else wanted.arguments[0]  # type: ignore[attr-defined]
        variable = ast.ungrouped(node)
        local = variable.binding if isinstance(variable, ast.PathExpr) else None
        if not isinstance(wanted, Union) or not isinstance(local, Local) or local not in self.text_values:
            return None
        if local not in self.words:
            self.words[local] = self._words_of(self.text_values[local])
        words = self.words[local]
        return wanted if words is not None and all(map(wanted.holds, words)) else None

    def _words_of(self, value: ast.Expr) -> frozenset[str] | None:
        """Return the literals of which an expression is one; None where it may be another text, or has more than MOST_WORDS
        parts."""
        words: set[str] = set()
        waiting: list[ast.Expr | None] = [value]
        for _ in range(MOST_WORDS):
            match node := waiting.pop():
                case ast.StringLiteral():
                    words.add(node.value)
                case ast.GroupExpr():
                    waiting.append(node.inner)
                case ast.ArrayExpr():  # of a variable that is one element after the other
                    waiting += node.items
                case ast.Block():
                    waiting.append(node.result)
                case ast.If():
                    waiting += [node.then, node.otherwise]
                case ast.Match():
                    waiting += [arm.body for arm in node.arms]
                case ast.PathExpr(binding=Local() as local) if local in self.text_values:
                    waiting.append(self.text_values[local])
                case _ if node is None or node.type != NEVER:
                    return None
            if not waiting:
                return frozenset(words)
        return None

    def warn_of_message(self, span: Span, error: Type, coercion: Coercion | None) -> None:
        """Warn, once in a function, that an error becomes its message (W0020, L-3.3.16). `coercion` is what converts `error`; any
        other conversion is passed over."""
        conversion: object = coercion.inner if isinstance(coercion, (ToOption, ToOk)) else coercion
        if not isinstance(conversion, (ToMessage, ErrToMessage)) or not self.targets:
            return
        target = self.function_target
        if target.warned_of_message:
            return
        target.warned_of_message = True
        kind = error.arguments[1] if isinstance(error, Generic) else error
        self.report(
            "W0020", span, f"the error `{kind}` becomes its message, a String",
            help=f"to keep its kind, write `{kind}` where `String` stands; for the message alone, `.message`",
        )  # fmt: skip

    def tail(self, node: ast.Expr, expected: Expected) -> Type:
        """Type, and return the type of, an expression whose value becomes the value of the form around it; it is converted if the
        expected type is known."""
        return self.value(node, expected) if expected.concrete else self.infer(node, expected)

    def join_branches(self, branches: list[tuple[ast.Expr, Type]], code: str = "E2021") -> Type:
        """Return the join of the branches' types and set the coercion of each branch to it; report, with `code`, the first that
        does not join, and return ERRONEOUS (L-3.4.1)."""
        joined: Type = NEVER
        for node, type_ in branches:
            wider = join_values(joined, type_)
            if wider is None:
                self.report(
                    code, node.span, f"the branches disagree: `{joined}` and `{type_}`",
                    help=branches_help(joined, type_, self.text(node)[1:-1]),
                )
                return ERRONEOUS
            joined = wider
        for node, type_ in branches:
            coercion = convert(type_, joined)
            node.coercion = None if coercion is MISMATCH else coercion
        return joined

    # Targets: the function, closure or `try` around.

    @property
    def target(self) -> Target:
        """Return where an error goes from here; only inside a body."""
        return self.targets[-1]

    @property
    def function_target(self) -> Target:
        """Return the function, closure, task or initialiser around, which `return` would leave; only inside a body."""
        return next(t for t in reversed(self.targets) if t.kind != "try")

    @property
    def in_try(self) -> bool:
        """Return whether the innermost target is a `try`; only inside a body."""
        return self.target.kind == "try"

    # Reports.

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
        """Report a diagnostic of this code (a row of `diagnostics.CODES`) and return ERRONEOUS, so that a rule can `return
        c.report(…)`. `first` is a second place, which `note` describes. Inside a memory block the message and help speak of
        fields in place of steps."""
        related = () if first is None else (Related(first, note),)
        if self._in_memory_block(span):
            from ..hints.memory_fields import as_fields  # its patterns are compiled only for a report

            message, help = as_fields(message), None if help is None else as_fields(help)
        # Warnings do not count: what is only warned of can be compiled.
        self.error_count += code.startswith("E")
        self.diagnostics.report(code, span, message, help=help, related=related)
        return ERRONEOUS

    def _in_memory_block(self, span: Span) -> bool:
        """Return whether a place is inside a memory block; they are sorted, so that many reports ask of many blocks."""
        at = bisect_right(self.memory_blocks, (span.file, span.start, span.start)) - 1
        if at < 0:
            return False
        file, _, end = self.memory_blocks[at]
        return file == span.file and span.start < end

    def report_missing_value(self, node: ast.Node, result: Type, body: ast.Expr | None = None) -> Type:
        """Report that a path of a body gives no value (E2022, L-3.8.4); `body` is what ends without one, None for `node` itself,
        at whose place it is reported; `result` is the type it should have. Return ERRONEOUS."""
        message = f"{self.function_target.name} gives no value of type `{result}` on some path"
        return self.report("E2022", node.span, message, help=missing_value_help(body or node, result))

    def report_mismatch(self, node: ast.Expr, actual: Type, wanted: Type, expected: Expected) -> Type:
        """Report that an expression has another type than its place asks for, with the code of `expected` and the help for the
        most likely mistake; E2022 for a body that ends without the value of its function. Return ERRONEOUS."""
        if expected.code == "E2023" and actual == NIL and isinstance(node, ast.Block) and node.result is None:
            return self.report_missing_value(node, wanted)
        if actual == NIL:
            help: str | None = self._nothing_help(node, wanted)
        elif expected.code == "E2023" and (actual == STRING or isinstance(actual, Union)) and self._is_reply(wanted):
            help = f"a function by a model names it: `-> {wanted} by Sorter`"
        elif wanted == NIL and expected.code == "E2023":
            is_main = self.function_target.name == "`main`"
            help = "`main` gives no value: drop it" if is_main else f"declare the result: `-> {actual}`"
        elif isinstance(wanted, Nilable) and (some := _in_some(node)) is not None and actual == option(wanted.inner):
            help = f"`{wanted}` takes the value itself: {self.text(some)}"
        elif (filled := self.filled_by(node)) is not None:
            any_of = "Map<String, Any> = {}" if generic(filled.type, "Map") else "Array<Any> = []"
            help = f"`{filled.name}` has the type of its first use; for several kinds: `let mut {filled.name}: {any_of};`"
        elif isinstance(node, ast.StringLiteral) and wanted in (INT, FLOAT):
            help = number_help(node.value, wanted)
        elif (actual, wanted) == (FLOAT, INT) and expected.place in MILLISECONDS:
            help = milliseconds_help(node, self.text(node)[1:-1])
        else:
            help = explain(actual, wanted)
        where = f" for {expected.place}" if expected.place else ""
        message = f"expected `{wanted}`{where}, found `{actual}`"
        return self.report(expected.code, node.span, message, help=help)

    def filled_by(self, node: ast.Expr) -> Local | None:
        """Return the variable that the present call puts the expression into, if its type is that of its first use (L-3.2.8);
        else None."""
        if self.filling_call is None or all(argument.value is not node for argument in self.filling_call.arguments):
            return None
        place = self.filling_call.receiver
        local = place.binding if isinstance(place, ast.PathExpr) else None
        return local if isinstance(local, Local) and local.learned else None

    def _is_reply(self, wanted: Type) -> bool:
        """Return whether a type is a Result of what a model may answer in place of a text."""
        return isinstance(wanted, Generic) and wanted.name == "Result" and self.declared(wanted.arguments[0]) is not None

    def _nothing_help(self, node: ast.Expr, wanted: Type) -> str:
        """Return the help for nil where a value is expected: for the literal, or a call that has no result."""
        if isinstance(node, ast.Call) and isinstance(node.callee, ast.PathExpr) and node.callee.segments[-1].text == "emit":
            return "`emit` alone returns nothing; for the answer of the host write `await emit(channel, payload)?`"
        if isinstance(node, (ast.Call, ast.MethodCall)):
            return f"{self.text(node)} returns nothing"
        if isinstance(node, (ast.For, ast.While)):
            return "the loop has no value; end with a value or `return`"
        return f"`nil` is a value of `{nilable(wanted)}`"

    def operand(self, node: ast.Node, stand_in: str) -> str:
        """Return a node as it is written, to be put before a `.` or into brackets; `stand_in` for one that is longer than 40
        characters, holds a backtick or is of another form than those of `_SIMPLE`."""
        written = " ".join(self.sources[node.span.file].text[node.span.start : node.span.end].split())
        simple = isinstance(node, _SIMPLE) and len(written) <= 40 and "`" not in written
        return written if simple else stand_in

    def text(self, node: ast.Node) -> str:
        """Return a node as it is written, in backticks and on one line, for messages; one longer than 40 characters is cut to 39
        and `…`."""
        written = " ".join(self.sources[node.span.file].text[node.span.start : node.span.end].split())
        return f"`{written}`" if len(written) <= 40 else f"`{written[:39]}…`"

    # Declared types.

    def declared(self, type_: Type) -> StructSymbol | EnumSymbol | None:
        """Return the struct, schema or enum that a type names; None for every other type."""
        symbol = self.nominals.get(type_.unique_name) if isinstance(type_, Nominal) else None
        # Another kind of type may have the same name: compare the types too.
        return symbol if symbol is not None and bare(symbol.type) == bare(type_) else None


def _wrapped(actual: Type, wanted: Type) -> ToOk | None:
    """Return what makes Ok of a value that ends a function; None where the function returns no Result, or one of another
    type."""
    sides = generic(wanted, "Result")
    if not sides or generic(actual, "Result"):
        return None
    coercion = convert(actual, sides[0])
    return None if isinstance(coercion, _Mismatch) else ToOk(wanted, coercion)


def _in_some(node: ast.Expr) -> ast.Expr | None:
    """Return what a written `Some(…)` holds."""
    if isinstance(node, ast.Call) and isinstance(node.callee, ast.PathExpr) and len(node.arguments) == 1:
        return node.arguments[0].value if node.callee.segments[-1].text == "Some" else None
    return None


def missing_value_help(body: ast.Node, result: Type) -> str:
    """Return the help for E2022, by the last statement of the body; `result` is the type that the body should give."""
    last = body.statements[-1] if isinstance(body, ast.Block) and body.statements and body.result is None else None
    expression = last.expr if isinstance(last, ast.ExprStmt) else body
    if isinstance(expression, ast.If) and not has_final_else(expression):
        return "the `if` has no `else`: add `else { … }`, or a value behind it"
    if isinstance(last, ast.ExprStmt) and last.terminated and not isinstance(last.expr, ast.Assign):
        value = last.expr.type
        if value is not None and value not in (NIL, NEVER) and convert(value, result) is not MISMATCH:
            return "drop the `;` of the last expression"
    return "end with a value or `return`"


def has_final_else(node: ast.If) -> bool:
    """Return whether a chain of `else if` ends with `else`."""
    at: ast.Expr | None = node
    while isinstance(at, ast.If):
        at = at.otherwise
    return at is not None


# Expressions where the parser gave up.


def erroneous(c: Checker, node: ast.ErrorExpr, expected: Expected) -> Type:
    """Type the parts of what the parser has reported, so that names in it count as used; return ERRONEOUS."""
    for part in node.inside:
        c.infer(part)
    return ERRONEOUS


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.ErrorExpr: erroneous,
}
