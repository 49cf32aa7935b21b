"""What docs/guide/durable.md shows: its commands and its Python, in a folder with its program."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import concerto as product
import pytest

from tests.command import concerto

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "durable.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "plan.conc").write_text(blocks("concerto")[0])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_run_that_waits(folder: Path) -> None:
    shown = re.split(r"^\$ ", blocks("console")[0], flags=re.MULTILINE)[1:]
    (first, *said), (second, *then) = (part.splitlines() for part in shown)
    done = concerto(*shlex.split(first)[1:], cwd=folder)
    assert done.code == 75
    run = re.findall(r"run: (\w+)", done.err)[0]
    told = re.findall(r"run: (\w+)", said[0])[0]
    assert (done.err + done.out).replace(run, told).splitlines() == sorted(said, key=lambda line: line.startswith("[emit"))
    words = [run if word == told[:4] else word for word in shlex.split(second)[1:]]
    again = concerto(*words, cwd=folder)
    assert (again.code, again.out.splitlines()) == (0, then)


def test_the_recording(folder: Path) -> None:
    answers = blocks("concerto")[0].replace("channel approve", "// answer: approve true\nchannel approve")
    (folder / "plan.conc").write_text(answers)
    for number, line in enumerate(blocks("console")[1].splitlines()):
        done = concerto(*shlex.split(line)[2:], *(["--offline-script", "plan.conc"] if number == 0 else []), cwd=folder)
        assert done.code == 0, done
    overlay = re.findall(r"`(\{\"0:.*?\})`", GUIDE)[0]
    rows = [json.loads(line) for line in (folder / "plan.effects.jsonl").read_text().splitlines()]
    assert set(json.loads(overlay)) <= {row.get("effect") for row in rows}


def test_the_python(folder: Path) -> None:
    names: dict[str, Any] = {}
    for code in blocks("python"):
        exec(compile(code, "durable.md", "exec"), names)
    assert isinstance(names["result"], product.RunResult) and names["result"].ok
