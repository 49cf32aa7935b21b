"""The translated parts of a program, made when they are first wanted and shared by its machines.

Hands on `Translation`: a part's code by function or loop, and the names it uses. Must not know: machines, tasks.
"""

from __future__ import annotations

from ..bytecode.opcodes import OPCODES
from .analysis import CallGraph
from .flow import Unshaped
from .functions import Function
from .library import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .functions import Part


class Translation:
    """`parts`: by (function, head or -1 for all of it, metered); None for what stays with the interpreter."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.graph = CallGraph(program)
        self.functions: dict[tuple[int, bool], Function | None] = {}
        self.parts: dict[tuple[int, int, bool], Part | None] = {}

    def function(self, number: int, metered: bool) -> Function | None:
        key = (number, metered)
        if key not in self.functions:
            try:
                self.functions[key] = Function(self.program, self.graph, number, metered)
            except Unshaped:
                self.functions[key] = None
        return self.functions[key]

    def whole(self, number: int, metered: bool) -> Part | None:
        key = (number, -1, metered)
        if key not in self.parts:
            function = None if self.graph.suspends[number] else self.function(number, metered)
            self.parts[key] = self._compiled(lambda: None if function is None else function.whole())
        return self.parts[key]

    def loops(self, number: int, metered: bool) -> dict[int, frozenset[int]]:
        """Heads of the loops that may be translated by themselves, with their blocks."""
        function = self.function(number, metered)
        return {} if function is None else function.loops()

    def loop(self, number: int, head: int, metered: bool) -> Part | None:
        key = (number, head, metered)
        if key not in self.parts:
            function = self.function(number, metered)
            self.parts[key] = self._compiled(lambda: None if function is None else function.loop(head))
        return self.parts[key]

    def _compiled(self, make: Any) -> Part | None:
        try:
            part: Part | None = make()
            if part is not None:
                module = compile(part.source, f"<translated {part.name}>", "exec", dont_inherit=True)
                part.code = next(constant for constant in module.co_consts if hasattr(constant, "co_code"))
            return part
        except (Unshaped, SyntaxError, RecursionError, MemoryError):  # the last three: beyond what CPython compiles
            return None

    def value_of(self, name: str) -> Any:
        """What a global name of translated code stands for, where it is no function of the program."""
        letter, rest = name[0], name[1:]
        if letter == "K" and "_" in rest:
            number, _, operand = rest.partition("_")
            return self.program._resolve(OPCODES[int(number)], int(operand))
        if letter == "B" and rest.isdigit():
            return self.program.constants[int(rest)][0]
        return NAMES[name]
