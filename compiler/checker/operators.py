"""Operators, casts and `??` (L-3.5, L-3.6); places: reading fields and elements, and assignment (L-3.7, L-3.13).

Hands on the rules of these forms, the tables RULES and PLACE_RULES, to `program`; `fields_of` and `error_fields` to `patterns`
and the language server, `require_visible` to `patterns` and `expressions`, `require_mutable` to `calls`, `field_of` to
`methods`. Which operators there are is the table `compiler/operators.py`; here stands which operand types suit.

A rule takes `c`, the state of the check, a node of the tree and what its place expects. It writes to the tree what it decides
(`target`, `coercion`) and makes no code. What is wrong is reported to `c` and not raised; a rule that is left without a type then
returns ERRONEOUS, of which nothing more is reported. Which operands suit is changed in `operator_type`, of unary operators in
`unary`, of `??` in `coalesce`; which casts there are in `castable`.
"""

from __future__ import annotations

import re

from ...vm.builtins import lookup, method_names
from ...vm.values.errors import ADDED_FIELDS, FAMILIES, is_family
from .. import operators
from ..decisions import FieldByName, FieldByPosition, FieldOfError
from ..hints import names
from ..hints.names import did_you_mean, listed
from ..hints.types import absent_help, condition_help, negated_help, number_help
from ..symbols import ConstSymbol, Local, SlotAccess, StructSymbol, Symbol, ToolSymbol
from ..syntax import ast
from ..syntax.productions_expressions import copied_help
from ..types import (
    ANY,
    BOOL,
    BYTES,
    ERROR,
    FLOAT,
    INT,
    NEVER,
    NIL,
    RANGE,
    STRING,
    Generic,
    Nilable,
    Nominal,
    Simple,
    Tuple,
    Type,
    Union,
)
from .arguments import everyday_method, kind_of
from .comparisons import comparable, compare_operands
from .context_declarations import refuse_change, slot_in, slot_member
from .declarations import RECORD_FIELDS
from .impls import find_method
from .narrowing import forget, implied, learn_present
from .propagation import note_cast_failure
from .relations import (
    ERRONEOUS,
    MISMATCH,
    NUMBERS,
    close,
    convert,
    fits,
    generic,
    is_entry,
    is_memory,
    is_text,
    join,
    join_all,
    keyed,
    learn,
    learn_from_assignment,
    nilable,
    open_local,
    root_of,
    widen,
)
from .state import FREE, Checker, Expected, ExpressionRule, private_fields
from .types import part_in, parts_in, written_type

ARITHMETIC = operators.texts(*operators.ARITHMETIC_LEVELS)
EQUALITY = operators.texts(operators.EQUALITY)
ORDER = operators.texts(operators.ORDER)


def unary(c: Checker, node: ast.Unary, expected: Expected) -> Type:
    """Return the type of `-x` or `!x`; E2002 where the operand does not suit."""
    actual = c.narrowed(node.operand, c.infer(node.operand))
    legal = (*NUMBERS, ANY, NEVER) if node.operator == "-" else (BOOL, ANY, NEVER)
    if actual not in legal:
        help = absent_help(actual) if node.operator == "-" else negated_help(actual)
        return c.report("E2002", node.span, f"`{node.operator}` cannot be applied to `{actual}`", help=help)
    if actual is ERRONEOUS:
        return actual
    return BOOL if node.operator == "!" and actual == ANY else actual


def binary(c: Checker, node: ast.Binary, expected: Expected) -> Type:
    """Return the type of a binary operation; E2002 where the operands do not suit, E2046 for a comparison that the types alone
    decide; of `??` as `coalesce`."""
    if node.operator == "??":
        return coalesce(c, node, expected)
    left = c.infer(node.left)
    inside = learn_present(c, implied(node.left, node.operator == "&&")) if node.operator in ("&&", "||") else []
    right = c.infer(node.right)
    if left is ERRONEOUS or right is ERRONEOUS:
        forget(c, inside)
        return ERRONEOUS
    if node.operator not in EQUALITY:
        left, right = c.narrowed(node.left, left), c.narrowed(node.right, right)
    forget(c, inside)
    # What the types alone decide is reported before the operands are compared in general.
    if node.operator in EQUALITY and (decided := compare_operands(c, node)) is not None:
        return decided
    result = operator_type(node.operator, left, right)
    if result is None:
        return report_operands(c, node, node.operator, left, right)
    return result


