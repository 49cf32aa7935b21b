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


INTRINSICS: dict[tuple[str, str], Intrinsic] = {
    ("Array", "len"): Intrinsic("len({}.items)", low=0),
    ("Array", "is_empty"): Intrinsic("not {}.items"),
    ("Array", "push"): Intrinsic(
        "{0}.items.append({1}) if len({0}.items) < limits.items else collection_too_long()", named=True
    ),
    ("Map", "len"): Intrinsic("len({}.items)", low=0),
    ("String", "len"): Intrinsic("len({})", low=0),
}
