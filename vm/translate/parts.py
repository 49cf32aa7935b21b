"""A translated part, and the places in the bytecode that its lines stand for; as plain data with a code object too, which is how
a host keeps it from one process to the next (V-7.2).

Hands on `Part` and `Site`. Must not know: how text is made, where code is kept.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Site:
    """A place in the bytecode: index of the instruction, and the entries that the operand stack of the frame holds there, None
    where control never leaves. `element`: the variables of array and index, where an IndexError is about these."""

    __slots__ = ("index", "stack", "element")

    def __init__(self, index: int, stack: tuple[str, ...] | None, element: tuple[str, str] | None = None) -> None:
        self.index = index
        self.stack = stack
        self.element = element


class Part:
    """`head`: index of the first instruction; `source` defines one Python function, "" of a part that was kept; `sites` by line
    of it; `fuel`: the most that it uses without a loop."""

    __slots__ = ("name", "function", "head", "source", "sites", "fuel", "code")

    def __init__(self, name: str, function: int, head: int, source: str, sites: dict[int, Site], fuel: int) -> None:
        self.name = name
        self.function = function
        self.head = head
        self.source = source
        self.sites = sites
        self.fuel = fuel
        self.code: Any = None

    def packed(self) -> tuple[Any, ...]:
        """Numbers, texts, tuples, mappings and the code object."""
        sites = {line: tuple([getattr(site, name) for name in Site.__slots__]) for line, site in self.sites.items()}
        return self.name, self.function, self.head, sites, self.fuel, self.code

    @staticmethod
    def unpacked(row: tuple[Any, ...]) -> Part:
        name, function, head, sites, fuel, code = row
        part = Part(name, function, head, "", {line: Site(*place) for line, place in sites.items()}, fuel)
        part.code = code
        return part