# The method for an operator that joins collections in other languages, by operator and type.
JOINING = {
    ("*", "Array"): "(0..n).map(|_| x)", ("+", "Array"): "xs.concat(ys)", ("-", "Array"): "xs.filter(|x| !ys.contains(x))",
    ("+", "Map"): "a.merge(b)", ("+", "Set"): "a.union(b)", ("-", "Set"): "a.difference(b)",
}  # fmt: skip


def _with_operands(c: Checker, node: ast.Expr, form: str) -> str:
    """Return a form with the operands in the place of its names."""
    if not isinstance(node, ast.Binary):
        return form
    named = {"xs": c.operand(node.left, "xs"), "ys": c.operand(node.right, "ys")}
    named |= {"a": c.operand(node.left, "a"), "b": c.operand(node.right, "b")}
    return re.sub(r"\b(xs|ys|a|b)\b", lambda name: named[name[0]], form)


def kind_name(type_: Type) -> str:
    """Return the name of a generic type without its arguments, "" for other types."""
    return type_.name if isinstance(type_, Generic) else ""


def _chained_help(c: Checker, node: ast.Expr) -> str | None:
    """Return the help for `a < b < c`."""
    if not isinstance(node, ast.Binary) or not isinstance(node.left, ast.Binary):
        return None
    first, middle, last = (c.text(part)[1:-1] for part in (node.left, node.left.right, node.right))
    return f"write `{first} && {middle} {node.operator} {last}`"


def report_operands(c: Checker, node: ast.Expr, operator: str, left: Type, right: Type) -> Type:
    """Report operands that an operator does not take (E2002), with the help for the most likely mistake; return ERRONEOUS."""
    help = absent_help(left) or absent_help(right)
    if help is None and operator in ("+", "%") and (is_text(left) or is_text(right)) and BYTES not in (left, right):
        help = "use `${…}` or `.to_string()`"
    elif help is None and operator == "+" and BYTES in (left, right):
        help = "bytes are added to bytes: `.to_bytes()` makes them of a text"
    elif help is None and NIL in (left, right):
        help = "a function without `-> T` returns nothing, which is `nil`"
    elif help is None and operator == "*" and is_text(left) and right == INT:
        literal = node.left.value if isinstance(node, ast.Binary) and isinstance(node.left, ast.StringLiteral) else ""
        number = number_help(literal, INT) if literal.isdecimal() else None
        help = number or f"write `{_with_operands(c, node, 'xs.repeat(ys)')}`"
    elif help is None and operator in EQUALITY and (is_text(left) or is_text(right)):
        help = "compare values of one type: `.to_string()` makes text of a value, `.parse_int()` a number of text"
    elif help is None and operator in ORDER and left == BOOL:
        help = _chained_help(c, node)
    elif help is None and (joined := JOINING.get((operator, kind_name(left)))) is not None:
        help = f"write `{_with_operands(c, node, joined)}`"
    elif help is None and operator == "||" and BOOL not in (left, right):
        help = "`||` takes Bools; for a default write `if x == \"\" { default } else { x }`, of what may be absent `x ?? default`"
    elif help is None and operator in operators.texts(operators.OR, operators.AND):
        help = condition_help(right if left == BOOL else left)
    return c.report("E2002", node.span, f"`{operator}` cannot be applied to `{left}` and `{right}`", help=help)


def operator_type(operator: str, left: Type, right: Type) -> Type | None:
    """Return the result of a binary operator, or None if the operands do not suit (L-3.6.1 to L-3.6.7)."""
    left, right = widen(left), widen(right)
    # Nothing happens behind an operand that never comes; the right one may not even be evaluated.
    if left == NEVER:
        return NEVER
    if operator in ARITHMETIC:
        return _arithmetic(operator, left, right)
    if operator in EQUALITY:
        return BOOL if comparable(left, right) else None
    if ANY in (left, right):  # the check moves to run time (L-3.6.12)
        return BOOL
    if right == NEVER:
        legal = (*NUMBERS, STRING) if operator in ORDER else (BOOL,)
        return BOOL if left in legal else None
    if operator in ORDER:
        both_numbers = left in NUMBERS and right in NUMBERS
        return BOOL if both_numbers or left == right == STRING else None
    return BOOL if left == right == BOOL else None


