"""What an image may hold at most (G-3.2). Only a host raises these. Must not know: who checks them."""

from __future__ import annotations


class Limits:
    """Sizes in bytes, otherwise counts; `stack`, `locals` (slots and cells alike) and `parameters` are per function."""

    __slots__ = (
        "file", "functions", "instructions", "constants", "string", "nesting", "stack", "locals", "parameters", "name",
    )  # fmt: skip

    def __init__(
        self,
        *,
        file: int = 8 << 20,
        functions: int = 10_000,
        instructions: int = 1_000_000,
        constants: int = 65_536,
        string: int = 1 << 20,
        nesting: int = 128,
        stack: int = 1_024,
        locals: int = 4_096,
        parameters: int = 255,
        name: int = 1 << 10,
    ) -> None:
        self.file = file
        self.functions = functions
        self.instructions = instructions
        self.constants = constants
        self.string = string
        self.nesting = nesting
        self.stack = stack
        self.locals = locals
        self.parameters = parameters
        self.name = name


DEFAULT = Limits()
