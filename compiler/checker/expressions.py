"""Literals, names, collections and struct literals (L-3.2, L-3.4, L-3.9.1).

Hands on the rules of these forms to `program`: RULES, and STRUCT_RULES for struct literals. A rule takes the state, the node and
what is expected, and returns the type, ERRONEOUS where a mistake leaves none; `path_expr` decides what a name means as a value. A
new literal is a row of RULES. Operators, calls and branches have files of their own. Mistakes are reported to the state `c` by a
code (E…), and not raised; what a place expects guides a literal, but the place converts the value. Names were resolved before
(`node.binding`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from ...vm.providers import PROVIDERS
from ...vm.values.errors import FAMILIES
from ..hints.names import did_you_mean, everyday_name, listed
from ..resolver.names import STORES
from ..resolver.state import ErroneousSymbol
from ..source import quoted
from ..symbols import (
    AgentSymbol,
    AliasSymbol,
    BuiltinSymbol,
    ConnectionSymbol,
    ConstSymbol,
    ContextSymbol,
    EmbedderSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    FunctionSymbol,
    HashMapSymbol,
    IndexSymbol,
    LedgerSymbol,
    Local,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    ModuleSymbol,
    PipelineSymbol,
    StdFunctionSymbol,
    StdModuleSymbol,
    StructSymbol,
    Symbol,
    ToolSymbol,
    TraitItemSymbol,
    TraitSymbol,
    TypeParameterSymbol,
    VariantSymbol,
)
from ..syntax import ast
from ..types import (
    AGENT_REF,
    ANY,
    BOOL,
    EMBEDDER_REF,
    FLOAT,
    INT,
    LEDGER,
    MCP_REF,
    MODEL_REF,
    NEVER,
    NIL,
    OPEN,
    RANGE,
    SCHEMA_REF,
    STRING,
    TOOL_REF,
    Function,
    Nilable,
    Nominal,
    Tuple,
    Type,
    Union,
    array,
    error,
    map_,
    option,
    result,
)
from .arguments import function_value
from .calls import std_function
from .comparisons import words_help
from .context_declarations import memory_type
from .declarations import RECORD_FIELDS, WRITTEN, may_be_left_out
from .functions import pipeline_type
from .impls import require_visible_method
from .memory import check_memory
from .operators import require_visible
from .relations import ERRONEOUS, MISMATCH, convert, generic, is_complete, join, join_values
from .signatures import Bindings
from .state import Checker, Expected, ExpressionRule, private_fields
from .stores import store_help
from .tests import refuse_test
from .tools import private_tool_method
from .trait_calls import at_run_time, named_method, of_any
from .types import RECORDS, Instance, check_key_type, written_arguments, written_type

# Keys of known providers (G-10.1).
KEY_SHAPE = re.compile("|".join(dict.fromkeys(row.key_shape for row in PROVIDERS.values() if row.key_shape)))


def peel(expected: Expected) -> Type | None:
    """Return the type that a literal may have where it stands: T for `T?` and `Option<T>`, which it is wrapped into, and at the
    end of a function for `Result<T, E>`; None where no type is expected."""
    type_ = expected.type
    if expected.ends and (sides := generic(type_, "Result")):
        type_ = sides[0]
    while isinstance(type_, Nilable) or generic(type_, "Option"):
        type_ = type_.inner if isinstance(type_, Nilable) else type_.arguments[0]  # type: ignore[union-attr]
    return type_


# Literals and names.


def int_literal(c: Checker, node: ast.IntLiteral, expected: Expected) -> Type:
    """Return Int, also where a Float is expected: the place converts it."""
    return INT


def float_literal(c: Checker, node: ast.FloatLiteral, expected: Expected) -> Type:
    return FLOAT


def bool_literal(c: Checker, node: ast.BoolLiteral, expected: Expected) -> Type:
    return BOOL


def nil_literal(c: Checker, node: ast.NilLiteral, expected: Expected) -> Type:
    return NIL


def string_literal(c: Checker, node: ast.StringLiteral, expected: Expected) -> Type:
    """Return String, or the string union that is expected and has the text as a member (L-3.3.8); ERRONEOUS for a text that is
    none of its members, which is reported with the code of the place. One that looks like a provider's key is reported too
    (E4005)."""
    if KEY_SHAPE.fullmatch(node.value):
        c.report("E4005", node.span, "this text has the shape of a provider key", help='read it with `env("NAME")`')
    wanted = peel(expected)
    if not isinstance(wanted, Union) or wanted.holds(node.value):
        return wanted if isinstance(wanted, Union) else STRING
    return c.report(
        expected.code, node.span, f"expected `{wanted}`, found `{quoted(node.value)}`",
        help=words_help(node.value, wanted),
    )  # fmt: skip


def interpolation(c: Checker, node: ast.Interpolation, expected: Expected) -> Type:
    """Return String; a hole takes every type."""
    for part in node.parts:
        c.narrowed(part, c.infer(part))
    return STRING


def group(c: Checker, node: ast.GroupExpr, expected: Expected) -> Type:
    """Return the type of what stands in the brackets, converted there if the expected type is known in full."""
    return c.tail(node.inner, expected)


def path_expr(c: Checker, node: ast.PathExpr, expected: Expected) -> Type:
    """Return the type of a name or path as a value, ERRONEOUS after a report that leaves none; E1001 for what is none: a module,
    a trait, a type other than a schema, a context, a connection; E2028 for type arguments of what takes none; further codes for
    what needs more than its name here: E2012 for a variant with named fields, E2029 for a generic schema, E4501 and E4004 for
    constructors of memories and stores. A memory is checked here if its turn has not come."""
    symbol = node.binding
    known = symbol is not None and not isinstance(symbol, (BuiltinSymbol, ErroneousSymbol))
    if node.type_arguments is not None and known and not _is_generic(symbol):
        return c.report("E2028", node.span, f"`{path_text(node)}` takes no type arguments", help="drop the `<…>`")
    match symbol:
        case Local() | ConstSymbol():
            return symbol.type
        case FunctionSymbol(tool=ToolSymbol() | McpSymbol()) if node.segments[0].text != "Self":
            return _tool_method_value(c, node, symbol)
        case FunctionSymbol():
            require_visible_method(c, symbol, node.member or node.segments[-1])
            refuse_test(c, symbol, node.span)
            return function_type(c, node, symbol, expected)
        case TraitItemSymbol():
            return _trait_item_value(c, node, symbol, expected)
        case VariantSymbol():
            return _variant_value(c, node, symbol, expected)
        case ModelSymbol():
            return c.models.get(symbol, MODEL_REF)
        case AgentSymbol():
            return AGENT_REF
        # A body may use a memory before its turn: its type depends on its steps.
        case MemorySymbol():
            check_memory(c, symbol)
            return memory_type(symbol)
        case ToolSymbol():
            return c.tools.get(symbol, TOOL_REF)
        case McpSymbol():
            return MCP_REF
        case HashMapSymbol():
            return symbol.type
        case LedgerSymbol():
            return LEDGER
        case IndexSymbol():
            return symbol.type
        case EmbedderSymbol():
            return EMBEDDER_REF
        case PipelineSymbol():
            return pipeline_type(c, symbol)
        case BuiltinSymbol():
            return _builtin_value(c, node, symbol.name, expected)
        case StdFunctionSymbol():
            return std_function(c, node, symbol)
        case ModuleSymbol() | StdModuleSymbol():
            return c.report(
                "E1001", node.span, f"`{path_text(node)}` is a module, not a value",
                help=f"name something in it: `{path_text(node)}::…`",
            )
        # `F::new` without a call is the function that makes the error, `F::V` the error itself.
        case ErrorFamilySymbol() if len(node.segments) > 1:
            family = error(symbol.name)
            return family if symbol.variant is not None else Function((STRING,), family)
    return _report_no_value(c, node, symbol)


def _tool_method_value(c: Checker, node: ast.PathExpr, method: FunctionSymbol) -> Type:
    """Return the type of a tool's method that is not called: a function of the parameters that a call takes (O-4.6)."""
    assert isinstance(method.tool, (ToolSymbol, McpSymbol))
    if method not in method.tool.arguments:
        return private_tool_method(c, node.member or node.segments[-1], method)
    return Function(tuple(method.parameters[method.takes_self :]), method.result)


