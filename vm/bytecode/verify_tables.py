"""Rules about the tables of an image and the records of a function (V104 to V108, V112, V117, V119, V122, V123, V125).

Hands on `check_tables`, `check_schemas`, `check_tools` and `check_function_tables` to `verify.py`. Each raises ImageError with
the code of the first rule that is broken, and returns nothing; rules about instructions stand in `verify_code.py`.
What is checked of a kind of declaration is a function of the table `CHECKS`.
"""

from __future__ import annotations

from ..memory_steps import INDEX_STORE_KINDS, is_embedder, is_store, written_problem
from ..schema import arguments_form, bare_name, plain_form, strict_form
from . import image as i
from .declarations import CONFIGURED, DECLARED_SECTIONS, OFFERING
from .encoding import walk_lines
from .image import is_identifier, is_path, is_unicode
from .rules import DEEPEST_TYPE, HEAVIEST_TYPE, Code, Scope, place, refuse
from .shape import DECLARED, default_functions, inner_functions, inner_types, questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .image import Image, Schema


def check_tables(scope: Scope) -> None:
    """Check types, constants, declarations and entry functions (V105 to V108, V119, V123, V125), but not the schema types in
    them, which `check_schemas` and `check_tools` look at."""
    for check in (_types, _constants, _declarations, _entries, _libraries):
        check(scope)


def _types(scope: Scope) -> None:
    types = scope.image.types
    functions = scope.image.functions
    for index, descriptor in enumerate(types):
        for number in inner_functions(descriptor):
            if number >= len(functions):
                refuse("V106", f"type {index}", f"it names function {number} of {len(functions)}")
            elif functions[number].captures or not functions[number].params:
                refuse("V105", f"type {index}", f"`{functions[number].name}` captures cells or takes no receiver")
        for number in default_functions(descriptor):
            if number >= len(functions):
                refuse("V106", f"type {index}", f"a default of it is function {number} of {len(functions)}")
            elif functions[number].captures or functions[number].params:
                refuse("V119", f"type {index}", f"the default `{functions[number].name}` captures cells or takes parameters")
        for number in questions(descriptor):
            if number >= len(functions):
                refuse("V106", f"type {index}", f"it names function {number} of {len(functions)}")
            elif functions[number].captures or (descriptor[0] == "channels" and len(functions[number].params) != 1):
                refuse("V105", f"type {index}", f"`{functions[number].name}` captures cells, or takes more than a payload")
        if descriptor[0] == "offers":
            _offers(scope.image, f"type {index}", descriptor)
        for inner in inner_types(descriptor):
            if inner >= len(types):
                refuse("V107", f"type {index}", f"it names type {inner} of {len(types)}")
        _type_names(f"type {index}", descriptor)
    _check_nesting(types)


def _offers(image: i.Image, at: str, descriptor: list[Any]) -> None:
    """Refuse an entry of what is offered that names what is not there (V-3.11)."""
    for number, _ in descriptor[1]:
        if number not in image.exports.functions.values():
            refuse("V106", at, f"it describes function {number}, which is not public")
    for number, _ in descriptor[2]:
        if number >= len(image.models):
            refuse("V106", at, f"it offers model {number} of {len(image.models)}")


def _type_names(at: str, descriptor: list[Any]) -> None:
    head = descriptor[0]
    if head in DECLARED:
        _name(at, descriptor[1])
        for entry in descriptor[2] if head != "trait" else ():
            _identifier(at, entry[0])
            if head == "enum":
                _parts(at, entry)
    elif head in ("record", "error", "handle"):
        for part in descriptor[1:]:
            _name(at, part)
    elif head == "union":
        for member in descriptor[1]:
            _text(at, member)


def _parts(at: str, variant: list[Any]) -> None:
    """Check that the parts of a struct variant all have names, and those of other variants none."""
    names = variant[2:]
    _identifiers(at, names)
    if names and len(names) != len(variant[1]):
        refuse("V107", at, f"variant {variant[0]} has {len(variant[1])} parts and {len(names)} names")


