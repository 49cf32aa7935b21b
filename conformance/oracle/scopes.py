"""Names: modules and their files, declarations, variables, and types as they are written (L-3.1, L-5.4, L-8).

Hands on `Program` to the driver and to the library; to the files that evaluate the kinds of declarations (`Function`,
`Item`, `Variant`, `Local`), `Scope` and `Join`, `resolve`, `declared` and `type_of`; and METHODS and DECLARED, which
`library/table.py` fills. Declarations are looked at when something asks for them: order of declaration never matters
(L-5.4.2). A new kind of declaration is a row of DECLARATIONS, a new type expression one of TYPES.
"""

from __future__ import annotations

import functools
from collections import namedtuple

from concerto.compiler.syntax import ast
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.syntax.parse import decode_source, parse

from .types import (ANY, NEVER, NIL, PLAIN, STRUCTURAL, Param, Type, convert, joined, joined_values, known, prune,
    substitute)  # fmt: skip
from .values import PARENTS, Any, Case

DISCARD = ("Discard",)  # expected of a value nobody uses: its branches are not joined (L-3.2.7, L-3.4.1)
Signature = namedtuple("Signature", "heads receiver names types defaults result mut")
Missing = object()  # an argument that is left to the parameter's default


class Local:
    """A variable; the environment of a call maps it to a one-element cell."""

    def __init__(self, type_: Type, mutable: bool) -> None:
        self.type, self.mutable = type_, mutable

    def bind(self, env: Any, value: Any) -> None:
        """Give the variable a new cell with a value in an environment, which is changed."""
        env[self] = [value]


class Function:
    """A declared function or method; `code` is made at the first call. `trait`: it is chosen by run-time type, among
    `choices` if there are some. `owner`: type parameters and type of what it belongs to. A built-in one has `run`, in
    Python, and the `kind` or module it belongs to; a *mut* one returns result and receiver."""

    code, run, kind, trait, choices = None, None, None, None, ()

    def __init__(self, node: ast.Function, scope: Scope, owner: Any = ((), None), **more: Any) -> None:
        self.node, self.name, self.scope, self.owner = node, node.name.text, Scope(scope, barrier=True), owner
        self.__dict__.update(more)

    @functools.cached_property
    def signature(self) -> Signature:
        """What a call needs to know: type parameters, receiver if there is one, parameters, result."""
        heads, parameters = (*self.owner[0], *self.scope.parameters(self.node)), self.node.parameters
        rows, selves = [p for p in parameters if not p.is_self], [p.mutable for p in parameters if p.is_self]
        names, defaults = [p.name.text for p in rows], [p.default for p in rows]
        types, result = [type_of(p.type, self.scope) for p in rows], type_of(self.node.result, self.scope)
        return Signature(heads, self.owner[1] if selves else None, names, types, defaults, result, any(selves))


METHODS: dict[tuple[str, str], Function] = {}  # by kind or library module, and name
DECLARED: dict[str, Any] = {}  # functions and structs that every module sees
MESSAGE = "fn {0}(s: String) -> Message {{ Message {{ role: \"{0}\", content: s }} }}"
CHANGED = "fn with_{0}(self, x: {1}) -> Prompt {{ Prompt {{ {0}: x, ..self }} }}"
PRELUDE = f"""trait From<T> {{ fn from(x: T) -> Self; }}
struct ToolCall {{ id: String, name: String, arguments: Map<String, Any> }}
struct Message {{ role: String, content: String, tool_calls: Array<ToolCall> = [], tool_call_id: String? = nil,
    media: Array<Media> = [] }}
impl Message {{ {" ".join(map(MESSAGE.format, ("system", "user", "assistant")))}
fn tool(id: String, s: String) -> Message {{ Message {{ role: "tool", content: s, tool_call_id: id }} }} }}
struct Prompt {{ text: String, model: String? = nil, temperature: Float? = nil, max_tokens: Int? = nil,
    media: Array<Media> = [] }}
impl Prompt {{ fn new(text: String) -> Prompt {{ Prompt {{ text: text }} }}
fn with(self, a: Media? = nil, b: Media? = nil, c: Media? = nil) -> Prompt {{ let mut all = self.media;
    for m in [a, b, c] {{ if m != nil {{ all.push(m); }} }} Prompt {{ media: all, ..self }} }}
{CHANGED.format("model", "String")} {CHANGED.format("temperature", "Float")} {CHANGED.format("max_tokens", "Int")} }}"""


