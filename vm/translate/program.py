"""The translated parts of a program, made when they are first wanted and shared by its machines; what the host has kept of them
from other processes is not made again.

Hands on `Translation`: a part's code by function or loop, and the names it uses. What makes them is imported by the first that is
made. Must not know: machines, tasks, files.
"""

from __future__ import annotations

from ..bytecode.opcodes import OPCODES
from .analysis import CallGraph
from .library import NAMES, blank
from .parts import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .functions import Function


class Translation:
    """`parts`: by (function, head or -1 for all of it, metered); None for what stays with the interpreter."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.graph = CallGraph(program)
        self.functions: dict[tuple[int, bool], Function | None] = {}
        self.parts: dict[tuple[int, int, bool], Part | None] = {}
        self.bodies: dict[tuple[int, bool], dict[int, frozenset[int]]] = {}
        kept = None if program.kept is None else program.kept.read()
        if kept is not None:
            self.bodies, rows = kept
            self.parts = {key: None if row is None else Part.unpacked(row) for key, row in rows.items()}
        self.found = len(self.parts)  # that were kept
        self.passing: set[tuple[int, int, bool]] = set()  # not translated for a reason that another process may not have

    def grown(self) -> int:
        """How many parts there are to keep beyond those that were kept."""
        return len(self.parts) - len(self.passing) - self.found

    def packed(self) -> tuple[Any, Any]:
        """What the host may keep, as `program.kept.read()` is to give it back: of the same image and the same translator. Other
        threads may be translating meanwhile."""
        parts = [(key, part) for key, part in list(self.parts.items()) if key not in self.passing]
        return dict(self.bodies), {key: None if part is None else part.packed() for key, part in parts}

    def function(self, number: int, metered: bool) -> Function | None:
        from .flow import Unshaped
        from .functions import Function

        key = (number, metered)
        if key not in self.functions:
            try:
                self.functions[key] = Function(self.program, self.graph, number, metered)
            except Unshaped:
                self.functions[key] = None
        return self.functions[key]

    def whole(self, number: int, metered: bool) -> Part | None:
        key = (number, -1, metered)
        if self.graph.suspends[number]:
            return None
        if key not in self.parts:
            function = self.function(number, metered)
            self.parts[key] = self._compiled(key, lambda: None if function is None else function.whole())
        return self.parts[key]

    def loops(self, number: int, metered: bool) -> dict[int, frozenset[int]]:
        """Heads of the loops that may be translated by themselves, with their blocks."""
        key = (number, metered)
        if key not in self.bodies:
            function = self.function(number, metered)
            self.bodies[key] = {} if function is None else function.loops()
        return self.bodies[key]

    def loop(self, number: int, head: int, metered: bool) -> Part | None:
        key = (number, head, metered)
        if key not in self.parts:
            function = self.function(number, metered)
            self.parts[key] = self._compiled(key, lambda: None if function is None else function.loop(head))
        return self.parts[key]

    def _compiled(self, key: tuple[int, int, bool], make: Any) -> Part | None:
        from .flow import Unshaped

        kept = self.program.kept
        done = None if kept is None else kept.making(len(self.parts) + 1)
        try:
            part: Part | None = make()
            if part is not None:
                module = compile(part.source, f"<translated {part.name}>", "exec", dont_inherit=True)
                part.code = next(constant for constant in module.co_consts if hasattr(constant, "co_code"))
            return part
        except (Unshaped, SyntaxError):  # the second: nested deeper than CPython compiles
            return None
        except (RecursionError, MemoryError):  # the same, or there was little room here
            self.passing.add(key)
            return None
        finally:
            if done is not None:
                done()

    def value_of(self, name: str) -> Any:
        """What a global name of translated code stands for, where it is no function of the program."""
        if name.startswith("new") and name[3].isdigit():
            return blank(self.value_of(f"K{name[3:]}"))
        letter, rest = name[0], name[1:]
        if letter == "K" and "_" in rest:
            number, _, operand = rest.partition("_")
            return self.program._resolve(OPCODES[int(number)], int(operand))
        if letter == "W" and rest[:1] == "_":
            numbers = [int(number) for number in rest[1:].split("_")]
            return tuple(zip([self.program.codes[number] for number in numbers[::2]], numbers[1::2], strict=True))
        if letter == "B" and rest.isdigit():
            return self.program.constants[int(rest)][0]
        return NAMES[name]