def _check_nesting(types: list[Any]) -> None:
    """Refuse a type without a name that holds itself, which would have no end, nests deeper than DEEPEST_TYPE or is made of more
    than HEAVIEST_TYPE types: walks over a type take as many steps, though the table has parts that stand often only once. A
    declared type counts as one."""
    sizes = {index: (1, 1) for index, descriptor in enumerate(types) if descriptor[0] in DECLARED}  # (depth, weight) by type
    for start in range(len(types)):
        walk = [] if start in sizes else [(start, inner_types(types[start]))]
        path = {start}
        while walk:
            index, rest = walk[-1]
            inner = next((t for t in rest if t < len(types) and t not in sizes), None)
            if inner is None:
                sizes[index] = _size(index, types[index], [sizes[t] for t in inner_types(types[index]) if t in sizes])
                path.discard(index)
                walk.pop()
            elif inner in path:
                refuse("V107", f"type {index}", f"it holds itself through type {inner}")
                return
            else:
                path.add(inner)
                walk.append((inner, inner_types(types[inner])))


def _size(index: int, descriptor: list[Any], parts: list[tuple[int, int]]) -> tuple[int, int]:
    """Return depth and weight of a type whose parts have these, after the limits on both."""
    depth = 1 + max([depth for depth, _ in parts], default=0)
    weight = 1 + sum([weight for _, weight in parts])
    if depth > DEEPEST_TYPE:
        refuse("V107", f"type {index}", f"it nests deeper than {DEEPEST_TYPE}")
    if weight > HEAVIEST_TYPE and descriptor[0] != "errors":  # which is no type, but a list of any number
        refuse("V107", f"type {index}", f"it is made of more than {HEAVIEST_TYPE} types")
    return depth, weight


def _constants(scope: Scope) -> None:
    traits = {descriptor[1] for descriptor in scope.image.types if descriptor[0] == "trait"}
    for index, (kind, value) in enumerate(scope.image.constants):
        at = f"constant {index}"
        if kind == i.K_STRING:
            _text(at, value)
        elif kind == i.K_METHOD:
            trait, _, method = value[0].rpartition("::")
            _identifiers(at, [method, *value[2:]])
            if trait and trait not in traits:
                refuse("V107", at, f"there is no trait {trait!r}")
            if len(value) - 2 > value[1]:
                refuse("V119", at, f"{len(value) - 2} named arguments of {value[1]}")
        elif kind == i.K_BUILTIN:
            _builtin(at, *value)
        elif kind == i.K_ERROR:
            _identifiers(at, [part for part in value if part is not None])
        elif kind == i.K_VARIANT:
            _variant(scope, at, *value)
        elif kind == i.K_CONFIG:
            _config(scope, at, *value)


def _builtin(at: str, receiver: str, name: str) -> None:
    """Check that the receiver of a built-in is a type, a module of the library, or nothing."""
    if receiver:
        _name(at, receiver)
    _identifier(at, name)


def _variant(scope: Scope, at: str, type_index: int, variant: int) -> None:
    types = scope.image.types
    if type_index >= len(types) or types[type_index][0] != "enum":
        refuse("V107", at, f"type {type_index} is no enum")
    elif variant >= len(types[type_index][2]):
        refuse("V107", at, f"type {type_index} has {len(types[type_index][2])} variants")


def _config(scope: Scope, at: str, section: str, entry: int, field: str) -> None:
    if section not in CONFIGURED or entry >= scope.sizes[section]:
        refuse("V108", at, f"there is no entry {entry} of `{section}` to configure")
    _identifiers(at, [field])


def _declarations(scope: Scope) -> None:
    """Check the names of all declarations, then what the entries hold, by kind."""
    for section in DECLARED_SECTIONS:
        for entry in getattr(scope.image, section):
            _name(f"{type(entry).__name__.lower()} {entry.name!r}", entry.name)
    for section, check in CHECKS.items():
        for index, entry in enumerate(getattr(scope.image, section)):
            check(scope, f"{type(entry).__name__.lower()} {index}", entry)


def _schema(scope: Scope, at: str, schema: i.Schema) -> None:
    """Check that a schema is of a type with fields, and its validators are functions of one value."""
    functions = scope.image.functions
    if schema.type >= len(scope.fields) or scope.fields[schema.type] is None:
        refuse("V107", at, f"type {schema.type} has no fields")
    for number in schema.validators:
        if number >= len(functions):
            refuse("V106", at, f"there is no function {number}")
        elif functions[number].captures or scope.parameters[number] != 1:
            refuse("V119", at, f"validator {number} is no function of one value")


def _hashmap(scope: Scope, at: str, store: i.HashMap) -> None:
    if max(store.key, store.value) >= len(scope.image.types):
        refuse("V107", at, f"there is no type {max(store.key, store.value)}")
    if store.shape is not None and (not _is_object(store.shape) or len(store.shape[3]) != 2):
        refuse("V119", at, "its shape is no object of a key and its value")


