"""The example with an agent that speaks ACP: its tests need no agent, its run starts one (O-7.38, O-7.45, O-7.46)."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from ..command import EXAMPLES, concerto

FOLDER = EXAMPLES / "acp"
STEPS = '[emit:plan] ["read shopping.txt","write sorted.txt"]\n[emit:doing] write sorted.txt\n'


def test_its_tests_pass_offline() -> None:
    done = concerto("test", "--offline", "main.conc", cwd=FOLDER)
    assert done.code == 0, done.out + done.err
    assert "1 passed, 0 failed" in done.out


def test_it_runs_with_its_agent(tmp_path: Path) -> None:
    pytest.importorskip("acp")
    folder = shutil.copytree(FOLDER, tmp_path / "example")
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    done = concerto("run", "main.conc", "--offline", cwd=folder, PATH=path)
    assert done.err == ""
    first, second = "[emit:first] Nothing is written.\n", "[emit:second] 3 lines are sorted.\n"
    assert done.out == STEPS + first + STEPS + second
    assert (folder / "sorted.txt").read_text() == "apples\nmilk\npears\n"
