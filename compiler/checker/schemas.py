"""Schemas: field types with a JSON form, modes, descriptions, defaults, validators (O-2.1 to O-2.18).

Hands on `declare_schema` to `program`; `check_schema`, `check_validators` and `fold_nested_defaults` to `declaration_checks`, the
last to `stores` and `tool_arguments` too; `folded_default` to `tool_arguments`; `field_without_json` (what a model cannot be
asked for) to `stores`, `tool_arguments` and `mcp`, `instance_fault` and `fold_defaults` to `schema_calls`. What is wrong is
reported to `c`, the state of the check, and not raised. The JSON Schema itself is made by `codegen/schemas.py`, replies are
judged by the runtime. A type that models may be asked for is a case of `without_json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ...vm import values as vm
from ..source import Span
from ..symbols import ConstStruct, ConstVariant, EnumSymbol, StructSymbol, VariantSymbol
from ..syntax import ast
from ..types import ANY, BOOL, BYTES, FLOAT, INT, NIL, STRING, Function, Generic, Nilable, Nominal, Type, Union, option, result
from .context_declarations import check_old_names, old_name
from .declarations import FAILED, at_module_level, folded
from .decorators import check_decorators
from .prompts import warn_quoted_type
from .relations import generic, is_text
from .state import Checker, Expected
from .types import parts_in, written_type

# Decorators of a whole schema: every field may be left out (O-2.15); texts, numbers and Bools of a reply are converted (O-2.16).
MODES = ("partial", "coerce")


def declare_schema(c: Checker, symbol: StructSymbol, node: ast.Schema) -> None:
    """Add the fields of a schema to `symbol.fields`, each as (name, type, default, whether it may be left out without one), and
    set its modes; E4021 for a field that stands twice, beside what `written_type` reports."""
    names = {decorator.name.text for decorator in _of_schema(node)}
    symbol.partial, symbol.coerce = "partial" in names, "coerce" in names
    seen: dict[str, Span] = {}
    for field in node.fields or ():
        name = field.name.text
        if name in seen:
            c.report(
                "E4021", field.name.span, f"field `{name}` of `{symbol.name}` is declared twice", first=seen[name],
                help=f"remove {c.text(field)}, or rename it",
            )
            continue
        seen[name] = field.name.span
        symbol.fields.append(_declare_field(c, symbol, field))


def _of_schema(node: ast.Schema) -> list[ast.Decorator]:
    """Return the decorators of a schema; a mode among those of its first field belongs to it."""
    first = (node.fields or [])[:1]
    return [*node.decorators, *(d for field in first for d in field.decorators if d.name.text in MODES)]


def _check_decorators(c: Checker, symbol: StructSymbol, node: ast.Schema) -> None:
    """Check the decorators of a schema and its fields, and set the descriptions and earlier names."""
    check_decorators(c, _of_schema(node), "schema")
    fields = node.fields or []
    seen: set[str] = set()
    for position, field in enumerate(fields):
        if field.name.text not in seen:
            seen.add(field.name.text)
            own = [d for d in field.decorators if not (position == 0 and d.name.text in MODES)]
            _read_decorators(c, symbol, field, own)
    check_old_names(c, "field", symbol.name, [(field.name, symbol.was.get(field.name.text)) for field in fields])


def _read_decorators(c: Checker, symbol: StructSymbol, field: ast.Field, decorators: list[ast.Decorator]) -> None:
    """Set the description of a field, `@describe("text")` or else the doc comment (O-2.13), and its earlier name."""
    checked = dict(check_decorators(c, decorators, "schema field"))
    text = checked.get("describe", {}).get("text") or field.doc
    if isinstance(text, str):
        symbol.descriptions[field.name.text] = text
    was = old_name(list(checked.items()))
    if was is not None:
        symbol.was[field.name.text] = was


def _declare_field(c: Checker, symbol: StructSymbol, field: ast.Field) -> tuple[str, Type, ast.Expr | None, bool]:
    """Return name, type, default and whether the field may be left out without a default; one that may be absent holds an Option
    (O-2.2, O-2.15)."""
    written = written_type(c, field.type)
    warn_quoted_type(c, field)
    optional = field.optional or (symbol.partial and field.default is None)
    # A field of type Option may always be left out: None is its default.
    if field.default is None and generic(written, "Option"):
        return field.name.text, written, None, True
    return field.name.text, option(written) if optional else written, field.default, optional and field.default is None


def check_schema(c: Checker, symbol: StructSymbol, node: ast.Schema) -> None:
    """Check a schema after all types are declared: its decorators, which set descriptions and earlier names, and its fields,
    which have JSON forms (E4020) and constant defaults (E4023, E2033), whose values go to `symbol.constants`: FAILED for one
    that is reported here, none for one that has an error already."""
    _check_decorators(c, symbol, node)
    declared = {name: type_ for name, type_, _, _ in symbol.fields}
    seen: set[str] = set()
    for field in node.fields or ():
        if field.name.text in seen:
            continue  # reported as declared twice; the type is that of the first
        seen.add(field.name.text)
        type_ = declared[field.name.text]
        offending = field_without_json(c, type_)
        if offending is not None:
            help = "use String, Int, Float, Bool, a string union, Array, Map<String, T>, a schema, or Any"
            if isinstance(offending, Nilable) and offending in (type_, *(generic(type_, "Option") or ())):
                help = f"write `{field.name.text}?: {offending.inner}`"
            c.report("E4020", field.type.span, f"`{offending}` has no JSON form", help=help)
        # The defaults have been typed; one with an error is not reported again.
        if field.default is not None and not c.diagnostics.has_errors_in(field.default.span):
            symbol.constants[field.name.text] = folded_default(c, field.default)


def check_validators(c: Checker, symbol: StructSymbol) -> None:
    """Check `@validate` on a schema and on its forms without a body, and set its validators in source order (O-2.18): E4009 for
    other arguments than one without a name, E4024 for one that is no `fn(T) -> Result<Bool, String>`, which is added all the
    same; E4009 for a mode on a form without a body."""
    wanted = Function((symbol.type,), result(BOOL, STRING))
    for form in symbol.forms:
        if form.fields is None:
            _check_addition(c, form)
        for decorator in form.decorators:
            if decorator.name.text == "validate":
                _check_validator(c, symbol, decorator, wanted)


def _check_addition(c: Checker, form: ast.Schema) -> None:
    """Check `schema T;`, on which no mode may stand: there is no body for it to change (E4009)."""
    check_decorators(c, form.decorators, "schema")
    for decorator in form.decorators:
        if decorator.name.text in MODES:
            help = f"write it where `{form.name.text}` has its body"
            c.report("E4009", decorator.span, f"`@{decorator.name.text}` stands on the body of a schema", help=help)


def _check_validator(c: Checker, symbol: StructSymbol, decorator: ast.Decorator, wanted: Type) -> None:
    arguments = decorator.arguments
    if len(arguments) != 1 or arguments[0].name is not None:
        help = "@validate(fn(v: T) -> Result<Bool, String> { … })"
        c.report("E4009", decorator.span, "`@validate` takes one function", help=help)
        return
    at_module_level(c, arguments[0].value, Expected(wanted, "E4024", f"a validator of `{symbol.name}`"))
    symbol.validators.append(arguments[0].value)


def folded_default(c: Checker, value: ast.Expr) -> object:
    """Return the value of a default that a model is told; FAILED after a report: E4023 of one that is not constant, or that JSON
    has no number for (O-2.4), E2033 of one that would panic."""
    constant = folded(c, value, "E4023")
    number = _beyond_json(constant)
    if number is None:
        return constant
    message = f"a default is told to the model, and JSON has no number `{vm.display(number)}`"
    c.report("E4023", value.span, message, help="give a finite number, or let it be left out: an Option is then None")
    return FAILED


def _beyond_json(constant: object) -> float | None:
    """Return a NaN or an infinity in a folded constant, None without one."""
    todo = [constant]
    while todo:
        match todo.pop():
            case float() as number if not isfinite(number):
                return number
            case list() | tuple() as items:
                todo += items
            case dict() as entries:
                todo += entries.values()
            case ConstStruct() | ConstVariant() as whole:
                todo += whole.values
            case vm.Some() | vm.Ok() | vm.Err() as wrapper:
                todo.append(wrapper.value)
    return None


def fold_nested_defaults(c: Checker, symbol: StructSymbol) -> None:
    """Set the values of the defaults of the structs and variants in the fields of a schema: they are part of its JSON Schema, so
    they are constant too (O-2.4, O-2.6). Report as `folded_default`."""
    fold_defaults(c, [type_ for _, type_, _, _ in symbol.fields])


def fold_defaults(c: Checker, types: Sequence[Type]) -> None:
    """Set in `constants` the values of the defaults of the structs and variants in types that a model may be asked for, at any
    depth; FAILED after a report of `folded_default`. Schemas fold their own."""
    for owner in _with_defaults(c, types):
        for name, _, default, _ in owner.fields:
            if default is not None and name not in owner.constants:
                owner.constants[name] = folded_default(c, default)


def _with_defaults(c: Checker, types: Sequence[Type]) -> list[StructSymbol | VariantSymbol]:
    """Return the structs and variants in types, at any depth; schemas fold their own defaults."""
    owners: dict[StructSymbol | VariantSymbol, None] = {}
    todo = list(types)
    while todo:
        type_ = todo.pop()
        if isinstance(type_, (Generic, Nominal)):
            todo.extend(type_.arguments)
        symbol = c.declared(type_)
        inner: list[StructSymbol | VariantSymbol] = [*symbol.members] if isinstance(symbol, EnumSymbol) else []
        if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Struct):
            inner.append(symbol)
        for owner in inner:
            if owner not in owners:
                owners[owner] = None
                todo.extend(part for _, part, _, _ in owner.fields)
    return list(owners)


MOST_INSTANCES = 60  # schemas that one with type arguments may need: `schema T<A> { next: T<Array<A>> }` needs ever more


def instance_fault(c: Checker, type_: Nominal, written: Type) -> str | None:
    """Return why a model cannot be asked for a schema or struct with these type arguments, or None (O-2.9); `written` is the type
    that stands in the source."""
    offending = without_json(c, type_)
    if offending is not None:
        inside = "" if offending == written else f" in `{written}`"
        return f"`{offending}`{inside} has no JSON form"
    seen: list[Type] = []
    todo: list[Type] = [type_]
    while todo:
        at = todo.pop()
        if isinstance(at, Generic):
            todo.extend(at.arguments)
        symbol = c.declared(at)
        if at in seen or not isinstance(symbol, (StructSymbol, EnumSymbol)):
            continue
        seen.append(at)
        for owner in symbol.members if isinstance(symbol, EnumSymbol) else [symbol]:
            todo.extend(part for _, part, _, _ in parts_in(c, owner, at))
        if len(seen) > MOST_INSTANCES:
            return f"`{type_}` needs ever more schemas: `{seen[1]}`, `{seen[2]}`, …"
    return None


def without_json(c: Checker, type_: Type) -> Type | None:
    """Return the part of a type that has no JSON form, or None (O-2.5 to O-2.10). Of a schema its type arguments alone are looked
    at, since its fields are checked where it is declared; a type parameter counts as having one."""
    if type_ in (STRING, INT, FLOAT, BOOL, NIL, ANY, BYTES) or isinstance(type_, Union):
        return None
    if isinstance(type_, Generic):
        return _generic_without_json(c, type_)
    if isinstance(type_, Nominal) and type_.kind == "parameter":
        return None  # checked where it has a type argument (`instance_fault`)
    symbol = c.declared(type_)
    if isinstance(symbol, StructSymbol):
        assert isinstance(type_, Nominal)
        # The arguments first: they say which use is wrong.
        argument = next((bad for t in type_.arguments if (bad := without_json(c, t)) is not None), None)
        is_schema = isinstance(symbol.declaration, ast.Schema)
        return argument or (None if is_schema else _parts_without_json(c, symbol, symbol.fields))
    if isinstance(symbol, EnumSymbol) and isinstance(type_, Nominal):
        if not symbol.members:
            return type_
        argument = next((bad for t in type_.arguments if (bad := without_json(c, t)) is not None), None)
        return argument or _parts_without_json(c, symbol, [part for member in symbol.members for part in member.fields])
    return type_


def _generic_without_json(c: Checker, type_: Generic) -> Type | None:
    match type_.name:
        case "Array":
            return without_json(c, type_.arguments[0])
        case "Map":
            return without_json(c, type_.arguments[1]) if is_text(type_.arguments[0]) else type_
    return type_


def field_without_json(c: Checker, type_: Type) -> Type | None:
    """Return the part of the type of a field or parameter that has no JSON form, or None. It alone may be an Option: elsewhere a
    model cannot tell what is absent from what is null (O-2.3)."""
    inside = generic(type_, "Option")
    return without_json(c, inside[0] if inside else type_)


def _parts_without_json(
    c: Checker, symbol: StructSymbol | EnumSymbol, fields: Sequence[tuple[str, Type, ast.Expr | None, bool]]
) -> Type | None:
    """Return the part of a struct's fields, or of an enum's payloads, that has no JSON form. One that was checked before is fine,
    or on the way: such types may contain themselves."""
    if symbol in c.visited:
        return None
    c.visited.add(symbol)
    offending = next((bad for _, t, _, _ in fields if (bad := field_without_json(c, t)) is not None), None)
    if offending is not None:
        c.visited.discard(symbol)
    return offending