def function_type(
    c: Checker, node: ast.PathExpr, symbol: FunctionSymbol, expected: Expected, inside: Bindings | None = None
) -> Type:
    """Return the type of a function that is not called; of a generic one with the type arguments that are written, known by
    `inside` (by the names of type parameters), or expected. E2029 if none says them, E2026 for one that does not meet its
    bounds."""
    own = Function(tuple(symbol.parameters), symbol.result)
    instance = Instance(c, symbol.path, symbol.all_type_parameters)
    if not instance.names:
        return own
    written_arguments(c, node, symbol, instance)
    instance.bindings.update(inside or {})
    if instance.is_open:
        instance.expect(own, expected)
        instance.use_hints()
        instance.require_all(node.span, f"write `{symbol.path}<…>`")
    instance.require_bounds(node.span)
    return instance.type(own)


def _trait_item_value(c: Checker, node: ast.PathExpr, item: TraitItemSymbol, expected: Expected) -> Type:
    """Return the type of `X::m` as a function of any value of X, or of `T::m` as the function it is (L-3.8.3)."""
    name = node.member or node.segments[-1]
    if not item.name:
        return c.report("E1001", node.span, f"`{path_text(node)}` is a trait, not a value", help="name a method of it")
    # `X::m` of a method: the impl is chosen at run time by the receiver.
    if not item.of_type and item.trait is not None and item.trait.methods[item.name].takes_self:
        return _method_of_any(c, item.trait, name, expected)
    chosen = named_method(c, item, name, [])
    if chosen is None:
        return ERRONEOUS
    # Which method is meant is known only by types: codegen reads the binding.
    node.binding = chosen.symbol
    require_visible_method(c, chosen.symbol, name)
    return function_type(c, node, chosen.symbol, expected, chosen.inside)


