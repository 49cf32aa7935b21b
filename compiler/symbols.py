"""What names denote: one class of symbols for each kind of declaration.

The resolver makes the symbols, with empty types, and sets them on the annotation fields of `ast`. The checker fills them and adds
records of its own (`ConstStruct`, `SlotAccess`, `StepFunction`, `TestInfo` and their like); `repl` makes `KnownType`. Codegen and
the language server read all of them and decide nothing about names or types themselves; what asks for the signatures of a program
(`api/interface.py`, `cli/python_signatures.py`) reads those of functions and types. Hands on these classes to all of them. In all
classes `declaration` is the node of the tree, `type` the type that it makes or has, and `type_parameters` what stands in its
`<…>`. Symbols compare by identity: each declaration has one; those that no declaration has (predeclared names, the library, items
of traits) may be made anew by each look-up. Names are looked up elsewhere, and nothing is reported here. A new kind of
declaration is a class here, a case of `resolver/items.py: _symbol` and a row of `declaration_kinds.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..vm.record import field, record
from ..vm.schema import tool_name
from .syntax import ast
from .types import ANY, Nominal, Type

# Modules, scopes and variables; what the language and its library declare.


@record
class Symbol:
    """`name`: as it is written, mostly. `home`: the module that declares it; None for predeclared and local names and for what
    stands in another symbol, such as a variant, a type parameter or the signature of an MCP server."""

    name: str
    home: ModuleSymbol | None = field(default=None, kw_only=True)


@record
class ModuleSymbol(Symbol):
    """A module of the program (L-8.1); `home` is the module around it, None for the root. `file` is the name of the file with its
    text; `rank` is its place in the order of initialisation, from 0 (L-5.14.1). `library` is the name of the library that it is
    the root module of, "" for any other module."""

    file: str
    rank: int = 0
    library: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """Return its names from the root on, without the root's own; in a library `lib` and its name come first."""
        if self.home is None:
            return ("lib", self.library) if self.library else ()
        return (*self.home.path, self.name)

    @property
    def root(self) -> ModuleSymbol:
        """Return the module around it that has none around itself: the root of the program, or of a library."""
        at = self
        while at.home is not None:
            at = at.home
        return at

    def is_inside(self, other: ModuleSymbol) -> bool:
        """Return whether this is `other` or a submodule of it, to any depth: it then sees what is private there (L-8.4.1)."""
        at: ModuleSymbol | None = self
        while at is not None and at is not other:
            at = at.home
        return at is not None

    def __str__(self) -> str:
        return "::".join(self.path) or self.name


@record
class StdModuleSymbol(Symbol):
    """`std::name`; the library itself has an empty name."""


@record
class StdFunctionSymbol(Symbol):
    """The function `std::module::name`: a row of vm/builtins/registry; `module` is the name of its module."""

    module: str


@record
class FunctionScope:
    """One function body (function, closure, stage …): its locals live here. `parent` is the enclosing one for closures. `result`
    is the type that it gives, None before it was checked. `propagates`: `?` or throw may leave it; `returns_option`,
    `returns_nilable`: then None leaves as None, or as nil (L-3.12.4). `copies`: it runs as a task, on copies of what it captures
    (O-6.8); `spawns`: it starts tasks that end before it does (O-6.14); `wraps`: its ends are wrapped in Ok (L-3.12.8)."""

    parent: FunctionScope | None
    result: Type | None = None
    returns_option: bool = False
    returns_nilable: bool = False
    propagates: bool = False
    copies: bool = False
    spawns: bool = False
    wraps: bool = False
    locals: list[Local] = field(factory=list)
    slots: dict[tuple[str, str], ast.SlotRef] = field(factory=dict)  # of its clauses, by names of memory and slot


