"""A summary by a model is no call of the program: `std::usage::last()` does not name it (L-7.16.1)."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from concerto.runtime.calls.usage import Spending, Use
from concerto.runtime.effects import summarisers, table
from concerto.vm.interp.effects import Effect
from concerto.vm.panics import Panic
from concerto.vm.values import Err


@pytest.mark.parametrize("panics", [False, True])
@pytest.mark.parametrize("earlier", [None, Use()])
def test_the_last_call_stays_what_it_was(monkeypatch: pytest.MonkeyPatch, earlier: Use | None, panics: bool) -> None:
    spending = Spending(lambda: ["0"])
    if earlier is not None:
        spending.begin_call("0", earlier)

    async def perform(run: Any, effect: Effect) -> Any:
        spending.begin_call("0", Use())
        if panics:
            raise Panic("P414", "mock S has no reply left")
        return Err("failed")

    monkeypatch.setattr(table, "performer", lambda kind: perform)
    run: Any = SimpleNamespace(services=SimpleNamespace(spending=spending))
    effect: Any = SimpleNamespace(key=1, task=SimpleNamespace(path="0"))
    with pytest.raises(Panic if panics else summarisers.SummaryFailed):
        asyncio.run(summarisers._ask_model(run, effect, "S", "q"))
    assert spending.last.get("0") is earlier