def _memory(scope: Scope, at: str, memory: i.Memory) -> None:
    """Check what a memory is a view of, the values of its steps, and that its context exists."""
    _view(scope, at, memory)
    wrong = written_problem(memory.max_messages, memory.steps)
    if wrong is not None:
        refuse("V119", at, wrong)
    if memory.context is not None and memory.context >= len(scope.image.contexts):
        refuse("V108", at, f"there is no context {memory.context}")


def _model(scope: Scope, at: str, model: i.Model) -> None:
    """Check that what a model names exists: the function of its computed fields, memories without keys, what offers tools, and
    the models that take its calls over."""
    image = scope.image
    if model.computed is not None:
        _entry(image, at, model.computed)
    for number in i.memories_of(model):
        if number >= len(image.memories):
            refuse("V108", at, f"there is no memory {number}")
        elif _is_keyed(scope, number):
            refuse("V119", at, f"memory {number} has keys: a model has none for it")
    for section, number, _ in model.tools:
        if section not in OFFERING or number >= scope.sizes[section]:
            refuse("V108", at, f"there is no entry {number} of `{section}` with tools")
        if section == "memories" and _is_keyed(scope, number):
            refuse("V119", at, f"memory {number} has keys: it is no log with tools")
        if section == "hashmaps" and image.hashmaps[number].shape is None:
            refuse("V119", at, f"hashmap {number} has no shape for tools")
    for name in i.fallbacks_of(model):
        if name not in scope.models:
            refuse("V108", at, f"there is no model {name!r} to fall back to")


def _server(scope: Scope, at: str, server: i.Mcp) -> None:
    for name, wire, _, shape, result in server.methods:
        _identifier(at, name)
        _text(at, wire)
        if not _is_object(shape) or not _is_object(result) or len(result[3]) != 1:
            refuse("V119", at, f"arguments or result of `{name}` have no shape")


def _is_keyed(scope: Scope, number: int) -> bool:
    """Return whether memory number `number`, or the one that it is a view of, has `.per(…)`. Views must lead to a log."""
    if not scope.logs:
        scope.logs = i.logs_of(scope.image.memories)
    return bool(scope.logs[number].steps.get("keys"))


def _view(scope: Scope, at: str, memory: i.Memory) -> None:
    """Check that a view leads to a log, through views that show units of it (M-9.15); and that one that shows only its summary
    has one (M-9.17)."""
    memories = scope.image.memories
    visited = {memory}
    shown = memory
    # A view that has passed is not followed again: what it is of has passed with it.
    while shown.of is not None and shown not in scope.views:
        if shown.of >= len(memories) or memories[shown.of] in visited:
            refuse("V108", at, f"there is no memory {shown.of} with a log to show")
        shown = memories[shown.of]
        visited.add(shown)
        if shown.of is not None and ("shape" in shown.steps or "only" in shown.steps):
            refuse("V119", at, "the view it is of shows no units of a log")
    scope.views |= visited
    if "only" in memory.steps and ("summary" not in memory.steps or "shape" in memory.steps):
        refuse("V119", at, "`only` has a summary and nothing else to show")


def _context(scope: Scope, at: str, context: i.Context) -> None:
    """Check that a context's slots have types, and defaults without parameters, and that functions that use them exist
    (O-10.15)."""
    image = scope.image
    names = {slot[1] for slot in context.slots}
    _identifiers(at, (slot[1] for slot in context.slots))
    if len(names) < len(context.slots):
        refuse("V119", at, "two slots have one name")
    for _, name, type_index, _, default, *was in context.slots:
        if len(was) > 1 or was == [name]:
            refuse("V119", at, f"the slot {name} has one name before, another one")
        if type_index >= len(image.types):
            refuse("V107", at, f"there is no type {type_index}")
        if default is not None:
            _entry(image, f"{at}, slot {name}", default)
    for number, _, _, used in context.uses:
        if number >= len(image.functions):
            refuse("V106", at, f"there is no function {number}")
        elif not names.issuperset(used):
            refuse("V108", at, "a function uses a slot that it does not have")


