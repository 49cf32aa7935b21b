"""Every snippet of docs/guide/python.md runs and prints what stands below it; the host example does its work."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import io
import re
from pathlib import Path
from typing import Any

import concerto
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
GUIDE = ROOT / "docs" / "guide" / "python.md"
SNIPPET = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def test_the_snippets_print_what_the_guide_says() -> None:
    snippets = SNIPPET.findall(GUIDE.read_text(encoding="utf-8"))
    assert len(snippets) > 5
    names: dict[str, Any] = {"__name__": "guide"}
    for code, expected in snippets:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(GUIDE), "exec"), names)
        assert [line.rstrip() for line in printed.getvalue().splitlines()] == [line.rstrip() for line in expected.splitlines()]


def example() -> Any:
    spec = importlib.util.spec_from_file_location("approval", ROOT / "examples" / "host" / "approval.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("approved", "last"), [(True, "order 8: 350 euro paid back"), (False, "order 8 was declined")]
)
def test_a_person_approves_or_declines(approved: bool, last: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[concerto.Struct] = []

    async def decide(request: concerto.Struct) -> bool:
        asked.append(request)
        return approved

    found = asyncio.run(example().refunds(decide))
    assert found == ["order 7: 40 euro paid back", last]
    assert [dict(request) for request in asked] == [{"order": "8", "amount": 350, "reason": "never arrived"}]
    assert capsys.readouterr().out == "asking about order 8\n"
