"""A translated part, and the places in the bytecode that its lines stand for; as plain data with a code object too, which is how
a host keeps it from one process to the next (V-7.2).

Hands on `Part`, `Site` and `Inlined`. Must not know: how text is made, where code is kept.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any


class Inlined:
    """A function in the place of its call: `call` is the instruction of `caller`, `slot` the number of its first local, `base`
    the depth of the operand stack beneath its own. The outermost one has no caller."""

    __slots__ = ("function", "caller", "call", "slot", "base", "around")

    def __init__(self, function: int, caller: Inlined | None = None, call: int = 0, slot: int = 0, base: int = 0) -> None:
        self.function = function
        self.caller = caller
        self.call = call
        self.slot = slot
        self.base = base
        self.around: list[Inlined] = [self] if caller is None else [*caller.around, self]


class Site:
    """A place in the bytecode: index of the instruction, and the entries that the operand stack of the frame holds there, None
    where control never leaves. `element`: the variables of array and index, where an IndexError is about these. `again`: the
    operand stack when the interpreter does the instruction itself, where that is another one than behind a call."""

    __slots__ = ("index", "stack", "element", "again")

    def __init__(self, index: int, stack: tuple[str, ...] | None, element: tuple[str, str] | None = None) -> None:
        self.index = index
        self.stack = stack
        self.element = element
        self.again: tuple[str, ...] | None = None


class Part:
    """`source` defines one Python function, "" of a part that was kept; `places` of the instructions by index, `sites` by line;
    `fuel`: the most that it uses without a loop."""

    __slots__ = ("name", "places", "source", "sites", "fuel", "code")

    def __init__(
        self,
        name: str,
        places: Sequence[tuple[int, Inlined]] | Mapping[int, tuple[int, Inlined]],
        source: str,
        sites: dict[int, Site],
        fuel: int,
    ) -> None:
        self.name = name
        self.places = places
        self.source = source
        self.sites = sites
        self.fuel = fuel
        self.code: Any = None

    def packed(self) -> tuple[Any, ...]:
        """Numbers, texts, tuples, mappings and the code object. Of the places those of the sites: who is inlined by its number
        among `functions`, callers first."""
        places = {site.index: self.places[site.index] for site in self.sites.values()}
        numbers: dict[Inlined, int] = {}
        functions: list[tuple[Any, ...]] = []
        for inlined in (each for _, innermost in places.values() for each in innermost.around):
            if inlined not in numbers:
                numbers[inlined] = len(functions)
                caller = None if inlined.caller is None else numbers[inlined.caller]
                functions.append((inlined.function, caller, inlined.call, inlined.slot, inlined.base))
        at = {index: (instruction, numbers[inlined]) for index, (instruction, inlined) in places.items()}
        sites = {line: (site.index, site.stack, site.element, site.again) for line, site in self.sites.items()}
        return self.name, functions, at, sites, self.fuel, self.code

    @staticmethod
    def unpacked(row: tuple[Any, ...]) -> Part:
        name, functions, at, sites, fuel, code = row
        inlined: list[Inlined] = []
        for function, caller, call, slot, base in functions:
            inlined.append(Inlined(function, None if caller is None else inlined[caller], call, slot, base))
        places = {index: (instruction, inlined[number]) for index, (instruction, number) in at.items()}
        part = Part(name, places, "", _sites(sites.items()), fuel)
        part.code = code
        return part


def _sites(rows: Iterable[tuple[int, Any]]) -> dict[int, Site]:
    found = {}
    for line, (index, stack, element, again) in rows:
        found[line] = site = Site(index, stack, element)
        site.again = again
    return found