@record
class Local(Symbol):
    """A variable, parameter, pattern or catch name. `captured`: some closure reads or writes it, so it lives in a cell."""

    type: Type
    mutable: bool
    scope: FunctionScope
    captured: bool = False
    declared_at: ast.Node | None = None
    read: bool = False  # for W0001
    changed: bool = False  # assigned again or written through, for W0011
    deferred: bool = False  # declared by a `let` without initialiser (L-3.13.3)
    learned: bool = False  # its type is that of its first use (L-3.2.8)


@record
class TypeParameterSymbol(Symbol):
    """`T` of a generic declaration; `type` is what it is inside of that, a Nominal of kind parameter."""

    declaration: ast.TypeParameter
    type: Type


@record
class BuiltinSymbol(Symbol):
    """A predeclared function, constructor or type name (print, Some, Memory …), not shadowed; or `Memory::new`, an associated
    function of such a type."""


@record
class ErrorFamilySymbol(Symbol):
    """A built-in error family as a path head; `variant` None for `F::new` and plain F."""

    variant: str | None = None


# Functions, impls, traits, and the declarations that make types and constants.


@dataclass(slots=True)
class TestInfo:
    """What the decorators of a test say (O-8.1, O-8.2): `part` must be in the text of an expected failure; `cases`: of each case
    its text and the arguments that it calls the function with, None for a test without parameters."""

    description: str
    expect_fail: bool
    part: str | None
    cases: list[tuple[str, list[ast.Expr]]] | None = None


@record
class FunctionSymbol(Symbol):
    """A function, associated function or method; `parameters` include `self`. `owner` is the impl or trait it stands in."""

    declaration: ast.Function
    parameters: list[Type]
    result: Type
    owner: ImplSymbol | TraitSymbol | None = None
    tool: Symbol | None = None  # the tool or MCP server it is a method of
    channel: ast.Channel | None = None  # the declaration that it stands for
    extern: ast.Extern | None = None  # the block that it stands in: its body is elsewhere (P-1.1)
    extern_decorators: list[tuple[str, dict[str, object]]] = field(factory=list)  # of one in such a block, as the image has them
    offer: Symbol | None = None  # the tool by which models may call it (O-4.41)
    by_model: bool = False  # `fn f() -> R by M { prompt }` (O-2.67)
    mocked: bool = False  # a test puts something in its place
    type_parameters: list[TypeParameterSymbol] = field(factory=list)
    test: TestInfo | None = None

    @property
    def is_test(self) -> bool:
        """Return whether it has the decorator `@test`, before anything was checked."""
        return any(decorator.name.text == "test" for decorator in self.declaration.decorators)

    @property
    def all_type_parameters(self) -> list[TypeParameterSymbol]:
        """Return the type parameters of its impl or trait, then its own."""
        return self.type_parameters if self.owner is None else [*self.owner.inside, *self.type_parameters]

    @property
    def takes_self(self) -> bool:
        """Return whether it is a method, called on a receiver."""
        return bool(self.declaration.parameters) and self.declaration.parameters[0].is_self

    @property
    def changes_self(self) -> bool:
        """Return whether it is declared with `mut self`: at run time it then returns its result and the new `self`."""
        parameters = self.declaration.parameters
        return bool(parameters) and parameters[0].is_self and parameters[0].mutable

    @property
    def path(self) -> str:
        """Return its name with that of its type, `T::m`, with that of its trait, `X::m`, or in an impl of X with both,
        `T::X::m`, as messages have it. What an image calls it is said by `image_name` of `codegen/functions.py`."""
        return self.name if self.owner is None else f"{self.owner.path}::{self.name}"