class Item:
    """A struct, schema, enum, trait, alias or constant. `methods`: by name, those of impls too; `impls`: of a trait,
    methods by head; `params`: its type parameters."""

    parent, hidden = "", ()  # "Error" if it implements it; fields that have no text when nothing is in them

    def __init__(self, node: Any, scope: Scope) -> None:
        self.node, self.name, self.scope = node, node.name.text, Scope(scope, barrier=True)
        self.params, self.impls = self.scope.parameters(node), {}
        self.variants = {v.name.text: v for v in getattr(node, "variants", ())}
        me = Param("Self")  # methods of a trait are chosen by the run-time type of `self` (L-3.10.4)
        inner, owner = Scope(self.scope, barrier=True, Self=(me,)), ((*self.params, me), (me,))
        self.methods = {m.name.text: Function(m, inner, owner, trait=self) for m in getattr(node, "methods", ())}

    def parser(self) -> Function:
        """Return the function `E::parse` of an enum (L-3.10.6)."""
        arms = "".join(f'"{name}" => Self::{name}, ' for name in self.variants)
        text = f"fn parse(text: String) -> Self? {{ match text {{ {arms}_ => nil }} }}"
        (node,) = parse(decode_source("", text.encode(), diagnostics := Diagnostics()), diagnostics).items
        me = self.instance(lambda p: (p,))
        return self.methods.setdefault("parse", Function(node, Scope(self.scope, barrier=True, Self=me), ((), me)))

    def instance(self, argument: Any) -> Type:
        """Return the type with `argument` of each type parameter."""
        return (self, *map(argument, self.params))

    def parts(self, t: Type, variant: str | None = None) -> dict[Any, Type]:
        """Return the types of the fields by name, or of the payload by index, of the item or of one of its variants,
        in the instance `t`."""
        arguments, node = dict(zip(self.params, t[1:], strict=False)), self.variants.get(variant, self.node)
        rows = {f.name.text: f.type for f in node.fields or []} | dict(enumerate(getattr(node, "items", None) or []))
        types = {name: type_of(part, self.scope) for name, part in rows.items()}
        types.update((f.name.text, ("Option", types[f.name.text])) for f in node.fields or [] if f.optional)
        return {name: substitute(t, arguments) for name, t in types.items()}

    def defaults(self, variant: str | None = None) -> dict[str, Any]:
        """Return the expressions of the defaults of fields by name, None where there is none."""
        return {f.name.text: f.default for f in self.variants.get(variant, self.node).fields or []}


class Variant:
    """A variant of an enum, or of an error family; one of a declared enum that is a tuple can be called."""

    kind, trait, signature = "", None, None

    def __init__(self, item: Any, name: str) -> None:
        self.item, self.name, self.node = item, name, item.variants[name] if isinstance(item, Item) else None
        if self.node is not None and self.node.items is not None:
            itself, types = item.instance(lambda p: (p,)), [type_of(t, item.scope) for t in self.node.items]
            self.owner = (item.params, itself)
            self.signature = Signature(item.params, None, [], types, [None] * len(types), itself, False)
            self.run = lambda *payload: Case(item, name, payload)


class Join:
    """Collects the values of branches, elements, breaks, returns; they convert to the type expected, or to their
    join. Control leaves to the Join of a function or a loop with a value, to `again` for the next round; to that of a
    `try` body with an error (L-3.12.2), whose type is in `raised`."""

    def __init__(self, expected: Type | None, label: str | None = None) -> None:
        self.expected, self.label, self.again = known(expected), label, object()
        self.rows, self.raised = [], []
        self.takes_casts = False  # a `try` body, of which a clause takes the failure of a cast (L-3.5.8)

    def add(self, type_: Type, code: Any) -> Any:
        """Add a value of a type, and return its code with the conversion, which `close` may still decide."""
        later = [None if self.expected in (None, DISCARD) else convert(type_, self.expected)]
        self.rows.append((type_, later))
        return lambda env: later[0](code(env)) if later[0] else code(env)

    def close(self, result: Type = NEVER, join: Any = joined_values) -> Type:
        """Return the type of all values, which they convert to. `result` is one more type, `join` makes one of
        several."""
        types = [prune(t) for t in (result, *(t for t, _ in self.rows))]
        if self.expected is not None:
            return self.expected if self.expected != DISCARD else NEVER if {*types} == {NEVER} else ANY
        result = join(types)
        for type_, later in self.rows:
            later[0] = convert(type_, result)
        return result