def _arithmetic(operator: str, left: Type, right: Type) -> Type | None:
    if operator == "+" and STRING in (left, right):
        other = right if left == STRING else left
        return STRING if other in (STRING, ANY, NEVER) else None
    if operator == "+" and left == BYTES and right in (BYTES, NEVER):
        return BYTES
    if ANY in (left, right):
        return ANY
    if right == NEVER:
        return ANY if left in NUMBERS else None
    if left not in NUMBERS or right not in NUMBERS:
        return None
    return INT if left == right == INT else FLOAT


def coalesce(c: Checker, node: ast.Binary, expected: Expected) -> Type:
    """Return the type of `a ?? b`: the join of what is inside the left side with the right side, which is converted to it. E2043
    for a left side that is never absent, E2021 for sides without a join."""
    left = c.infer(node.left)
    inside = _type_inside(left)
    if inside is None:
        c.infer(node.right, expected)
        if left is ERRONEOUS:
            return ERRONEOUS
        return c.report("E2043", node.left.span, f"`{left}` is never absent", help=_never_absent_help(c, node.left, left))
    # The default is guided by what is inside the left side, so that `xs ?? []` has its type.
    right = c.infer(node.right, Expected(inside, expected.code) if inside != ANY else expected)
    if left == ANY:
        return left
    joined = join(inside, right)
    if joined is None:
        return c.report(
            "E2021", node.right.span, f"the branches disagree: `{inside}` and `{right}`",
            help="give a default of the type before `??`",
        )
    coercion = convert(right, joined)
    node.right.coercion = None if coercion is MISMATCH else coercion
    return joined


def _never_absent_help(c: Checker, node: ast.Expr, type_: Type) -> str:
    node = ast.ungrouped(node)
    if generic(type_, "Result"):
        return "use `.unwrap_or(…)`"
    if isinstance(node, ast.Index) and keyed(node.receiver.type):
        return f"`[…]` panics on a missing key; write `.get({c.text(node.index)[1:-1]}) ?? …`"
    return "remove `??`"


def _type_inside(type_: Type) -> Type | None:
    """Return the type inside an optional one; None for a type that is never absent."""
    if isinstance(type_, Nilable):
        return type_.inner
    if type_ is ERRONEOUS:
        return None
    if type_ in (ANY, NIL, NEVER):
        return ANY if type_ == ANY else NEVER
    inside = generic(type_, "Option")
    return inside[0] if inside else None


# Casts.


def cast(c: Checker, node: ast.Cast, expected: Expected) -> Type:
    """Return T, the type of `x as T`; E2024 where no cast leads from one type to the other; in a `try` one that may fail counts
    as an error that leaves (L-3.5.8)."""
    target = written_type(c, node.target)
    source = c.infer(node.operand, Expected(target) if isinstance(node.operand, _LITERALS) else FREE)
    source = source if castable(c, source, target) else c.narrowed(node.operand, source)
    if source is ERRONEOUS or target is ERRONEOUS:
        return target
    if not castable(c, source, target):
        # A Map is not cast to a struct: that needs the checks of `json::value_as`.
        structural = isinstance(c.declared(target), StructSymbol) and generic(source, "Map") is not None
        help = "use `json::value_as`, of a text `json::parse_as` or `parse_schema`" if structural else None
        return c.report("E2024", node.span, f"`{source}` cannot be cast to `{target}`", help=help)
    # Elsewhere a cast that fails is a panic, which no type shows.
    if c.in_try and _may_fail(source, target):
        note_cast_failure(c, node)
    return target


def _may_fail(source: Type, target: Type) -> bool:
    """Return whether a cast counts as one that may fail (L-3.5.8)."""
    if target in (STRING, BOOL, ANY) or source in (target, NEVER):
        return False
    if target in NUMBERS:
        return source == ANY or is_text(source)
    return not (isinstance(target, Union) and fits(source, target))


