"""Constant values: into code, and as plain data for declarations.

Hands on `emit_constant`, `emit_variant`, `collect` and AT_ONCE to the generators, to `program` `constant_of`, which returns the
fields of declarations as data, with NotConstant, and to the pipeline TooLong. To push is to write the code into `g.emitter`
that leaves a value on the operand stack when it runs. Folding is for the checker, but for the sign of a literal number: what
comes here is a folded value or a literal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...vm import values as vm
from ...vm.builtins.signatures import EMPTY_MAP
from ...vm.bytecode import image as im
from .. import symbols
from ..source import Span
from ..syntax import ast
from .generator import Generator

T = TypeVar("T")


class TooLong(Exception):
    """The uses of constants make far more code than the program is long: each use of a collection builds it anew. `span`: the
    use that is too much, None in code without a source."""

    def __init__(self, span: Span | None) -> None:
        self.span = span


# Kinds of constants in the pool of the image.
_KINDS = {int: im.K_INT, float: im.K_FLOAT, str: im.K_STRING}
SMALL = 1 << 14  # Ints from 0 to below this fit into the two operand bytes of INT


def emit_constant(g: Generator, value: Any) -> None:
    """Push a folded constant (`ConstSymbol.value`) or the default of a built-in. Collections are built anew, since every use is a
    value of its own. Raise TooLong when the uses of constants make too much code. AssertionError for a value of another kind."""
    e = g.emitter
    g.module.constant_parts += 1
    if g.module.constant_parts > g.module.most_constant_parts:
        raise TooLong(e.span)
    if value is None:
        e.emit("NIL")
    # Before int, since a bool is one in Python.
    elif isinstance(value, bool):
        e.emit("TRUE" if value else "FALSE")
    elif isinstance(value, int) and 0 <= value < SMALL:
        e.emit("INT", value)
    elif isinstance(value, (int, float, str)):
        e.emit("CONST", g.module.pool.constant(_KINDS[type(value)], value))
    elif isinstance(value, tuple):
        for item in value:
            emit_constant(g, item)
        e.emit("TUPLE", len(value), len(value))
    elif isinstance(value, list):
        collect(g, "Array", [(item,) for item in value], emit_constant)
    elif isinstance(value, dict):
        collect(g, "Map", [(vm.unkey(key), item) for key, item in value.items()], emit_constant)
    elif value is vm.NONE:
        e.emit("NONE")
    elif isinstance(value, (vm.Some, vm.Ok, vm.Err)):
        emit_constant(g, value.value)
        e.emit(type(value).__name__.upper())
    elif isinstance(value, symbols.VariantSymbol):
        emit_variant(g, value)
    elif isinstance(value, symbols.ConstVariant):
        for item in value.values:
            emit_constant(g, item)
        g.emitter.emit("VARIANT", g.module.variant(value.variant), len(value.values))
    elif isinstance(value, symbols.ConstStruct):
        for item in value.values:
            emit_constant(g, item)
        e.emit("STRUCT", g.module.pool.type(value.struct.type), len(value.values))
    elif value is EMPTY_MAP:
        e.emit("MAP", 0, 0)
    else:
        raise AssertionError(f"no constant form for {value!r}")


def emit_variant(g: Generator, variant: symbols.VariantSymbol) -> None:
    """Push a variant without parts, which is one constant of the image."""
    g.emitter.emit("CONST", g.module.variant(variant))


_COLLECTIONS = {"Array": ("ARRAY", "push", 1), "Map": ("MAP", "set", 2)}
AT_ONCE = 128  # so many entries of a long literal lie on the operand stack together


def collect(g: Generator, kind: str, entries: Sequence[Sequence[T]], push: Callable[[Generator, T], None]) -> None:
    """Push an Array (`kind` "Array", entries of one part) or a Map (`kind` "Map", entries of key and value). `push` pushes one
    part; what it raises passes through. Entries behind the first AT_ONCE are added to these one by one."""
    e = g.emitter
    opcode, method, width = _COLLECTIONS[kind]
    first = entries[:AT_ONCE]
    for entry in first:
        for part in entry:
            push(g, part)
    e.emit(opcode, width * len(first), width * len(first))
    # The rest goes through the built-in method, one entry at a time, on the collection itself.
    for entry in entries[AT_ONCE:]:
        e.emit("DUP")
        for part in entry:
            push(g, part)
        e.emit("CALL_BUILTIN", g.module.pool.builtin(kind, method), 1 + width)
        e.emit("POP")


class NotConstant(Exception):
    """The expression is evaluated when the program runs."""


def constant_of(expr: ast.Expr) -> Any:
    """Return the plain data that a constant expression denotes: None, bool, int, float, str, list or dict; for the name of a
    constant its folded value (`ConstSymbol.value`), which the caller must not change. Raise NotConstant for any other form, `1 +
    2` too."""
    if isinstance(expr, (ast.IntLiteral, ast.FloatLiteral, ast.StringLiteral, ast.BoolLiteral)):
        return expr.value
    if isinstance(expr, ast.NilLiteral):
        return None
    if isinstance(expr, ast.GroupExpr):
        return constant_of(expr.inner)
    if isinstance(expr, ast.Unary) and expr.operator == "-":
        value = constant_of(expr.operand)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value
    if isinstance(expr, ast.ArrayExpr):
        return [constant_of(item) for item in expr.items]
    if isinstance(expr, ast.MapExpr):
        return {constant_of(entry.key): constant_of(entry.value) for entry in expr.entries}
    # The checker has folded the constant.
    if isinstance(expr, ast.PathExpr) and isinstance(expr.binding, symbols.ConstSymbol):
        return expr.binding.value
    raise NotConstant