def _tool(scope: Scope, at: str, tool: i.Tool) -> None:
    """Check that a tool's state is a struct, and that a method takes the state or nothing, then what its shape lists
    (O-10.11)."""
    if tool.state >= len(scope.fields) or scope.fields[tool.state] is None:
        refuse("V107", at, f"type {tool.state} has no fields")
    for name, number, wire, _, shape, *_ in tool.methods:
        _identifier(at, name)
        _text(at, wire)
        if number >= len(scope.image.functions):
            refuse("V106", at, f"there is no function {number}")
        elif not _is_object(shape):
            refuse("V119", at, f"the arguments of `{name}` have no shape")
        elif scope.parameters[number] - len(shape[3]) not in (0, 1) or scope.image.functions[number].captures:
            refuse("V119", at, f"`{name}` takes {scope.parameters[number]} parameters, its shape lists {len(shape[3])}")
        elif not _gives_state(scope, scope.image.functions[number]):
            refuse("V119", at, f"`{name}` changes its state and gives no pair of result and state")


def _gives_state(scope: Scope, function: i.Function) -> bool:
    """Return whether a method with `mut self` has the result of one."""
    types = scope.image.types
    result = types[function.result] if function.result < len(types) else ["nil"]
    return not function.flags & i.F_INOUT or (result[0] == "tuple" and len(result[1]) == 2)


def _is_object(shape: Any) -> bool:
    """Return whether a value is `["object", name, modes, fields]` with named fields."""
    if type(shape) is not list or len(shape) != 4 or shape[0] != "object" or type(shape[3]) is not list:
        return False
    return all(type(field) is list and len(field) == 6 and type(field[0]) is str for field in shape[3])


def _pipeline(scope: Scope, at: str, pipeline: i.Pipeline) -> None:
    """Check that a pipeline's types exist, and that each stage has a function of one value or, for an expression, of all values
    before it."""
    functions = scope.image.functions
    types = [pipeline.input, pipeline.output]
    for number, (name, takes, gives, decorators, function) in enumerate(pipeline.stages, 1):
        _identifiers(at, [name, *(decorator for decorator, _ in decorators)])
        types += [gives] if takes is None else [takes, gives]
        if function >= len(functions):
            refuse("V106", at, f"stage `{name}` is function {function} of {len(functions)}")
        elif functions[function].captures:
            refuse("V105", at, f"stage `{name}` captures cells")
        elif scope.parameters[function] != (number if takes is None else 1):
            refuse("V119", at, f"stage `{name}` has a function of {scope.parameters[function]} parameters")
    if max(types) >= len(scope.image.types):
        refuse("V107", at, f"there is no type {max(types)}")


def _embedder(scope: Scope, at: str, embedder: i.Embedder) -> None:
    if not is_embedder(embedder.table):
        refuse("V119", at, "its table is none of an embedder")


def _index(scope: Scope, at: str, index: i.Index) -> None:
    if index.value >= len(scope.image.types):
        refuse("V107", at, f"there is no type {index.value}")
    if index.embedder is not None and not is_embedder(index.embedder):
        refuse("V119", at, "its table is none of an embedder")
    if index.store is not None and not (is_store(index.store) and index.store["kind"] in INDEX_STORE_KINDS):
        refuse("V119", at, "its table is none of a store")


def _extern(scope: Scope, at: str, extern: i.Extern) -> None:
    """Check that the names of a function of Python are dotted ones, and that a function without cells calls it."""
    for part in (*extern.module.split("."), *extern.attribute.split("."), *(name for name, _ in extern.decorators)):
        _identifier(at, part)
    if extern.function >= len(scope.image.functions):
        refuse("V106", at, f"there is no function {extern.function}")
    elif scope.image.functions[extern.function].captures:
        refuse("V105", at, "the function that calls it captures cells")
    if extern.elements is not None and extern.elements >= len(scope.image.types):
        refuse("V107", at, f"there is no type {extern.elements}")


# The checks of an entry beyond its name, in the order in which an image with several faults is refused. Agents, ledgers and
# connections hold nothing that could be wrong here.
CHECKS: dict[str, Callable[[Scope, str, Any], None]] = {
    "schemas": _schema,
    "hashmaps": _hashmap,
    "memories": _memory,
    "contexts": _context,
    "pipelines": _pipeline,
    "models": _model,
    "tools": _tool,
    "mcp": _server,
    "embedders": _embedder,
    "indexes": _index,
    "externs": _extern,
}


