"""Bounds of type parameters against type arguments (L-3.9.3): E2026.

Hands on `require_bounds`, `settle_bounds`. Must not know: where type arguments come from.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..source import Span
from ..symbols import TypeParameterSymbol
from ..types import ANY, NEVER, Nominal, Type
from .context import Checker, WaitingBounds
from .implementing import implements, replaced_in
from .relations import is_complete


def require_bounds(
    c: Checker, owner: str, parameters: Sequence[TypeParameterSymbol], found: Sequence[Type], span: Span
) -> None:
    """E2026 for each type argument that does not implement what its parameter asks for. While types are declared the question
    waits until all impls are known."""
    if c.waiting_bounds is not None:
        c.waiting_bounds.append(WaitingBounds(owner, parameters, found, span))
        return
    pairs = [(own(p), type_) for p, type_ in zip(parameters, found, strict=False)]
    bindings = {parameter.unique_name: type_ for parameter, type_ in pairs}
    for parameter, type_ in pairs:
        for bound in parameter.facts.bounds:
            wanted = replaced_in(bound, bindings)
            if type_ not in (ANY, NEVER) and is_complete(type_) and not implements(type_, wanted):
                message = f"`{type_}` does not implement `{wanted}`, which `{parameter}` of `{owner}` asks for"
                c.report("E2026", span, message, help=_help(type_, wanted))


def settle_bounds(c: Checker) -> None:
    waiting, c.waiting_bounds = c.waiting_bounds or [], None
    for one in waiting:
        require_bounds(c, one.owner, one.parameters, one.found, one.span)


def own(parameter: TypeParameterSymbol) -> Nominal:
    """What a type parameter is inside its declaration."""
    assert isinstance(parameter.type, Nominal)
    return parameter.type


def _help(found: Type, bound: Nominal) -> str:
    if isinstance(found, Nominal) and found.kind == "parameter":
        return f"declare `<{found}: {bound}>`"
    return f"write `impl {bound} for {found} {{ … }}`"
