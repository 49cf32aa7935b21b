"""The chat in the terminal: a conversation per user that the next process goes on with, and its commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..command import EXAMPLES, concerto


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "chat"
    shutil.copytree(EXAMPLES / "chat", made, ignore=shutil.ignore_patterns(".concerto"))
    return made


def chat(folder: Path, user: str, *lines: str) -> list[str]:
    run = concerto("run", "--offline", "--", user, cwd=folder, stdin="".join(f"{line}\n" for line in lines))
    assert (run.code, run.err) == (0, "")
    return run.out.splitlines()


def test_the_next_process_goes_on(folder: Path) -> None:
    assert chat(folder, "ann", "hello", "/quit") == ["ann> offline: hello", "ann> bye"]
    assert chat(folder, "ann", "/stats") == ["ann> 2 messages, 0 tokens in, 0 out", "ann> bye"]
    assert chat(folder, "bob", "/stats", "", "/help")[0] == "bob> 0 messages, 0 tokens in, 0 out"
    assert chat(folder, "ann", "/reset", "/stats")[:2] == ["ann> 2 messages erased", "ann> 0 messages, 0 tokens in, 0 out"]


def test_without_its_server_it_says_so_and_goes_on(folder: Path) -> None:
    manifest = folder / "Concerto.toml"
    manifest.write_text(manifest.read_text().replace("8080", "9") + "\n[connections.local.retry]\nmax_attempts = 1\n")
    run = concerto("run", "--", "ann", cwd=folder, stdin="hello\n/stats\n")
    assert run.code == 0 and "connection failed to 127.0.0.1:9" in run.out
    assert "ann> 0 messages, " in run.out and run.out.endswith("ann> bye\n")


def test_its_tests_pass(folder: Path) -> None:
    assert "ok. 3 passed" in concerto("test", cwd=folder).out
    assert not (folder / ".concerto").exists()