# Operands that are typed against the target of the cast: their parts have no type of their own yet.
_LITERALS = (ast.ArrayExpr, ast.MapExpr, ast.TupleExpr, ast.Closure)


def castable(c: Checker, source: Type, target: Type) -> bool:
    """Return whether a cast between the types is allowed (L-3.5)."""
    if source in (ANY, NEVER) or target in (STRING, BOOL, ANY):
        return True
    if target == INT:
        return source in (INT, FLOAT, BOOL) or is_text(source)
    if target == FLOAT:
        return source in NUMBERS or is_text(source)
    if isinstance(target, Union):
        return is_text(source)
    return convert(source, target) is not MISMATCH or _unchecked_inside(c, source, target)


def _unchecked_inside(c: Checker, source: Type, target: Type) -> bool:
    """Return whether the types differ only where one has Any: the cast then checks every element (L-3.5.6)."""
    match source, target:
        case _, _ if ANY in (source, target) or fits(source, target):
            return True
        case Simple(name="Int"), Simple(name="Float"):
            return True
        case Generic(), Generic() if source.name == target.name:
            return all(_unchecked_inside(c, a, b) for a, b in zip(source.arguments, target.arguments, strict=True))
        case Tuple(), Tuple() if len(source.items) == len(target.items):
            return all(_unchecked_inside(c, a, b) for a, b in zip(source.items, target.items, strict=True))
        case Nilable(), Nilable():
            return _unchecked_inside(c, source.inner, target.inner)
    return False


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Unary: unary,
    ast.Binary: binary,
    ast.Cast: cast,
}


# Places: fields, elements, indexes; assignment and what may be changed (L-3.6.10, L-3.7, L-3.13, L-5.5).


def field_access(c: Checker, node: ast.FieldAccess, expected: Expected) -> Type:
    """Return the type of `x.name` and set `node.target` to how it is read; E2010 where there is no such field, E1006 for one that
    is private; W0013 for an entry of a Map that is called like a method."""
    receiver = _known_receiver(c, node)
    name = node.name.text
    type_ = _member_type(c, node, receiver, name)
    if type_ is not None and node.type_arguments is None:
        return type_
    if receiver is ERRONEOUS or receiver == NEVER:
        return receiver
    return _unknown_field(c, node, receiver, name)


def _member_type(c: Checker, node: ast.FieldAccess, receiver: Type, name: str) -> Type | None:
    """Return the type of a member and set `node.target`; None if the receiver has none of that name."""
    if receiver in (ANY, NEVER):
        node.target = FieldByName(name)
        return receiver
    if isinstance(receiver, Generic) and receiver.name == "Memory":
        return slot_member(c, node, receiver)
    if isinstance(receiver, Generic) and receiver.name == "Map":
        key, value = receiver.arguments
        node.target = FieldByName(name)
        if not (is_text(key) or key == ANY):
            return None
        if node in c.written_links:
            return value
        _warn_of_method(c, node.name)
        return nilable(value)
    if not isinstance(receiver, Nominal):
        return None
    if receiver.kind == "error":
        node.target = FieldOfError(name) if receiver == ERROR else FieldByName(name)
        return error_fields(receiver.name).get(name)
    found = field_of(c, receiver, name)
    if found is None:
        return None
    require_visible(c, c.declared(receiver), node.name)
    at, type_ = found
    node.target = FieldByPosition(at)
    return close(type_)  # of a literal whose type nothing says yet (`Box { v: None }.v`)


def field_of(c: Checker, type_: Nominal, name: str) -> tuple[int, Type] | None:
    """Return the place of a field of a struct, schema or record, counted from 0 in the order of the declaration, and its type;
    None where it has none of that name."""
    if type_.kind == "record":
        fields = RECORD_FIELDS.get(type_.name, {})
        return ([*fields].index(name), fields[name]) if name in fields else None
    symbol = c.declared(type_)
    if not isinstance(symbol, StructSymbol):
        return None
    count, places = c.field_places.get(symbol, (0, {}))
    if count != len(symbol.fields):  # while types are declared fields may still be added
        places = {field: at for at, (field, _, _, _) in enumerate(symbol.fields)}
        c.field_places[symbol] = len(symbol.fields), places
    at = places.get(name)
    return None if at is None else (at, part_in(c, symbol, type_, at))


