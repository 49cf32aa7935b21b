"""Generic declarations: what their parts are for given type arguments, and type arguments found at calls (L-3.2.6, L-3.9).

Hands on `parts_in`, `shape_in`, `Instance`, `written_arguments`. Must not know: what is called or built.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import ast
from ..source import Span
from ..symbols import FunctionSymbol, StructSymbol, TraitSymbol, TypeParameterSymbol, VariantSymbol
from ..types import ANY, OPEN, Generic, Nominal, Type
from .arguments import Matched
from .bounds import require_bounds
from .builtins import hints_of, infer_arguments
from .context import Checker, Expected
from .relations import ERRONEOUS, close, is_complete
from .signatures import Bindings, Formal, opened, substitute, unify
from .types import written_type

Parts = list[tuple[str, Type, ast.Expr | None, bool]]


def shape_in(c: Checker, own: Type, type_: Type) -> Type:
    """A declared generic type as it can occur in a value of `type_`: with the same type arguments, or with Any for each."""
    if not isinstance(own, Nominal) or not own.arguments:
        return own
    if isinstance(type_, Nominal) and type_.bare == own.bare:
        return type_
    return own.of((ANY,) * len(own.arguments))


def parts_in(c: Checker, symbol: StructSymbol | VariantSymbol, type_: Type) -> Parts:
    """Fields of a struct or payload of a variant, in a value of this type."""
    declared = symbol.enum if isinstance(symbol, VariantSymbol) else symbol
    names = [parameter.name for parameter in declared.type_parameters]
    if not names:
        return symbol.fields
    shape = shape_in(c, declared.type, type_)
    assert isinstance(shape, Nominal)
    bindings = dict(zip(names, shape.arguments, strict=True))
    return [
        (name, substitute(opened(part, names), bindings), default, left_out)
        for name, part, default, left_out in symbol.fields
    ]


class Instance:
    """One use of something generic: the type arguments found so far."""

    __slots__ = ("checker", "name", "parameters", "names", "bindings", "hints")

    def __init__(self, c: Checker, name: str, parameters: Sequence[TypeParameterSymbol]) -> None:
        self.checker = c
        self.name = name
        self.parameters = parameters
        self.names = [parameter.name for parameter in parameters]
        self.bindings: Bindings = {}
        self.hints: Bindings = {}

    def open(self, type_: Type) -> Type:
        return opened(type_, self.names)

    def explicit(self, names: Sequence[str], given: Sequence[Type], span: Span) -> None:
        """Written type arguments give all of them (E2028)."""
        if len(given) != len(names):
            plural = "" if len(names) == 1 else "s"
            self.checker.report(
                "E2028", span, f"`{self.name}` takes {len(names)} type argument{plural}, {len(given)} given",
                help=f"write `{self.name}<{', '.join(names)}>`",
            )
            self.bindings.update(dict.fromkeys(names, ERRONEOUS))
            return
        self.bindings.update(zip(names, given, strict=True))

    def expect(self, result: Type, expected: Expected) -> None:
        """What the surroundings say about the result."""
        self.hints = hints_of(self.open(result), expected)

    def meet(self, formal: Type, found: Type) -> None:
        unify(self.open(formal), found, self.bindings)

    def meet_hinted(self, formal: Type, found: Type) -> None:
        """The same where what is expected is preferred if the found type converts to it."""
        unify(self.open(formal), found, self.bindings, self.hints)

    def arguments(self, formals: Sequence[Formal], matched: Matched) -> None:
        """Types the given arguments and converts them; defaults say nothing about type arguments."""
        given = [
            (Formal(formal.name, self.open(formal.type), True), value)
            for formal, value in zip(formals, matched.values, strict=True)
            if value is not None
        ]
        values: list[ast.Expr | None] = [value for _, value in given]
        infer_arguments(
            self.checker, [formal for formal, _ in given], Matched(values, list(range(len(values)))), self.bindings, self.hints
        )
        self.settle()

    def settle(self) -> None:
        for name, hint in self.hints.items():
            if is_complete(hint):
                self.bindings.setdefault(name, hint)

    def require_all(self, span: Span, help: str) -> None:
        """E2029 for what stays open."""
        for name in self.names:
            if name not in self.bindings:
                self.checker.report("E2029", span, f"the type argument `{name}` of `{self.name}` cannot be found", help=help)
                self.bindings[name] = ERRONEOUS

    def require_bounds(self, span: Span) -> None:
        """E2026 for what was found."""
        found = [self.bindings.get(name, ANY) for name in self.names]
        require_bounds(self.checker, self.name, self.parameters, found, span)

    def hinted(self, type_: Type) -> Type:
        """A type of the declaration with what was found or is expected so far."""
        return substitute(self.open(type_), {**self.hints, **self.bindings})

    def type(self, type_: Type) -> Type:
        """A type of the declaration with what was found; the rest is open."""
        return substitute(self.open(type_), self.bindings)

    def closed(self, type_: Type) -> Type:
        return close(self.type(type_))

    @property
    def is_open(self) -> bool:
        return any(self.bindings.get(name, OPEN) == OPEN for name in self.names)


def written_arguments(c: Checker, node: ast.PathExpr, symbol: FunctionSymbol, instance: Instance) -> None:
    """`f<Int>` gives the type arguments of the function, `T<Int>::f` those of its type."""
    if node.type_arguments is None:
        return
    given = [written_type(c, argument) for argument in node.type_arguments]
    if node.member is None or symbol.owner is None:
        instance.explicit([parameter.name for parameter in symbol.type_parameters], given, node.span)
        return
    target = symbol.owner.target
    if isinstance(symbol.owner, TraitSymbol):
        return  # a default: the type it is called for is that of the impl
    wanted = target.arguments if isinstance(target, (Nominal, Generic)) else ()
    if len(given) != len(wanted):
        instance.explicit(["_"] * len(wanted), given, node.span)
        return
    for formal, type_ in zip(wanted, given, strict=True):
        instance.meet(formal, type_)