@record
class ImplSymbol(Symbol):
    """`impl T { … }` or `impl X for T { … }`; the name is that of `head`, what T names without its arguments, or empty where T is
    no name. `trait`: what X names, in a right program a TraitSymbol or the family `Error`."""

    declaration: ast.Impl
    head: Symbol | None
    target: Type
    trait: Symbol | None = None
    methods: list[FunctionSymbol] = field(factory=list)
    type_parameters: list[TypeParameterSymbol] = field(factory=list)
    by_name: dict[str, FunctionSymbol] = field(factory=dict)  # filled by `method`, for the first `counted` methods
    counted: int = 0

    @property
    def inside(self) -> list[TypeParameterSymbol]:
        """Return the type parameters that its methods see."""
        return self.type_parameters

    @property
    def path(self) -> str:
        """Return `T`, or `T::X` for an impl of a trait X."""
        return self.name if self.trait is None else f"{self.name}::{self.trait.name}"

    def method(self, name: str) -> FunctionSymbol | None:
        """Return the method that the impl itself writes, of two of one name the first; None where it writes none of that name."""
        if self.counted != len(self.methods):
            self.counted = len(self.methods)
            self.by_name = {method.name: method for method in reversed(self.methods)}
        return self.by_name.get(name)


@record
class TraitSymbol(Symbol):
    """`trait X { … }`; inside, `Self` is a type parameter like those of X (L-3.1.17)."""

    declaration: ast.Trait
    type: Type
    self_parameter: TypeParameterSymbol
    methods: dict[str, FunctionSymbol] = field(factory=dict)
    type_parameters: list[TypeParameterSymbol] = field(factory=list)

    @property
    def inside(self) -> list[TypeParameterSymbol]:
        """Return the type parameters that its methods see: `Self`, then its own."""
        return [self.self_parameter, *self.type_parameters]

    @property
    def target(self) -> Type:
        """Return the type of `self` in its methods."""
        return self.self_parameter.type

    @property
    def path(self) -> str:
        """Return its name, as the path of an impl is that of its type."""
        return self.name


@record
class TraitItemSymbol(Symbol):
    """A method of a trait as a path names it: `X::m` (`trait`), `T::m` (`impls`: those of T whose traits have it) or `T::X::m`
    (both). Without a name: the `T::X` before `::m`."""

    trait: TraitSymbol | None
    impls: list[ImplSymbol] = field(factory=list)
    of_type: bool = False  # whether a T is named


@record
class StructSymbol(Symbol):
    """A struct or schema; `fields` in declaration order as (name, type, default or None, optional). Of schemas: the modes
    of O-2.14 ff., the description of each field that has one (O-2.13), all its forms with their decorators, in source order,
    and the validators these add (O-2.18); of schemas and the structs in them: the values of their defaults."""

    declaration: ast.Struct | ast.Schema
    type: Type
    fields: list[tuple[str, Type, ast.Expr | None, bool]]
    partial: bool = False
    coerce: bool = False
    descriptions: dict[str, str] = field(factory=dict)
    forms: list[ast.Schema] = field(factory=list)
    validators: list[ast.Expr] = field(factory=list)
    was: dict[str, str] = field(factory=dict)  # by field: its earlier name, which stored data may have
    constants: dict[str, object] = field(factory=dict)
    type_parameters: list[TypeParameterSymbol] = field(factory=list)


@record
class EnumSymbol(Symbol):
    """`variants`: the names of the variants with their indexes in `members`, in that order."""

    declaration: ast.Enum
    type: Type
    variants: dict[str, int]
    members: list[VariantSymbol] = field(factory=list)
    type_parameters: list[TypeParameterSymbol] = field(factory=list)

    def member(self, name: str) -> VariantSymbol | None:
        """Return the variant of that name, or None."""
        return self.members[self.variants[name]] if name in self.variants else None


@record
class VariantSymbol(Symbol):
    """The variant `E::V` of a declared enum; the None of Option is none, but BuiltinSymbol("None"). `index` is its place in the
    enum, from 0; `form` is unit, tuple or struct; `fields` are the parts of the payload as in StructSymbol, those of a tuple
    variant named by their numbers."""

    enum: EnumSymbol
    index: int
    form: str = "unit"
    fields: list[tuple[str, Type, ast.Expr | None, bool]] = field(factory=list)
    constants: dict[str, object] = field(factory=dict)  # values of defaults, where a model may be asked for the enum