def _warn_of_method(c: Checker, name: ast.Ident) -> None:
    """Warn of `m.len` on a Map, which reads the entry `len`, mostly where `m.len()` is meant (W0013)."""
    if lookup("Map", name.text) is not None:
        text = f"`.{name.text}` without a call reads the entry {name.text!r} of the Map"
        c.report("W0013", name.span, text, help=f'`.{name.text}()` calls the method; write the entry as `["{name.text}"]`')


def fields_of(c: Checker, type_: Nominal) -> dict[str, Type]:
    """Return the fields of a struct, schema or record with their types, in the order of the declaration; {} for other types. The
    dict may be a cached one: it must not be changed."""
    if type_.kind == "record":
        return RECORD_FIELDS.get(type_.name, {})
    symbol = c.declared(type_)
    if not isinstance(symbol, StructSymbol):
        return {}
    parts = parts_in(c, symbol, type_)
    # By identity of the list of fields, which is kept alive in the cache; its length tells whether fields were added since.
    known = c.field_types.get(id(parts))
    if known is None or known[0] is not parts or len(known[1]) != len(parts):
        known = (parts, {name: t for name, t, _, _ in parts})
        c.field_types[id(parts)] = known
    return known[1]


def require_visible(c: Checker, symbol: Symbol | None, name: ast.Ident) -> None:
    """Report a field that is private where it is named (E1006, L-8.4.1). Nothing is private in what is no struct; `symbol` is
    then None or of another class."""
    if isinstance(symbol, StructSymbol) and name.text in private_fields(c.modules, symbol, name.span):
        c.report(
            "E1006", name.span, f"field `{name.text}` of `{symbol.name}` is private in module `{symbol.home}`",
            help="declare it `pub`, or offer a function there",
        )  # fmt: skip


def error_fields(family: str) -> dict[str, Type]:
    """Return the members of an error value of a family, with their types, in a new dict. Those of related families, and those
    that pipelines add, are nil where the error has none (L-3.11.13)."""
    members: dict[str, Type] = dict.fromkeys(ADDED_FIELDS, ANY)
    # A value of a family may be of one below it, and is also of those above it.
    for other in FAMILIES.values():
        if is_family(other.name, family) or is_family(family, other.name):
            members.update(dict.fromkeys(other.all_fields(), ANY))
    return {**members, "kind": STRING, "variant": Nilable(STRING), "message": STRING}


def _unknown_field(c: Checker, node: ast.FieldAccess, receiver: Type, name: str) -> Type:
    if isinstance(receiver, Nilable):
        help: str | None = absent_help(receiver)
    elif lookup(kind_of(receiver), name) is not None or find_method(c, receiver, name) is not None:
        help = f"call the method: `{name}()`"
    elif (generic(receiver, "HashMap") or (NIL,))[0] in (STRING, ANY):
        help = f'an entry is read and written in brackets: `["{name}"]`'
    else:
        help = _tool_help(node, name) or absent_help(receiver) or _member_help(c, receiver, name)
    return c.report("E2010", node.name.span, f"`{receiver}` has no field `{name}`", help=help)


def _tool_help(node: ast.FieldAccess, name: str) -> str | None:
    """Return the help for a field of a tool, whose state is seen within the tool only (O-4.6)."""
    root = root_of(node.receiver)
    tool = root.binding if isinstance(root, ast.PathExpr) else None
    if not isinstance(tool, ToolSymbol):
        return None
    known = any(method.name == name for method in tool.arguments)
    return f"call the method: `{name}(…)`" if known else f"only its methods see its fields: add `pub fn {name}(self)` to the tool"


def _member_help(c: Checker, receiver: Type, name: str) -> str | None:
    """Return the help that names the field or method of this name in other languages, else the nearest one, else all there
    are."""
    members = _member_names(c, receiver)
    field = next((f for f in names.FIELDS.get(name, ()) if f in members), None)
    if field is not None and isinstance(receiver, Nominal):
        return f"use `{field}`"
    method = everyday_method(receiver, name)
    if method is not None:
        return method
    what = "fields" if isinstance(receiver, Nominal) and receiver.kind != "error" else "methods"
    return did_you_mean(name, members) or listed(what, members, like=name)


