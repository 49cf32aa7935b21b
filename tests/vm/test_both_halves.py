"""What stands in two files has both halves: a named effect is performed, a method of a handle has a body (V-2.8, V-6.3)."""

from __future__ import annotations

import inspect

from concerto.runtime.effects.table import FAMILIES, performer
from concerto.vm.builtins import ASSOCIATED, FUNCTIONS, METHODS, STD_MODULES, std_module
from concerto.vm.interp import methods_models, methods_stores

ROWS = [*FUNCTIONS.values(), *ASSOCIATED.values(), *METHODS.values()]
BODIES = {
    **methods_models.HANDLERS, **methods_models.PIPELINE_HANDLERS, **methods_stores.HANDLERS, **methods_stores.SLOT_HANDLERS,
}  # fmt: skip
ONLY_OF_THE_COMPILER = {"AgentBuilder"}  # at run time it is a ModelBuilder


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


def test_every_method_of_a_handle_has_a_body() -> None:
    handles = [at for at, row in METHODS.items() if row.kind == "handle" and row.receiver not in ONLY_OF_THE_COMPILER]
    assert len(handles) > 50
    lacking = sorted(f"{receiver}.{name}" for receiver, name in handles if (receiver, name) not in BODIES)
    assert not lacking, f"no body in vm/interp/methods_models.py or methods_stores.py: {', '.join(lacking)}"