def _method_of_any(c: Checker, trait: TraitSymbol, name: ast.Ident, expected: Expected) -> Type:
    trait_type = of_any(trait)
    chosen = at_run_time(trait, trait_type, name.text)
    require_visible_method(c, chosen.symbol, name)
    instance = Instance(c, chosen.symbol.path, chosen.symbol.all_type_parameters)
    instance.bindings.update(chosen.inside, Self=trait_type)
    own = Function(tuple(chosen.symbol.parameters), chosen.symbol.result)
    if instance.is_open:
        instance.expect(own, expected)
        instance.use_hints()
        instance.require_all(name.span, "call it in a closure: `|x| x.m(…)`")
    return instance.type(own)


def _variant_value(c: Checker, node: ast.PathExpr, symbol: VariantSymbol, expected: Expected) -> Type:
    """Return the type of a unit variant, or of a tuple variant as the function that makes it (L-3.8.3)."""
    instance = Instance(c, symbol.enum.name, symbol.enum.type_parameters)
    own = symbol.enum.type
    # Not called, a tuple variant is the function that makes it.
    if symbol.form == "tuple":
        own = Function(tuple(type_ for _, type_, _, _ in symbol.fields), own)
    if node.type_arguments is not None:
        instance.explicit(instance.names, [written_type(c, argument) for argument in node.type_arguments], node.span)
    elif instance.names:
        instance.expect(own, expected)
        instance.use_hints()
    if symbol.form != "struct":
        return instance.type(own)
    help = f"write `{path_text(node)} {{ … }}`"
    return c.report("E2012", node.span, f"`{path_text(node)}` lacks its fields", help=help)


def _is_generic(symbol: Symbol | None) -> bool:
    if isinstance(symbol, FunctionSymbol):
        return bool(symbol.all_type_parameters)
    return isinstance(symbol, TraitItemSymbol) or (isinstance(symbol, VariantSymbol) and bool(symbol.enum.type_parameters))


def path_text(node: ast.PathExpr) -> str:
    """Return a path as the source has it, `a::b`."""
    return "::".join(segment.text for segment in [*node.segments, *([node.member] if node.member else [])])


def _report_no_value(c: Checker, node: ast.PathExpr, symbol: Symbol | None) -> Type:
    if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Schema):
        if not symbol.type_parameters:
            return SCHEMA_REF
        help = f"give its type arguments where it is used: `execute<{symbol.type}>(…)`"
        return c.report("E2029", node.span, f"the type arguments of `{symbol.name}` cannot be found", help=help)
    if isinstance(symbol, (StructSymbol, EnumSymbol, AliasSymbol, ErrorFamilySymbol, TraitSymbol, TypeParameterSymbol)):
        return c.report("E1001", node.span, f"`{path_text(node)}` is a type, not a value", help=_type_help(c, node, symbol))
    if isinstance(symbol, ContextSymbol):
        help = f"a memory has its slots: `Memory::new().context({symbol.name})`"
        return c.report("E1001", node.span, f"`{path_text(node)}` is a context, not a value", help=help)
    if isinstance(symbol, ConnectionSymbol):
        return c.report(
            "E1001", node.span, f"`{path_text(node)}` is a connection, not a value",
            help=f"a model names it: `provider: {path_text(node)}`",
        )
    return ERRONEOUS


