"""Which clause of a `try` an error comes to (L-3.11.15).

Hands on to `propagation` `Clauses`, which takes the clauses of a `try` in their order and says whether one of them covers an
error, and which is the first that covers another clause. Each clause is looked at once, and an error only where a clause may suit
it: a `try` may have thousands of both. Nothing is reported here. A further way in which a clause catches an error is a line of
`Clauses._places`. The head of a type is what the run tells values apart by: its name without type arguments.
"""

from __future__ import annotations

from ...vm.values.errors import ancestors
from ..symbols import ErrorFamilySymbol
from ..syntax import ast
from ..types import ERROR, STRING, Generic, Nominal, Type, bare, error
from .relations import ERRONEOUS, heads_of, implements, is_error, is_error_value, is_text


def variant_of(clause: ast.CatchClause) -> str | None:
    """Return the V of `catch F::V`, None for every other clause."""
    binding = clause.type.binding if isinstance(clause.type, ast.NamedType) else None
    return binding.variant if isinstance(binding, ErrorFamilySymbol) else None


class Clauses:
    """The clauses of one `try` that were added so far. Only the first of those that catch the same counts."""

    __slots__ = ("clauses", "everything", "unknown", "by_type", "by_generic", "by_head", "by_trait", "found")

    def __init__(self) -> None:
        self.clauses: list[ast.CatchClause] = []
        # places in `clauses`
        self.everything: int | None = None
        self.unknown: int | None = None  # of a clause that was reported, which is taken to catch everything
        self.by_type: dict[tuple[Type, str | None], int] = {}
        self.by_generic: dict[str, int] = {}  # by the name of a generic type
        self.by_head: dict[str, list[int]] = {}  # of traits, by the heads of the types that implement them
        self.by_trait: dict[str, list[int]] = {}  # of traits, by their own names
        self.found: dict[tuple[Type, str | None], int] = {}  # answers that no clause behind can change

    def add(self, clause: ast.CatchClause) -> None:
        """Add a clause behind all others. Its `caught` is set: the type that it catches, None for one that catches everything, or
        ERRONEOUS for one that was reported."""
        place = len(self.clauses)
        self.clauses.append(clause)
        caught = clause.caught
        if caught is None:
            self.everything = place if self.everything is None else self.everything
        elif caught is ERRONEOUS:
            self.unknown = place if self.unknown is None else self.unknown
        elif self.by_type.setdefault((bare(caught), variant_of(clause)), place) == place:
            if isinstance(caught, Generic):
                self.by_generic.setdefault(caught.name, place)
            elif isinstance(caught, Nominal) and caught.kind == "trait":
                self.by_trait.setdefault(caught.bare.unique_name, []).append(place)
                for head in caught.facts.implementations.heads():
                    self.by_head.setdefault(head, []).append(place)

    def covers(self, type_: Type) -> bool:
        """Return whether some clause catches every error of a type; one that was reported counts as catching everything."""
        return self.unknown is not None or self._first(type_, None) is not None

    def covering(self, clause: ast.CatchClause) -> ast.CatchClause | None:
        """Return the first clause that catches all that another one does, None without one; clauses that were reported are passed
        over. `clause.caught` of the other is not ERRONEOUS."""
        place = self.everything if clause.caught is None else self._first(clause.caught, variant_of(clause))
        return None if place is None else self.clauses[place]

    def _first(self, type_: Type, variant: str | None) -> int | None:
        key = (type_, variant)
        if key not in self.found:
            places = [place for place in self._places(type_, variant) if place is not None]
            if not places:
                return None
            self.found[key] = min(places)
        return self.found[key]

    def _places(self, type_: Type, variant: str | None) -> list[int | None]:
        """Return the places of clauses that catch all errors of a type, or of a variant of it, the first among them."""
        get = self.by_type.get
        places = [self.everything, get((bare(type_), None)), get((bare(type_), variant))]  # the run sees the bare type (L-3.1.22)
        if is_error(type_) and isinstance(type_, Nominal):
            families = [error(name) for name in ancestors(type_.name)]
            places += [get((family, own)) for family in families for own in (None, variant)]
        if is_error_value(type_):
            places.append(get((ERROR, None)))
        if isinstance(type_, Generic):
            places.append(self.by_generic.get(type_.name))  # so it does here
        if is_text(type_):
            places.append(get((STRING, None)))
        places.append(next((place for place in self._traits(type_) if implements(type_, self.clauses[place].caught)), None))
        return places

    def _traits(self, type_: Type) -> list[int]:
        """Return the places of clauses with a trait that a type may implement, in order."""
        if isinstance(type_, Nominal) and type_.kind in ("parameter", "trait"):
            names = {bound.bare.unique_name for bound in (type_, *type_.facts.bounds)}
            return sorted(place for name in names for place in self.by_trait.get(name, ()))
        heads = {head for head in heads_of(type_) if head is not None}
        return sorted({place for head in heads for place in self.by_head.get(head, ())})
