"""Names: modules and their files, declarations, variables, and types as they are written (L-3.1, L-5.4, L-8).

Declarations are looked at when something asks for them: order of declaration never matters (L-5.4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from concerto.compiler import ast
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.parse import decode_source, parse

from .types import ANY, NEVER, NIL, PLAIN, STRUCTURAL, NotClaimed, Param, Type, Var, convert, joined, known, prune, substitute
from .values import PARENTS, Case

DISCARD = ("Discard",)  # expected of a value nobody uses: its branches are not joined (L-3.2.7, L-3.4.1)
Missing = object()  # an argument that is left to the parameter's default


class Local:
    """A variable; the environment of a call maps it to a one-element cell."""

    def __init__(self, type_: Type, mutable: bool) -> None:
        self.type, self.mutable = type_, mutable


class Signature:
    """What a call needs to know: type parameters, receiver if there is one, parameters, result."""

    def __init__(self, node: ast.Function, scope: Scope, heads: tuple[Param, ...] = (), receiver: Type | None = None) -> None:
        self.heads = (*heads, *scope.parameters(node))
        rows = [p for p in node.parameters if not p.is_self]
        self.receiver = receiver if len(rows) < len(node.parameters) else None
        self.mut = any(p.is_self and p.mutable for p in node.parameters)
        self.names, self.defaults = [p.name.text for p in rows], [p.default for p in rows]
        self.types = [type_of(p.type, scope) for p in rows]
        self.result = type_of(node.result, scope)


class Function:
    """A declared function or method; `code` and `locals` are filled at the first call. `trait`: it is chosen by run-time type.

    A built-in one has `run`, in Python, and the `kind` or module it belongs to; one that is *mut* gives its result and receiver.
    """

    def __init__(self, node: ast.Function, scope: Scope, owner: Any = ((), None), trait: Item | None = None) -> None:
        self.node, self.name, self.scope = node, node.name.text, Scope(scope, barrier=True)
        self.owner, self.trait, self.code, self.value, self.run, self.kind = owner, trait, None, None, None, None
        self.locals, self.defaults = [], []

    @cached_property
    def signature(self) -> Signature:
        return Signature(self.node, self.scope, *self.owner)


METHODS: dict[tuple[str, str], Function] = {}  # by kind or library module, and name


class Item:
    """A struct, schema, enum, trait, alias or constant. `methods`: its own and those of impls; `impls`: of a trait, by head."""

    is_error = False

    def __init__(self, node: Any, scope: Scope) -> None:
        self.node, self.name, self.scope = node, node.name.text, Scope(scope, barrier=True)
        self.params = self.scope.parameters(node)
        self.impls: dict[Any, dict[str, Function]] = {}
        self.value: Any = Missing  # of a constant, once it is known
        inner, me = Scope(self.scope, barrier=True), Param("Self")
        inner.names["Self"] = (me,)
        owner = ((*self.params, me), (me,))  # those of a trait are chosen by the run-time type of `self` (L-3.10.4)
        self.methods = {m.name.text: Function(m, inner, owner, self) for m in getattr(node, "methods", ())}

    def instance(self, argument: Callable[[Param], Type]) -> Type:
        return (self, *map(argument, self.params))

    def parts(self, t: Type, of: Any = None) -> dict[Any, Type]:
        """Types of the fields or of the payload (of the item, or of one of its variants) in the instance `t`."""
        given, node = dict(zip(self.params, t[1:], strict=False)), of.node if isinstance(of, Variant) else self.node
        rows = [(f.name.text, type_of(f.type, self.scope), f.optional) for f in node.fields or []]
        rows += [(i, type_of(part, self.scope), False) for i, part in enumerate(getattr(node, "items", None) or [])]
        return {name: substitute(("Option", type_) if optional else type_, given) for name, type_, optional in rows}

    def variant(self, name: str) -> Any:
        return next((v for v in getattr(self.node, "variants", ()) if v.name.text == name), None)


class Variant:
    """A variant of a declared enum, or of an error family; a tuple variant can be called."""

    kind = ""
    trait = signature = None

    def __init__(self, item: Any, name: str) -> None:
        self.item, self.name = item, name
        self.node = item.variant(name) if isinstance(item, Item) else None
        if self.node is not None and self.node.items is not None:
            itself, types = item.instance(lambda p: (p,)), [type_of(t, item.scope) for t in self.node.items]
            shape = {"heads": item.params, "receiver": None, "mut": False, "names": [], "defaults": [None] * len(types)}
            self.owner, self.signature = (item.params, itself), SimpleNamespace(**shape, types=types, result=itself)

    def run(self, *payload: Any) -> Case:
        return Case(self.item, self.name, payload)


class Join:
    """Collects the values of branches, elements, breaks or returns; they convert to the expected type, else to their join."""

    def __init__(self, expected: Type | None) -> None:
        self.expected = known(expected)
        self.rows: list[tuple[Type, list[Any]]] = []

    def add(self, type_: Type, code: Callable[[Any], Any]) -> Callable[[Any], Any]:
        later: list[Any] = [None]
        self.rows.append((type_, later))
        if self.expected not in (None, DISCARD):
            later[0] = convert(type_, self.expected)
        return lambda env: code(env) if later[0] is None else later[0](code(env))

    def close(self, result: Type = NEVER) -> Type:
        if self.expected == DISCARD:
            return NEVER if result == NEVER and all(prune(t) == NEVER for t, _ in self.rows) else ANY
        if self.expected is not None:
            return self.expected
        result = joined([result, *(t for t, _ in self.rows)])
        for type_, later in self.rows:
            later[0] = convert(type_, result)
        return result


class Exit:
    """A loop with its break values, or a `try` body with the types of the errors raised in it (L-3.12.2)."""

    def __init__(self, values: Join, label: str | None = None) -> None:
        self.values, self.label, self.raised, self.again = values, label, [], object()  # `again`: where `continue` goes


class Frame:
    """What elaboration knows of the function or closure it is in. `result` None: still to be inferred."""

    def __init__(self, result: Type | None) -> None:
        self.result, self.returns = result, Join(DISCARD if result == NIL else result)
        self.loops, self.targets = [], []


class Scope:
    """A block, or what a declaration sees. Behind a `barrier` local variables are not visible (L-2.4.5)."""

    def __init__(self, parent: Scope, frame: Frame | None = None, barrier: bool = False) -> None:
        self.parent, self.module, self.barrier = parent, getattr(parent, "module", None), barrier
        self.frame: Frame = frame or getattr(parent, "frame", None) or Frame(None)
        self.names, self.globs = {}, []

    def own(self, name: str) -> Any:
        """What this scope itself declares or imports; something explicit wins over a glob (L-8.2.2)."""
        found = self.names.get(name)
        if isinstance(found, list):  # the path of an import
            del self.names[name]  # for `use a;` in a module that has no `a` the name further out is meant
            path, found = found, resolve(self, found)
            self.names[name] = path
        globs, self.globs = self.globs, []  # their own paths are not looked for in themselves
        for path in globs if found is None else ():
            found = found or member(resolve(self, path), name)
        self.globs = globs
        return found

    def find(self, name: str) -> Any:
        scope, behind = self, False
        while scope is not None:
            found = scope.own(name)
            if found is not None and not (behind and isinstance(found, Local)):
                return found
            behind, scope = behind or scope.barrier, scope.parent
        return self.module.program.file_module(self.module.program.root, name)

    def declare(self, name: str, type_: Type, mutable: bool = False) -> Local:
        self.names[name] = local = Local(type_, mutable)
        return local

    def parameters(self, node: Any) -> tuple[Param, ...]:
        """Declares the type parameters of an item."""
        made = tuple(Param(p.name.text, p) for p in getattr(node, "type_parameters", None) or ())
        self.names.update((p.name, (p,)) for p in made)
        return made

    def add(self, items: list[Any]) -> None:
        """Declares items; impls wait until a method is looked for."""
        for item in items:
            if isinstance(item, ast.Use):
                self.use(item.tree, [])
            elif isinstance(item, ast.Function):
                self.names[item.name.text] = Function(item, self)
            elif isinstance(item, (ast.Struct, ast.Schema, ast.Enum, ast.Trait, ast.TypeAlias, ast.Const)):
                self.names[item.name.text] = Item(item, self)
            elif isinstance(item, ast.Module):
                self.names[item.name.text] = self.module.inner(item.name.text, item.items)
            elif isinstance(item, ast.Impl):
                self.module.program.impls.append((item, self.module))
            else:
                raise NotClaimed(f"item {type(item).__name__}")

    def use(self, tree: ast.UseTree, before: list[str]) -> None:
        path = [*before, *texts(tree.path)]
        for part in tree.group or []:
            self.use(part, path)
        if path[-1] == "self":
            path = path[:-1]
        if tree.glob:
            self.globs.append(path)
        elif tree.group is None:
            self.names[tree.alias.text if tree.alias else path[-1]] = path


class Module(Scope):
    def __init__(self, program: Program, folder: str, above: Module | None) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.program, self.folder, self.above, self.module = program, folder, above, self

    def inner(self, name: str, items: list[Any] | None) -> Module | None:
        if items is None:
            return self.program.file_module(self, name)
        module = Module(self.program, self.folder, self)
        module.add(items)
        return module


class Program:
    """All files. Modules are read when a name leads to them."""

    def __init__(self, files: dict[str, bytes], main: str) -> None:
        self.files, self.sources, self.found = files, {}, {}
        self.impls: list[tuple[ast.Impl, Module]] = []
        self.root = Module(self, main.rpartition("/")[0], None)
        self.root.add(self.parsed(main))

    def parsed(self, name: str) -> list[Any]:
        found = Diagnostics()
        source = decode_source(name, self.files[name], found)
        tree = None if source is None else parse(source, found)
        if source is None or tree is None or found.has_errors:
            raise NotClaimed("no program")
        self.sources[name] = source
        return tree.items

    def file_module(self, above: Module, name: str) -> Module | None:
        stem = f"{above.folder}/{name}".lstrip("/")
        file = next((n for n in (f"{stem}.conc", f"{stem}/mod.conc") if n in self.files), None)
        if file is not None and file not in self.found:
            self.found[file] = Module(self, file.rpartition("/")[0], above)
            self.found[file].add(self.parsed(file))
        return self.found[file] if file else None

    def at(self, node: ast.Node) -> tuple[str, int]:
        return node.span.file, self.sources[node.span.file].position(node.span.start).line


def texts(path: Iterable[ast.Ident]) -> list[str]:
    return [part.text for part in path]


def resolve(scope: Scope, path: list[str]) -> Any:
    """What a path denotes (L-8.3); None for a predeclared name."""
    first, module = path[0], scope.module
    found = {"self": module, "super": module.above, "crate": module.program.root, "std": "std"}.get(first)
    if found is None or len(path) == 1:
        found = scope.find(first)
    if found is None and (first in PLAIN or first in STRUCTURAL):
        found = first
    for name in path[1:]:
        found = member(found, name)
    return found


def declared(found: Any) -> Any:
    """The declaration, or the word, behind an alias, `Self` or a type parameter."""
    if isinstance(found, Item) and isinstance(found.node, ast.TypeAlias):
        found = type_of(found.node.target, found.scope)
    return found[0] if isinstance(found, tuple) else found


def member(owner: Any, name: str) -> Any:
    owner = declared(owner)
    if isinstance(owner, Module):
        found = owner.above if name == "super" else owner.own(name)
        return owner.program.file_module(owner, name) if found is None and owner is owner.program.root else found
    if isinstance(owner, Item):
        return Variant(owner, name) if owner.variant(name) else owner.methods.get(name)
    return Variant(owner, name) if owner in PARENTS else METHODS.get((owner, name)) or (name if owner == "std" else None)


def type_of(node: ast.TypeExpr | None, scope: Scope) -> Type:
    """The type a type expression denotes."""
    match node:
        case None:
            return NIL
        case ast.NilableType():
            inner = type_of(node.inner, scope)
            return inner if inner == ANY or inner[0] == "Nilable" else ("Nilable", inner)
        case ast.TupleType():
            return ("Tuple", *(type_of(item, scope) for item in node.items))
        case ast.FunctionType():
            return ("Function", type_of(node.result, scope), *(type_of(p, scope) for p in node.parameters))
        case ast.LiteralType():
            return ("Union", frozenset([node.value]))
        case ast.UnionType():
            return ("Union", frozenset(v for m in node.members for v in type_of(m, scope)[1]))
        case ast.NamedType():
            return _named(node, scope)
    raise NotClaimed(f"type {type(node).__name__}")


def _named(node: ast.NamedType, scope: Scope) -> Type:
    name, arguments = node.path[-1].text, [type_of(a, scope) for a in node.arguments or []]
    found = resolve(scope, texts(node.path))
    if isinstance(found, Item) and isinstance(found.node, ast.TypeAlias):
        return substitute(type_of(found.node.target, found.scope), dict(zip(found.params, arguments, strict=True)))
    if isinstance(found, Item):
        return (found, *arguments)
    if isinstance(found, tuple):
        return found
    if name in STRUCTURAL and len(arguments) == STRUCTURAL[name] or name in PLAIN:
        return (name, *arguments)
    raise NotClaimed(f"type {name}")
