"""Structs, enums, constants, aliases, and decorators' places (L-3.9, L-3.13.5).

Hands on the passes that type all declarations before any body. Must not know: bodies of functions.
"""

from __future__ import annotations

from contextlib import suppress

from .. import ast
from ..source import Span
from ..symbols import AliasSymbol, ConstSymbol, EnumSymbol, StructSymbol, Symbol, VariantSymbol
from ..types import Nilable, Nominal, Tuple, Type
from .constants import Fault, NotConstant, fold
from .context import Checker, Expected, Target
from .relations import ERRONEOUS
from .types import alias_type, written_type


def declare_types(c: Checker, symbols: list[Symbol]) -> None:
    """Aliases, then the fields of structs, then the types of constants."""
    for symbol in symbols:
        if isinstance(symbol, (StructSymbol, EnumSymbol)) and symbol.type_parameters and isinstance(symbol.type, Nominal):
            symbol.type = symbol.type.of(tuple(parameter.type for parameter in symbol.type_parameters))
    for symbol in symbols:
        if isinstance(symbol, AliasSymbol):
            alias_type(c, symbol)
    for symbol in symbols:
        if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Struct):
            symbol.fields = _fields(c, symbol.name, symbol.declaration.fields)
        elif isinstance(symbol, EnumSymbol):
            _declare_payloads(c, symbol)
        elif isinstance(symbol, ConstSymbol):
            symbol.type = written_type(c, symbol.declaration.type)


def _declare_payloads(c: Checker, symbol: EnumSymbol) -> None:
    declared: dict[str, ast.Variant] = {}
    for node in symbol.declaration.variants:
        declared.setdefault(node.name.text, node)
    for member in symbol.members:
        node = declared[member.name]
        items = enumerate(node.items or ())
        member.fields = [(str(position), written_type(c, type_), None, False) for position, type_ in items]
        member.fields += _fields(c, f"{symbol.name}::{member.name}", node.fields or [])


Fields = list[tuple[str, Type, ast.Expr | None, bool]]


def _fields(c: Checker, owner: str, fields: list[ast.Field]) -> Fields:
    """Name, type, default and whether it may be left out without one."""
    seen: dict[str, Span] = {}
    found: Fields = []
    for field in fields:
        name = field.name.text
        if name in seen:
            c.report(
                "E2014", field.name.span, f"field `{name}` of `{owner}` is declared twice", first=seen[name],
                help="remove or rename one of them",
            )
            continue
        seen[name] = field.name.span
        found.append((name, written_type(c, field.type), field.default, False))
    return found


def check_cycles(c: Checker, symbols: list[Symbol]) -> None:
    """A value that would have to hold itself: E2040, of a schema E4020 (L-3.1.15, O-2.11)."""
    structs = [symbol for symbol in symbols if isinstance(symbol, StructSymbol)]
    done: set[StructSymbol] = set()
    for symbol in structs:
        for circle in _circles(c, symbol, done):
            first = min(circle, key=lambda s: s.declaration.span.start)
            at = circle.index(first)
            names = " -> ".join(s.name for s in [*circle[at:], *circle[:at], first])
            code = "E4020" if isinstance(first.declaration, ast.Schema) else "E2040"
            help = "hold it in an Option or an Array"
            c.report(code, first.declaration.name.span, f"circular type `{names}`", help=help)


def _circles(c: Checker, start: StructSymbol, done: set[StructSymbol]) -> list[list[StructSymbol]]:
    """The circles met in a depth-first walk from `start` over what is not yet done."""
    found: list[list[StructSymbol]] = []
    if start in done:
        return found
    path = [start]
    todo = [_held(c, start)]
    while path:
        if not todo[-1]:
            done.add(path.pop())
            todo.pop()
            continue
        below = todo[-1].pop()
        if below in path:
            found.append(path[path.index(below) :])
        elif below not in done:
            path.append(below)
            todo.append(_held(c, below))
    return found


def _held(c: Checker, symbol: StructSymbol) -> list[StructSymbol]:
    """The structs a value of this one always holds, last field first."""
    types = [inner for _, type_, _, _ in reversed(symbol.fields) for inner in _direct(type_)]
    return [held for held in map(c.declared, types) if isinstance(held, StructSymbol)]


def _direct(type_: Type) -> list[Type]:
    """Types a value of this type always holds."""
    if isinstance(type_, Tuple):
        return [inner for item in type_.items for inner in _direct(item)]
    return [type_] if isinstance(type_, Nominal) and not isinstance(type_, Nilable) else []


# ---------------------------------------------------------------- values in declarations


def check_defaults(c: Checker, symbol: StructSymbol | VariantSymbol) -> None:
    for name, type_, default, _ in symbol.fields:
        if default is not None:
            at_module_level(c, default, Expected(type_, place=f"field `{name}`"))


def at_module_level(c: Checker, node: ast.Expr, expected: Expected) -> Type:
    """An expression outside every function."""
    c.targets.append(Target("none", result=ERRONEOUS))
    found = c.value(node, expected)
    c.targets.pop()
    return found


def check_constants(c: Checker, symbols: list[Symbol]) -> None:
    constants = [symbol for symbol in symbols if isinstance(symbol, ConstSymbol)]
    for symbol in constants:
        at_module_level(c, symbol.declaration.value, Expected(symbol.type, place=f"`{symbol.name}`"))
    for symbol in constants:
        with suppress(NotConstant):
            _value_of(c, symbol, symbol.declaration.name)


def _value_of(c: Checker, symbol: ConstSymbol, node: ast.Node) -> object:
    """Folds a constant once; one that needs itself is E2032."""
    state = c.constants.get(symbol)
    if state == "busy":
        c.report("E2032", node.span, f"the constant `{symbol.name}` depends on itself", help="give one of them a literal")
        raise NotConstant(node)
    if state == "failed":
        raise NotConstant(node)
    if state == "done":
        return symbol.value
    c.constants[symbol] = "busy"
    value = folded(c, symbol.declaration.value, "E2032")
    c.constants[symbol] = "failed" if value is FAILED else "done"
    symbol.value = None if value is FAILED else value
    return symbol.value


FAILED = object()


def folded(c: Checker, node: ast.Expr, code: str) -> object:
    """The value of a constant expression; FAILED after a report with `code`, or E2033 for one that would panic."""

    def lookup(symbol: ConstSymbol, place: ast.Node) -> object:
        value = _value_of(c, symbol, place)
        if c.constants.get(symbol) == "failed":
            raise NotConstant(place)
        return value

    before = len(c.diagnostics.found)
    try:
        return c.nesting.call(fold, node, lookup)
    except NotConstant as part:
        if len(c.diagnostics.found) == before and not _reported(c, part.node):
            c.report(
                code, part.node.span, "this part is not constant",
                help="constants are made of literals, other constants and operators; compute the rest in a function",
            )
    except Fault as fault:
        if not _reported(c, fault.node):
            c.report("E2033", fault.node.span, f"the constant cannot be evaluated: {fault.text}", help="change the operands")
    except (AttributeError, TypeError, ValueError):
        pass  # operands of wrong types, reported when they were typed
    return FAILED


def _reported(c: Checker, node: ast.Node) -> bool:
    """Whether something inside this part was already found wrong."""
    return any(d.is_error and node.span.start <= d.span.start < node.span.end for d in c.diagnostics.found)