def _type_help(c: Checker, node: ast.PathExpr, symbol: Symbol) -> str | None:
    """Return the help: how a value of the type is written."""
    if isinstance(symbol, AliasSymbol):
        symbol = c.declared(symbol.type) or symbol
    if isinstance(symbol, StructSymbol):
        return f"write a literal: `{symbol.name} {{ {', '.join(f'{name}: …' for name, _, _, _ in symbol.fields[:3])} }}`"
    if isinstance(symbol, EnumSymbol) and symbol.variants:
        # `Colour.Red` is how other languages write it: the word behind the dot may be the variant that is meant.
        dotted = re.compile(r"\s*\.\s*(\w+)").match(c.sources[node.span.file].text, node.span.end)
        variant = dotted[1] if dotted is not None and dotted[1] in symbol.variants else next(iter(symbol.variants))
        return f"a variant is written `{symbol.name}::{variant}`"
    if isinstance(symbol, TypeParameterSymbol):
        return "name a value of it, such as a parameter of that type"
    return f"make one: `{symbol.name}::new(…)`" if isinstance(symbol, ErrorFamilySymbol) else None


def _builtin_value(c: Checker, node: ast.PathExpr, name: str, expected: Expected) -> Type:
    """Return the type of a predeclared name that is not called (L-3.8.3)."""
    wanted = expected.type
    if name == "None":
        inside = generic(wanted, "Option")
        return option(inside[0] if inside else OPEN)
    if name in ("Some", "Ok", "Err"):
        payload = wanted.parameters[0] if isinstance(wanted, Function) and len(wanted.parameters) == 1 else ANY
        payload = ANY if payload == OPEN else payload
        whole = {"Some": option(payload), "Ok": result(payload, ANY), "Err": result(ANY, payload)}[name]
        return Function((payload,), whole)
    if name.startswith("Memory::"):
        return c.report("E4501", node.span, f"`{name}` is called where it stands", help="write `|| Memory::new()`")
    record, _, constructor = name.partition("::")
    if record in STORES and constructor:
        return c.report("E4004", node.span, f"`{name}` stands in a declaration only", help=store_help(record))
    signature = function_value(c, node, name)
    if signature is not None:
        return signature
    return c.report("E1001", node.span, f"`{name}` is a type, not a value", help=everyday_name(name) or "write a value of it")


# Collections.


def array_expr(c: Checker, node: ast.ArrayExpr, expected: Expected) -> Type:
    """Return the type of `[a, b]`; an empty one is open where the place says no type, so that its first use says it."""
    wanted = peel(expected)
    # Where Any is expected its elements may be anything, so that they need no join.
    inside = (ANY,) if wanted == ANY else generic(wanted, "Array")
    item = inside[0] if inside else None
    return array(elements(c, node.items, expected.of(item), "element"))


# The annotation that takes elements of different types.
WIDER = {"element": "Array<Any>", "key": "Map<Any, …>", "value": "Map<String, Any>"}


def elements(c: Checker, items: list[ast.Expr], expected: Expected, word: str) -> Type:
    """Return the type of the elements of a literal: the expected one if it is known in full, or their join, to which they are
    converted; OPEN for none. ERRONEOUS after a report (E2018) where they have no join; for values of a Map it is Any then. `word`
    is what the message calls an element, a key of WIDER; "value" stands for the values of a Map."""
    if expected.concrete:
        for item in items:
            c.value(item, expected)
        return expected.type or ANY
    typed = [(item, c.infer(item, expected)) for item in items]
    joined: Type = OPEN
    for position, (item, type_) in enumerate(typed, 1):
        # The values of a Map stay what they are, so that JSON with Options in it prints as it is written.
        wider = join(joined, type_) if word == "value" else join_values(joined, type_)
        # An object of mixed values is a Map<…, Any>: JSON is written so.
        if wider is None and word == "value":
            return ANY
        if wider is None:
            return c.report(
                "E2018", item.span, f"{word} {position} is `{type_}`, the ones before are `{joined}`",
                help=f"annotate `{WIDER[word]}`",
            )  # fmt: skip
        joined = wider
    for item, type_ in typed:
        coercion = convert(type_, joined)
        item.coercion = None if coercion is MISMATCH else coercion
    return joined


