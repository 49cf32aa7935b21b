"""`std::usage` and `std::budget`: what the program has used of models, and what it may still use (L-7.16, L-7.17).

Must not know: requests, who counts them.
"""

from __future__ import annotations

from ...vm.machine import UNLIMITED
from ...vm.values import BudgetLeft, ModelUsage
from ..usage import Use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    operation, *arguments = effect.payload
    if operation == "left":
        return _left(run)
    task = effect.task.path
    spending = run.services.spending
    assert spending is not None
    if operation == "last":
        return _usage(spending.last.get(task) or Use())
    spent = _usage(spending.spent.get(task) or Use())
    if operation == "spent":
        return spent
    before = arguments[0].values()
    return ModelUsage.of([now - then for now, then in zip(spent.values(), before, strict=True)])


def _usage(use: Use) -> Any:
    return ModelUsage.of([getattr(use, name) for name in use.__slots__])


def _left(run: Running) -> Any:
    purse, machine = run.services.purse, run.machine
    assert purse is not None
    tokens, cost, calls = purse.left()
    steps = None if machine.steps >= UNLIMITED else machine.steps - machine.used
    seconds = run.remaining()
    seconds = None if seconds is None else max(seconds, 0.0)
    return BudgetLeft.of([tokens, None if cost is None else float(cost), calls, steps, seconds])
