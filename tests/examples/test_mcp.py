"""The example with an MCP server: its tests need no server, its run starts one (O-4.36, O-9.4)."""

from __future__ import annotations

import os
import sys

import pytest

from ..command import EXAMPLES, concerto

FOLDER = EXAMPLES / "mcp"


def test_its_tests_pass_offline() -> None:
    done = concerto("test", "--offline", "main.conc", cwd=FOLDER)
    assert done.code == 0, done.out + done.err
    assert "3 passed, 0 failed" in done.out


def test_it_runs_with_its_server() -> None:
    pytest.importorskip("mcp")
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    done = concerto("run", "main.conc", "--offline", cwd=FOLDER, PATH=path)
    assert done.err == ""
    assert done.out == (
        "[emit:titles] [\"Emma\",\"Ulysses\"]\n[emit:author] Jane Austen\n[emit:lent] 1\n[emit:refused] true\n"
        "[emit:rules] Return books within three weeks.\n[emit:asked] Recommend one of our books to Ada.\n"
    )
