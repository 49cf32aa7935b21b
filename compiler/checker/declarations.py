"""Structs, enums, constants, aliases, and decorators' places (L-3.9, L-3.13.5).

Hands on the passes that type all declarations before any body. Must not know: bodies of functions.
"""

from __future__ import annotations

from contextlib import suppress

from .. import ast
from ..source import Span
from ..symbols import AliasSymbol, ConstSymbol, EnumSymbol, StructSymbol, Symbol, VariantSymbol
from ..types import Nilable, Nominal, Tuple, Type
from .constants import Fault, NotConstant, fold, size_of
from .context import Checker, Expected, Target
from .lookalikes import quoted_type
from .ordering import in_order
from .relations import ERRONEOUS
from .types import alias_type, written_type


def declare_types(c: Checker, symbols: list[Symbol]) -> None:
    """Aliases, then the fields of structs, then the types of constants."""
    for symbol in symbols:
        if isinstance(symbol, (StructSymbol, EnumSymbol)) and symbol.type_parameters and isinstance(symbol.type, Nominal):
            symbol.type = symbol.type.of(tuple(parameter.type for parameter in symbol.type_parameters))
    for alias in in_order([symbol for symbol in symbols if isinstance(symbol, AliasSymbol)], _aliases_in):
        alias_type(c, alias)
    for symbol in symbols:
        if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Struct):
            symbol.fields = _fields(c, symbol.name, symbol.declaration.fields)
        elif isinstance(symbol, EnumSymbol):
            _declare_payloads(c, symbol)
        elif isinstance(symbol, ConstSymbol):
            symbol.type = written_type(c, symbol.declaration.type)


def _aliases_in(symbol: AliasSymbol) -> list[AliasSymbol]:
    """The aliases that an alias is made of."""
    found: list[AliasSymbol] = []
    waiting: list[ast.Node] = [symbol.declaration.target]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.NamedType) and isinstance(node.binding, AliasSymbol):
            found.append(node.binding)
        waiting.extend(node.children())
    return found


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
                help=f"remove {c.text(field)}, or rename it",
            )
            continue
        seen[name] = field.name.span
        found.append((name, written_type(c, field.type), field.default, False))
        quoted_type(c, field)
    return found


def check_cycles(c: Checker, symbols: list[Symbol]) -> None:
    """A value that would have to hold itself: E2040, of a schema E4020 (L-3.1.15, O-2.11)."""
    structs = [symbol for symbol in symbols if isinstance(symbol, StructSymbol)]
    done: set[StructSymbol] = set()
    for symbol in structs:
        for circle in _circles(c, symbol, done):
            first = min(circle, key=lambda s: s.declaration.span.start)
            at = circle.index(first)
            shown = [s.name for s in [*circle[at:], *circle[:at], first]]
            if len(shown) > CIRCLE_SHOWN:
                shown[CIRCLE_SHOWN // 2 : -CIRCLE_SHOWN // 2] = ["…"]
            names = " -> ".join(shown)
            code = "E4020" if isinstance(first.declaration, ast.Schema) else "E2040"
            help = "hold it in an Option or an Array"
            c.report(code, first.declaration.name.span, f"circular type `{names}`", help=help)


CIRCLE_SHOWN = 20


def _circles(c: Checker, start: StructSymbol, done: set[StructSymbol]) -> list[list[StructSymbol]]:
    """The circles met in a depth-first walk from `start` over what is not yet done."""
    found: list[list[StructSymbol]] = []
    if start in done:
        return found
    path = {start: _held(c, start)}  # in the order of the walk
    while path:
        at, left = next(reversed(path.items()))
        below = left.pop() if left else None
        if below is None:
            path.popitem()
            done.add(at)
        elif below in path:
            members = list(path)
            found.append(members[members.index(below) :])
        elif below not in done:
            path[below] = _held(c, below)
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
    values = _Values(c)
    for symbol in in_order(constants, _constants_in):
        with suppress(NotConstant):
            values.value(symbol, symbol.declaration.name)


def _constants_in(symbol: ConstSymbol) -> list[ConstSymbol]:
    """The constants that a constant is made of."""
    found: list[ConstSymbol] = []
    waiting: list[ast.Node] = [symbol.declaration.value]
    known: set[ast.Node] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.PathExpr) and isinstance(node.binding, ConstSymbol):
            found.append(node.binding)
        elif isinstance(node, ast.StructExpr) and isinstance(node.binding, (StructSymbol, VariantSymbol)):
            defaults = [default for _, _, default, _ in node.binding.fields if default is not None and default not in known]
            known.update(defaults)
            waiting.extend(defaults)
        waiting.extend(node.children())
    return found


class _Values:
    """The values of constants, folded when they are asked for first."""

    def __init__(self, c: Checker) -> None:
        self.checker = c

    def value(self, symbol: ConstSymbol, place: ast.Node) -> object:
        """Folds a constant once; one that needs itself is E2032."""
        c = self.checker
        state = c.constants.get(symbol)
        if state == "busy":
            c.report("E2032", place.span, f"the constant `{symbol.name}` depends on itself", help="give one of them a literal")
            raise NotConstant(place)
        if state is None:
            c.constants[symbol] = "busy"
            value = folded(c, symbol.declaration.value, "E2032")
            c.constants[symbol] = "failed" if value is FAILED else "done"
            symbol.value = None if value is FAILED else value
        if c.constants[symbol] == "failed":
            raise NotConstant(place)
        return symbol.value

    def charge(self, node: ast.Node, value: object) -> None:
        self.spend(node, size_of(value, max(0, self.checker.constant_room)))

    def spend(self, node: ast.Node, values: int) -> None:
        self.checker.constant_room -= values
        if self.checker.constant_room < 0:
            raise Fault(node, "P103", "the constants of the program are too large together, or one is too deep")


FAILED = object()


def folded(c: Checker, node: ast.Expr, code: str) -> object:
    """The value of a constant expression; FAILED after a report with `code`, or E2033 for one that would panic."""
    before = len(c.diagnostics.found)
    values = _Values(c)
    try:
        value = c.nesting.call(fold, node, values)
        if type(value) not in (int, float, bool):
            values.charge(node, value)
        return value
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
    return c.diagnostics.has_errors_in(node.span)
