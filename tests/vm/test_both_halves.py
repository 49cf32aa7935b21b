"""What stands in two files has both halves: an effect that a row names is performed (V-2.8, V-6.3)."""

from __future__ import annotations

import inspect

from concerto.runtime.effects.table import FAMILIES, performer
from concerto.vm.builtins import ASSOCIATED, FUNCTIONS, METHODS, STD_MODULES, std_module

ROWS = [*FUNCTIONS.values(), *ASSOCIATED.values(), *METHODS.values()]


def test_every_effect_of_a_row_is_performed() -> None:
    rows = [*ROWS, *(row for module in STD_MODULES for row in std_module(module).values())]
    kinds = {row.effect for row in rows if row.kind == "effect"}
    assert len(kinds) > 10
    unknown = sorted(kinds - set(FAMILIES))
    assert not unknown, f"no row of runtime/effects/table.py performs: {', '.join(unknown)}"


def test_every_performer_is_an_asynchronous_function() -> None:
    for kind, (module, function) in FAMILIES.items():
        try:
            found = performer(kind)
        except AttributeError:
            raise AssertionError(f"runtime/effects/{module}.py has no {function}, which is to perform {kind}") from None
        assert inspect.iscoroutinefunction(found) and len(inspect.signature(found).parameters) == 2, kind
