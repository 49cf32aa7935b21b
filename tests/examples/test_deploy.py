"""What docs/guide/deploy.md shows: the handler, the workers on one database, the commands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import concerto
import pytest

from tests.command import concerto as command
from tests.command import environment
from tests.memory.servers import postgres_url

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "deploy.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


def test_the_handler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    concerto.compile(blocks("concerto")[0]).save(tmp_path / "sort.concb")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(blocks("python")[0], "deploy.md", "exec"), names)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert names["handler"]({"mail": "x"}, None)["statusCode"] == 502
    names["OPTIONS"]["offline_script"] = ['{"title": "Export", "kind": "bug"}']
    assert names["handler"]({"mail": "x"}, None) == {"statusCode": 200, "title": "Export", "kind": "bug"}


WORKER = """
import concerto, sys
program = concerto.compile(path="desk.conc")
with program.session(offline=True) as session:
    for turn in range(5):
        session.call("answer", "ada", f"{sys.argv[1]} {turn}")
"""
COUNTS = """
import concerto
with concerto.compile(path="desk.conc").session(offline=True) as session:
    print(session.call("length", "ada"))
"""


def test_workers_and_runs_on_one_database(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed: it is of the extra postgres")
    head = '[project]\nname = "desk"\nversion = "0.1.0"\nentry = "desk.conc"\n\n'
    (tmp_path / "Concerto.toml").write_text(head + blocks("toml")[0])
    (tmp_path / "desk.conc").write_text(blocks("concerto")[1])
    with postgres_url() as url:
        variables = environment(DESK_DATABASE=url)
        started = [
            subprocess.Popen([sys.executable, "-c", WORKER, name], cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True)
            for name in ("one", "two")
        ]
        assert [(one.communicate()[1], one.returncode) for one in started] == [("", 0)] * 2
        asks = [sys.executable, "-c", COUNTS]
        counted = subprocess.run(asks, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
        assert counted.stdout == "20\n", "ten turns of two messages"
        assert command("compile", "desk.conc", cwd=tmp_path).code == 0
        shown = [line.partition("#")[0] for line in blocks("sh")[1].splitlines()]
        store = url.replace("postgresql://", "postgres://")
        words = [shlex.split(line.replace("postgres://desk@db/desk", store))[1:] for line in shown]
        first = command(*words[0], "--offline", cwd=tmp_path, DESK_DATABASE=url)
        run = re.findall(r"run: (\w+)", first.err)[0]
        assert (first.code, first.out) == (0, "[emit:answer] offline: I am Ada.\n"), first
        listed = command(*words[1], cwd=tmp_path)
        assert listed.code == 0 and run in listed.out
        again = command(*[run if word == "5d3c" else word for word in words[2]], cwd=tmp_path, DESK_DATABASE=url)
        assert (again.code, again.out) == (0, "") and "ended well" in again.err, again