class Scope:
    """A block, or what a declaration sees. Behind a `barrier` local variables are not visible (L-2.4.5). `frame`, the
    Join of what is returned, `loops` and `target`, the innermost `try` body, are those of the function."""

    def __init__(self, parent: Scope, frame: Join | None = None, barrier: bool = False, **names: Any) -> None:
        self.parent, self.module, self.barrier = parent, getattr(parent, "module", None), barrier
        self.frame: Join = frame or getattr(parent, "frame", None) or Join(None)
        self.names, self.globs = names, []
        self.loops, self.target = ((), None) if frame or parent is None else (parent.loops, parent.target)

    def own(self, name: str) -> Any:
        """Return what this scope itself declares or imports, None for nothing; something explicit wins over a glob
        (L-8.2.2)."""
        binding = self.names.get(name)
        if isinstance(binding, list):  # the path of an import
            del self.names[name]  # for `use a;` in a module that has no `a` the name further out is meant
            self.names[name], binding = binding, resolve(self, binding)
        globs, self.globs = self.globs, []  # their own paths are not looked for in themselves
        for path in globs:
            binding = member(resolve(self, path), name) if binding is None else binding
        self.globs = globs
        return binding

    def find(self, name: str) -> Any:
        """Return what a name denotes here, from the inside out; None for an unknown one."""
        scope, hidden = self, ()  # behind a barrier, variables are
        while scope is not None:
            if (binding := scope.own(name)) is not None and not isinstance(binding, hidden):
                return binding
            hidden, scope = Local if scope.barrier else hidden, scope.parent
        program = self.module.program
        return program.file_module(self.module.root, name) or program.prelude.names.get(name) or DECLARED.get(name)

    def declare(self, name: str, type_: Type, mutable: bool = False) -> Local:
        """Declare a variable and return it."""
        self.names[name] = local = Local(type_, mutable)
        return local

    def parameters(self, node: Any) -> tuple[Param, ...]:
        """Declare the type parameters of an item, and return them."""
        parameters = tuple(Param(p.name.text, p) for p in getattr(node, "type_parameters", None) or ())
        self.names.update((p.name, (p,)) for p in parameters)
        return parameters

    def add(self, items: list[Any]) -> None:
        """Declare items; impls wait until a method is looked for."""
        for item in items:
            if isinstance(item, ast.Use):
                self.use(item.tree, [])
            elif isinstance(item, ast.Impl):
                self.module.program.impls.append((item, self.module))
            else:
                self.names[item.name.text] = DECLARATIONS[type(item)](item, self)

    def use(self, tree: ast.UseTree, before: list[str]) -> None:
        """Declare what a `use` brings in; `before` is the path in front of the tree."""
        path = [*before, *texts(tree.path)]
        for part in tree.group or []:
            self.use(part, path)
        path = path[:-1] if path[-1] == "self" else path
        if tree.glob:
            self.globs.append(path)
        elif tree.group is None:
            self.names[tree.alias.text if tree.alias else path[-1]] = path


class Module(Scope):
    """A module. `folder` is where the files of its modules lie, `above` the module around it, None for the root of the
    program or of a library; `library` is the name of that, "" in the program, None in the prelude."""

    def __init__(self, program: Program, folder: str, above: Module | None, items: list[Any],
                 library: str | None = "") -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.program, self.folder, self.above, self.module = program, folder, above, self
        self.root: Module = above.root if above else self
        self.library = above.library if above else library
        self.add(items)


def inner_module(node: ast.Module, scope: Scope) -> Module | None:
    """Return the module that an item declares, from its braces or from its file."""
    m, program = scope.module, scope.module.program
    return program.file_module(m, node.name.text) if node.items is None else Module(program, m.folder, m, node.items)


ITEMS: Any = (ast.Struct, ast.Schema, ast.Enum, ast.Trait, ast.TypeAlias, ast.Const)
DECLARATIONS: Any = {ast.Function: Function, ast.Module: inner_module, **dict.fromkeys(ITEMS, Item)}


