"""Built-in methods that translated code writes out instead of calling them.

A row gives the text for receiver and arguments; it means what the body in vm/builtins means for values of the declared types.
`named`: every part is a name or a constant, since it is written twice; `needs`: for which parts the row holds. `{items}` is the
storage of the receiver, `{body}` the body itself for what the short form does not cover, `{room}` the characters of a constant
argument and one more; `Q` and `M` are as of a `Tier`. `listed`: the elements alone, for a walk over the Array.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .stack import Entry


class Intrinsic:
    __slots__ = ("text", "named", "fails", "low", "needs", "otherwise", "listed")

    def __init__(
        self,
        text: str,
        *,
        named: bool = False,
        fails: bool = True,
        low: int | None = None,
        needs: Callable[[list[Entry]], bool] | None = None,
        otherwise: Intrinsic | None = None,
        listed: str = "",
    ) -> None:
        self.text = text
        self.named = named
        self.fails = fails
        self.low = low
        self.needs = needs
        self.otherwise = otherwise
        self.listed = listed

    def fitting(self, parts: list[Entry]) -> Intrinsic | None:
        """This row, or the next one that holds for the parts."""
        if self.needs is None or self.needs(parts):
            return self
        return None if self.otherwise is None else self.otherwise.fitting(parts)


def texts(parts: list[Entry]) -> bool:
    return all(part.kind[0] == "string" for part in parts)


def mapped(word: str) -> Intrinsic:
    """A case mapping, whose result is looked at for its size."""
    return Intrinsic(f"w if len(w := {{0}}.{word}()) <= Q else join(EMPTY, [w])")


def splits(parts: list[Entry]) -> bool:
    return bool(parts[1].length)


def replaces(parts: list[Entry]) -> bool:
    return parts[1].simple and parts[1].kind[0] == "string" and parts[2].length is not None


def slices(parts: list[Entry]) -> bool:
    return all(part.simple and part.kind[0] == "int" for part in parts[1:])


def naturals(parts: list[Entry]) -> bool:
    return slices(parts) and all(part.low is not None and part.low >= 0 for part in parts[1:])


def floats(parts: list[Entry]) -> bool:
    return all(part.kind[0] == "float" for part in parts)


def numbers(parts: list[Entry]) -> bool:
    return all(part.kind[0] == "int" for part in parts)


def keyed(parts: list[Entry]) -> bool:
    """A key that is in the Map as it is."""
    return parts[1].sure and parts[1].kind[0] in ("string", "int")


INTRINSICS: dict[tuple[str, str], Intrinsic] = {
    ("Array", "len"): Intrinsic("len({items})", low=0),
    ("Array", "is_empty"): Intrinsic("not {items}"),
    ("Float", "sqrt"): Intrinsic("sqrt({0}) if {0} >= 0 else NAN", named=True, fails=False, needs=floats),
    ("Int", "to_float"): Intrinsic("float({0})", fails=False, needs=numbers),
    ("String", "contains"): Intrinsic("{1} in {0}", named=True, fails=False, needs=texts),
    ("String", "starts_with"): Intrinsic("{0}.startswith({1})", fails=False, needs=texts),
    ("String", "ends_with"): Intrinsic("{0}.endswith({1})", fails=False, needs=texts),
    ("Map", "has"): Intrinsic(
        "{1} in {items}", named=True, fails=False, needs=keyed,
        otherwise=Intrinsic("({1} if type({1}) is str else key_of({1})) in {items}", named=True),
    ),
    ("Map", "len"): Intrinsic("len({items})", low=0),
    ("String", "len"): Intrinsic("len({})", low=0),
    ("String", "is_empty"): Intrinsic("not {0}", fails=False),
    ("String", "trim"): Intrinsic("{0}.strip(WHITE_SPACE)"),
    ("String", "trim_start"): Intrinsic("{0}.lstrip(WHITE_SPACE)"),
    ("String", "trim_end"): Intrinsic("{0}.rstrip(WHITE_SPACE)"),
    ("String", "to_lower"): mapped("lower"),
    ("String", "to_lowercase"): mapped("lower"),
    ("String", "to_upper"): mapped("upper"),
    ("String", "to_uppercase"): mapped("upper"),
    ("String", "split"): Intrinsic(
        "Array(x.split({1})) if len(x := {0}) < M else {body}(x, {1})", needs=splits,
        listed="x.split({1}) if len(x := {0}) < M else {body}(x, {1}).items",
    ),
    ("String", "replace"): Intrinsic(
        "x.replace({1}, {2}) if (len(x := {0}) + 1) * {room} <= Q else {body}(x, {1}, {2})", needs=replaces
    ),
    ("String", "substring"): Intrinsic(
        "{0}[{1}:{2}]", needs=naturals, otherwise=Intrinsic(
            "(x[{1}:{2}] if {1} >= 0 and {2} >= 0 else {body}(x, {1}, {2})) if (x := {0}) else EMPTY", needs=slices
        )
    ),
    ("String", "chars"): Intrinsic(
        "Array(list(x)) if len(x := {0}) <= M else {body}(x)", listed="list(x) if len(x := {0}) <= M else {body}(x).items"
    ),
}  # fmt: skip

# Those that give an Option, as what it holds or END, and one that gives a Result, as its Int or Err: neither is made where only
# the value is asked for.
OPTIONS: dict[tuple[str, str], Intrinsic] = {
    ("String", "get"): Intrinsic("{0}[{1}] if 0 <= {1} < len({0}) else END", named=True, needs=slices),
    ("String", "index_of"): Intrinsic("w if (w := {0}.find({1})) >= 0 else END", needs=texts),
    ("String", "parse_int"): Intrinsic(
        "int({0}) if len({0}) < 18 and {0}.isdecimal() and {0}.isascii() else number({body}({0}))", named=True, needs=texts
    ),
    ("Array", "get"): Intrinsic("{items}[{1}] if 0 <= {1} < len({items}) else END", named=True, needs=slices),
    ("Array", "first"): Intrinsic("{items}[0] if {items} else END", named=True),
    ("Array", "last"): Intrinsic("{items}[-1] if {items} else END", named=True),
}
UNWRAPPING = frozenset({("Option", "unwrap"), ("Option", "unwrap_or"), ("Result", "unwrap_or")})
HARMLESS = INTRINSICS.keys() | UNWRAPPING | {("Array", "push"), ("Map", "set")}  # they change no elements that are there