def _member_names(c: Checker, receiver: Type) -> list[str]:
    if isinstance(receiver, Nominal):
        fields = error_fields(receiver.name) if receiver.kind == "error" else fields_of(c, receiver)
        return list(fields)
    return method_names(kind_of(receiver))


def tuple_access(c: Checker, node: ast.TupleAccess, expected: Expected) -> Type:
    """Return the type of `x.0`; E2017 where there is no such element."""
    receiver = c.narrowed(node.receiver, c.infer(node.receiver))
    if receiver in (ANY, NEVER):
        return receiver
    if isinstance(receiver, Tuple) and node.index < len(receiver.items):
        return receiver.items[node.index]
    help = _elements_help(receiver, ".") if isinstance(receiver, Tuple) else "elements are those of tuples only"
    return c.report("E2017", node.span, f"`{receiver}` has no element {node.index}", help=help)


def _elements_help(receiver: Tuple, before: str) -> str:
    """Return the help that tells the elements of a tuple; `before` stands before their numbers."""
    last = len(receiver.items) - 1
    if last < 1:
        return f"its only element is `{before}0`" if last == 0 else "an empty tuple has no elements"
    return f"elements are `{before}0` to `{before}{last}`"


def _known_receiver(c: Checker, node: ast.Index | ast.FieldAccess) -> Type:
    """Return the type of the receiver. Of a variable whose type is still open, parts are Any, and stay so if one is written
    through."""
    receiver = c.narrowed(node.receiver, c.infer(node.receiver))
    if receiver.is_open and open_local(node.receiver) is not None:
        # The use of its parts fixes the open sides.
        receiver = close(receiver)
        if node in c.written_links:
            learn(node.receiver, receiver)
    return receiver


def index(c: Checker, node: ast.Index, expected: Expected) -> Type:
    """Return the type of `x[i]`: an element, a part for a range, or the value of a key (L-3.7); E2017 where the index does not
    suit."""
    receiver = _known_receiver(c, node)
    # The key is typed against the type of the keys, so that a word of a union may be written.
    keys = keyed(receiver)
    index_type = c.infer(node.index, Expected(keys[0], "E2017") if keys else FREE)
    index_type = index_type if keys else c.narrowed(node.index, index_type)
    if receiver in (ANY, NEVER) or index_type is ERRONEOUS:
        return ERRONEOUS if index_type is ERRONEOUS else receiver
    if keys:
        key = c.coerce(node.index, index_type, Expected(keys[0], "E2017", "the key"))
        return ERRONEOUS if key is ERRONEOUS else keys[1]
    result = _element_type(receiver, index_type, node.index)
    if result is None:
        return _not_indexable(c, node, receiver, index_type)
    return result


def _not_indexable(c: Checker, node: ast.Index, receiver: Type, index_type: Type) -> Type:
    if isinstance(receiver, Tuple) and isinstance(node.index, ast.IntLiteral):
        return c.report(
            "E2017", node.index.span, f"`{receiver}` has no element {node.index.value}", help=_elements_help(receiver, "")
        )
    help = "cast it: `as Int`" if index_type == FLOAT else "an index is an `Int`" if is_text(index_type) else None
    if _element_type(receiver, INT, node.index) is None:
        help = absent_help(receiver) or _method_instead_help(c, node, receiver)
    return c.report("E2017", node.index.span, f"`{receiver}` cannot be indexed by `{index_type}`", help=help)


def _method_instead_help(c: Checker, node: ast.Index, receiver: Type) -> str:
    """Return the help for values without an index, of which a memory has a method instead."""
    if is_memory(receiver):
        return f"write `{c.text(node.receiver)[1:-1]}.messages()[…]`"
    return "strings, bytes, arrays, tuples, ranges, maps and hashmaps have elements"