def map_expr(c: Checker, node: ast.MapExpr, expected: Expected) -> Type:
    """Return the type of `{ k: v }`; report literal keys that stand twice (E2020), keys of types without a join (E2018) and types
    that cannot be keys (E2019)."""
    wanted = peel(expected)
    inside = (None, ANY) if wanted == ANY else generic(wanted, "Map") or (None, None)
    _report_duplicate_keys(c, node)
    key = elements(c, [entry.key for entry in node.entries], expected.of(inside[0]), "key")
    for entry in node.entries:
        if entry.key.type is not ERRONEOUS:
            check_key_type(c, entry.key, entry.key.type)
    value = elements(c, [entry.value for entry in node.entries], expected.of(inside[1]), "value")
    if key == OPEN and wanted == ANY:
        key = ANY
    return map_(key, value)


def _report_duplicate_keys(c: Checker, node: ast.MapExpr) -> None:
    seen: dict[tuple[type, object], ast.MapEntry] = {}
    for entry in node.entries:
        if isinstance(entry.key, (ast.StringLiteral, ast.IntLiteral, ast.BoolLiteral)):
            # With the kind of literal: 1, true and "1" are different keys.
            key = (type(entry.key), entry.key.value)
            if key in seen:
                text = quoted(entry.key.value) if isinstance(entry.key, ast.StringLiteral) else str(entry.key.value)
                c.report(
                    "E2020", entry.key.span, f"the key {text} stands twice", first=seen[key].key.span,
                    help="remove one of the two",
                )
            seen.setdefault(key, entry)


def tuple_expr(c: Checker, node: ast.TupleExpr, expected: Expected) -> Type:
    """Return the type of `(a, b)`; a tuple type of as many parts that is expected guides them."""
    wanted = peel(expected)
    items: list[Type | None] = [None] * len(node.items)
    if isinstance(wanted, Tuple) and len(wanted.items) == len(node.items):
        items = list(wanted.items)
    elif wanted == ANY:
        items = [ANY] * len(node.items)
    return Tuple(tuple([c.tail(item, expected.of(type_)) for item, type_ in zip(node.items, items, strict=True)]))


def range_expr(c: Checker, node: ast.RangeExpr, expected: Expected) -> Type:
    """Return Range; its bounds are Ints, or Any, which is checked at run time; others are reported (E2002), and for an Array
    ERRONEOUS is returned."""
    operator = "..=" if node.inclusive else ".."
    for bound in (node.start, node.end):
        if bound is None:
            continue
        actual = c.narrowed(bound, c.infer(bound))
        if generic(actual, "Array") is not None:
            help = f"an array is put behind another by `[…].concat({c.text(bound)[1:-1]})`"
            return c.report("E2002", bound.span, f"`{operator}` takes Int bounds, found `{actual}`", help=help)
        if actual not in (INT, ANY, NEVER):
            c.report("E2002", bound.span, f"`{operator}` takes Int bounds, found `{actual}`", help="cast it: `as Int`")
        else:
            c.coerce(bound, actual, Expected(INT))
    return RANGE


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.IntLiteral: int_literal,
    ast.FloatLiteral: float_literal,
    ast.BoolLiteral: bool_literal,
    ast.NilLiteral: nil_literal,
    ast.StringLiteral: string_literal,
    ast.Interpolation: interpolation,
    ast.GroupExpr: group,
    ast.PathExpr: path_expr,
    ast.ArrayExpr: array_expr,
    ast.MapExpr: map_expr,
    ast.TupleExpr: tuple_expr,
    ast.RangeExpr: range_expr,
}


# Struct literals: of structs, schemas, struct variants, records and error families (L-3.9.1, L-3.11.13, L-6.9.6).


