"""A checked program becomes an image: declarations, functions, initialisation, exports.

The pipeline calls `generate`, which returns the image, and `excesses` and `unreadable`, which say why an image is larger than it
may be. Importing this module imports the generators of all nodes. Nothing is checked again: what the checker decided stands in
the tree and in `CheckedProgram`. A new kind of declaration is an `…_entry` function here, a row of `ENTRIES` and one of `KINDS`
(`declaration_kinds.py`); `CONTRIBUTING.md` goes through all its places. The image is neither written to a file nor verified nor
run here.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...vm import schema as lowering
from ...vm.bytecode import image as im
from ...vm.bytecode.encoding import encode, position_at
from ...vm.bytecode.hashing import hash_functions
from ...vm.bytecode.image import DEFAULT, ImageError
from ...vm.bytecode.opcodes import OPCODE_SET_VERSION
from ...vm.bytecode.shape import OUTWARD
from ...vm.memory_steps import COMPUTED
from .. import symbols
from .. import types as t
from ..checker.program import CheckedProgram
from ..declaration_kinds import KINDS
from ..source import Source, Span
from ..syntax import ast
from . import (
    calls,  # noqa: F401 - they register their nodes
    expressions,  # noqa: F401 - they register their nodes
    places,  # noqa: F401 - they register their nodes
    statements,  # noqa: F401 - they register their nodes
)
from .constants import NotConstant, constant_of
from .functions import LIBRARY_FILE, declare_function, default_functions, finish, function_body, generate_requested
from .generator import Generator
from .module import Module
from .schemas import Shapes, reduced, schema_number, wanted_command, wanted_url


def declare_contexts(module: Module, contexts: list[symbols.ContextSymbol]) -> None:
    """Generate the defaults of the slots of contexts as hidden functions without parameters. Their numbers go to
    `Module.slot_defaults`."""
    for context in contexts:
        for slot in context.slots.values():
            default = slot.declaration.default
            if default is not None:
                function = module.slot_defaults[slot] = module.pool.reserve_function()
                g = Generator(module, None)
                g.at(default.span)
                g.bound(default)
                g.emitter.emit("RETURN")
                finish(g, function, f"{context.name}.{slot.name}", [], module.pool.type(slot.type), im.F_HIDDEN)


def context_entry(module: Module, context: symbols.ContextSymbol) -> im.Context:
    """Return a context with its slots (O-10.15). Who uses them comes from the functions, see `context_uses`."""
    slots = [
        [
            slot.tier, slot.name, module.pool.type(slot.type), slot.mutable, module.slot_defaults.get(slot),
            *([] if slot.was is None else [slot.was]),
        ]
        for slot in context.slots.values()
    ]  # fmt: skip
    return im.Context(module.names[context], slots, [])


def context_uses(module: Module, checked: CheckedProgram) -> dict[symbols.ContextSymbol, list[list[Any]]]:
    """Return for each context rows of [function, word of the clause, name of the memory or parameter, slots]."""
    owners = {slot: context for context in checked.of(symbols.ContextSymbol) for slot in context.slots.values()}
    uses: dict[symbols.ContextSymbol, list[list[Any]]] = {}
    for function in checked.functions:
        rows: dict[tuple[symbols.ContextSymbol, str, str], list[str]] = {}
        for ref in (ref for clause in function.declaration.clauses for ref in clause.slots):
            rows.setdefault((owners[ref.found], ref.kind, ref.owner.text), []).append(ref.slot.text)
        for (context, word, memory), slots in rows.items():
            uses.setdefault(context, []).append([module.functions[function], word, memory, slots])
    return uses


def tool_entry(module: Module, tool: symbols.ToolSymbol) -> im.Tool:
    """Return a tool with what a model is told of each method (O-4.4, O-4.8 to O-4.10, O-10.11)."""
    methods = []
    for method, arguments in tool.arguments.items():
        # What the model sends is validated by the shape; what the model is told is its JSON Schema.
        shape = Shapes(module.declared).arguments(arguments)
        text = f"{tool.description}\n\n{tool.texts[method]}" if tool.function is None else tool.texts[method]
        form = lowering.arguments_form(shape)
        wire = tool.wire_name(method) if tool.function is None else wire_name_of_function(module.names[tool])
        row = [method.name, module.functions[method], wire, text, shape, form]
        methods.append([*row, tool.guards.get(method.name), tool.effects.get(method)])
    return im.Tool(module.names[tool], tool.description, module.pool.type(tool.state.type), methods)


def wire_name_of_function(name: str) -> str:
    """Return the name by which models call a function, of its unique name: `sort`, or `mail__sort` where two modules have one."""
    return name.replace("::", "__").replace("#", "_")


def server_entry(module: Module, server: symbols.McpSymbol) -> im.Mcp:
    """Return an MCP server with its signatures (O-10.12), and note the permission that its connection wants."""
    shapes = Shapes(module.declared)
    methods = []
    for method in server.methods:
        arguments, result = shapes.arguments(server.arguments[method]), shapes.arguments(server.results[method])
        methods.append([method.name, server.wire_name(method), server.texts.get(method), arguments, result])
    for named in shapes.named:  # their values are made of what the server answers, though no code may name the type
        module.pool.type(t.bare(named))
    command, url = server.fields.get("command"), server.fields.get("url")
    if isinstance(command, str):
        module.wanted_permissions.add((wanted_command(command, server.fields.get("args")), server.declaration.span.file))
    if isinstance(url, str):
        module.wanted_permissions.add((wanted_url(url), server.declaration.span.file))
    return im.Mcp(module.names[server], server.fields, methods)


def initial_state(g: Generator, tool: symbols.ToolSymbol) -> None:
    """Generate the making of the state of a tool, from the defaults of its fields; the host gets it."""
    module = g.module
    for index in range(len(tool.state.fields)):
        g.emitter.emit("CALL", module.field_defaults[tool.state][index], 0)
    g.emitter.emit("STRUCT", module.pool.type(tool.state.type), len(tool.state.fields))
    g.emitter.emit("CONFIGURE", module.pool.constant(im.K_CONFIG, ["tools", module.numbers[tool], "state"]))


NAMES = ("provider", "memory", "tools", "fallback")  # fields of a model that hold names of declarations
COMPILER = "concerto 0.1"


def generate(checked: CheckedProgram, sources: list[Source], name: str) -> im.Image:
    """Return the image of a program without errors; its prices and budgets are set by the pipeline. `sources` are in the order of
    their names; `name` is the program's name. Raise TooLong when the uses of constants make too much code, RecursionError for
    types that nest too deeply. To be called once for a checked program: functions in the steps of memories keep their place in
    the image."""
    module = Module(sources)
    module.has_stored_hashmaps = any(hashmap.store is not None for hashmap in checked.of(symbols.HashMapSymbol))
    namespaces: dict[str, list[symbols.Symbol]] = {"schemas": [*checked.schemas]}
    for symbol_class, kind in KINDS.items():
        declarations = checked.of(symbol_class)
        namespaces.setdefault(kind.namespace or kind.section, []).extend(declarations)
        module.numbers.update({symbol: number for number, symbol in enumerate(declarations)})
    for namespace in namespaces.values():
        module.names.update(unique_names(namespace))
    module.declared = declare(module, checked)
    externs = [function for function in checked.functions if function.extern is not None]
    module.externs.update({function: number for number, function in enumerate(externs)})
    for function in checked.functions:
        declare_function(module, function)
        if function.changes_self:
            module.changing_methods.add(function.name)
    for promised in checked.promised:
        declare_function(module, promised)
    declare_implementations(module, checked)
    # Numbers of functions come first, so that a body may call what is declared later.
    with_fields: list[symbols.StructSymbol | symbols.VariantSymbol] = [*checked.structs, *checked.schemas]
    with_fields += [member for enum in checked.enums for member in enum.members]
    for owner in with_fields:
        declare_field_defaults(module, owner)
    for owner in with_fields:  # a default may make a value of what is declared later
        field_default_functions(module, owner)
    declare_contexts(module, checked.of(symbols.ContextSymbol))
    for schema in checked.schemas:
        module.validators[schema] = [module.pool.reserve_function() for _ in schema.validators]
    for schema in checked.schemas:
        # Of a generic schema there is an entry for each list of arguments that is used.
        if not schema.type_parameters:
            schema_number(module, schema, schema.type)
    # From here on code is made; each function goes into an emitter of its own and waits in `module.pending`.
    tools = [tool_entry(module, symbol) for symbol in checked.of(symbols.ToolSymbol)]
    for function in checked.functions:
        function_body(module, function)
    for promised in checked.promised:
        default_functions(module, promised)
    for model in checked.of(symbols.ModelSymbol):
        computed_function(module, model)
    for schema in checked.schemas:
        validator_functions(module, schema)
    tests = test_entries(module, checked)
    init = initialisation(module, checked)
    # The machine ends each write of a hashmap in this method, so it is needed though no code names it.
    if checked.of(symbols.HashMapSymbol):
        module.language_method("StoreWrites", "finish")
        if module.has_stored_hashmaps:
            module.language_method("StoreWrites", "keep")
    if any(f.declaration.public and f.owner is None and returns_stream(f.result) for f in checked.functions):
        module.language_method("StreamReads", "send")  # a host that gets the stream reads it
    if any(model.declaration.public for model in checked.of(symbols.ModelSymbol)):
        module.language_method("StreamReads", "ask")
    if checked.of(symbols.MemorySymbol) and any(f.declaration.public and f.owner is None for f in checked.functions):
        module.language_method("StreamReads", "show")
    for listing, listed in (
        ("channels", [function for function in checked.functions if function.channel is not None]),
        ("by_model", [function for function in checked.functions if function.by_model]),
    ):
        if listed:
            module.pool.questions(listing, [module.functions[function] for function in listed])
    offered = offers(module, checked)
    if any(offered):
        module.pool.offers(*offered)
    # Only now are all calls of built-ins known that are written in the language.
    generate_requested(module)
    functions = module.finish_functions()
    for struct in (*checked.structs, *checked.schemas):
        module.pool.name_defaults(own(struct.type), module.field_defaults[struct])
    # Needs all calls; and the hashes below need the flags.
    mark_suspending(functions, module)
    entries: dict[str, Any] = {
        KINDS[kind].section: [entry(module, symbol) for symbol in checked.of(kind)] for kind, entry in ENTRIES.items()
    }
    entries["connections"] += [im.Connection(name, fields) for name, fields in checked.manifest.items()]
    entries["memories"] += [stored_entries(module, hashmap) for hashmap in checked.of(symbols.HashMapSymbol) if hashmap.store]
    for context, uses in context_uses(module, checked).items():
        entries["contexts"][module.numbers[context]].uses = uses
    entries["externs"] = [extern_entry(module, function) for function in externs]
    sections = {
        **entries, "header": header(name, module, checked), "constants": module.pool.constants, "types": module.pool.types,
        "schemas": module.schema_entries, "functions": functions, "tools": tools, "tests": tests,
        "exports": exports(module, checked, init), "libraries": library_entries(module, checked),
        "names": module.local_names(), "source": [source.text for source in sources],
        "source_map": [[source.name, hashlib.sha256(source.text.encode()).digest()] for source in sources],
    }  # fmt: skip
    image = im.Image(*[sections[section] for section, _ in im.SECTIONS])
    for function_entry, digest in zip(functions, hash_functions(image), strict=True):
        function_entry.hash = digest
    return image


def declare_implementations(module: Module, checked: CheckedProgram) -> None:
    """Tell the pool which functions each impl of a trait has, defaults included (L-3.10.2), and which types are errors
    (L-3.11.14)."""
    for model, type_ in checked.model_types.items():
        # The names by which methods of models and tools are found at run time begin so.
        module.pool.handles[type_] = module.names[model] + "."
    for tool, type_ in checked.tool_types.items():
        module.pool.handles[type_] = module.names[tool] + "@"
    for implementation, impl in checked.implementations:
        trait = impl.trait
        assert isinstance(trait, symbols.TraitSymbol)
        chosen = [impl.method(name) or method for name, method in trait.methods.items()]
        methods = [module.functions[method] for method in chosen if method.takes_self]
        module.pool.implementations[implementation] = methods
        for name in trait.methods:
            module.traits.setdefault(name, {})[trait] = None
    types = [*(s.type for s in (*checked.structs, *checked.schemas)), *(enum.type for enum in checked.enums)]
    errors = [own(type_) for type_ in types if own(type_).facts.is_error]
    if errors:
        module.pool.error_types(errors)


def unique_names(declarations: Sequence[symbols.Symbol]) -> dict[symbols.Symbol, str]:
    """Return what a host calls each declaration: its name, with the path of its module where several modules declare one of
    that name."""
    counts = Counter(symbol.name for symbol in declarations)
    names: dict[symbols.Symbol, str] = {}
    numbers: dict[str, int] = {}  # by name, the last number that was added to it
    for symbol in declarations:
        name = base = qualified(symbol) if counts[symbol.name] > 1 else symbol.name
        # A number is added, since hosts find declarations by name alone.
        while name in numbers:  # declared in several blocks of one module
            numbers[base] += 1
            name = f"{base}#{numbers[base]}"
        numbers[name] = 1
        names[symbol] = name
    return names


def declare(module: Module, checked: CheckedProgram) -> dict[t.Type, symbols.Symbol]:
    """Tell the pool the fields of every declared type; return the declarations by their types."""
    declared: dict[t.Type, symbols.Symbol] = {}
    for struct in (*checked.structs, *checked.schemas):
        declared[own(struct.type)] = struct
        hidden = hidden_fields(struct)
        module.pool.declared[own(struct.type)] = [
            (n, option_type(type_, o), n not in hidden, *([struct.was[n]] if n in struct.was else []))
            for n, type_, _, o in struct.fields
        ]
    for enum in checked.enums:
        declared[own(enum.type)] = enum
        module.pool.declared[own(enum.type)] = [
            (m.name, [type_ for _, type_, _, _ in m.fields], [n for n, _, _, _ in m.fields if m.form == "struct"])
            for m in enum.members
        ]
    return declared


def own(type_: t.Type) -> t.Nominal:
    """Return a declared type as the machine knows it, without type arguments (L-3.1.22). AssertionError for one that is not
    nominal."""
    assert isinstance(type_, t.Nominal)
    return type_.bare


def hidden_fields(symbol: symbols.StructSymbol) -> frozenset[str]:
    """Return the fields without `pub`; those of a schema are all public."""
    node = symbol.declaration
    return frozenset(f.name.text for f in node.fields if not f.public) if isinstance(node, ast.Struct) else frozenset()


def option_type(type_: t.Type, optional: bool) -> t.Type:
    """Return the type of a field as code sees it, which is `optional` or not: `f?: T` is Option<T>, unless the checker already
    said so."""
    wrapped = isinstance(type_, t.Generic) and type_.name == "Option"
    return t.option(type_) if optional and not wrapped else type_


def declare_field_defaults(module: Module, symbol: symbols.StructSymbol | symbols.VariantSymbol) -> None:
    """Reserve a hidden function without parameters for each default of a field (L-5.10.1)."""
    module.field_defaults[symbol] = {
        index: module.pool.reserve_function() for index, (_, _, default, _) in enumerate(symbol.fields) if default is not None
    }


def field_default_functions(module: Module, symbol: symbols.StructSymbol | symbols.VariantSymbol) -> None:
    """Generate the functions that `declare_field_defaults` reserved."""
    for index, number in module.field_defaults[symbol].items():
        name, type_, default, _ = symbol.fields[index]
        assert default is not None
        g = Generator(module, None)
        g.at(default.span)
        g.bound(default)
        g.emitter.emit("RETURN")
        finish(g, number, f"{symbol.name}.{name}", [], module.pool.type(type_), im.F_HIDDEN)


# ---------------------------------------------------------------- initialisation


def initialisation(module: Module, checked: CheckedProgram) -> list[int]:
    """Return the numbers of the functions that run, one after another, when a session begins: none if there is nothing to do, one
    for a program without libraries; the code of a library has functions of its own, so that its rights count in it (P-3.2). The
    functions of indexes, and functions and computed bounds of memories come first; then, in the order of modules and source, the
    fields of models that are no constants, the states of tools, the reading of hashmaps with a file, and the initialisation
    statements (O-0.3, O-0.7, L-5.14.1)."""
    made = _Initialisation(module, checked.file_libraries)
    steps: list[tuple[tuple[int, int], Any]] = [((rank, statement.span.start), statement) for rank, statement in checked.init]
    for number, model in enumerate(checked.of(symbols.ModelSymbol)):
        rank = model.home.rank if model.home is not None else 0
        fields = computed_fields(model)
        if fields:
            steps.append(((rank, model.declaration.span.start), (number, model)))
    for tool in checked.of(symbols.ToolSymbol):
        rank = tool.home.rank if tool.home is not None else 0
        steps.append(((rank, tool.declaration.span.start), tool))
    # Hashmaps with a file are read before the statements behind them in the source may use them.
    stored = [hashmap for hashmap in checked.of(symbols.HashMapSymbol) if hashmap.path is not None]
    steps.extend(((h.home.rank if h.home else 0, h.declaration.span.start), h) for h in stored)
    memories = checked.of(symbols.MemorySymbol)
    functions = [function for memory in memories for function in step_functions(module, memory)]
    bounded = [memory for memory in memories if memory.value is None and memory.computed]
    indexes = [(number, index) for number, index in enumerate(checked.of(symbols.IndexSymbol)) if index.functions]
    if not steps and not functions and not bounded and not indexes:
        return []
    for number, index in indexes:  # before any index is used
        for name, value in index.functions.items():
            g = made.at(value.span)
            g.bound(value)
            g.emitter.emit("CONFIGURE", module.pool.constant(im.K_CONFIG, ["indexes", number, name]))
    for function in functions:  # before any memory is used
        assert function.place is not None
        memory, number = function.place
        g = made.at(function.value.span)
        g.bound(function.value)
        g.emitter.emit("CONFIGURE", module.pool.constant(im.K_CONFIG, ["memories", memory, f"step{number}"]))
    for declared in bounded:
        computed_bounds(made.at(declared.declaration.name.span), declared)
    for _, step in sorted(steps, key=lambda pair: pair[0]):
        if isinstance(step, ast.InitStatement):
            made.at(step.span).effect(step.call)
        elif isinstance(step, symbols.ToolSymbol):
            initial_state(made.at(step.declaration.span), step)
        elif isinstance(step, symbols.HashMapSymbol):
            g = made.at(step.declaration.value.span)
            g.emitter.emit("HASHMAP", module.numbers[step])
            g.emitter.emit("CALL", module.language_method("StoreWrites", "load"), 1)
            g.emitter.emit("POP")
        else:
            number, model = step
            g = made.at(model.declaration.name.span)
            g.emitter.emit("CALL", module.computed[model], 0)
            g.emitter.emit("CONFIGURE", module.pool.constant(im.K_CONFIG, ["models", number, "computed"]))
    return made.finish()


class _Initialisation:
    """The functions of an initialisation, in order: a new one begins where the code of another library, or of the program after
    that of a library, comes next."""

    def __init__(self, module: Module, file_libraries: Mapping[str, str]) -> None:
        self.module = module
        self.file_libraries = file_libraries
        self.library = ""
        self.g: Generator | None = None
        self.numbers: list[int] = []

    def at(self, span: Span) -> Generator:
        """Return the generator of the function in which the code of this place belongs, with its place set."""
        library = self.file_libraries.get(span.file, "")
        if self.g is not None and library != self.library:
            self.finish()
        if self.g is None:
            self.g, self.library = Generator(self.module, symbols.FunctionScope(None)), library
        self.g.at(span)
        return self.g

    def finish(self) -> list[int]:
        """End the last function, and return the numbers of all."""
        g, self.g = self.g, None
        if g is not None:
            g.emitter.emit("NIL")
            g.emitter.emit("RETURN")
            number = self.module.pool.reserve_function()
            finish(g, number, "init", [], self.module.pool.type(t.NIL), 0)
            self.numbers.append(number)
        return self.numbers


def computed_bounds(g: Generator, memory: symbols.MemorySymbol) -> None:
    """Evaluate the bounds of a memory that are no constants, before any memory is used (M-2.14)."""
    number = g.module.numbers[memory]
    names = [name for name, _ in memory.computed]
    g.emitter.emit("MEMORY", number)
    for _, value in memory.computed:
        g.bound(value)
    g.at(memory.declaration.name.span)
    g.emitter.emit("CALL_METHOD", g.module.pool.method(COMPUTED, len(names), names), len(names))
    g.emitter.emit("CONFIGURE", g.module.pool.constant(im.K_CONFIG, ["memories", number, "bounds"]))


def validator_functions(module: Module, schema: symbols.StructSymbol) -> None:
    """Generate each validator, which may be any expression of a function, as a function of the value (O-2.18)."""
    for number, value in zip(module.validators[schema], schema.validators, strict=True):
        g = Generator(module, symbols.FunctionScope(None))
        g.at(value.span)
        slot = g.emitter.slot()
        g.value(value)
        g.emitter.emit("LOAD", slot)
        g.emitter.emit("CALL_VALUE", 1, 1)
        g.emitter.emit("RETURN")
        parameters: list[list[int | str | None]] = [["v", module.pool.type(schema.type), None]]
        result = module.pool.type(t.result(t.BOOL, t.STRING))
        finish(g, number, f"{module.names[schema]}.validate", parameters, result, im.F_HIDDEN)


def computed_function(module: Module, model: symbols.ModelSymbol) -> None:
    """Generate the function that evaluates the fields of a model that are no constants: at initialisation, and again for
    each instance (O-0.3, O-1.64)."""
    fields = sorted(computed_fields(model), key=lambda field: field[1].span.start)
    if not fields:
        return
    number = module.computed[model] = module.pool.reserve_function()
    g = Generator(module, symbols.FunctionScope(None))
    for key, expr in fields:
        g.emitter.emit("CONST", module.pool.constant(im.K_STRING, key))
        g.value(expr)
    # One Map of all computed fields, which the host merges over the constant ones.
    g.emitter.emit("MAP", 2 * len(fields), 2 * len(fields))
    g.emitter.emit("RETURN")
    finish(g, number, f"{module.names[model]}.fields", [], module.pool.type(t.map_(t.STRING, t.ANY)), 0)


def computed_fields(model: symbols.ModelSymbol) -> list[tuple[str, ast.Expr]]:
    """Return the fields of a model that are no constants, with their expressions, in the order of the source."""
    fields = []
    # A field is computed when it calls something or reads a variable: constants are data of the image.
    for key, expr in model.fields.items():
        # Connections, memories and tools are numbers of the image, not values.
        if key in NAMES:
            continue
        try:
            constant_of(expr)
        except NotConstant:
            fields.append((key, expr))
    return fields


# ---------------------------------------------------------------- entries


def memory_entry(module: Module, memory: symbols.MemorySymbol) -> im.Memory:
    """Return a memory with its steps, in which names stand in place of symbols."""
    of = None if memory.of is None else module.numbers[memory.of]
    context = None if memory.context is None else module.numbers[memory.context]
    return im.Memory(module.names[memory], memory.max_messages, _in_image(module, memory.image_steps), of, context)


def _in_image(module: Module, value: Any) -> Any:
    """Return the value of a step with names in place of symbols."""
    if isinstance(value, dict):
        return {name: _in_image(module, part) for name, part in value.items()}
    if isinstance(value, list):
        return [_in_image(module, part) for part in value]
    if isinstance(value, symbols.StepFunction):
        return value.place
    return module.names[value] if isinstance(value, symbols.Symbol) else value


def step_functions(module: Module, memory: symbols.MemorySymbol) -> list[symbols.StepFunction]:
    """Return the functions in a memory's steps that have no place in the image yet, and give them one. What `like` takes
    over has its place at its own memory."""
    functions: list[symbols.StepFunction] = []
    pending: list[Any] = [memory.image_steps]
    while pending:
        value = pending.pop()
        if isinstance(value, symbols.StepFunction) and value.place is None:
            value.place = [module.numbers[memory], len(functions)]
            functions.append(value)
        elif isinstance(value, (dict, list)):
            pending += value.values() if isinstance(value, dict) else value
    return functions


def model_entry(module: Module, model: symbols.ModelSymbol) -> im.Model:
    """Return a model: its constant fields, the function of the others, its memories and tools, and the names of the models that
    take its calls over."""
    computed = {key for key, _ in computed_fields(model)}
    fields = {
        key: constant_of(expr)
        for key, expr in model.fields.items()
        if key not in NAMES and key not in computed
    }
    if model.fallback:
        fields["fallback"] = [module.names[other] for other in model.fallback]
    decorators = [[name, arguments] for name, arguments in model.decorators]
    numbers = [module.numbers[memory] for memory in model.memories]
    memory = numbers if len(numbers) > 1 else numbers[0] if numbers else None
    tools = [[*_offering(module, offering), []] for offering in model.tools]
    if model.store is not None:
        tools.append([*_offering(module, model.store), model.scope])
    connection = model.connection if isinstance(model.connection, str) else module.names[model.connection]
    return im.Model(module.names[model], connection, fields, module.computed.get(model), memory, tools, decorators)


def _offering(module: Module, symbol: symbols.Offering) -> list[Any]:
    return [KINDS[type(symbol)].section, module.numbers[symbol]]


def agent_entry(module: Module, agent: symbols.AgentSymbol) -> im.Agent:
    """Return an agent, and note the permission that its process wants."""
    process = agent.fields.get("process")
    if isinstance(process, dict) and "command" in process:  # without it the manifest has an error
        wanted = wanted_command(process["command"], process.get("args"))
        module.wanted_permissions.add((wanted, agent.declaration.span.file))
    return im.Agent(module.names[agent], agent.fields, [[name, arguments] for name, arguments in agent.decorators])


def hashmap_entry(module: Module, symbol: symbols.HashMapSymbol) -> im.HashMap:
    """Return a hashmap with the types of its keys and values."""
    assert isinstance(symbol.type, t.Generic)
    key, value = symbol.type.arguments
    shape = None if symbol.entry is None else Shapes(module.declared).arguments(symbol.entry)
    return im.HashMap(module.names[symbol], module.pool.type(key), module.pool.type(value), symbol.path, shape)


def stored_entries(module: Module, symbol: symbols.HashMapSymbol) -> im.Memory:
    """Return the memory whose facts are the entries of a hashmap with a store (O-5.41); no program can name it."""
    return im.Memory(im.memory_of_hashmap(module.names[symbol]), None, {"store": symbol.store}, None, None)


def embedder_entry(module: Module, symbol: symbols.EmbedderSymbol) -> im.Embedder:
    """Return an embedder with its table."""
    assert symbol.table is not None
    return im.Embedder(module.names[symbol], symbol.table)


def index_entry(module: Module, symbol: symbols.IndexSymbol) -> im.Index:
    """Return an index with the type of its documents."""
    assert isinstance(symbol.type, t.Generic)
    return im.Index(module.names[symbol], module.pool.type(symbol.type.arguments[0]), symbol.embedder, symbol.store)


def pipeline_entry(module: Module, symbol: symbols.PipelineSymbol) -> im.Pipeline:
    """Return a pipeline with its stages."""
    assert symbol.input is not None and symbol.output is not None
    type_ = module.pool.type
    stages = []
    for stage in symbol.stages:
        input_type = type_(stage.parameters[0]) if stage.stage.value is None else None
        decorators = [[name, arguments] for name, arguments in stage.decorators]
        stages.append([stage.name, input_type, type_(stage.effective), decorators, module.functions[stage]])
    return im.Pipeline(module.names[symbol], type_(symbol.input), type_(symbol.output), stages)


# What becomes one entry for each declaration, by the class of its symbol; types get their numbers in this order. Tools are
# described before bodies are generated.
ENTRIES: dict[type[symbols.Symbol], Callable[[Module, Any], im.Record]] = {
    symbols.McpSymbol: server_entry,
    symbols.AgentSymbol: agent_entry,
    symbols.ModelSymbol: model_entry,
    symbols.ConnectionSymbol: lambda module, symbol: im.Connection(module.names[symbol], symbol.fields),
    symbols.HashMapSymbol: hashmap_entry,
    symbols.LedgerSymbol: lambda module, symbol: im.Ledger(module.names[symbol]),
    symbols.MemorySymbol: memory_entry,
    symbols.ContextSymbol: context_entry,
    symbols.PipelineSymbol: pipeline_entry,
    symbols.EmbedderSymbol: embedder_entry,
    symbols.IndexSymbol: index_entry,
}


def extern_entry(module: Module, symbol: symbols.FunctionSymbol) -> im.Extern:
    """Return a function of Python, and note the permission that it wants."""
    assert symbol.extern is not None
    path, node = symbol.extern.module.value, symbol.declaration
    module.wanted_permissions.add((f"python={path}", node.span.file))
    attribute = symbol.name if node.foreign_name is None else node.foreign_name.value
    decorators = [[name, arguments] for name, arguments in symbol.extern_decorators]
    elements = None
    if isinstance(symbol.result, t.Generic) and t.of_host(symbol.result):
        elements = module.pool.type(symbol.result.arguments[0])
    return im.Extern(qualified(symbol), path, attribute, module.functions[symbol], node.is_async, True, elements, decorators)


def test_entries(module: Module, checked: CheckedProgram) -> list[im.Test]:
    """Return the tests of the program, one for each case of a test with cases. Those of libraries are for their authors."""
    entries = []
    for symbol in checked.functions:
        test = symbol.test
        if test is None or symbol.declaration.span.file in checked.file_libraries:
            continue
        rows = [(test.description, module.functions[symbol])]
        if test.cases is not None:
            rows = [(f"{test.description} {text}", case_function(module, symbol, arguments)) for text, arguments in test.cases]
        entries += [im.Test(description, number, test.expect_fail, test.part) for description, number in rows]
    return entries


def case_function(module: Module, symbol: symbols.FunctionSymbol, arguments: list[ast.Expr]) -> int:
    """Return a hidden function that calls a test with the arguments of a case, and returns what it returns (O-8.26)."""
    scope = symbol.declaration.scope
    g = Generator(module, scope)
    g.at(arguments[0].span)
    for argument in arguments:
        g.bound(argument)
    g.at(arguments[0].span)
    g.emitter.emit("CALL", module.functions[symbol], len(arguments))
    g.emitter.emit("RETURN")
    number = module.pool.reserve_function()
    result = t.result(symbol.result, t.ERROR) if scope.wraps else symbol.result
    finish(g, number, symbol.path, [], module.pool.type(result), im.F_HIDDEN)
    return number


def header(name: str, module: Module, checked: CheckedProgram) -> im.Header:
    """Return the header with the permissions that the program wants; pricing and budgets are filled in by the pipeline."""
    entry = module.functions[checked.main] if checked.main is not None else None
    wanted_permissions = reduced(text for text, file in module.wanted_permissions if text and file not in checked.file_libraries)
    return im.Header(list(im.FORMAT), OPCODE_SET_VERSION, im.STD_VERSION, COMPILER, name, entry, wanted_permissions, {}, {})


def library_entries(module: Module, checked: CheckedProgram) -> list[im.Library]:
    """Return what the program uses of each library, in the order of their names (P-3.2). A library that is named and of which
    nothing is used still has its entry."""
    entries = []
    for name, loaded in sorted(checked.libraries.items()):
        files = {file for file, library in checked.file_libraries.items() if library == name}
        functions = sorted(p.number for p in module.pending if p.file in files)
        declared = [
            [section, module.numbers[symbol]]
            for symbol_class, kind in KINDS.items()
            for symbol in _declared(checked, symbol_class)
            if (section := kind.section) in OUTWARD and symbol.declaration.span.file in files
        ]
        wanted = {text for text, file in module.wanted_permissions if text and file in files}
        if any(section == "models" for section, _ in declared):
            wanted.add("models")
        library = loaded.library
        entries.append(im.Library(name, library.version, library.distribution, functions, declared, reduced(wanted)))
    standard = sorted(p.number for p in module.pending if p.file == LIBRARY_FILE)
    if entries and standard:
        entries.append(im.Library(im.STANDARD, str(im.STD_VERSION), "", standard, [], []))
    return entries


def _declared(checked: CheckedProgram, symbol_class: type[symbols.Symbol]) -> list[Any]:
    return checked.of(symbol_class)


def exports(module: Module, checked: CheckedProgram, init: list[int]) -> im.Exports:
    """Return the numbers of the public functions by their path, methods apart, and the initialisation."""
    return im.Exports({qualified(f): module.functions[f] for f in public_functions(checked)}, init)


def public_functions(checked: CheckedProgram) -> list[symbols.FunctionSymbol]:
    """Return the functions that hosts call, those of the program and of no library, methods apart."""
    own = [f for f in checked.functions if f.declaration.span.file not in checked.file_libraries]
    return [f for f in own if f.declaration.public and f.owner is None]


def returns_stream(result: t.Type) -> bool:
    """Return whether a function of that result gives a stream, or a Result of one."""
    inner = result.arguments[0] if isinstance(result, t.Generic) and result.name == "Result" else result
    return inner == t.STREAM


def offers(module: Module, checked: CheckedProgram) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return the numbers and doc comments of public functions that have one, and those of public models, with "" for none."""
    functions = [f for f in public_functions(checked) if f.declaration.doc]
    models = [m for m in checked.of(symbols.ModelSymbol) if m.declaration.public]
    models = [m for m in models if m.declaration.span.file not in checked.file_libraries]
    described = [[module.functions[f], f.declaration.doc] for f in functions]
    return described, [[module.numbers[m], m.declaration.doc or ""] for m in models]


