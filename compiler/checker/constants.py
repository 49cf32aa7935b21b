"""Constant expressions, evaluated at compile time (L-3.13.5).

Hands on `fold` (an expression to plain data) with its exceptions `NotConstant` and `Fault`, and `size_of`, to `declarations`,
from where everything else gets constant values; `NotConstant` to `memory_bounds` too. It works on trees that were typed; what
operators, casts and holes mean is left to the machine's own functions, so that folding and running cannot differ: only `!`, `&&`,
`||` and `??` are evaluated here. What may be constant is a case of `_fold`. How a constant becomes instructions is in
`codegen/constants`. Nothing is reported here: `declarations` makes diagnostics of the exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...vm import values as vm
from ...vm.bytecode.image import DEFAULT
from ...vm.panics import Panic
from .. import operators
from ..decisions import CheckAny, ConstructorCall, FromOption, ToFloat, ToOption, VariantCall
from ..symbols import BuiltinSymbol, ConstStruct, ConstSymbol, ConstVariant, StructSymbol, VariantSymbol
from ..syntax import ast
from ..types import Generic, Nilable, Simple, Tuple, Type, Union

# Folded constants as values of the machine and back (L-3.13.5, L-5.1). A folded constant is plain data: None, bool, int, float,
# str, list, tuple; dict, with the keys of a Map of the machine (`vm.key_of`), for which 1 and true are two; ConstStruct,
# ConstVariant and VariantSymbol for values of declared types; Some, Ok, Err around such data, and NONE.

Types = dict[object, Any]


def machine_value(value: Any, types: Types | None = None) -> Any:
    """Return the value of the machine for plain data: what the constant is when it runs. Values of declared types are equal only
    if both were made with the same `types`, which this fills."""
    types = {} if types is None else types
    match value:
        case list():
            return vm.Array([machine_value(item, types) for item in value])
        case tuple():
            return tuple([machine_value(item, types) for item in value])
        case dict():
            return vm.Map({key: machine_value(item, types) for key, item in value.items()})
        case vm.Some() | vm.Ok() | vm.Err():
            return type(value)(machine_value(value.value, types))
        case VariantSymbol():
            return _variant_value(value, [], types)
        case ConstVariant():
            return _variant_value(value.variant, value.values, types)
        case ConstStruct():
            cls = _struct_class(value.struct, types)
            return cls.of([machine_value(item, types) for item in value.values])
    return value


def _variant_value(symbol: VariantSymbol, payload: list[object], types: Types) -> Any:
    if symbol.enum not in types:
        types[symbol.enum] = vm.EnumType(symbol.enum.name, [_declared(member) for member in symbol.enum.members])
    return vm.EnumValue(types[symbol.enum], symbol.index, tuple([machine_value(part, types) for part in payload]) or None)


def _declared(member: VariantSymbol) -> vm.Variant:
    names = tuple([field[0] for field in member.fields]) if member.form == "struct" else ()
    return vm.Variant(member.name, len(member.fields), names)


def _struct_class(symbol: StructSymbol, types: Types) -> Any:
    if symbol not in types:
        types[symbol] = vm.make_struct_class(vm.StructType(symbol.name, [field[0] for field in symbol.fields]))
    return types[symbol]


def plain_value(value: Any, symbols: Mapping[Any, Any]) -> Any:
    """Return plain data of a value of the machine, as operators and casts give it. `symbols` has those of the declared types that
    `machine_value` made, by type."""
    match value:
        case vm.Array():
            return [plain_value(item, symbols) for item in value.items]
        case tuple():
            return tuple([plain_value(item, symbols) for item in value])
        case vm.Map():
            return {key: plain_value(item, symbols) for key, item in value.items.items()}
        case vm.Some() | vm.Ok() | vm.Err():
            return type(value)(plain_value(value.value, symbols))
        case vm.EnumValue():
            variant = symbols[value.decl].members[value.variant]
            parts = [plain_value(part, symbols) for part in value.payload or ()]
            return variant if variant.form == "unit" else ConstVariant(variant, parts)
        case vm.Struct():
            return ConstStruct(symbols[type(value)], [plain_value(part, symbols) for part in value.values()])
    return value


_SCALARS = {"Int": "int", "Float": "float", "String": "string", "Bool": "bool", "Nil": "nil", "Any": "any"}
_GENERIC = {"Array": "array", "Map": "map", "Option": "option", "Result": "result"}


def descriptor_of(type_: Type | None) -> Any:
    """Return the type of a cast as the machine knows it, a tuple of a word and its parts such as `("array", ("int",))`; None for
    a type that a constant cannot be cast to."""
    match type_:
        case Simple():
            return (_SCALARS[type_.name],) if type_.name in _SCALARS else None
        case Union():
            return ("union", tuple(type_.members))
        case Nilable():
            inner = descriptor_of(type_.inner)
            return inner and ("nilable", inner)
        case Tuple():
            parts = tuple([descriptor_of(item) for item in type_.items])
            return None if None in parts else ("tuple", parts)
        case Generic():
            arguments = [descriptor_of(item) for item in type_.arguments]
            return None if None in arguments or type_.name not in _GENERIC else (_GENERIC[type_.name], *arguments)
    return None


# Folding.


class NotConstant(Exception):
    """The expression has a part that is not constant: `node`, which may have been `reported`."""

    def __init__(self, node: ast.Node, reported: bool = False) -> None:
        super().__init__()
        self.node = node
        self.reported = reported


class Fault(Exception):
    """Evaluation of `node` would panic with this code and text."""

    def __init__(self, node: ast.Node, code: str, text: str) -> None:
        super().__init__(text)
        self.node = node
        self.code = code
        self.text = text


class Lookup(Protocol):
    """What folding needs of the program around the expression; `declarations` has the implementation."""

    def value(self, symbol: ConstSymbol, place: ast.Node) -> object:
        """Return the value of another constant, which may be declared later in the file. Raise NotConstant for one without
        value."""

    def default(self, owner: StructSymbol | VariantSymbol, name: str, type_: Type, node: ast.Expr) -> object:
        """Return the value of the default of a field, whose declaration may be checked later. Raise NotConstant for one that is
        not constant, Fault for one that needs itself."""

    def charge(self, node: ast.Node, value: object) -> None:
        """Count a value, and raise Fault when constants are too large together (G-5.10): they may name each other, so that few
        lines make huge ones."""

    def spend(self, node: ast.Node, values: int) -> None:
        """Count work that costs as much as so many values; raise Fault as `charge` does."""


LONGEST = DEFAULT.string  # characters of one string; an image counts bytes, and is refused later
DEEPEST = 256  # values inside each other (G-6.1)


def size_of(value: object, most: int) -> int:
    """Return how many values a constant is made of, a string counting one more for every 16 characters. The count ends at
    `most`: a larger constant, and one deeper than constants may be, gives `most` + 1."""
    size = depth = 0
    level: list[object] = [value]
    while level and size <= most:
        depth += 1
        inside: list[object] = []
        for at in level:
            size += 1
            match at:
                case str():
                    size += len(at) >> 4
                case list() | tuple():
                    inside.extend(at)
                case dict():
                    inside.extend(at)
                    inside.extend(at.values())
                case ConstStruct() | ConstVariant():
                    inside.extend(at.values)
                case vm.Some() | vm.Ok() | vm.Err():
                    inside.append(at.value)
            # Stop before a level is visited that alone is too large.
            if size + len(inside) > most:
                return most + 1
        level = inside
    return size if depth <= DEEPEST else most + 1


def fold(node: ast.Expr, lookup: Lookup) -> Any:
    """Return the value of a constant expression as plain data, coerced as its place asks. Raise NotConstant or Fault; for
    operands of wrong types, which were reported when they were typed, also AttributeError, TypeError or ValueError. A left-deep
    chain of operators is walked in a loop; other nesting recurses."""
    chain: list[ast.Binary] = []
    while isinstance(node, ast.Binary) and node.coercion is None:
        chain.append(node)
        node = node.left
    value = _coerced(node, _fold(node, lookup))
    for operation in reversed(chain):
        value = _binary(operation, value, lookup)
    return value


def _coerced(node: ast.Expr, value: Any) -> Any:
    if isinstance(node.coercion, ToFloat):
        return float(value)
    if isinstance(node.coercion, ToOption):
        return vm.NONE if value is None else vm.Some(float(value) if isinstance(node.coercion.inner, ToFloat) else value)
    if isinstance(node.coercion, FromOption):
        return None if value is vm.NONE else value.value
    # Other coercions make values that no constant can be: prompts, errors.
    if node.coercion is not None and not isinstance(node.coercion, CheckAny):
        raise NotConstant(node)
    return value


def _fold(node: ast.Expr, lookup: Lookup) -> Any:
    match node:
        case ast.IntLiteral() | ast.FloatLiteral() | ast.StringLiteral() | ast.BoolLiteral():
            return node.value
        case ast.NilLiteral():
            return None
        case ast.GroupExpr():
            return fold(node.inner, lookup)
        case ast.PathExpr():
            return _name(node, lookup)
        case ast.Interpolation():
            return _interpolated(node, lookup)
        case ast.ArrayExpr():
            return [fold(item, lookup) for item in node.items]
        case ast.TupleExpr():
            return tuple([fold(item, lookup) for item in node.items])
        case ast.MapExpr():
            return {_key(e.key, fold(e.key, lookup)): fold(e.value, lookup) for e in node.entries}
        case ast.StructExpr():
            return _struct(node, lookup)
        case ast.Call():
            return _variant(node, lookup)
        case ast.Unary():
            return _unary(node, fold(node.operand, lookup), lookup)
        case ast.Binary():
            return _binary(node, fold(node.left, lookup), lookup)
        case ast.Cast():
            return _cast(node, fold(node.operand, lookup), lookup)
    raise NotConstant(node)


def _key(node: ast.Expr, value: object) -> object:
    """Return the key of a Map for the value of `node`; raise Fault where it cannot be one, which of an Any only its value tells
    (L-3.1.5)."""
    try:
        return vm.key_of(machine_value(value))
    except Panic as panic:
        raise Fault(node, panic.code, panic.message) from None


def _interpolated(node: ast.Interpolation, lookup: Lookup) -> str:
    texts: list[str] = []
    length = 0
    for part in node.parts:
        value = fold(part, lookup)
        if type(value) is not str:
            lookup.charge(part, value)
            try:
                value = vm.display(machine_value(value))
            except Panic as panic:  # its text is too long
                raise Fault(part, panic.code, panic.message) from None
        length += len(value)
        _check_length(node, length)
        texts.append(value)
    text = "".join(texts)
    lookup.charge(node, text)
    return text


def _check_length(node: ast.Node, length: int) -> None:
    if length > LONGEST:
        raise Fault(node, "P103", f"a string of it is longer than {LONGEST} characters")


def _name(node: ast.PathExpr, lookup: Lookup) -> object:
    match node.binding:
        case ConstSymbol():
            return lookup.value(node.binding, node)
        case VariantSymbol(form="unit"):
            return node.binding
        case BuiltinSymbol(name="None"):
            return vm.NONE
    raise NotConstant(node)


CONSTRUCTORS: dict[str, Any] = {"Some": vm.Some, "Ok": vm.Ok, "Err": vm.Err}


def _variant(node: ast.Call, lookup: Lookup) -> Any:
    """Fold `E::V(a)`, `Some(a)`, `Ok(a)`, `Err(a)`; other calls are not constant."""
    if isinstance(node.target, ConstructorCall):
        payload = [fold(value, lookup) for value in node.target.arguments if value is not None]
        return CONSTRUCTORS[node.target.name](payload[0] if payload else None)
    if not isinstance(node.target, VariantCall):
        raise NotConstant(node)
    values = [fold(value, lookup) for value in node.target.arguments if value is not None]
    return ConstVariant(node.target.variant, values)


def _struct(node: ast.StructExpr, lookup: Lookup) -> ConstStruct | ConstVariant:
    symbol = node.binding
    if not isinstance(symbol, (StructSymbol, VariantSymbol)):
        raise NotConstant(node)
    entries = {entry.name.text: entry.value for entry in node.fields}
    base = None if node.base is None else fold(node.base, lookup)
    values: list[object] = []
    for position, (name, type_, default, optional) in enumerate(symbol.fields):
        if name in entries:
            values.append(fold(entries[name], lookup))
        elif isinstance(base, ConstStruct):
            values.append(base.values[position])
        elif default is not None:
            values.append(lookup.default(symbol, name, type_, default))
        elif optional:
            values.append(vm.NONE)
        else:
            raise NotConstant(node)
    return ConstStruct(symbol, values) if isinstance(symbol, StructSymbol) else ConstVariant(symbol, values)


# Operators.


def _machine(node: ast.Node, operation: Callable[..., Any], *operands: Any, lookup: Lookup) -> Any:
    """Return what an operation of the machine gives for plain data; raise Fault for its panic (E2033)."""
    types: Types = {}
    if operation is vm.add:
        _check_length(node, sum([len(operand) for operand in operands if type(operand) is str]))
    for operand in operands:
        if type(operand) is str:
            # Strings are copied quickly: 256 characters count as one value.
            lookup.spend(node, len(operand) >> 8)
        elif type(operand) not in _NUMBERS:
            lookup.charge(node, operand)
    try:
        value = operation(*[machine_value(operand, types) for operand in operands])
        return plain_value(value, {machine_type: symbol for symbol, machine_type in types.items()})
    except Panic as panic:
        raise Fault(node, panic.code, panic.message) from None


_NUMBERS = (int, float, bool, type(None))


def _unary(node: ast.Unary, value: Any, lookup: Lookup) -> Any:
    return not value if node.operator == "!" else _machine(node, vm.negate, value, lookup=lookup)


OPERATIONS = {row.text: row.fold for row in operators.OPERATORS if row.fold is not None}


def _binary(node: ast.Binary, left: Any, lookup: Lookup) -> Any:
    operator = node.operator
    if operator == "&&":
        return bool(left and fold(node.right, lookup))
    if operator == "||":
        return bool(left or fold(node.right, lookup))
    if operator == "??":
        if left is None or left is vm.NONE:
            return fold(node.right, lookup)
        return left.value if type(left) is vm.Some else left
    return _machine(node, OPERATIONS[operator], left, fold(node.right, lookup), lookup=lookup)


def _cast(node: ast.Cast, value: Any, lookup: Lookup) -> Any:
    descriptor = descriptor_of(node.type)
    if descriptor is None:
        raise NotConstant(node)
    return _machine(node, lambda operand: vm.cast(operand, descriptor), value, lookup=lookup)