def struct_expr(c: Checker, node: ast.StructExpr, expected: Expected) -> Type:
    """Return the type of `T { field: value, ..base }`, ERRONEOUS after a report that T has no literals (E1002). E2012 for fields
    that are missing, E2013 for one that is unknown or stands twice, E1006 for private ones, E2001 for a value of another type."""
    symbol = node.binding
    if isinstance(symbol, AliasSymbol):
        symbol = node.binding = c.declared(symbol.type) or symbol
    match symbol:
        case StructSymbol():
            return _struct_literal(c, node, symbol, expected)
        case ErrorFamilySymbol():
            return _error_literal(c, node, symbol)
        case VariantSymbol(form="struct"):
            return _variant_literal(c, node, symbol, expected)
        case BuiltinSymbol() if symbol.name in WRITTEN:
            types = RECORD_FIELDS[symbol.name]
            fields = Fields(types, [name for name in types if not may_be_left_out(symbol.name, name)])
            return _check_fields(c, node, RECORDS[symbol.name], fields, Instance(c, symbol.name, ()))
    for entry in node.fields:
        c.infer(entry.value)
    is_other = symbol is not None and not isinstance(symbol, ErroneousSymbol)
    if is_other and isinstance(symbol, BuiltinSymbol) and symbol.name in RECORDS:
        help = "literals make " + ", ".join(f"`{name}`" for name in WRITTEN)
        c.report("E1002", node.path[-1].span, f"`{symbol.name}` has no literal: the runtime makes it", help=help)
    elif is_other:
        c.report("E1002", node.path[-1].span, f"`{node.path[-1].text}` is not a struct", help="only structs have literals")
    return ERRONEOUS


class Fields(NamedTuple):
    """The fields that a literal may give, with their types, and the names of those it must give, in the order of the
    declaration."""

    types: Mapping[str, Type]
    needed: Sequence[str]


NAMES_SHOWN = 20  # fields that a message names


def _missing_fields(needed: Iterable[str], present: Collection[str]) -> list[str]:
    """Return the first needed names that are not present, at most NAMES_SHOWN and one more: a list of all in the messages of many
    literals would be as long as the square of the program."""
    return list(islice((name for name in needed if name not in present), NAMES_SHOWN + 1))


def _name_list(names: list[str], form: str) -> str:
    return ", ".join([form.format(name) for name in names[:NAMES_SHOWN]] + ["…"] * (len(names) > NAMES_SHOWN))


def _fields(c: Checker, symbol: StructSymbol | VariantSymbol) -> Fields:
    """Return the fields of a declaration, made once: checking a literal takes as long as the fields it gives."""
    known = c.fields_of.get(symbol)
    if known is None or len(known.types) != len(symbol.fields):  # cached while fields were still being declared
        known = c.fields_of[symbol] = Fields(
            {name: type_ for name, type_, _, _ in symbol.fields},
            [name for name, _, default, optional in symbol.fields if default is None and not optional],
        )
    return known


def _struct_literal(c: Checker, node: ast.StructExpr, symbol: StructSymbol, expected: Expected) -> Type:
    fields = _fields(c, symbol)
    hidden = private_fields(c.modules, symbol, node.span)
    for entry in node.fields:
        require_visible(c, symbol, entry.name)
    # With a base the private fields come from it.
    if hidden and node.base is None:
        _private_literal(c, node, symbol, (name for name in fields.needed if name in hidden))
        fields = fields._replace(needed=[name for name in fields.needed if name not in hidden])
    return _check_fields(c, node, symbol.type, fields, _instance(c, node, symbol, expected))


def _instance(c: Checker, node: ast.StructExpr, symbol: StructSymbol | VariantSymbol, expected: Expected) -> Instance:
    """Return the use of a generic declaration by a literal, with the type arguments that are written or expected."""
    declared = symbol.enum if isinstance(symbol, VariantSymbol) else symbol
    instance = Instance(c, declared.name, declared.type_parameters)
    if node.type_arguments is not None:
        instance.explicit(instance.names, [written_type(c, argument) for argument in node.type_arguments], node.span)
    elif instance.names:
        instance.expect(declared.type, expected)
    return instance


