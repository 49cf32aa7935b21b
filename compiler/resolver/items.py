"""Items: which names a module or block declares, and the names inside each: functions, impls, traits, tools, pipelines.

`program` calls `predeclare` once, then `declare_items` for every module, then `declare_impls` for every module, then
`visit_items` for every module; `expressions` calls `declare_items` and `visit_items` for the items of a block, and `closure` and
`parameters` for closures and handlers; `library` calls `enum_symbol`, `tool_symbol`, `function` and `visit_items` for its own.
`r` is the state of the resolution: what is wrong is reported to it, and nothing is raised for a wrong program; AssertionError is
a class of items that `_symbol` does not know. Symbols are made with empty types; the checker fills them, and checks what a
declaration may hold. A new kind of item is a case of `_symbol` and one of `_visit_item`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from ...vm.bytecode.image import DEFAULT
from ..diagnostics import Diagnostics
from ..fields import DECORATOR_ARGUMENTS
from ..hints.names import nearest
from ..source import Source, Span
from ..symbols import (
    AgentSymbol,
    AliasSymbol,
    ConnectionSymbol,
    ConstSymbol,
    ContextSymbol,
    EmbedderSymbol,
    EnumSymbol,
    FunctionSymbol,
    HashMapSymbol,
    ImplSymbol,
    IndexSymbol,
    LedgerSymbol,
    Local,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    PipelineSymbol,
    StageSymbol,
    StructSymbol,
    Symbol,
    ToolSymbol,
    TraitSymbol,
    TypeParameterSymbol,
    VariantSymbol,
)
from ..syntax import ast
from ..syntax.parse import parse
from ..types import ANY, NIL, Nominal
from .channels import bind_to_predeclared, function_of_channel
from .memories import declare_clauses, visit_memory_chain
from .memory_blocks import chain_of_block
from .modules import declare_imports, declare_module
from .names import find_item, walk
from .paths import resolve_path, visit_field, visit_step
from .patterns import bind_pattern
from .state import ErroneousSymbol, Resolver

N = TypeVar("N", bound=ast.Node)

# Functions and closures: parameters, defaults, bodies, captures (L-5.9).


def function(r: Resolver, node: ast.Function) -> None:
    """Resolve a declared function, which sees no locals of functions around it (L-2.4.5). What its decorators and those of its
    parameters name stands outside of it."""
    _visit_decorators(r, node.decorators)
    for parameter in node.parameters:
        _visit_decorators(r, parameter.decorators)
    outer, r.body_name = r.body_name, node.name.text
    with r.body(None) as scope:
        node.scope = scope
        symbols = type_parameters(r, node.type_parameters)
        if isinstance(node.symbol, FunctionSymbol):
            node.symbol.type_parameters = symbols
        parameters(r, node.parameters)
        r.visit(node.result)
        declare_clauses(r, node)
        r.visit(node.by)
        r.visit(node.body)
    r.body_name = outer


def type_parameters(r: Resolver, declared: list[ast.TypeParameter]) -> list[TypeParameterSymbol]:
    """Declare the type parameters of an item in the present scope, then resolve their bounds, which may name any of them; return
    their symbols. Report a name that stands twice (E1003), which gets no second symbol, and one that does not begin with a
    capital letter (E1014)."""
    symbols: dict[str, TypeParameterSymbol] = {}
    for node in declared:
        name = node.name.text
        if name in symbols:
            first = symbols[name].declaration.name.span
            r.report("E1003", node.name.span, f"duplicate type parameter `{name}`", first=first, help="rename one of them")
            continue
        if not name[:1].isupper():
            r.report(
                "E1014", node.name.span, f"the type name `{name}` begins with a lower-case letter",
                help=f"write `{name[:1].upper()}{name[1:]}`",
            )
        symbols[name] = TypeParameterSymbol(name, node, Nominal("parameter", name, key=r.parameter_key(name)))
        r.scope.names[name] = symbols[name]
    for node in declared:
        for bound in node.bounds:
            r.visit(bound)
    return list(symbols.values())


def closure(r: Resolver, node: ast.Closure) -> None:
    """Resolve a closure: a function body that sees the locals around it (L-5.9)."""
    for parameter in node.parameters:
        _visit_decorators(r, parameter.decorators)
    with r.body(r.function) as scope:
        node.scope = scope
        parameters(r, node.parameters)
        r.visit(node.result)
        r.visit(node.body)


def parameters(r: Resolver, declared: list[ast.Parameter]) -> None:
    """Declare parameters as locals; each default sees the parameters before it (L-5.9.1). E1003 for a name that stands twice,
    which then means the later one. `_` declares nothing; of a parameter that is a pattern the names of the pattern are bound."""
    seen: dict[str, ast.Parameter] = {}
    for parameter in declared:
        r.visit(parameter.type)
        r.visit(parameter.default)
        if parameter.pattern is not None:
            bind_pattern(r, parameter.pattern)
            continue
        name = parameter.name.text
        if name in seen and name != "_":
            r.report(
                "E1003", parameter.name.span, f"duplicate parameter `{name}`", first=seen[name].name.span,
                help="rename one of them",
            )
        seen.setdefault(name, parameter)
        if name != "_":
            parameter.binding = r.declare(name, parameter, parameter.mutable and parameter.is_self)


# `tool T impl X { … }`: an impl of X for T whose methods call the tool methods of the same names (O-4.5). The host runs tool
# methods with the state, so what stands behind a trait is a call of them.


def trait_impl(r: Resolver, item: ast.Tool) -> ast.Impl:
    """Return the impl that a tool's `impl X` stands for, with the public methods that the trait names; none where X is no trait.
    The tool must have an `impl X`."""
    assert item.trait is not None
    trait = find_item(r, item.trait)
    members = trait.methods if isinstance(trait, TraitSymbol) else {}
    methods = [
        _bridge(item, node, takes_self=members[node.name.text].takes_self, mutable=members[node.name.text].changes_self)
        for node in item.methods
        if node.public and node.name.text in members
    ]
    span = item.trait.span
    return ast.Impl(span=span, type_parameters=[], trait=_named(item.trait), target=_named(item.name), methods=methods)


def _named(name: ast.Ident) -> ast.NamedType:
    return ast.NamedType(span=name.span, path=[name], arguments=None)


def _copied(tree: N | None) -> N | None:
    return None if tree is None else ast.copy_tree(tree)


def _bridge(item: ast.Tool, method: ast.Function, *, takes_self: bool, mutable: bool) -> ast.Function:
    """Return `fn m(self, a: A) -> R { T::m(a) }`. Types and defaults are copied: annotations of one tree may not be of
    another."""
    span = method.name.span
    others = [
        ast.Parameter(span=p.span, name=p.name, type=_copied(p.type), default=_copied(p.default))
        for p in method.parameters
        if not p.is_self
    ]
    own = ast.Parameter(span=span, name=ast.Ident(span=span, text="self"), type=None, is_self=True, mutable=mutable)
    arguments = [ast.Argument(span=span, name=None, value=ast.PathExpr(span=span, segments=[p.name])) for p in others]
    call = ast.Call(span=span, callee=ast.PathExpr(span=span, segments=[item.name, method.name]), arguments=arguments)
    return ast.Function(
        span=method.span, name=method.name, is_async=False, type_parameters=[],
        parameters=[*([own] if takes_self else []), *others], result=_copied(method.result), clauses=[],
        by=None, body=ast.Block(span=span, statements=[], result=call),
    )  # fmt: skip


# Impls: which type each belongs to, its methods as symbols, `Self` inside (L-3.10, L-3.1.17).

LONGEST_ALIAS_CHAIN = 64  # a circle of aliases ends here; the checker reports it (E2040)


def declare_impls(r: Resolver, items: Sequence[ast.TopLevel]) -> None:
    """Give the impls of one scope and the impls that tools stand for their symbols, and make the methods of impls without a trait
    members of their types, before any body is resolved, so that order does not matter."""
    for item in items:
        if isinstance(item, ast.Impl) and not isinstance(item.symbol, ErroneousSymbol):
            _declare_impl(r, item)
        elif isinstance(item, ast.Tool) and item.trait is not None:
            item.impl = trait_impl(r, item)
            _declare_impl(r, item.impl)


def _declare_impl(r: Resolver, item: ast.Impl) -> None:
    head = _head(r, item.target)
    impl = ImplSymbol(head.name if head is not None else "", item, head, ANY)
    impl.home = r.at
    impl.trait = _head(r, item.trait) if item.trait is not None else None
    item.symbol = impl
    r.module.impls.append(impl)
    if item.trait is not None and head is not None:
        r.module.trait_impls.setdefault(head, []).append(impl)
    for node in item.methods:
        symbol = node.symbol = FunctionSymbol(node.name.text, node, [], NIL, impl)
        symbol.home = r.at
        impl.methods.append(symbol)
        r.module.add(symbol, node.name.span)
        # Methods of traits are no members of the type: paths reach them by `trait_item`.
        if head is not None and item.trait is None:
            r.module.members.setdefault(head, {}).setdefault(symbol.name, []).append(symbol)


def _head(r: Resolver, target: ast.TypeExpr) -> Symbol | None:
    """Return what the target of an impl names, aliases followed; None for types that are no names."""
    for _ in range(LONGEST_ALIAS_CHAIN):
        if not isinstance(target, ast.NamedType):
            return None
        # A single name is looked up as an item, a path through its modules.
        symbol = find_item(r, target.path[0]) if len(target.path) == 1 else walk(r, target.path).symbol
        if not isinstance(symbol, AliasSymbol):
            return symbol
        target = symbol.declaration.target
    return None


def visit_impl(r: Resolver, item: ast.Impl) -> None:
    """Resolve the names in an impl; inside, `Self` is the type, or the impl where the target is a model, a tool or no name of a
    type. An impl that `declare_impls` has not seen is passed over."""
    if not isinstance(item.symbol, ImplSymbol):
        return
    with r.block() as scope:
        item.symbol.type_parameters = type_parameters(r, item.type_parameters)
        r.visit(item.trait)
        head = item.symbol.head
        is_type = not isinstance(head, (ModelSymbol, ToolSymbol))
        if is_type:
            r.visit(item.target)
        scope.names["Self"] = head if head is not None and is_type else item.symbol
        for method in item.methods:
            function(r, method)


# Pipelines: each stage becomes a function of its own (O-6.17, O-6.18).

NO_INPUT = "input"  # the parameter of an expression stage for an input that the pipeline gives no name


def visit_pipeline(r: Resolver, node: ast.Pipeline) -> None:
    """Resolve a pipeline in the present scope and make the symbol of each stage, in order: an expression stage sees the ones
    before. Report more stages than an image allows (E0114), of which the rest get no symbol, and a stage whose name stands twice
    (E1003)."""
    symbol = node.symbol
    assert isinstance(symbol, PipelineSymbol)
    if node.parameter is not None:
        _visit_decorators(r, node.parameter.decorators)
        r.visit(node.parameter.type)
        r.visit(node.parameter.default)
    r.visit(node.result)
    seen: dict[str, ast.Stage] = {}
    for stage in node.stages:
        # Each stage is a parameter of the expression stages behind it, which an image limits.
        if len(symbol.stages) >= DEFAULT.parameters:
            message = f"pipeline `{node.name.text}` has more than {DEFAULT.parameters} stages"
            r.report("E0114", stage.name.span, message, help="split it: a stage can run another pipeline")
            break
        name = stage.name.text
        if name in seen:
            r.report(
                "E1003", stage.name.span, f"stage `{name}` is defined twice", first=seen[name].name.span,
                help="rename one of them",
            )
        _visit_decorators(r, stage.decorators)
        _stage(r, symbol, stage)
        seen.setdefault(name, stage)
        # For the help about names of earlier stages, which only expression stages see.
        r.stages.append(name)
    r.stages = []


def _stage(r: Resolver, pipeline: PipelineSymbol, stage: ast.Stage) -> None:
    parameters = stage.parameters if stage.value is None else _seen_by_expression(pipeline)
    declaration = ast.Function(
        span=stage.span, name=stage.name, is_async=True, type_parameters=[], parameters=parameters, result=stage.result,
        clauses=[], by=None, body=stage.body or _body(stage),
    )  # fmt: skip
    symbol = StageSymbol(stage.name.text, declaration, [], ANY, pipeline=pipeline, stage=stage, home=pipeline.home)
    if stage.value is None:
        function(r, declaration)
    else:
        _expression_stage(r, declaration)
    pipeline.stages.append(symbol)


def _body(stage: ast.Stage) -> ast.Block:
    assert stage.value is not None
    return ast.Block(span=stage.value.span, statements=[], result=stage.value)


def _seen_by_expression(pipeline: PipelineSymbol) -> list[ast.Parameter]:
    """Return the parameters of an expression stage: the input, then one for each earlier stage."""
    input_ = pipeline.declaration.parameter
    span = pipeline.declaration.name.span
    names = [input_.name if input_ is not None else ast.Ident(span=span, text=NO_INPUT)]
    names += [stage.stage.name for stage in pipeline.stages]
    return [ast.Parameter(span=name.span, name=name, type=None) for name in names]


def _expression_stage(r: Resolver, declaration: ast.Function) -> None:
    """Resolve an expression stage. Its parameters were not written there, so they are no locals of the module: W0001 skips
    them."""
    with r.body(None) as scope:
        declaration.scope = scope
        for parameter in declaration.parameters:
            local = Local(parameter.name.text, ANY, False, scope)
            scope.locals.append(local)
            parameter.binding = local
            r.scope.names[local.name] = local
        r.visit(declaration.body)


# Tools: a tool is a struct of its state fields with an impl of its methods (O-4.1 to O-4.6). MCP servers are alike, without
# bodies.


def tool_symbol(r: Resolver, item: ast.Tool) -> ToolSymbol:
    """Return the symbol of a tool; its state and methods are declared too, but only the tool has a name that others see."""
    name = item.name.text
    fields = [ast.Field(span=f.span, name=f.name, type=f.type, default=f.default, doc=f.doc) for f in item.fields]
    struct = ast.Struct(span=item.span, name=item.name, type_parameters=[], fields=fields)
    state = StructSymbol(name, struct, Nominal("struct", name, key=r.type_key(name)), [], home=r.at)
    target = ast.NamedType(span=item.name.span, path=[item.name], arguments=None)
    target.binding = state
    methods = ast.Impl(span=item.span, type_parameters=[], trait=None, target=target, methods=item.methods)
    impl = ImplSymbol(name, methods, state, ANY, home=r.at)
    tool = ToolSymbol(name, item, state, impl)
    r.module.add(state, item.name.span)
    r.module.impls.append(impl)
    for node in item.methods:
        method = node.symbol = FunctionSymbol(node.name.text, node, [], NIL, impl, tool, home=r.at)
        impl.methods.append(method)
        r.module.add(method, node.name.span)
        # Both `T::m` and `Self::m` name the method.
        for owner in (tool, state):
            r.module.members.setdefault(owner, {}).setdefault(method.name, []).append(method)
    return tool


def visit_tool(r: Resolver, item: ast.Tool) -> None:
    """Resolve the names in a tool; inside its methods `Self` is the state."""
    assert isinstance(item.symbol, ToolSymbol)
    _visit_decorators(r, item.decorators)
    with r.body(None):
        for entry in item.entries:
            r.visit(entry.value)
        for field in item.fields:
            r.visit(field.type)
            r.visit(field.default)
    with r.block() as scope:
        scope.names["Self"] = item.symbol.state
        for method in item.methods:
            function(r, method)


def mcp_symbol(r: Resolver, item: ast.Mcp) -> McpSymbol:
    """Return the symbol of an MCP server with those of its signatures; a signature whose name stands twice is reported (E1003)
    and left out."""
    server = McpSymbol(item.name.text, item, home=r.at)
    target = ast.NamedType(span=item.name.span, path=[item.name], arguments=None)
    methods = ast.Impl(span=item.span, type_parameters=[], trait=None, target=target, methods=[])
    owner = ImplSymbol(server.name, methods, server, ANY)
    members = r.module.members.setdefault(server, {})
    for node in item.functions:
        method = node.symbol = FunctionSymbol(node.name.text, node, [], NIL, owner, server)
        if method.name in members:
            first = members[method.name][0].declaration.name.span
            r.report("E1003", node.name.span, f"`{method.path}` is defined twice", help="rename one of them", first=first)
            continue
        members[method.name] = [method]
        server.methods.append(method)
    return server


def visit_mcp(r: Resolver, item: ast.Mcp) -> None:
    """Resolve the names in an MCP server: decorators, fields, parameters and results."""
    _visit_decorators(r, item.decorators)
    with r.body(None):
        for entry in item.entries:
            entry.value = visit_field(r, entry.key.text, entry.value)
    for node in item.functions:
        function(r, node)
        for parameter in node.parameters:
            if parameter.binding is not None:
                parameter.binding.read = True  # parameters of a signature may go unused (L-4.7.1)


# Traits: their methods as symbols, `Self` inside, the predeclared trait `From` (L-3.10, L-3.1.17).

PRELUDE = "trait From<A> { fn from(a: A) -> Self; }"


def trait_symbol(r: Resolver, item: ast.Trait) -> TraitSymbol:
    """Return the symbol of a trait with those of its methods, and add it to the traits of the program; E2030 for two methods of
    one name, of which the first stays."""
    name = item.name
    self_declaration = ast.TypeParameter(span=name.span, name=ast.Ident(span=name.span, text="Self"), bounds=[])
    own = TypeParameterSymbol("Self", self_declaration, Nominal("parameter", "Self", key=r.parameter_key("Self")))
    symbol = TraitSymbol(name.text, item, Nominal("trait", name.text, key=r.type_key(name.text)), own)
    r.module.traits.append(symbol)
    for node in item.methods:
        method = FunctionSymbol(node.name.text, node, [], NIL, symbol)
        first = symbol.methods.setdefault(method.name, method)
        if first is not method:
            message = f"`{symbol.name}` has two methods `{method.name}`"
            r.report("E2030", node.name.span, message, help="rename one of them", first=first.declaration.name.span)
            continue
        node.symbol = method
        method.home = r.at
        r.module.add(method, node.name.span)
    return symbol


def visit_trait(r: Resolver, item: ast.Trait) -> None:
    """Resolve the names in a trait; inside, `Self` is a type parameter."""
    symbol = item.symbol
    if not isinstance(symbol, TraitSymbol):
        return
    _visit_decorators(r, item.decorators)
    with r.block() as scope:
        symbol.type_parameters = type_parameters(r, item.type_parameters)
        scope.names["Self"] = symbol.self_parameter
        for node in item.methods:
            function(r, node)
            for parameter in node.parameters:
                if parameter.binding is not None:
                    parameter.binding.read = True  # a trait's parameters may go unused (L-4.7.1)


@cache
def _prelude_source() -> Source:
    return Source("std", PRELUDE)


def predeclare(r: Resolver) -> None:
    """Declare the trait `From` in the outermost scope (L-3.10.5)."""
    source = _prelude_source()
    for item in parse(source, Diagnostics()).items:
        assert isinstance(item, ast.Trait)
        with r.inside(r.root, r.outermost):
            item.symbol = r.outermost.names[item.name.text] = trait_symbol(r, item)
            visit_trait(r, item)
        for method in item.symbol.methods.values():
            method.home = None  # of no module: visible everywhere


# Items: which names a module or block declares, and the names inside each item. All names of a scope are declared before any body
# is resolved, so that order does not matter (L-5.4.2).

# Items on which no decorator may stand, with their keyword.
UNDECORATED: dict[type[ast.Item], str] = {
    ast.Use: "use", ast.Module: "mod", ast.Impl: "impl", ast.Const: "const", ast.TypeAlias: "type",
    ast.Trait: "trait", ast.Extern: "extern",
}  # fmt: skip


def declare_items(r: Resolver, items: Sequence[ast.TopLevel]) -> None:
    """Give every item of one scope that declares a name its symbol and its name in the scope, and note its imports; an item that
    the parser could not read makes the scope open. Report a name that stands twice (E1003), which gets no symbol, the name of a
    type that does not begin with a capital letter (E1014), and what is wrong inside enums, traits, MCP servers, memory blocks and
    `mod` lines."""
    places: dict[str, Span] = {}
    for item in items:
        if not isinstance(item, ast.InitStatement):
            _declare_item(r, item, places)


def _declare_item(r: Resolver, item: ast.Item, places: dict[str, Span]) -> None:
    if isinstance(item, ast.ErrorItem):
        # What the parser could not read may have declared any name: names that are not found stay unreported.
        r.scope.open = True
        return
    if item.decorators and type(item) in UNDECORATED:
        r.module.decorated.append((item.decorators, UNDECORATED[type(item)]))
    if isinstance(item, ast.Use):
        declare_imports(r, item)
        return
    if isinstance(item, ast.Schema) and item.fields is None:
        return  # it adds to a schema that is declared elsewhere
    if isinstance(item, ast.Extern):
        _declare_extern(r, item, places)
        return
    name = getattr(item, "name", None)
    if name is None:
        item.symbol = None
        return
    if name.text in places:
        r.report(
            "E1003", name.span, f"`{name.text}` is defined twice", help="rename one of them", first=places[name.text]
        )
        return
    # Only of this scope: a name may hide one of an outer scope.
    places[name.text] = name.span
    _check_capital(r, item, name)
    if isinstance(item, ast.Module):
        item.symbol = declare_module(r, item)
        r.module.places[item.symbol] = name.span
    else:
        item.symbol = _symbol(r, item, name.text)
        item.symbol.home = r.at
    r.scope.names[name.text] = item.symbol
    if item.public:
        r.scope.public.add(name.text)
    if not isinstance(item, ast.Module):
        r.module.add(item.symbol, name.span)


def _declare_extern(r: Resolver, item: ast.Extern, places: dict[str, Span]) -> None:
    """Declare the functions of an `extern` block, each with an empty body, as items of the scope around it."""
    item.symbol = None
    for node in item.functions:
        node.public = item.public
        node.body = ast.Block(Span(node.span.file, node.span.end, node.span.end), [], None)
        _declare_item(r, node, places)
        if isinstance(node.symbol, FunctionSymbol):
            node.symbol.extern = item


def _visit_extern(r: Resolver, item: ast.Extern) -> None:
    _visit_decorators(r, item.decorators)
    for node in item.functions:
        if isinstance(node.symbol, FunctionSymbol):
            r.nesting.call(function, r, node)
            for parameter in node.parameters:
                if parameter.binding is not None:
                    parameter.binding.read = True


def _check_capital(r: Resolver, item: ast.Item, name: ast.Ident) -> None:
    if isinstance(item, (ast.Struct, ast.Enum, ast.Trait, ast.Schema, ast.TypeAlias)) and not name.text[:1].isupper():
        capital = name.text.lstrip("_")
        r.report(
            "E1014", name.span, f"the type name `{name.text}` begins with a lower-case letter",
            help=f"write `{capital[:1].upper()}{capital[1:]}`",
        )  # fmt: skip


def _symbol(r: Resolver, item: ast.Item, name: str) -> Symbol:
    match item:
        case ast.Function():
            return FunctionSymbol(name, item, [], NIL, by_model=item.by is not None)
        case ast.Struct():
            return StructSymbol(name, item, Nominal("struct", name, key=r.type_key(name)), [])
        case ast.Schema():
            return StructSymbol(name, item, Nominal("schema", name, key=r.type_key(name)), [])
        case ast.Enum():
            return enum_symbol(r, item, name)
        case ast.Trait():
            return trait_symbol(r, item)
        case ast.Const():
            return ConstSymbol(name, item, ANY)
        case ast.TypeAlias():
            return AliasSymbol(name, item, ANY)
        case ast.Config() if item.declares == "model":
            return _model_symbol(item, name)
        case ast.Config() if item.kind == "agent":
            return AgentSymbol(name, item)
        case ast.Config() if item.kind == "connect":
            return ConnectionSymbol(name, item, {})
        case ast.Tool():
            return tool_symbol(r, item)
        case ast.Mcp():
            return mcp_symbol(r, item)
        case ast.Store() if item.kind == "hashmap":
            return HashMapSymbol(name, item, ANY)
        case ast.Store() if item.kind == "ledger":
            return LedgerSymbol(name, item)
        case ast.Store() if item.kind == "index":
            return IndexSymbol(name, item, ANY)
        case ast.Config() if item.kind == "embedder":
            return EmbedderSymbol(name, item)
        case ast.Store() if item.kind == "memory":
            return MemorySymbol(name, item, None)
        case ast.Channel():
            return FunctionSymbol(name, function_of_channel(item), [], NIL, channel=item)
        case ast.MemoryBlock():
            return MemorySymbol(name, chain_of_block(r, item), None)
        case ast.Pipeline():
            return PipelineSymbol(name, item)
        case ast.Context():
            return ContextSymbol(name, item, Nominal("context", name, key=r.type_key(name)))
    raise AssertionError(f"no symbol for `{getattr(item, 'kind', type(item).__name__)} {name}`")


def _model_symbol(item: ast.Config, name: str) -> ModelSymbol:
    """Return the symbol of a model; of one that is written as an agent, `model` is the `base` (O-1.260)."""
    for entry in item.entries if item.kind == "agent" else ():
        if entry.key.text == "model":
            # Rewritten in the tree, so that nothing behind the resolver knows the other spelling.
            entry.key = ast.Ident(span=entry.key.span, text="base")
    return ModelSymbol(name, item, "", {})


def enum_symbol(r: Resolver, item: ast.Enum, name: str) -> EnumSymbol:
    """Return the symbol of an enum with those of its variants, whose names `r.variants` then has too; a variant that stands twice
    is reported and left out (E1003)."""
    r.variants.update(variant.name.text for variant in item.variants)
    plain = all(v.items is None and v.fields is None for v in item.variants)
    symbol = EnumSymbol(name, item, Nominal("enum", name, key=r.type_key(name), plain=plain), _variants(r, item))
    for variant in item.variants:
        # A variant that stands twice has the index of the first, and no member of its own.
        index = symbol.variants[variant.name.text]
        if index == len(symbol.members):
            form = "tuple" if variant.items is not None else "unit" if variant.fields is None else "struct"
            symbol.members.append(VariantSymbol(variant.name.text, symbol, len(symbol.members), form))
    return symbol


def _variants(r: Resolver, item: ast.Enum) -> dict[str, int]:
    seen: dict[str, ast.Variant] = {}
    for variant in item.variants:
        name = variant.name.text
        if name in seen:
            r.report(
                "E1003", variant.name.span, f"variant `{name}` is defined twice", help="rename one of them",
                first=seen[name].name.span,
            )  # fmt: skip
        seen.setdefault(name, variant)
    return {name: index for index, name in enumerate(seen)}


def visit_items(r: Resolver, items: Sequence[ast.TopLevel]) -> None:
    """Resolve the names inside the items of one scope, which `declare_items`, and of a module `declare_impls`, must have seen;
    imports are passed over, and modules have their own turn. Initialisation statements are added to those of the program."""
    for item in items:
        if isinstance(item, ast.InitStatement):
            with r.body(None):
                r.visit(item.call)
            r.module.inits.append((r.at, item))
        elif isinstance(item, (ast.Use, ast.Module)):
            continue
        elif isinstance(item, ast.Impl):
            r.nesting.call(visit_impl, r, item)
        elif isinstance(item, ast.Trait):
            r.nesting.call(visit_trait, r, item)
        elif isinstance(item, ast.Extern):
            _visit_extern(r, item)
        elif isinstance(item, ast.Schema) and item.fields is None:
            _visit_addition(r, item)
        elif item.symbol is not None and not isinstance(item.symbol, ErroneousSymbol):
            r.nesting.call(_visit_item, r, item)
            if isinstance(item, ast.Tool) and item.impl is not None:
                r.nesting.call(visit_impl, r, item.impl)


def _name_store(r: Resolver, value: ast.Expr) -> None:
    """Turn the bare names of a store and an embedder, in `HashMap::new().store(durable)` and `Index::of(small)`, into Strings, as
    in the steps of a memory (O-0.13)."""
    value = ast.ungrouped(value)
    if isinstance(value, ast.MethodCall) and value.name.text == "store":
        for argument in value.arguments:
            argument.value = visit_step(r, "store", argument.value)
        value = ast.ungrouped(value.receiver)
    if isinstance(value, ast.Call):
        for argument in value.arguments:
            if argument.name is None:
                argument.value = visit_step(r, "embed", argument.value)


def _visit_item(r: Resolver, item: ast.Item) -> None:
    if isinstance(item, ast.Function):
        function(r, item)
        return
    if isinstance(item, ast.Channel):
        function(r, item.symbol.declaration)
        bind_to_predeclared(item.symbol.declaration)
        return
    if isinstance(item, ast.Tool):
        visit_tool(r, item)
        return
    if isinstance(item, ast.Mcp):
        visit_mcp(r, item)
        return
    if isinstance(item, ast.Store) and item.kind in ("hashmap", "index"):
        _name_store(r, item.value)
    with r.body(None):
        if isinstance(item.symbol, (StructSymbol, EnumSymbol, AliasSymbol)):
            item.symbol.type_parameters = type_parameters(r, getattr(item, "type_parameters", []))
        _visit_decorators(r, item.decorators)
        if isinstance(item, ast.Schema) and isinstance(item.symbol, StructSymbol):
            # The declaration is the first of the forms; `schema T;` adds others.
            item.symbol.forms.append(item)
        match item:
            case ast.Struct() | ast.Schema():
                for field in item.fields or ():
                    r.visit(field.type)
                    r.visit(field.default)
                    _visit_decorators(r, field.decorators)
            case ast.Enum():
                for variant in item.variants:
                    for type_ in variant.items or ():
                        r.visit(type_)
                    for field in variant.fields or ():
                        r.visit(field.type)
                        r.visit(field.default)
                        _visit_decorators(r, field.decorators)
            case ast.Store(kind="memory"):
                r.visit(item.type)
                visit_memory_chain(r, item.value)
            case ast.MemoryBlock():
                r.visit(item.type)
                visit_memory_chain(r, item.symbol.declaration.value)
            case ast.Const() | ast.Store():
                r.visit(item.type)
                r.visit(item.value)
            case ast.TypeAlias():
                r.visit(item.target)
            case ast.Context():
                for slot in (slot for tier in item.tiers for slot in tier.slots):
                    r.visit(slot.type)
                    r.visit(slot.default)
                    _visit_decorators(r, slot.decorators)
            case ast.Config():
                _visit_config(r, item)
            case ast.Pipeline():
                visit_pipeline(r, item)


def _visit_addition(r: Resolver, item: ast.Schema) -> None:
    """Resolve `schema T;`, which names a schema and adds validators to it (O-2.18)."""
    symbol = find_item(r, item.name)
    if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Schema):
        symbol.forms.append(item)
    elif symbol is None:
        r.unknown_name(item.name, "E1002", "type")
    elif not isinstance(symbol, ErroneousSymbol):
        r.report("E4022", item.name.span, f"`{item.name.text}` is not a schema", help="without a body it names a declared schema")
    _visit_decorators(r, item.decorators)


def _visit_decorators(r: Resolver, decorators: Sequence[ast.Decorator]) -> None:
    """Resolve the names in the arguments of decorators, which stand outside of what is decorated."""
    if not decorators:
        return
    with r.body(None):
        for decorator in decorators:
            names = DECORATOR_ARGUMENTS.get(decorator.name.text, ())
            for position, argument in enumerate(decorator.arguments):
                unnamed = names[position] if position < len(names) else ""
                argument.value = visit_field(r, unnamed if argument.name is None else argument.name.text, argument.value)


def _is_provider(key: str) -> bool:
    """Return whether a key is `provider`, also misspelt: the checker reports that, and a connection is no value there either."""
    return key == "provider" or nearest(key, ["provider"]) is not None


def _visit_config(r: Resolver, item: ast.Config) -> None:
    """Resolve the fields of a model, embedder, connection or agent.

    The provider of a model or embedder is the name of a connection, not a value (O-1.17); without a declaration it may be a
    predeclared one.
    The connector of an agent is a name of the manifest or the host (O-7.1).
    """
    for entry in item.entries:
        value = entry.value
        is_provider = item.declares in ("model", "embedder") and _is_provider(entry.key.text)
        if is_provider and isinstance(value, ast.StringLiteral) and value.value.isidentifier():
            # A name in quotes is that name.
            value = entry.value = ast.PathExpr(value.span, [ast.Ident(value.span, value.value)])
        if item.kind == "agent" and entry.key.text == "connector" and isinstance(value, ast.PathExpr):
            continue
        if not (is_provider and isinstance(value, ast.PathExpr)):
            entry.value = visit_field(r, entry.key.text, value)
        elif len(value.segments) > 1:
            value.binding = resolve_path(r, value.segments)
        elif value.member is None:
            value.binding = find_item(r, value.segments[0])
