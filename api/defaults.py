"""Defaults of parameters and fields that Python can know without running a program (P-2.1, P-2.4).

Hands on `known_default` to `declared_classes`, `python_modules` and `pydantic_models`. In an image a default is a function, of a
field one without parameters; one that does nothing but push a literal other than a Map, the empty Map, or a list of such, is read
here. Any other is computed by the program, each time that the value is left out (L-5.9.1, L-5.10.1); nothing is run here.
"""

from __future__ import annotations

from typing import Any

from ..vm.bytecode.opcodes import OPCODES
from ..vm.interp.link import Program
from .values import UNKNOWN, to_python

_LITERALS = {"NIL": None, "NONE": None, "TRUE": True, "FALSE": False}


def known_default(program: Program, function: int) -> Any:
    """Return the value in Python of a default, given by the number of its function, a new one each time; UNKNOWN where the
    program computes it."""
    stack: list[Any] = []
    for _, number, operand in program.verified.functions[function].instructions:
        name = OPCODES[number].name
        if name in _LITERALS:
            stack.append(_LITERALS[name])
        elif name == "INT":
            stack.append(operand)
        elif name == "CONST":
            stack.append(to_python(program.constants[operand]))
        elif name == "ARRAY" and operand <= len(stack):
            at = len(stack) - operand
            stack[at:] = [stack[at:]]
        elif name == "MAP" and operand == 0:
            stack.append({})
        elif name == "RETURN":
            return stack[0] if len(stack) == 1 else UNKNOWN
        elif name != "SOME":
            return UNKNOWN
    return UNKNOWN