def _element_type(receiver: Type, index_type: Type, index: ast.Expr) -> Type | None:
    # A range as index gives a part of the same type.
    by_int, by_range = index_type in (INT, ANY, NEVER), index_type == RANGE
    items = generic(receiver, "Array")
    if items:
        return items[0] if by_int and index_type != ANY else receiver if by_range else ANY if by_int else None
    if is_text(receiver):
        return STRING if by_int or by_range else None
    if receiver == BYTES:
        return INT if by_int else BYTES if by_range else None
    if receiver == RANGE:
        return INT if by_int else None
    if isinstance(receiver, Tuple) and by_int:
        if isinstance(index, ast.IntLiteral):
            return receiver.items[index.value] if index.value < len(receiver.items) else None
        return join_all(list(receiver.items)) or ANY
    return None


# Writing.


def assign(c: Checker, node: ast.Assign, expected: Expected) -> Type:
    """Check `place = value` or `place += value`; return the type of the place, ERRONEOUS where a mistake leaves none (L-3.6.10,
    L-5.5). E0104 for what is no place, E2001 for a value of another type; beside these what `require_mutable` and
    `report_operands` report, and E4524 for a slot that is written once."""
    c.note_written_place(node.target)
    if node.operator == "=":
        _learn_variable(c, node)
    target = c.infer(node.target)
    _check_writable(c, node.target, target)
    root = root_of(node.target)
    if not (is_entry(root) or _is_variable(root) or target is ERRONEOUS):
        c.report("E0104", node.target.span, "the left side of an assignment is not a place", help=copied_help(node.target))
        target = ERRONEOUS
    # A slot of a context has rules of its own: written once, or declared `mut`.
    slot = slot_in(node.target)
    if slot is None:
        require_mutable(c, node.target)
    elif slot is ast.ungrouped(node.target) and node.operator == "=" and isinstance(slot.target, SlotAccess):
        target = slot.target.slot.type
    else:
        refuse_change(c, slot, node.target, f"`{node.operator}`" if node.operator != "=" else "this assignment")
    # The value is typed nevertheless, for what is wrong inside it.
    unassignable = slot is None and isinstance(root, ast.PathExpr) and not isinstance(root.binding, Local)
    if target is ERRONEOUS or unassignable:
        c.infer(node.value)
        return ERRONEOUS
    if node.operator == "=":
        c.value(node.value, Expected(target, place=_described(node.target)))
        return target
    actual = c.narrowed(node.value, c.infer(node.value))
    if actual is ERRONEOUS:
        return ERRONEOUS
    operator = node.operator.removesuffix("=")
    result = operator_type(operator, target, actual)
    if result is None:
        return report_operands(c, node, operator, target, actual)
    # `x += 0.5` would make a Float of an Int variable.
    if result not in (ANY, NEVER, target):
        return c.report(
            "E2001", node.value.span, f"expected `{target}`, found `{result}`: `{operator}` widens the value",
            help=f"declare the variable `{result}`, or cast the right side: `as {target}`",
        )
    return target


def _learn_variable(c: Checker, node: ast.Assign) -> None:
    """Take the type of a variable from an assignment, if it is still open (L-3.2.8): the value is then typed before the place."""
    place = ast.ungrouped(node.target)
    whole = place.receiver if isinstance(place, (ast.Index, ast.FieldAccess)) else place
    if open_local(whole) is not None:
        key = c.infer(place.index) if isinstance(place, ast.Index) else None
        learn_from_assignment(place, key, c.infer(node.value))


def _described(target: ast.Expr) -> str:
    inner = ast.ungrouped(target)
    if isinstance(inner, ast.PathExpr):
        return f"`{inner.segments[-1].text}`"
    return f"field `{inner.name.text}`" if isinstance(inner, ast.FieldAccess) else ""


def _is_variable(root: ast.Expr) -> bool:
    return isinstance(root, ast.PathExpr) and len(root.segments) == 1 and root.type_arguments is None


def _check_writable(c: Checker, target: ast.Expr, type_: Type) -> None:
    """Report an assignment to a slice or to a character of a String, which are no places (E0104, L-5.5.1)."""
    inner = ast.ungrouped(target)
    if isinstance(inner, ast.Index) and type_ is not ERRONEOUS:
        receiver = inner.receiver.type
        if is_text(receiver) or receiver in (RANGE, BYTES) or inner.index.type == RANGE:
            c.report(
                "E0104", target.span, f"a part of a `{receiver}` is no place that can be assigned",
                help=_whole_help(c, inner, receiver),
            )


