"""Patterns: their types and those of the names they bind (L-5.8).

Hands on `check_pattern` (one pattern against the type of what it meets), `is_some` and `matches_nil_only` to `control`, and
`bind_irrefutable` (of `let`, `for` and parameters, which must match every value) to `control`, `functions` and `models`. Which
patterns together cover a type is found by `exhaustiveness`. A new kind of pattern is a row of _RULES at the end, and a case of
`constructors.head_name`. What is wrong is reported to `c`, the state of the check, and not raised; the code of patterns is made
by `codegen/patterns.py`, from what is set on the tree here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...vm.values.errors import FAMILIES
from ..hints.names import did_you_mean
from ..resolver.patterns import IN_A_GUARD, SAME_NAMES, alternatives_differ, bound_twice, names_missing
from ..resolver.state import ErroneousSymbol
from ..source import quoted
from ..symbols import (
    AliasSymbol,
    BuiltinSymbol,
    ConstSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    Local,
    StructSymbol,
    Symbol,
    VariantSymbol,
)
from ..syntax import ast
from ..types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NIL,
    OPEN,
    STRING,
    Generic,
    Nilable,
    Nominal,
    Simple,
    Tuple,
    Type,
    Union,
    absent_as_nil,
    array,
    error,
)
from .constructors import alternatives
from .exhaustiveness import uncovered_value
from .operators import error_fields, fields_of, require_visible
from .relations import ERRONEOUS, NUMBERS, close, convert, generic, is_error, is_error_value
from .state import Checker
from .types import RECORDS, parts_in, shape_in


def check_pattern(c: Checker, node: ast.Pattern, type_: Type) -> None:
    """Type a pattern, and the names it binds, against the type of the values that it meets, and report what is wrong with it:
    E3003 for one that can match none of them; E0114, E1002, E1006, E2010, E2013, E3004 to E3007 and W0010 for its names, fields,
    alternatives and ranges. A name that the resolver could not tell to be a variant becomes its `constant` or `binding` where the
    type says that it is one. `Some(…)` on a `T?` is counted in `c.some_of_nilable`."""
    node.type = type_ = c.bounded(type_, node.span)
    rule = _RULES.get(type(node))
    if rule is not None:
        c.nesting.call(rule, c, node, type_)


def bind_irrefutable(c: Checker, node: ast.Pattern, type_: Type) -> None:
    """Type a pattern of `let`, `for` or a closure parameter, which must match every value (E3002); arrays may panic instead
    (L-5.8.11)."""
    errors, wrapped = c.error_count, c.some_of_nilable
    outer, c.irrefutable = c.irrefutable, True
    check_pattern(c, node, type_)
    c.irrefutable = outer
    if isinstance(node, ast.WildcardPattern) or (isinstance(node, ast.BindPattern) and not (node.constant or node.inner)):
        return
    if (type_ in (ANY, NEVER) and _only_shapes(node)) or type_ is ERRONEOUS or c.error_count > errors:
        return
    missing = uncovered_value(c, node, type_, wraps=c.some_of_nilable > wrapped)
    if missing is not None:
        help = "use `match`"
        if isinstance(node, ast.BindPattern) and node.constant:
            what = "constant" if isinstance(node.constant, ConstSymbol) else "variant"
            help = f"`{node.name.text}` is a {what}, no new variable: {help}, or another name"
        c.report("E3002", node.span, f"the pattern does not cover `{missing}`", help=help)


def _only_shapes(node: ast.Pattern) -> bool:
    """Return whether a pattern consists of names, tuples, arrays and patterns with named fields (`S { x, .. }`) only, which
    over Any are checked at run time."""
    if isinstance(node, (ast.TuplePattern, ast.ArrayPattern)):
        return all(map(_only_shapes, node.items))
    if isinstance(node, ast.StructPattern):
        return all(_only_shapes(entry.pattern) for entry in node.fields)
    if isinstance(node, ast.BindPattern):
        return node.constant is None and (node.inner is None or _only_shapes(node.inner))
    return isinstance(node, (ast.WildcardPattern, ast.RestPattern))


def matches_nil_only(node: ast.Pattern, type_: Type) -> bool:
    """Return whether a pattern on a value of `type_`, which is a `T?`, is `nil`, or `None` where that means the same, which it
    does not on an `Option<T>?`."""
    is_none = isinstance(node, ast.BindPattern) and isinstance(node.constant, BuiltinSymbol) and absent_as_nil(type_)
    return is_none or (isinstance(node, ast.LiteralPattern) and node.value is None)


def is_some(node: ast.Pattern) -> bool:
    """Return whether a pattern, or an alternative of it, is the built-in `Some(…)`."""
    return any(
        isinstance(one, ast.TupleStructPattern) and isinstance(one.binding, BuiltinSymbol) and one.binding.name == "Some"
        for one in alternatives(node)
    )


def report_cannot_match(c: Checker, node: ast.Pattern, what: str, type_: Type, help: str | None = None) -> None:
    """Report a pattern of `what` that matches no value of a type (E3003). `help` is what is said in place of the usual help for
    the type."""
    help = help or _inside_arm(c, node, type_) or _arms_of(node, type_)
    c.report("E3003", node.span, f"a pattern of `{what}` cannot match `{type_}`", help=help)


def _inside_arm(c: Checker, node: ast.Pattern, type_: Type) -> str | None:
    """Return the help for a literal where the value is inside an Option or Result: `Some("a")`."""
    if not isinstance(node, ast.LiteralPattern) or node.value is None or not isinstance(type_, Generic):
        return None
    around = {"Option": "Some", "Result": "Ok"}.get(type_.name)
    return f"write `{around}({c.text(node)[1:-1]})`" if around else None


def _arms_of(node: ast.Pattern, type_: Type) -> str:
    """Return the help: the patterns that a type has."""
    match type_:
        case Generic(name="Result"):
            return "write `match r { Ok(v) => …, Err(e) => … }`, or `let v = r?;`"
        case Generic(name="Option"):
            return "write `match x { Some(v) => …, None => … }`"
        case Nilable():
            return "write `match x { nil => …, v => … }`"
        case Tuple():
            names = [chr(ord("a") + at) for at in range(min(len(type_.items), 26))]
            whole = f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"
            return f"write `{whole}`" if len(names) == len(type_.items) else "write a name for the whole"
        case Generic(name="Array"):
            return "write `[first, ..]`, or a name for the whole"
        case Simple(name="Bool"):
            return "write `true` or `false`"
        case Simple() if isinstance(node, (ast.TuplePattern, ast.ArrayPattern, ast.StructPattern)):
            return f"`{type_}` has no parts: write one name"
        case Simple():
            return "write a value of it, a range `1..=5`, or a name for the whole"
    return "write a name for the whole, or its variants and fields"


def _set_local(c: Checker, place: ast.Node, local: Local | None, type_: Type) -> None:
    """Set the type of a local; alternatives of `a | b` share their locals, which must have one type (E3004)."""
    if local is None:
        return
    # The first alternative declared it, and says its type.
    if local.declared_at is place:
        local.type = type_
    elif local.type != type_ and ERRONEOUS is not type_ and local.type is not ERRONEOUS:
        c.report(
            "E3004", place.span, f"`{local.name}` is `{local.type}` in one alternative and `{type_}` in another",
            help="write an arm for each",
        )


# Names and literals.


def _bind(c: Checker, node: ast.BindPattern, type_: Type) -> None:
    if node.constant is not None:
        _constant(c, node, type_)
        return
    if node.inner is not None:
        check_pattern(c, node.inner, type_)
    elif not c.irrefutable and not node.is_field and (variant := _bare_unit(c, node, type_)) is not None:
        node.constant, node.binding = variant, None
        return
    if node.again is not None:
        c.report("E3005", node.name.span, bound_twice(node.name.text), first=node.again, help=IN_A_GUARD)
        return
    _set_local(c, node, node.binding, close(type_))
    if node.inner is None and not node.mutable:
        _warn_like_variant(c, node, type_)


def _warn_like_variant(c: Checker, node: ast.BindPattern, type_: Type) -> None:
    """Warn of a name that binds every value and is, or nearly is, a variant of the matched enum, or of the enum inside a matched
    Result or Option (W0010)."""
    name, inner = node.name.text, _without_nil(type_)
    symbol = c.declared(inner)
    around = isinstance(inner, Generic) and inner.name in ("Result", "Option")
    if isinstance(inner, Generic) and around:
        symbol = c.declared(inner.arguments[0])
    if not isinstance(symbol, EnumSymbol):
        return
    unread = node.binding is not None and not node.binding.read
    near = did_you_mean(name, symbol.variants) if unread and name[:1].isupper() else None
    if (variant := symbol.member(name)) is not None:
        message = f"`{name}` binds every value; it is also a variant of `{symbol.name}`"
        parts = {"unit": "", "tuple": "(…)", "struct": " { .. }"}[variant.form]
        help = f"the value is a `{inner}`: add `?` to it" if around else f"write `{symbol.name}::{name}{parts}`"
        c.report("W0010", node.name.span, message, help=help)
    elif near is not None and not around:
        c.report("W0010", node.name.span, f"`{name}` binds every value; `{symbol.name}` has no such variant", help=near)


# Variants by their bare names: the type of the matched value says of which enum, or family (L-5.8.14).


def _bare_unit(c: Checker, node: ast.BindPattern, type_: Type) -> VariantSymbol | None:
    """Return the unit variant of the matched enum that a bare name is: one that the arm does not read as a variable."""
    symbol = c.declared(_without_nil(type_))
    variant = symbol.member(node.name.text) if isinstance(symbol, EnumSymbol) and not node.mutable else None
    local = node.binding
    if variant is None or variant.form != "unit" or (local is not None and local.read and local not in c.bare_variants):
        return None
    if local is not None:
        c.bare_variants.add(local)  # alternatives share it
        local.read = True  # it is no variable, so none that is unused
    return variant


def _set_bare(c: Checker, node: ast.TupleStructPattern | ast.StructPattern, type_: Type) -> None:
    """Let the single name of a pattern with parts be the variant of the matched enum or error family; E1002 where neither that
    type nor anything visible has it. `Some(…)` on a `T?` is what is not nil, whatever variants T has (L-5.8.13)."""
    if len(node.path) > 1 or isinstance(node.binding, (VariantSymbol, ErroneousSymbol)):
        return
    name, inner = node.path[0].text, _without_nil(type_)
    symbol = c.declared(inner)
    if isinstance(node.binding, BuiltinSymbol) and name == "Some" and isinstance(type_, Nilable):
        return
    if isinstance(symbol, EnumSymbol) and (variant := symbol.member(name)) is not None:
        node.binding = variant
    elif isinstance(inner, Nominal) and inner.kind == "error" and name in FAMILIES[inner.name].variants and node.binding is None:
        node.binding = ErrorFamilySymbol(inner.name, name)
    elif node.binding is None:
        owners = [str(enum.type) for enum in c.nominals.values() if isinstance(enum, EnumSymbol) and name in enum.variants]
        owners += [family for family, row in FAMILIES.items() if name in row.variants]
        help = f"write `{owners[0]}::{name}`" if len(owners) == 1 else f"name its enum or error: `E::{name}`"
        if isinstance(inner, Generic) and inner.name in ("Result", "Option"):
            help = f"the value is a `{inner}`: add `?` to it, or match `{'Ok' if inner.name == 'Result' else 'Some'}({name} …)`"
        elif isinstance(symbol, EnumSymbol):
            help = did_you_mean(name, symbol.variants) or help
        elif not owners:
            help = "declare it with `struct`, `enum` or `schema`"
        c.report("E1002", node.path[0].span, f"undefined type `{name}`", help=help)
        node.binding = ErroneousSymbol(name)


def _constant(c: Checker, node: ast.BindPattern, type_: Type) -> None:
    if isinstance(node.constant, ConstSymbol):
        _require(c, node, node.constant.type, type_)
    elif isinstance(node.constant, VariantSymbol):
        _require(c, node, shape_in(c, node.constant.enum.type, _without_nil(type_)), type_)
    elif not (generic(type_, "Option") or isinstance(type_, Nilable) or type_ == ANY):
        symbol = c.declared(type_)
        own = symbol.name if isinstance(symbol, EnumSymbol) and "None" in symbol.variants else None
        report_cannot_match(c, node, "None", type_, f"write `{own}::None`: `None` alone is that of an Option" if own else None)


def _require(c: Checker, node: ast.Pattern, of: Type, type_: Type) -> None:
    """Report a pattern whose own type cannot occur in the matched one."""
    if not _may_equal(of, type_):
        report_cannot_match(c, node, str(of), type_)


def _may_equal(of: Type, type_: Type) -> bool:
    if of in (ANY, NEVER) or type_ in (ANY, NEVER) or type_ == OPEN:
        return True
    if isinstance(type_, Nilable):
        return of == NIL or _may_equal(of, type_.inner)
    if of in NUMBERS and type_ in NUMBERS:
        return True
    return convert(of, type_) is None or convert(type_, of) is None


def _literal(c: Checker, node: ast.LiteralPattern, type_: Type) -> None:
    value = node.value
    of: Type = NIL
    if isinstance(value, bool):
        of = BOOL
    elif isinstance(value, str):
        of = STRING
    elif value is not None:
        of = INT if isinstance(value, int) else FLOAT
    inner = type_.inner if isinstance(type_, Nilable) else type_
    if isinstance(inner, Union) and isinstance(value, str):
        if not inner.holds(value):
            c.report(
                "E3003", node.span, f"{quoted(value)} is no member of `{inner}`",
                help=did_you_mean(quoted(value)[1:-1], [quoted(member)[1:-1] for member in inner.members]),
            )
        return
    # `nil` is None on an Option, as None is nil on a `T?` (L-5.8.13).
    if value is not None or not generic(type_, "Option"):
        _require(c, node, of, type_)


def _range(c: Checker, node: ast.RangePattern, type_: Type) -> None:
    start, end = node.start, node.end
    if start is not None and end is not None:
        text = f"{start}{'..=' if node.inclusive else '..'}{end}"
        # Bounds of two kinds would compare values of two kinds.
        if type(start) is not type(end):
            c.report(
                "E3007", node.span, f"the range `{text}` mixes Int and Float bounds",
                help="write both bounds as Float or both as Int",
            )
            return
        if start > end or (start == end and not node.inclusive):
            c.report("E3007", node.span, f"the range `{text}` is empty", help="write the smaller bound first")
            return
    bound = start if start is not None else end
    _require(c, node, FLOAT if isinstance(bound, float) else INT, type_)


# Variants and constructors.


def _inside(type_: Type, name: str) -> Type:
    """Return T of `T?` if that is the generic type `name`: `Some(p)` also matches inside `Option<T>?`."""
    return type_.inner if isinstance(type_, Nilable) and generic(type_.inner, name) else type_


def _path(c: Checker, node: ast.PathPattern, type_: Type) -> None:
    match node.binding:
        case VariantSymbol():
            _require(c, node, shape_in(c, node.binding.enum.type, _without_nil(type_)), type_)
            if node.binding.form != "unit":
                name = f"{node.binding.enum.name}::{node.binding.name}"
                parts = "(…)" if node.binding.form == "tuple" else " { .. }"
                c.report("E3003", node.span, f"the variant `{name}` holds values", help=f"write `{name}{parts}`")
        case ConstSymbol():
            _require(c, node, node.binding.type, type_)
        case ErrorFamilySymbol():
            _require_error(c, node, node.binding.name, type_)
        case None | ErroneousSymbol():
            return
        case _:
            c.report(
                "E3003", node.span, f"`{'::'.join(s.text for s in node.path)}` is not a pattern",
                help="patterns are literals, ranges, names, variants, structs, tuples and arrays",
            )


def _require_error(c: Checker, node: ast.Pattern, family: str, type_: Type) -> None:
    if not (type_ == ANY or is_error(type_) or (family == "Error" and is_error_value(type_))):
        report_cannot_match(c, node, family, type_)


def _tuple_struct(c: Checker, node: ast.TupleStructPattern, type_: Type) -> None:
    _set_bare(c, node, type_)
    payloads = _payloads(c, node, node.binding, type_)
    if payloads is not None and len(payloads) != len(node.items):
        name = "::".join(s.text for s in node.path)
        c.report(
            "E3003", node.span, f"`{name}` holds {len(payloads)} value(s), the pattern has {len(node.items)}",
            help=f"write `{name}({', '.join(['_'] * len(payloads))})` with a name for each value you need",
        )
        payloads = None
    for item, payload in zip(node.items, payloads or [ERRONEOUS] * len(node.items), strict=True):
        check_pattern(c, item, payload)


def _payloads(c: Checker, node: ast.TupleStructPattern, symbol: Symbol | None, type_: Type) -> list[Type] | None:
    """Return the types of what a variant holds; None if that is not known."""
    if isinstance(symbol, BuiltinSymbol) and symbol.name in ("Some", "Ok", "Err"):
        return _constructor_payload(c, node, symbol.name, type_)
    if isinstance(symbol, ErrorFamilySymbol) and symbol.variant is not None:
        _require_error(c, node, symbol.name, type_)
        return [STRING]
    if isinstance(symbol, VariantSymbol):
        _require(c, node, shape_in(c, symbol.enum.type, _without_nil(type_)), type_)
        if symbol.form == "struct":
            name = f"{symbol.enum.name}::{symbol.name}"
            c.report("E3003", node.span, f"the parts of `{name}` have names", help=f"write `{name} {{ .. }}`")
            return None
        return [part for _, part, _, _ in parts_in(c, symbol, _without_nil(type_))]
    if symbol is not None and not isinstance(symbol, ErroneousSymbol):
        name = node.path[-1].text
        help = "match it without parentheses"
        if isinstance(symbol, ErrorFamilySymbol):  # whose bare name would be a variable, which takes every error
            help = f"write `{name} {{ message, .. }}`"
        c.report("E3003", node.span, f"`{name}` is not a variant that holds values", help=help)
    return None


def _constructor_payload(c: Checker, node: ast.TupleStructPattern, name: str, type_: Type) -> list[Type] | None:
    owner = "Option" if name == "Some" else "Result"
    if type_ == ANY:
        return [ANY] if len(node.items) == 1 else None
    if name == "Some" and absent_as_nil(type_) and isinstance(type_, Nilable):
        c.some_of_nilable += 1
        return [type_.inner]
    sides = generic(_inside(type_, owner), owner)
    if not sides:
        report_cannot_match(c, node, name, type_)
        return None
    if name == "Ok" and not node.items and sides[0] in (NIL, ANY):
        return []
    return [sides[1] if name == "Err" else sides[0]]


# Structs, tuples, arrays.


def _struct(c: Checker, node: ast.StructPattern, type_: Type) -> None:
    _set_bare(c, node, type_)
    symbol = node.binding
    if isinstance(symbol, AliasSymbol):
        symbol = node.binding = c.declared(symbol.type) or symbol
    if isinstance(symbol, VariantSymbol):
        _struct_variant(c, node, symbol, type_)
        return
    own: Type | None = None
    if isinstance(symbol, StructSymbol):
        own = shape_in(c, symbol.type, _without_nil(type_))
    elif isinstance(symbol, BuiltinSymbol):
        own = RECORDS.get(symbol.name)
    elif isinstance(symbol, ErrorFamilySymbol):
        own = error(symbol.name)
    if own is None:
        if symbol is not None and not isinstance(symbol, ErroneousSymbol):
            c.report(
                "E1002", node.path[-1].span, f"`{node.path[-1].text}` is not a struct",
                help="only structs and struct variants have fields to match",
            )
        for entry in node.fields:
            check_pattern(c, entry.pattern, ERRONEOUS)
        return
    if is_error(own):
        _require_error(c, node, str(own), type_)
    else:
        _require(c, node, own, type_)
    _fields(c, node, own)


def _without_nil(type_: Type) -> Type:
    return type_.inner if isinstance(type_, Nilable) else type_


def _struct_variant(c: Checker, node: ast.StructPattern, symbol: VariantSymbol, type_: Type) -> None:
    """Type `E::V { x, .. }`."""
    _require(c, node, shape_in(c, symbol.enum.type, _without_nil(type_)), type_)
    name = f"{symbol.enum.name}::{symbol.name}"
    if symbol.form != "struct":
        c.report("E3003", node.span, f"the parts of `{name}` have no names", help=f"write `{name}(…)`")
        for entry in node.fields:
            check_pattern(c, entry.pattern, ERRONEOUS)
        return
    known = {field: part for field, part, _, _ in parts_in(c, symbol, _without_nil(type_))}
    _named_parts(c, node, name, known, known)


def _fields(c: Checker, node: ast.StructPattern, own: Type) -> None:
    assert isinstance(own, Nominal)
    needed: Iterable[str] | None = None
    if own.kind == "error":
        known = error_fields(own.name)
        needed = _own_fields(node.binding)
        known.update(dict.fromkeys(FAMILIES[own.name].all_fields(), ANY))
    else:
        known = fields_of(c, own)
    for entry in node.fields:
        require_visible(c, c.declared(own), entry.name)
    _named_parts(c, node, str(own), known, known if needed is None else needed)


def _named_parts(
    c: Checker, node: ast.StructPattern, own: str, known: dict[str, Type], needed: Iterable[str]
) -> None:
    seen: set[str] = set()
    for entry in node.fields:
        name = entry.name.text
        if name not in known:
            c.report("E2010", entry.name.span, f"`{own}` has no field `{name}`", help=did_you_mean(name, known))
        if name in seen:
            c.report(
                "E2013", entry.name.span, f"field `{name}` of `{own}` stands twice in the pattern",
                help="remove one of the two",
            )
        seen.add(name)
        check_pattern(c, entry.pattern, known.get(name, ERRONEOUS))
    missing = [name for name in needed if name not in seen]
    if missing and not node.rest:
        listed = ", ".join(f"`{name}`" for name in missing)
        c.report("E3006", node.span, f"the pattern lacks {listed} of `{own}`", help="end it with `..`")


def _own_fields(symbol: Symbol | None) -> tuple[str, ...] | None:
    """Return the fields that an error variant adds (L-3.11.3): a pattern that names them needs no `..`. None for a whole
    family."""
    if not isinstance(symbol, ErrorFamilySymbol) or symbol.variant is None:
        return None
    return tuple(FAMILIES[symbol.name].variants[symbol.variant]) or None


def _tuple(c: Checker, node: ast.TuplePattern, type_: Type) -> None:
    inner = type_.inner if isinstance(type_, Nilable) else type_
    items: list[Type] = [type_] * len(node.items) if type_ == ANY else [ERRONEOUS] * len(node.items)
    if isinstance(inner, Tuple) and len(inner.items) == len(node.items):
        items = list(inner.items)
    elif type_ not in (ANY, NEVER):
        report_cannot_match(c, node, f"a tuple of {len(node.items)}", type_)
    for item, item_type in zip(node.items, items, strict=True):
        check_pattern(c, item, item_type)


def _array(c: Checker, node: ast.ArrayPattern, type_: Type) -> None:
    inner = type_.inner if isinstance(type_, Nilable) else type_
    items = generic(inner, "Array")
    item: Type = items[0] if items else type_ if type_ == ANY else ERRONEOUS
    if not items and type_ not in (ANY, NEVER):
        report_cannot_match(c, node, "an array", type_)
    for part in node.items:
        if isinstance(part, ast.RestPattern):
            part.type = array(close(item))
            _set_local(c, part, part.binding, part.type)
        else:
            check_pattern(c, part, item)


def _or(c: Checker, node: ast.OrPattern, type_: Type) -> None:
    for alternative in node.alternatives:
        check_pattern(c, alternative, type_)
    if node.doubtful:
        missing = names_missing([names_bound(alternative) & node.doubtful for alternative in node.alternatives])
        if missing:
            c.report("E3004", node.span, alternatives_differ(missing), help=SAME_NAMES)


def names_bound(node: ast.Pattern) -> set[str]:
    """Return the names of the variables that a checked pattern declares."""
    return {
        part.name.text for part in ast.walk(node)
        if isinstance(part, (ast.BindPattern, ast.RestPattern)) and part.name is not None and part.binding is not None
    }  # fmt: skip


_RULES: dict[type[ast.Pattern], Callable[[Checker, Any, Type], None]] = {
    ast.BindPattern: _bind,
    ast.LiteralPattern: _literal,
    ast.RangePattern: _range,
    ast.PathPattern: _path,
    ast.TupleStructPattern: _tuple_struct,
    ast.StructPattern: _struct,
    ast.TuplePattern: _tuple,
    ast.ArrayPattern: _array,
    ast.OrPattern: _or,
}
