"""Images for tests: from a function's text in the assembler's form, or drawn at random by hypothesis."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.asm import assemble
from concerto.vm.bytecode.disasm import disassemble
from concerto.vm.schema import plain_form

BUILTINS = {("", "clock"): 0, ("Array", "push"): 2, ("String", "len"): 1}

FILE = ["main.conc", bytes(range(32))]


def empty_image(**sections: Any) -> i.Image:
    """An image that holds nothing but one file name and the sections given."""
    header = i.Header(list(i.FORMAT), 1, i.STD_VERSION, "test", "program", None, [], {}, {})
    found = {name: [] for name, _ in i.SECTIONS} | {
        "header": header,
        "exports": i.Exports({}, []),
        "types": [["any"]],
        "source_map": [FILE],
    }
    return i.Image(*(found | sections).values())


CONSTANTS = [
    (i.K_INT, 300),
    (i.K_FLOAT, 1.5),
    (i.K_STRING, "name"),
    (i.K_VARIANT, [2, 1]),
    (i.K_METHOD, ["push", 1]),
    (i.K_BUILTIN, ["String", "len"]),
    (i.K_ERROR, ["ToolError", "Timeout", "tool"]),
    (i.K_CONFIG, ["models", 0, "temperature"]),
]
TYPES = [
    ["any"],
    ["struct", "Point", [["x", 0, True], ["y", 0, False]]],
    ["enum", "Color", [["Red", []], ["Green", []]]],
    ["array", 1],
]
SHAPE: list[Any] = ["object", "Point", [], [[name, ["any"], False, False, None, None] for name in "xy"]]
SECTIONS = {
    "constants": CONSTANTS,
    "types": TYPES,
    "schemas": [i.Schema("Point", 1, SHAPE, plain_form(SHAPE), None, [])],
    "models": [i.Model("M", "openai", {"base": "m-1"}, None, 0, [], [["cache", {"seconds": 5}]])],
    "connections": [i.Connection("openai", {"key": "OPENAI_KEY"})],
    "memories": [i.Memory("log", 20, {"window": 4}, None, None)],
}


def with_functions(*texts: str, **sections: Any) -> i.Image:
    """An image with an entry of each kind and functions from `code(…)`."""
    frame = disassemble(empty_image(**(SECTIONS | sections)))
    numbered = "\n".join(f"function {number} {text}" for number, text in enumerate(texts))
    return assemble(frame.replace("[functions]\n", f"[functions]\n{numbered}\n"))


def code(
    body: str,
    *,
    name: str = "f",
    params: str = "[]",
    result: int = 0,
    slots: int = 2,
    captures: str = "[]",
    cells: int = 2,
    stack: int = 8,
    flags: str = "[]",
    at: str = "at 0:1:1",
    more: str = "",
) -> str:
    """A function as text. `body`: instructions separated by semicolons."""
    lines = "\n".join(part.strip() for part in body.split(";"))
    return (
        f'"{name}"\n params {params}\n result {result}\n slots {slots}\n captures {captures}\n cells {cells}\n'
        f" stack {stack}\n flags {flags}\n {more}\n code\n{at}\n{lines}\n end\n"
    )


def lines_run(work: Callable[[], object]) -> int:
    """The lines of Python that `work` runs, the same on every machine."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
