"""Every snippet of docs/guide/python.md and functions-of-python.md runs and prints what stands below; the host example works."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import io
import re
import sys
import types
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.api import python_modules

ROOT = Path(__file__).resolve().parent.parent.parent
GUIDE = ROOT / "docs" / "guide" / "python.md"
OTHER = GUIDE.with_name("functions-of-python.md")
SNIPPET = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the client for tests that FastAPI has
def test_the_snippets_print_what_the_guide_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    snippets = SNIPPET.findall(text)
    assert len(snippets) > 15
    program = re.search(r"```concerto\n(.*?)```", text, re.DOTALL)
    assert program is not None
    (tmp_path / "desk.conc").write_text(program[1], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        run_snippets(snippets)
    finally:
        python_modules._MODULES.pop("desk").end()
        python_modules._EVERY.clear()
        del sys.modules["desk"], sys.modules["guide"]


def test_the_snippets_of_functions_of_python() -> None:
    snippets = SNIPPET.findall(OTHER.read_text(encoding="utf-8"))
    assert snippets
    try:
        run_snippets(snippets)
    finally:
        del sys.modules["guide"]


def run_snippets(snippets: list[tuple[str, str]]) -> None:
    module = sys.modules["guide"] = types.ModuleType("guide")  # where annotations of functions are looked up
    names = module.__dict__
    for code, expected in snippets:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "guide", "exec"), names)
        found = [line.rstrip() for line in printed.getvalue().splitlines()]
        assert found == [line.rstrip() for line in expected.splitlines()], code


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
