"""The host programs of `examples/host` run without network or keys, and a person who declines is heard."""

from __future__ import annotations

import asyncio
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

HOST = Path(__file__).resolve().parent.parent.parent / "examples" / "host"
APPROVED = {
    "approval": ["order 7: 40 euro paid back", "asking about order 8", "order 8: 350 euro paid back"],
    "desk": ["Order 8: 350 euro are on their way.", "Order 7: 40 euro are on their way."],
}


@pytest.mark.parametrize("name", APPROVED)
def test_approved(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--yes"])
    runpy.run_path(str(HOST / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert [line for line in APPROVED[name] if line not in printed] == []


def test_declined() -> None:
    asked: list[Any] = []

    async def decline(refund: Any) -> bool:
        asked.append((refund.order, refund.price, refund.reason))
        return False

    desk = runpy.run_path(str(HOST / "desk.py"))
    heard = asyncio.run(desk["answers"](decline))
    assert asked == [("8", 350, "never arrived")]
    assert heard[1] == "bob: We cannot pay back order 8.\n-- The desk"
