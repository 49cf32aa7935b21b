"""Built-in methods that are written in the language: their source from the registry, checked and generated on demand.

A method of K with body B becomes the hidden function `K::name` of `this` and its parameters, all Any; the word `self` in B stands
for `this`.
"""

from __future__ import annotations

import re
from functools import cache

from ...vm.builtins import lookup
from ...vm.builtins.std import STD_PREFIX, std_row
from ...vm.bytecode import image as im
from ..checked import CheckedProgram
from ..checker import check
from ..diagnostics import Diagnostics
from ..parse import parse
from ..source import Source
from .functions import function_body
from .module import Module

LIBRARY_FILE = "std"


def generate_wanted(module: Module) -> None:
    """Generate every language method asked for, and those they ask for in turn."""
    done = 0
    while done < len(module.wanted_methods):
        receiver, name = module.wanted_methods[done]
        done += 1
        _generate(module, receiver, name)


def _generate(module: Module, receiver: str, name: str) -> None:
    checked = _checked(receiver, name)
    (symbol,) = checked.functions
    module.functions[symbol] = module.language_methods[receiver, name]
    module.defaults[symbol] = {}
    first = len(module.pending)
    module.of_result = receiver == "Result"
    function_body(module, symbol)
    module.of_result = False
    for pending in module.pending[first:]:
        pending.flags |= im.F_HIDDEN
    module.pending[-1].name = f"{receiver}::{name}"


@cache
def _checked(receiver: str, name: str) -> CheckedProgram:
    library = receiver.startswith(STD_PREFIX)
    row = std_row(receiver.removeprefix(STD_PREFIX), name) if library else lookup(receiver, name)
    assert row is not None and row.source
    this = [] if library else ["this: Any"]
    parameters = ", ".join([*this, *(f"{p.name}: Any" for p in row.parameters)])
    body = re.sub(r"\bself\b", "this", row.source)
    text = f"fn method({parameters}) -> Any {{ {body} }}"
    source = Source(LIBRARY_FILE, text)
    diagnostics = Diagnostics()
    checked = check(parse(source, diagnostics), source, diagnostics)
    if diagnostics.has_errors:
        found = "; ".join(f"{d.code} {d.message}" for d in diagnostics.ordered())
        raise AssertionError(f"{receiver}.{name} is written wrongly: {found}")
    return checked