class Program:
    """All files, as bytes by name. A module in a file of its own is read with the `mod a;` that declares it, without
    one when a name of the root leads to it; `impls` are those read and not yet filed."""

    def __init__(self, files: dict[str, bytes], main: str, libraries: Any = ()) -> None:
        self.files, self.sources, self.found, self.impls = {"": PRELUDE.encode(), **files}, {}, {}, []
        self.libraries: dict[str, Module | None] = dict.fromkeys(libraries)
        self.prelude = Module(self, "", None, self.parsed(""), None)
        self.prelude.names["Message"].hidden = ("tool_calls", "tool_call_id", "media")
        self.prelude.names["Prompt"].hidden = ("media",)
        self.root = Module(self, main.rpartition("/")[0], None, self.parsed(main))

    def library(self, name: str) -> Module | None:
        """Return the root module of a library (P-3.1), None without one of that name."""
        if name in self.libraries and self.libraries[name] is None:
            root = f"lib/{name}/mod.conc"
            items = self.parsed(root) if root in self.files else []
            self.libraries[name] = Module(self, f"lib/{name}", None, items, name)
        return self.libraries.get(name)

    def parsed(self, name: str) -> list[Any]:
        """Return the items of a file. Its source is kept, for places."""
        diagnostics = Diagnostics()
        self.sources[name] = source = decode_source(name, self.files[name], diagnostics)
        return parse(source, diagnostics).items

    def file_module(self, above: Module, name: str) -> Module | None:
        """Return the module of that name whose file lies in the folder of `above`, None without such a file."""
        stem = f"{above.folder}/{name}".lstrip("/")
        file = next((n for n in (f"{stem}.conc", f"{stem}/mod.conc") if n in self.files), None)
        if file is not None and file not in self.found:
            self.found[file] = Module(self, file.rpartition("/")[0], above, self.parsed(file))
        return self.found[file] if file else None

    def at(self, node: ast.Node) -> tuple[str, int]:
        """Return file and line of a node; the line counts from 1."""
        return node.span.file, self.sources[node.span.file].position(node.span.start).line


def texts(path: Any) -> list[str]:
    """Return the names of a path."""
    return [part.text for part in path]


def resolve(scope: Scope, path: list[str]) -> Any:
    """Return what a path denotes (L-8.3); None for a predeclared name that is no type."""
    first, module = path[0], scope.module
    roots = {"self": module, "super": module.above, "crate": module.root, "std": "std"}
    binding = roots[first] if first in roots and len(path) > 1 else scope.find(first)
    binding = first if binding is None and first in (PLAIN | STRUCTURAL.keys()) else binding
    if binding is None and first == "lib" and len(path) > 1:  # a library that is installed (P-3.1)
        return functools.reduce(member, path[2:], module.program.library(path[1]))
    return functools.reduce(member, path[1:], binding)


def declared(binding: Any) -> Any:
    """Return the declaration, or the word, behind an alias, `Self` or a type parameter."""
    if isinstance(binding, Item) and isinstance(binding.node, ast.TypeAlias):
        binding = type_of(binding.node.target, binding.scope)
    return binding[0] if isinstance(binding, tuple) else binding


def member(owner: Any, name: str) -> Any:
    """Return what a name denotes behind the `::` of an owner, None for nothing."""
    owner = declared(owner)
    if isinstance(owner, Module):
        binding = owner.above if name == "super" else owner.own(name)
        return owner.program.file_module(owner, name) if binding is None and owner is owner.root else binding
    if owner in PARENTS or isinstance(owner, Item) and name in owner.variants:
        return Variant(owner, name)
    binding = owner.methods.get(name) if isinstance(owner, Item) else METHODS.get((owner, name))
    if binding is None and name == "parse" and isinstance(owner, Item) and owner.variants:
        return owner.parser()
    return name if owner == "std" else binding


def type_of(node: ast.TypeExpr | None, scope: Scope) -> Type:
    """Return the type that a type expression denotes, Nil for no expression."""
    return NIL if node is None else TYPES[type(node)](node, scope)


def _named(node: ast.NamedType, scope: Scope) -> Type:
    name, arguments = node.path[-1].text, [type_of(a, scope) for a in node.arguments or []]
    target = resolve(scope, texts(node.path))
    if isinstance(target, Item) and isinstance(target.node, ast.TypeAlias):
        return substitute(type_of(target.node.target, target.scope), dict(zip(target.params, arguments, strict=True)))
    if isinstance(target, (Item, Variant, tuple)):
        return target if isinstance(target, tuple) else (target, *arguments)
    return (name, *arguments, *([("Error",)] if name == "Result" and len(arguments) == 1 else []))


TYPES: dict[Any, Any] = {ast.NamedType: _named, ast.LiteralType: lambda n, _: (frozenset([n.value]),),
    ast.NilableType: lambda n, scope: joined([type_of(n.inner, scope), NIL]),
    ast.TupleType: lambda n, scope: ("Tuple", *(type_of(item, scope) for item in n.items)),
    ast.FunctionType: lambda n, scope: ("Function", *(type_of(part, scope) for part in (n.result, *n.parameters))),
    ast.UnionType: lambda n, scope: (frozenset(v for m in n.members for v in type_of(m, scope)[0]),)}  # fmt: skip