@record
class ConstSymbol(Symbol):
    """`value`: the folded constant as plain data, None before it is folded: None, bool, int, float, str, list, tuple; dict with
    keys of `vm.key_of`; ConstStruct, ConstVariant or VariantSymbol for values of declared types; `vm.Some`, `vm.Ok` and `vm.Err`
    around such data, and `vm.NONE`."""

    declaration: ast.Const
    type: Type
    value: object = None


@dataclass(slots=True)
class ConstStruct:
    """A folded struct value: the folded values of its fields in declaration order."""

    struct: StructSymbol
    values: list[object]


@dataclass(slots=True)
class ConstVariant:
    """A folded enum value with a payload: the folded values of its parts, in order."""

    variant: VariantSymbol
    values: list[object]


@record
class AliasSymbol(Symbol):
    """`type A<T> = …;`; `type` is what it stands for, with T as a parameter."""

    declaration: ast.TypeAlias
    type: Type
    type_parameters: list[TypeParameterSymbol] = field(factory=list)


@ast.node
class KnownType(ast.TypeExpr):
    """A type in a tree that no source spells: that of a variable of an earlier program (`repl`)."""

    known: Type


# Memories with their contexts, and shared stores.


@record
class MemorySymbol(Symbol):
    """`max_messages`: the number of messages of a constant `retain`, else None. `steps`: values by the names of an image
    (vm/memory_steps.py), by written step; None before it was checked. `of`: the memory or view that a derived view is of."""

    declaration: ast.Store
    max_messages: int | None
    steps: dict[str, dict[str, Any]] | None = None
    of: MemorySymbol | None = None
    keys: list[str] = field(factory=list)  # of `per`
    value: MemoryValue | None = None  # of one that values are made from

    @property
    def computed(self) -> list[tuple[str, ast.Expr]]:
        """Return the bounds that a run computes, each with its name, in the order of the source; those of a block in the order of
        its chain (M-2.14, M-2.19, M-2.29)."""
        merged = {name: value for step in (self.steps or {}).values() for name, value in step.items()}
        bounds = [(name, value.value) for name, value in merged.items() if isinstance(value, ComputedBound)]
        # Those of a block are in the order of its chain, so that a block whose fields `fmt` moves computes the same.
        return bounds if self.declaration.block is not None else sorted(bounds, key=lambda bound: bound[1].span.start)

    @property
    def told(self) -> str:
        """Return what a message calls it: its name, or `this memory` for a value, whose name does not stand in the program."""
        return f"`{self.name}`" if self.value is None else "this memory"

    @property
    def stored_as(self) -> str | None:
        """Return the name that `.was(…)` gives: the one it was stored under before; None without that step."""
        old_name: str | None = (self.steps or {}).get("was", {}).get("was")
        return old_name

    @property
    def log(self) -> MemorySymbol:
        """Return the memory whose log it shows: itself, unless it is a view."""
        return self if self.of is None else self.of.log

    @property
    def image_steps(self) -> dict[str, Any]:
        """Return the steps as the image holds them, by name in alphabetical order; `retain` and `context` stand elsewhere there
        (M-2.13). Bounds that are computed stand together: `made` has their names for a memory value; else `bounds` has, if there
        are any, True or the BoundFunction by name."""
        merged = {name: value for step in (self.steps or {}).values() for name, value in step.items()}
        computed = {name: value for name, value in merged.items() if isinstance(value, (ComputedBound, BoundFunction))}
        if self.value is not None:
            merged["made"] = [name for name, _ in self.computed]
        elif computed:
            merged["bounds"] = {name: True if isinstance(value, ComputedBound) else value for name, value in computed.items()}
        return {name: merged[name] for name in sorted(merged) if name not in ("retain", "context", *computed)}

    @property
    def context(self) -> ContextSymbol | None:
        """Return the context that `.context(C)` names, or None."""
        symbol: ContextSymbol | None = (self.steps or {}).get("context", {}).get("context")
        return symbol