def qualified(symbol: symbols.Symbol) -> str:
    """Return a name with the path of its module from the root."""
    return "::".join((*(symbol.home.path if symbol.home is not None else ()), symbol.name))


def mark_suspending(functions: list[im.Function], module: Module) -> None:
    """Set F_SUSPENDS for functions that hold a suspending instruction or name one that does (V-7.3, V120)."""
    callers: dict[int, list[int]] = {}
    for p in module.pending:
        for called in p.emitter.calls:
            callers.setdefault(called, []).append(p.number)
    todo = [p.number for p in module.pending if p.emitter.suspends]
    suspending = set(todo)
    # A caller of a suspending function suspends too, through any number of calls.
    while todo:
        new = [caller for caller in callers.get(todo.pop(), ()) if caller not in suspending]
        suspending.update(new)
        todo += new
    for number in suspending:
        functions[number].flags |= im.F_SUSPENDS


# Limits of an image (G-3.2, G-5.2).

# File number from 0, line and column from 1, what is said there.
Excess = tuple[int, int, int, str]


def excesses(image: im.Image) -> Iterator[Excess]:
    """Yield file number (from 0), line and column (from 1) and text of each limit that the image exceeds (G-3.2, G-5.2), so that
    the source is told before the verifier refuses the image. Excesses of the whole program stand at the beginning of file 0."""
    for what, count, most in (
        ("functions", len(image.functions), DEFAULT.functions),
        ("constants", len(image.constants), DEFAULT.constants),
    ):
        if count > most:
            yield 0, 1, 1, f"the program has {count} {what}, the limit is {most}"
    if any(kind == im.K_STRING and len(value.encode()) > DEFAULT.string for kind, value in image.constants):
        yield 0, 1, 1, f"a string of the program is longer than {DEFAULT.string} bytes"
    for function in image.functions:
        yield from _of_function(function)


def unreadable(image: im.Image) -> str | None:
    """Return why no reader would take the image, the message of its ImageError, or None: it holds too much, or a text or a name
    in it is too long."""
    try:
        encode(image)
    except ImageError as error:
        return error.message
    return None


def _of_function(function: im.Function) -> Iterator[Excess]:
    at = position_at(function.lines, 0)
    for what, count, most in (
        ("values that wait for each other: arguments, elements, operands", function.stack, DEFAULT.stack),
        ("variables", function.slots, DEFAULT.locals),
        ("captured variables", function.cells, DEFAULT.locals),
        ("parameters", len(function.params), DEFAULT.parameters),
    ):
        if count > most:
            yield *at, f"`{function.name}` has {count} {what}; the limit is {most}"