def _private_literal(c: Checker, node: ast.StructExpr, symbol: StructSymbol, needed: Iterable[str]) -> None:
    """Report a literal outside the module of a struct that has private fields without default (E1006, L-8.4.3)."""
    missing = _missing_fields(needed, {entry.name.text for entry in node.fields})
    if missing:
        message = f"`{symbol.name}` has private fields without default: {_name_list(missing, '`{}`')}"
        help = "supply them by `..base`, or offer a function in its module"
        c.report("E1006", node.path[-1].span, message, help=help)


def _variant_literal(c: Checker, node: ast.StructExpr, symbol: VariantSymbol, expected: Expected) -> Type:
    """Check `E::V { x: 1 }`. It takes no `..base`: only at run time would be known whether that is a value of the variant."""
    if node.base is not None:
        c.infer(node.base)
        c.report("E2012", node.base.span, f"`{symbol.enum.name}::{symbol.name}` takes no `..base`", help="give every field")
    return _check_fields(c, node, symbol.enum.type, _fields(c, symbol), _instance(c, node, symbol, expected))


def _check_fields(c: Checker, node: ast.StructExpr, type_: Type, fields: Fields, instance: Instance) -> Type:
    types = fields.types
    entries: dict[str, ast.FieldInit] = {}
    for entry in node.fields:
        _check_entry(c, entry, type_, types, entries, instance)
    if instance.names:
        # Two passes, since a later entry may bind a type argument of an earlier one.
        _convert_entries(c, entries, types, instance)
        instance.require_bounds(node.path[-1].span)
        type_ = instance.type(type_)
    if node.base is not None:
        return _base(c, node.base, type_)
    missing = _missing_fields(fields.needed, entries)
    if missing:
        help = f"add `{_name_list(missing, '{}: …')}`, or supply the rest by `..base`"
        c.report("E2012", node.span, f"`{type_}` lacks {_name_list(missing, '`{}`')}", help=help)
    return type_


def _base(c: Checker, base: ast.Expr, type_: Type) -> Type:
    actual = c.value(base, Expected(type_, place="the base of the literal"))
    return type_ if is_complete(type_) or not isinstance(actual, Nominal) else c.infer(base)


def _check_entry(
    c: Checker,
    entry: ast.FieldInit,
    type_: Type,
    types: Mapping[str, Type],
    entries: dict[str, ast.FieldInit],
    instance: Instance,
) -> None:
    name = entry.name.text
    if name not in types:
        help = did_you_mean(name, types) or listed("fields", [*types], like=name)
        c.report("E2013", entry.name.span, f"`{type_}` has no field `{name}`", help=help)
        c.infer(entry.value)
        return
    if name in entries:
        c.report(
            "E2013", entry.name.span, f"field `{name}` of `{type_}` is given twice", first=entries[name].name.span,
            help="keep one of them",
        )
    entries.setdefault(name, entry)
    if not instance.names:
        c.value(entry.value, Expected(types[name], place=f"field `{name}`"))
        return
    # Not converted yet: the entry may bind a type argument first.
    wanted = instance.hinted(types[name])
    instance.meet_hinted(types[name], c.infer(entry.value, Expected(wanted, place=f"field `{name}`")))


def _convert_entries(
    c: Checker, entries: dict[str, ast.FieldInit], types: Mapping[str, Type], instance: Instance
) -> None:
    """Convert the entries of a generic literal, after all of them have bound type arguments."""
    instance.use_hints()
    for name, entry in entries.items():
        wanted = instance.type(types[name])
        if is_complete(wanted):
            c.coerce(entry.value, c.infer(entry.value), Expected(wanted, place=f"field `{name}`"))


def _error_literal(c: Checker, node: ast.StructExpr, symbol: ErrorFamilySymbol) -> Type:
    """Check `F::V { … }`: the message and the extra fields of the family, those above it, and the variant (L-3.11.13)."""
    family = FAMILIES[symbol.name]
    extra = (*family.fields, *(family.variants.get(symbol.variant, ()) if symbol.variant else ()))
    # A variant has the fields of every family above it too.
    parent = family.parent
    while parent is not None:
        extra = (*extra, *FAMILIES[parent].fields)
        parent = FAMILIES[parent].parent
    types: dict[str, Type] = {"message": STRING, **dict.fromkeys(extra, ANY)}
    return _check_fields(c, node, error(symbol.name), Fields(types, ()), Instance(c, symbol.name, ()))


STRUCT_RULES: dict[type[ast.Expr], ExpressionRule] = {ast.StructExpr: struct_expr}