def _libraries(scope: Scope) -> None:
    """Check that each library has a name of its own, and that no function or declaration belongs to two (P-3.2)."""
    names: set[str] = set()
    owned: set[tuple[str, int]] = set()
    for library in scope.image.libraries:
        at = f"library {library.name!r}"
        _identifier(at, library.name)
        for text in (library.version, library.distribution, *library.wanted):
            _text(at, text)
        if library.name in names:
            refuse("V119", at, "another library has its name")
        names.add(library.name)
        for section, number in [*(("functions", number) for number in library.functions), *library.entries]:
            if number >= scope.sizes[section]:
                refuse("V106" if section == "functions" else "V108", at, f"there is no entry {number} of `{section}`")
            if (section, number) in owned:
                refuse("V119", at, f"entry {number} of `{section}` belongs to another library or stands here twice")
            owned.add((section, number))


def _entries(scope: Scope) -> None:
    image = scope.image
    entry = [] if image.header.entry is None else [image.header.entry]
    for number in [*entry, *image.exports.init, *(test.function for test in image.tests)]:
        _entry(image, "entry functions", number)
    for name, number in image.exports.functions.items():
        _name("exports", name)
        if number >= len(image.functions):
            refuse("V106", f"export `{name}`", f"there is no function {number}")
        elif image.functions[number].captures:
            refuse("V123", place(image.functions[number]), "it is exported and captures")


def _entry(image: i.Image, at: str, number: int) -> None:
    if number >= len(image.functions):
        refuse("V106", at, f"there is no function {number}")
    elif image.functions[number].params or image.functions[number].captures:
        refuse("V123", place(image.functions[number]), "it is an entry and takes parameters or captures")


# ---------------------------------------------------------------- names


def _text(at: str, text: str) -> None:
    if not is_unicode(text):
        refuse("V125", at, f"{text!r} holds a lone surrogate")


def _name(at: str, name: str) -> None:
    if not is_path(name):
        refuse("V125", at, f"{name!r} is no name")


def _identifier(at: str, name: str) -> None:
    if not is_identifier(name):
        refuse("V125", at, f"{name!r} is no identifier")


def _identifiers(at: str, names: Iterable[str]) -> None:
    for name in names:
        _identifier(at, name)


# ---------------------------------------------------------------- the record of a function


def check_function_tables(scope: Scope, function: i.Function, code: Code) -> None:
    """Check everything in the record of a function but its instructions, which `code` holds decoded (V104 to V107, V112, V117,
    V119, V122, V125)."""
    if not is_path(function.name):
        refuse("V125", f"function {function.name!r}", f"{function.name!r} is no name")
    for check in (_sizes, _parameters, _cells):
        check(scope, function)
    for check_code in (_handlers, _lines):
        check_code(scope, function, code)


def _sizes(scope: Scope, function: i.Function) -> None:
    limits = scope.limits
    for what, size, most in (
        ("stack", function.stack, limits.stack),
        ("locals", function.slots, limits.locals),
        ("cells", function.cells, limits.locals),
    ):
        if size > most:
            refuse("V112", place(function), f"{what}: {size} declared, the limit is {most}")


def _parameters(scope: Scope, function: i.Function) -> None:
    """Check that the default of a parameter is a function of the parameters before it (L-5.9.1)."""
    if len(function.params) > function.slots:
        refuse("V104", place(function), f"{len(function.params)} parameters in {function.slots} locals")
    for index, (name, type_index, default) in enumerate(function.params):
        if not is_identifier(name):
            refuse("V125", place(function), f"{name!r} is no identifier")
        _type_index(scope, function, type_index)
        if default is None:
            continue
        if default >= len(scope.parameters):
            refuse("V106", place(function), f"the default of `{name}` is function {default}")
        elif scope.parameters[default] != index or scope.image.functions[default].captures:
            refuse("V119", place(function), f"the default of `{name}` takes {scope.parameters[default]} of {index}")
    _type_index(scope, function, function.result)


def _type_index(scope: Scope, function: i.Function, index: int) -> None:
    if index >= scope.sizes["types"]:
        refuse("V107", place(function), f"there is no type {index}")


def _cells(scope: Scope, function: i.Function) -> None:
    if len(function.captures) > function.cells:
        refuse("V105", place(function), f"{len(function.captures)} captures in {function.cells} cells")
    if function.flags & i.F_METHOD and (function.captures or not function.params):
        refuse("V105", place(function), "it is a method and captures cells or takes no receiver")
    if function.captures and not function.flags & i.F_CLOSURE:
        refuse("V105", place(function), "it captures cells and is no closure")