@record
class Slot:
    """One slot of a context (M-10.2). `type` is filled by the checker. `root` stands for it where code generation asks which
    variable a place begins with; anybody may write it."""

    name: str
    tier: str
    mutable: bool
    declaration: ast.Slot
    type: Type = ANY
    was: str | None = None  # its earlier name, which stored data may have
    root: Local = field(factory=lambda: Local("", ANY, True, FunctionScope(None), captured=True))


@record
class ContextSymbol(Symbol):
    """A context of memories: `slots` by name, in the order of the source. `type` stands only between the brackets of
    `Memory<C>`."""

    declaration: ast.Context
    type: Nominal
    slots: dict[str, Slot] = field(factory=dict)


@record
class SlotAccess:
    """`m.slot` (M-10.2). `held`: the hidden variable with what a clause of the function loaded at entry, an Option, or None if no
    clause names the slot; `needed`: the clause is `needs`, so that the slot has a value."""

    slot: Slot
    held: Local | None = None
    needed: bool = False


@record
class StepFunction:
    """The function of a memory step as written: a closure, or a name. `place`: [number of the memory in the image, number among
    its step functions, from 0], under which initialisation keeps the value; None until the image is made."""

    value: ast.Expr
    place: list[int] | None = None


@record
class BoundFunction(StepFunction):
    """A bound that is a function of the key (M-2.17)."""


@record
class ComputedBound:
    """A bound that is no constant: computed when the program begins, of a memory value where it is made (M-2.14, M-2.19)."""

    value: ast.Expr


@record
class MemoryValue:
    """What a chain in the body of a function makes (M-2.18). `chain`: its links from the constructor on; `messages`: what it is
    made from."""

    chain: ast.Call
    messages: ast.Expr | None = None


@record
class HashMapSymbol(Symbol):
    """`path`: the file of with_persistence; `store`: the table of the store that its entries are in, as an image has that of a
    memory; `entry`: of one that offers tools, key and value as the fields of a schema."""

    declaration: ast.Store
    type: Type
    path: str | None = None
    store: dict[str, Any] | None = None
    entry: StructSymbol | None = None


@record
class LedgerSymbol(Symbol):
    """`ledger x: Ledger = Ledger::new();`"""

    declaration: ast.Store


@record
class EmbedderSymbol(Symbol):
    """`table`: what an image holds of it, None before it `is_checked` and where something is wrong with it."""

    declaration: ast.Config
    table: dict[str, Any] | None = None
    is_checked: bool = False


@record
class IndexSymbol(Symbol):
    """`embedder`, `store`: their tables as an image has them; `functions`: what gives text and identifier of a document, by the
    names of the arguments `key` and `id`."""

    declaration: ast.Store
    type: Type
    embedder: dict[str, Any] | None = None
    store: dict[str, Any] | None = None
    functions: dict[str, ast.Expr] = field(factory=dict)


# What programs orchestrate: connections, models, agents, tools, MCP servers, pipelines.


@record
class ConnectionSymbol(Symbol):
    """`fields`: plain data as the image holds it (O-10.8)."""

    declaration: ast.Config
    fields: dict[str, object]


@record
class ModelSymbol(Symbol):
    """`connection`: the connection, or the name of one without a declaration; `fields`: config entries by key (checked);
    `memories`: the attached ones, the turn goes to the last; `fallback`: the models that take its calls over, in order."""

    declaration: ast.Config
    connection: ConnectionSymbol | str
    fields: dict[str, ast.Expr]
    memories: list[MemorySymbol] = field(factory=list)
    tools: list[ToolSymbol | McpSymbol | MemorySymbol | IndexSymbol] = field(factory=list)
    store: HashMapSymbol | LedgerSymbol | None = None  # as `memory`: it offers tools (O-4.22)
    scope: list[str] = field(factory=list)  # the names of the scope of the store
    decorators: list[tuple[str, dict[str, object]]] = field(factory=list)  # name, constant arguments as written
    fallback: list[ModelSymbol] = field(factory=list)


