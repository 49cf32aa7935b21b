"""Constant expressions, evaluated at compile time (L-3.13.5).

Hands on `fold`, `NotConstant`, `Fault`. Works on checked trees, so operand types are right. Must not know: where a constant is
asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import ast
from ..symbols import (
    CheckAny,
    ConstStruct,
    ConstSymbol,
    ConstVariant,
    StructSymbol,
    ToFloat,
    VariantCall,
    VariantSymbol,
)
from ..types import FLOAT

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class NotConstant(Exception):
    """The expression has a part that is not constant."""

    def __init__(self, node: ast.Node) -> None:
        super().__init__()
        self.node = node


class Fault(Exception):
    """Evaluation would panic: the code and the panic's text."""

    def __init__(self, node: ast.Node, code: str, text: str) -> None:
        super().__init__(text)
        self.node = node
        self.code = code
        self.text = text


# Asked for the value of another constant, which may be folded later in the file.
Lookup = Callable[[ConstSymbol, ast.Node], object]


def fold(node: ast.Expr, lookup: Lookup) -> Any:
    """The value of a constant expression as plain data, coerced as its place asks."""
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
            return "".join(display(fold(part, lookup), part) for part in node.parts)
        case ast.ArrayExpr():
            return [fold(item, lookup) for item in node.items]
        case ast.TupleExpr():
            return tuple([fold(item, lookup) for item in node.items])
        case ast.MapExpr():
            return {_key(fold(e.key, lookup)): fold(e.value, lookup) for e in node.entries}
        case ast.StructExpr():
            return _struct(node, lookup)
        case ast.Call():
            return _variant(node, lookup)
        case ast.Unary():
            return _unary(node, fold(node.operand, lookup))
        case ast.Binary():
            return _binary(node, fold(node.left, lookup), lookup)
        case ast.Cast():
            return _cast(node, fold(node.operand, lookup))
    raise NotConstant(node)


def _key(value: Any) -> Any:
    # True and 1 are different keys of a Map, but one key of a dict; the literal forms never mix the two.
    return value


def _name(node: ast.PathExpr, lookup: Lookup) -> object:
    match node.binding:
        case ConstSymbol():
            return lookup(node.binding, node)
        case VariantSymbol(form="unit"):
            return node.binding
    raise NotConstant(node)


def _variant(node: ast.Call, lookup: Lookup) -> ConstVariant:
    """`E::V(a)`; other calls are not constant."""
    if not isinstance(node.target, VariantCall):
        raise NotConstant(node)
    values = [fold(value, lookup) for value in node.target.arguments if value is not None]
    return ConstVariant(node.target.variant, values)


def _struct(node: ast.StructExpr, lookup: Lookup) -> ConstStruct | ConstVariant:
    symbol = node.binding
    if not isinstance(symbol, (StructSymbol, VariantSymbol)):
        raise NotConstant(node)
    given = {entry.name.text: entry.value for entry in node.fields}
    base = None if node.base is None else fold(node.base, lookup)
    values: list[object] = []
    for position, (name, type_, default, _optional) in enumerate(symbol.fields):
        if name in given:
            values.append(fold(given[name], lookup))
        elif isinstance(base, ConstStruct):
            values.append(base.values[position])
        elif default is not None:
            value = fold(default, lookup)  # perhaps before the default itself was checked
            values.append(float(value) if type_ == FLOAT and type(value) is int else value)
        else:
            raise NotConstant(node)
    return ConstStruct(symbol, values) if isinstance(symbol, StructSymbol) else ConstVariant(symbol, values)


# ---------------------------------------------------------------- operators


def _unary(node: ast.Unary, value: Any) -> Any:
    if node.operator == "!":
        return not value
    return _in_range(-value, node, "-") if isinstance(value, int) else -value


def _in_range(value: int, node: ast.Node, operator: str) -> int:
    if not LOWEST <= value <= HIGHEST:
        raise Fault(node, "P002", f"integer overflow in `{operator}`")
    return value


def _binary(node: ast.Binary, left: Any, lookup: Lookup) -> Any:
    operator = node.operator
    if operator == "&&":
        return bool(left and fold(node.right, lookup))
    if operator == "||":
        return bool(left or fold(node.right, lookup))
    if operator == "??":
        return left if left is not None else fold(node.right, lookup)
    right = fold(node.right, lookup)
    if operator in ("==", "!="):
        return _equal(left, right) == (operator == "==")
    if operator in ("<", ">", "<=", ">="):
        return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator]
    if isinstance(left, str) or isinstance(right, str):
        return display(left, node) + display(right, node)
    if isinstance(left, int) and isinstance(right, int):
        return _in_range(_integer(node, left, right), node, operator)
    return _floating(operator, float(left), float(right))


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, VariantSymbol) and isinstance(right, VariantSymbol):
        return left.enum is right.enum and left.index == right.index
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _integer(node: ast.Binary, a: int, b: int) -> int:
    match node.operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "**":
            return _power(node, a, b)
    if b == 0:
        raise Fault(node, "P003", "division by zero")
    quotient = abs(a) // abs(b)
    quotient = quotient if (a < 0) == (b < 0) else -quotient
    return quotient if node.operator == "/" else a - b * quotient


def _power(node: ast.Binary, a: int, b: int) -> int:
    if b < 0:
        raise Fault(node, "P013", "negative exponent of `**`")
    if abs(a) > 1 and b > 64:
        raise Fault(node, "P002", "integer overflow in `**`")
    return int(a ** (b if abs(a) > 1 else b % 2 + 2 * (b > 1)))


def _floating(operator: str, a: float, b: float) -> float:
    try:
        match operator:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "/":
                return a / b if b else _by_zero(a, b)
            case "%":
                return math.fmod(a, b) if b and not math.isinf(a) else math.nan
        return math.pow(a, b)
    except OverflowError:
        return math.inf if a > 0 or b % 2 == 0 else -math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan


def _by_zero(a: float, b: float) -> float:
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


# ---------------------------------------------------------------- casts and Display


def _cast(node: ast.Cast, value: Any) -> Any:
    match str(node.type):
        case "String":
            return display(value, node)
        case "Bool":
            return not (value is None or value is False or value in (0, "", [], {}, ()))
        case "Int":
            return _to_int(node, value)
        case "Float":
            return _to_float(node, value)
        case "Any":
            return value
    if isinstance(value, str):
        return value
    raise NotConstant(node)


def _to_int(node: ast.Cast, value: Any) -> int:
    if isinstance(value, str):
        try:
            return _in_range(int(value.strip().replace("_", "x")), node, "as")
        except (ValueError, Fault):
            raise Fault(node, "P008", f'cannot cast "{value}" to Int') from None
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return HIGHEST if value > 0 else LOWEST
        return max(LOWEST, min(HIGHEST, int(value)))
    return int(value)


def _to_float(node: ast.Cast, value: Any) -> float:
    try:
        return float(value.strip().replace("_", "x") if isinstance(value, str) else value)
    except ValueError:
        raise Fault(node, "P008", f'cannot cast "{value}" to Float') from None


def display(value: Any, node: ast.Node) -> str:
    """Display text of a scalar constant (L-5.1); of larger values it is left to run time."""
    if isinstance(value, str):
        return value
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, VariantSymbol):
        return f"{value.enum.name}::{value.name}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    raise NotConstant(node)