def _handlers(scope: Scope, function: i.Function, code: Code) -> None:
    """Check that handler ranges begin and end at instructions, inner before outer, and never cross (V117)."""
    starts, end_of_code = code.index_of, len(function.code)
    for start, end, target, depth in function.handlers:
        at = place(function, f"handler {start}..{end}")
        if start >= end or start not in starts or target not in starts or not (end in starts or end == end_of_code):
            refuse("V117", at, "it does not lie on instructions of the function")
        if depth >= function.stack:
            refuse("V112", at, f"depth {depth} and an error exceed the declared stack of {function.stack}")
    around: list[tuple[int, int]] = []  # (end, place in the list) of the ranges around the next one, innermost last
    for order, (start, end, _, _) in sorted(enumerate(function.handlers), key=_outer_first):
        while around and around[-1][0] <= start:
            around.pop()
        if around and (end > around[-1][0] or order > around[-1][1]):
            refuse("V117", place(function, f"handler {start}..{end}"), "it crosses or follows an outer one")
        around.append((end, order))


def _outer_first(item: tuple[int, list[int]]) -> tuple[int, int, int]:
    order, (start, end, _, _) = item
    return start, -end, -order


def _lines(scope: Scope, function: i.Function, code: Code) -> None:
    files, starts = len(scope.image.source_map), code.index_of
    last = -1
    try:
        for offset, file, _, _ in walk_lines(function.lines):
            if offset <= last or offset not in starts or (last < 0 and offset > 0):
                refuse("V122", place(function), f"line table: offset {offset} after {last}")
            if file >= files:
                refuse("V122", place(function), f"line table: file {file} of {files}")
            last = offset
    except ValueError as error:
        refuse("V122", place(function), str(error))
    if last < 0:
        refuse("V122", place(function), "the line table is empty")


# ----------------------------------------------------------------
# Rules about schemas and the arguments of tools: a shape is a schema type (vm/schema.py) and agrees with the declared types its
# values are made of (V107).

SCALARS = ("string", "int", "float", "bool", "nil", "any", "bytes")
MODES = ("partial", "coerce")  # of an object in a schema type
EFFECTS = ("pure", "idempotent", "once")  # what @effect says of a tool method (O-9.37)
DEEPEST = 64  # levels of a schema type


class Breach(Exception):
    """The text of what is wrong with a schema type."""


def check_schemas(image: Image) -> None:
    """Raise ImageError V107, naming the schema and what does not fit, unless all schemas are well-formed."""
    declared = {entry[1]: entry for entry in image.types if entry[0] in ("struct", "schema", "enum")}
    for schema in image.schemas:
        try:
            _check_schema(schema, image, declared)
        except Breach as breach:
            refuse("V107", f"schema {schema.name}", str(breach))


def _check_schema(schema: Schema, image: Image, declared: dict[str, Any]) -> None:
    if type(schema.shape) is not list or schema.shape[:1] != ["object"]:
        raise Breach("its shape is no object")
    _check(schema.shape, declared, (), 0)
    if image.types[schema.type : schema.type + 1] != [declared[bare_name(schema.shape[1])]]:
        raise Breach("its shape has the name of another type")
    if (schema.plain, schema.strict) != (plain_form(schema.shape), strict_form(schema.shape)):
        raise Breach("its JSON Schemas are not those of its shape")


def check_tools(image: Image) -> None:
    """Raise ImageError V107, naming the tool, hashmap or MCP server and what does not fit, unless all shapes of tools, and those
    of what else offers tools, are well-formed. `check_tables` must have passed: it checks that arguments are an object."""
    declared = {entry[1]: entry for entry in image.types if entry[0] in ("struct", "schema", "enum")}
    for tool in image.tools:
        for name, _, _, _, shape, schema, _, effect in tool.methods:
            try:
                if shape[2] != [] or any(not _is_field(field) for field in shape[3]):
                    raise Breach("a malformed parameter")
                for field in shape[3]:
                    _check(field[1], declared, (), 0)
                if schema != arguments_form(shape):
                    raise Breach("its JSON Schema is not that of its arguments")
                if effect is not None and effect not in EFFECTS:
                    raise Breach(f"there is no class of effects {effect}")
            except Breach as breach:
                refuse("V107", f"tool {tool.name}, method {name}", str(breach))
    for store in image.hashmaps:
        for field in () if store.shape is None else store.shape[3]:
            if not _is_field(field):
                refuse("V107", f"hashmap {store.name}", "a malformed field")
            try:
                _check(field[1], declared, (), 0)
            except Breach as breach:
                refuse("V107", f"hashmap {store.name}", str(breach))
    for server in image.mcp:
        for name, _, _, shape, result in server.methods:
            try:
                for field in (*shape[3], *result[3]):
                    if not _is_field(field):
                        raise Breach("a malformed parameter")
                    _check(field[1], declared, (), 0)
            except Breach as breach:
                refuse("V107", f"mcp {server.name}, method {name}", str(breach))


