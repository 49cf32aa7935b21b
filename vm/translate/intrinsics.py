"""Built-in methods that translated code writes out instead of calling them.

A row gives the text for receiver and arguments; it means what the body in vm/builtins means for values of the declared types.
`named`: every part is a name or a constant, since it is written twice; `needs`: for which parts the row holds.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .stack import Entry


class Intrinsic:
    __slots__ = ("text", "named", "fails", "low", "needs")

    def __init__(
        self,
        text: str,
        *,
        named: bool = False,
        fails: bool = True,
        low: int | None = None,
        needs: Callable[[list[Entry]], bool] | None = None,
    ) -> None:
        self.text = text
        self.named = named
        self.fails = fails
        self.low = low
        self.needs = needs


def texts(parts: list[Entry]) -> bool:
    return all(part.kind[0] == "string" for part in parts)


def floats(parts: list[Entry]) -> bool:
    return all(part.kind[0] == "float" for part in parts)


def keyed(parts: list[Entry]) -> bool:
    """A key that is in the Map as it is."""
    return parts[1].kind[0] in ("string", "int")


INTRINSICS: dict[tuple[str, str], Intrinsic] = {
    ("Array", "len"): Intrinsic("len({items})", low=0),
    ("Array", "is_empty"): Intrinsic("not {items}"),
    ("Array", "push"): Intrinsic(
        "{items}.append({1}) if len({items}) < limits.items else collection_too_long()", named=True
    ),
    ("Float", "sqrt"): Intrinsic("sqrt({0}) if {0} >= 0 else NAN", named=True, fails=False, needs=floats),
    ("String", "contains"): Intrinsic("{1} in {0}", named=True, fails=False, needs=texts),
    ("String", "starts_with"): Intrinsic("{0}.startswith({1})", fails=False, needs=texts),
    ("String", "ends_with"): Intrinsic("{0}.endswith({1})", fails=False, needs=texts),
    ("Map", "has"): Intrinsic("{1} in {items}", named=True, fails=False, needs=keyed),
    ("Map", "len"): Intrinsic("len({items})", low=0),
    ("String", "len"): Intrinsic("len({})", low=0),
}