@record
class AgentSymbol(Symbol):
    """`fields`: plain data as the image holds it (O-10.13); `decorators` as of a model."""

    declaration: ast.Config
    fields: dict[str, object] = field(factory=dict)
    decorators: list[tuple[str, dict[str, object]]] = field(factory=list)


@record
class ToolSymbol(Symbol):
    """A tool: a struct `state` of its fields with an impl of its methods. `arguments`: of each tool method its parameters as the
    fields of a schema (O-4.7); `texts`: its description; `description`: that of the tool."""

    declaration: ast.Tool
    state: StructSymbol
    impl: ImplSymbol
    description: str = ""
    texts: dict[FunctionSymbol, str] = field(factory=dict)
    arguments: dict[FunctionSymbol, StructSymbol] = field(factory=dict)
    effects: dict[FunctionSymbol, str] = field(factory=dict)  # classes of `@effect` (O-9.37)
    guards: dict[str, str] = field(factory=dict)  # of library tools: by name of method, its capability (O-4.33)
    function: FunctionSymbol | None = None  # that it offers as its one method (O-4.48)

    def wire_name(self, method: FunctionSymbol) -> str:
        """Return the name by which a model calls the method (O-4.8): of a tool that offers one function (`function`) its own."""
        if self.function is not None:
            return self.name  # two of one name are told apart in the image
        return tool_name(self.name, method.name)

    @property
    def methods(self) -> list[FunctionSymbol]:
        """Return all its methods; those that a model may call are the keys of `arguments`."""
        return self.impl.methods


@record
class McpSymbol(Symbol):
    """An MCP server. `fields`: plain data as the image holds it (O-10.12). Of each signature in `methods`: `arguments` as those
    of a tool, `results`: what it gives as the one field of a schema, `texts`: its description if it has one."""

    declaration: ast.Mcp
    methods: list[FunctionSymbol] = field(factory=list)
    fields: dict[str, object] = field(factory=dict)
    texts: dict[FunctionSymbol, str] = field(factory=dict)
    arguments: dict[FunctionSymbol, StructSymbol] = field(factory=dict)
    results: dict[FunctionSymbol, StructSymbol] = field(factory=dict)

    def wire_name(self, method: FunctionSymbol) -> str:
        """Return the name by which a model calls the tool of the server (O-4.8)."""
        return tool_name(self.name, method.name)


@record
class StageSymbol(FunctionSymbol):
    """A stage of a pipeline as the function it is. `parameters`: its own, or for an expression stage (`value`) the input of the
    pipeline and what the stages before it gave; `result` is what its body gives, `effective` what goes on (O-6.19, O-6.22);
    `decorators` as of a model."""

    pipeline: PipelineSymbol = field(kw_only=True)
    stage: ast.Stage = field(kw_only=True)
    effective: Type = field(default=ANY, kw_only=True)
    decorators: list[tuple[str, dict[str, object]]] = field(factory=list, kw_only=True)
    state: str = field(default="new", kw_only=True)  # busy while its body is checked, then done

    @property
    def path(self) -> str:
        """Return `pipeline::stage`."""
        return f"{self.pipeline.name}::{self.name}"


@record
class PipelineSymbol(Symbol):
    """`input`, `output`: those of its signature, else of its stages (O-6.23); None as long as they are not known."""

    declaration: ast.Pipeline
    stages: list[StageSymbol] = field(factory=list)
    input: Type | None = None
    output: Type | None = None


# What offers tools to models.
Offering = ToolSymbol | McpSymbol | HashMapSymbol | LedgerSymbol | MemorySymbol | IndexSymbol