def _check(shape: Any, declared: dict[str, Any], around: tuple[str, ...], depth: int) -> None:
    if type(shape) is not list or not shape or type(shape[0]) is not str or depth > DEEPEST:
        raise Breach("a schema type expected")
    tag = shape[0]
    if tag in SCALARS and len(shape) == 1:
        return
    if tag in ("array", "map") and len(shape) == 2:
        _check(shape[1], declared, around, depth + 1)
    elif tag == "ref" and len(shape) == 2 and shape[1] in around:
        return
    elif tag == "enum" and len(shape) == 3:
        _check_enum(shape, declared)
    elif tag == "object" and len(shape) == 4:
        _check_object(shape, declared, around, depth)
    elif tag == "sum" and len(shape) == 3:
        _check_sum(shape, declared, around, depth)
    else:
        raise Breach(f"no schema type has the form {tag}")


def _check_enum(shape: list[Any], declared: dict[str, Any]) -> None:
    _, texts, name = shape
    if type(texts) is not list or not texts or not all(type(t) is str for t in texts):
        raise Breach("an enum without texts")
    if name is None:
        return
    entry = declared.get(name) if type(name) is str else None
    if entry is None or entry[0] != "enum" or [v[0] for v in entry[2]] != texts:
        raise Breach(f"no enum type {name} has these variants")


def _check_object(shape: list[Any], declared: dict[str, Any], around: tuple[str, ...], depth: int) -> None:
    _, name, modes, fields = shape
    entry = declared.get(bare_name(name)) if type(name) is str else None
    if entry is None or entry[0] == "enum":
        raise Breach(f"no struct or schema type is called {name}")
    if type(modes) is not list or any(mode not in MODES for mode in modes) or len(set(modes)) < len(modes):
        raise Breach(f"{name} has an unknown mode, or one twice")
    if type(fields) is not list or any(not _is_field(field) for field in fields):
        raise Breach(f"{name} has a malformed field")
    if [field[0] for field in fields] != [field[0] for field in entry[2]]:
        raise Breach(f"the fields of {name} differ from those of its type")
    for field in fields:
        _check(field[1], declared, (*around, name), depth + 1)


def _check_sum(shape: list[Any], declared: dict[str, Any], around: tuple[str, ...], depth: int) -> None:
    _, name, variants = shape
    entry = declared.get(bare_name(name)) if type(name) is str else None
    if entry is None or entry[0] != "enum":
        raise Breach(f"no enum type is called {name}")
    if type(variants) is not list or len(variants) != len(entry[2]):
        raise Breach(f"the variants of {name} differ from those of its type")
    for variant, own in zip(variants, entry[2], strict=True):
        if type(variant) is not list or len(variant) != 4 or variant[0] != own[0]:
            raise Breach(f"the variants of {name} differ from those of its type")
        _, form, parts, description = variant
        if description is not None and type(description) is not str:
            raise Breach(f"{name} has a malformed variant")
        if type(parts) is not list or len(parts) != len(own[1]) or any(not _is_field(part) for part in parts):
            raise Breach(f"{name} has a malformed payload")
        # A variant has names in the table of types if it is one with fields.
        names = own[2:] if form == "struct" else [str(number) for number in range(len(parts))]
        expected = "unit" if not parts else "struct" if own[2:] else "tuple"
        if form != expected or [part[0] for part in parts] != names:
            raise Breach(f"{name} has a malformed payload")
        for part in parts:
            _check(part[1], declared, (*around, name), depth + 1)


def _is_field(field: Any) -> bool:
    """Return whether a value is [name, type, optional, has_default, default, description]."""
    if type(field) is not list or len(field) != 6:
        return False
    name, _, optional, has_default, _, description = field
    flags = type(optional) is bool and type(has_default) is bool
    return type(name) is str and flags and (description is None or type(description) is str)