def _whole_help(c: Checker, place: ast.Index, receiver: Type) -> str:
    """Return the help: the assignment of the whole String, for one character of it."""
    text = c.operand(place.receiver, "s")
    if is_text(receiver) and isinstance(place.index, ast.IntLiteral):
        at = place.index.value
        return f'write `{text} = {text}[..{at}] + "…" + {text}[{at + 1}..]`'
    return "make a new value and assign the whole"


def require_mutable(c: Checker, place: ast.Expr, by: str | None = None) -> None:
    """Report an assignment to `place`, or a change of it by the method `by`, whose variable is not `mut` (E2034, E2035, E2036,
    of a slot E4524; L-3.13.1, L-3.13.2). A variable that may be changed is marked as changed (W0011); a change of the copy that
    a task has is warned of (W0404). Nothing is reported of what has no variable, such as the result of a call."""
    slot = slot_in(place)
    if slot is not None:
        refuse_change(c, slot, place, f"`{by}`")
        return
    root = root_of(place)
    if not isinstance(root, ast.PathExpr):
        return
    direct = by is None and ast.ungrouped(place) is root
    name = root.segments[-1].text
    match root.binding:
        case Local():
            _require_local(c, place, root.binding, direct, by)
        case None:
            return
        case ConstSymbol():
            help = f"copy it first: `let mut x = {name};`"
            c.report("E2034" if direct else "E2035", place.span, f"`{name}` is a constant", help=help)
        # Models, tools and functions are no variables; a method of theirs changes nothing here.
        case _ if direct:
            c.report("E2034", place.span, f"`{name}` is a declaration, not a variable", help="declare a variable with `let mut`")


def _require_local(c: Checker, place: ast.Expr, local: Local, direct: bool, by: str | None) -> None:
    _warn_copied(c, place, local)
    if local.mutable or (direct and local.deferred):
        local.changed = True
        return
    help = _mutable_help(c, local)
    if local.name == "self":
        _self_is_immutable(c, place, direct, by)
        return
    if direct:
        c.report("E2034", place.span, f"`{local.name}` is immutable", help=help)
        return
    inner = ast.ungrouped(place)
    written = f"assigning to field `{inner.name.text}`" if isinstance(inner, ast.FieldAccess) else "assigning an element"
    change = f"`{by}`" if by else written
    c.report("E2035", place.span, f"{change} changes the immutable `{local.name}`", help=help)


def _warn_copied(c: Checker, place: ast.Expr, local: Local) -> None:
    """Warn of a change of a captured variable in a task, which has its own copy (W0404, O-6.8)."""
    scope = c.function_target.scope
    while scope is not None and scope is not local.scope:
        # Between here and the variable begins a task: it captured a copy.
        if scope.copies:
            message = f"this changes the task's copy of `{local.name}`"
            c.report("W0404", place.span, message, help="give the new value as the result of the task")
            return
        scope = scope.parent


def _mutable_help(c: Checker, local: Local) -> str:
    """Return the help: how this variable is declared `mut`, by the words before its name."""
    place = local.declared_at
    if not isinstance(place, ast.BindPattern):
        return f"copy it first: `let mut {local.name} = {local.name};`"
    # The word before the name tells which form declares it; the pattern itself does not know.
    before = c.sources[place.span.file].text[: place.span.start].rstrip()[-4:]
    if before.endswith("for"):
        return f"write `for mut {local.name} in …`"
    return f"declare it `let mut {local.name}`" if before.endswith("let") else f"write `mut {local.name}` in the pattern"


def _self_is_immutable(c: Checker, place: ast.Expr, direct: bool, by: str | None) -> None:
    inner = ast.ungrouped(place)
    written = f"assigning to field `{inner.name.text}`" if isinstance(inner, ast.FieldAccess) else "the assignment"
    change = f"`{by}`" if by else written
    c.report("E2036", place.span, f"{change} changes `self`", help="take `mut self`")


PLACE_RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.FieldAccess: field_access,
    ast.TupleAccess: tuple_access,
    ast.Index: index,
    ast.Assign: assign,
}
