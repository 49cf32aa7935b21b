"""Damaged recordings, and recordings whose rows hold anything: shown or refused by name, never a defect of the trace."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

from concerto.cli.main import main
from concerto.runtime.journal.rows import plain_of

from .. import recordings

COUNT = int(os.environ.get("CONCERTO_FUZZ_TRACES", "2000"))
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, float("nan"), float("inf"), -float("inf"), 10**300, "", "\ud800", "\x1b[2J", "0:1/1", "::",
    "0.x:1/", [], {}, [None], [[]], {"": None}, {"messages": 5}, "done", "model", "user", *recordings.HOSTILE,
)  # fmt: skip
MODES = ((), ("--json",), ("--html", "out.html"), ("--effect", "0:1/1"), ("--kind", "model"), ("--color", "always"))


def places(plain: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place within plain data."""
    if path:
        yield path
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for name, part in items:
        yield from places(part, (*path, name))


def mutate(random: Random, rows: list[Any]) -> None:
    """Change something within rows, as a writer could that we do not know."""
    row = random.choice(rows)
    path = random.choice(list(places(row)))
    holder = row
    for step in path[:-1]:
        holder = holder[step]
    name = path[-1]
    match random.randrange(6):
        case 0:
            del holder[name]
        case 1 if isinstance(holder, dict):
            holder[random.choice(["more", "\ud800", "content", "calls", name])] = random.choice(ODD)
        case 2:
            rows.insert(random.randrange(len(rows)), json.loads(json.dumps(random.choice(rows))))
        case 3:
            other = random.choice(rows)
            holder[name] = json.loads(json.dumps(other))
        case _:
            holder[name] = random.choice(ODD)


def damage(random: Random, data: bytes) -> bytes:
    """Change bytes of a file: within, cut, or two parts in the other order."""
    at, end = sorted(random.choices(range(len(data)), k=2))
    match random.randrange(5):
        case 0:
            return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[end:]
        case 3:
            return data[:at] + random.randbytes(random.randrange(1, 40)) + data[at:]
        case _:
            return data[at:end] + data[:at] + data[end:]


def test_damaged_recordings_are_refused_by_name(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONCERTO_TRACEBACK", "1")  # a defect is raised
    seed = int(os.environ.get("CONCERTO_FUZZ_SEED", "20261127"))
    print(f"seed {seed}, {COUNT} recordings")
    random = Random(seed)
    plain = [recordings.header().as_json(), *(plain_of(row) for row in recordings.small())]
    whole = recordings.sealed(tmp_path / "whole.jsonl", plain).read_bytes()
    codes = {0: 0, 1: 0, 74: 0}
    for number in range(COUNT):
        path = tmp_path / "x.jsonl"
        if number % 4 == 3:
            path.write_bytes(damage(random, whole))
        else:
            rows = json.loads(json.dumps(plain))
            for _ in range(random.randrange(1, 5)):
                mutate(random, rows)
            recordings.sealed(path, rows)
        words = random.choice(MODES)
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(["trace", "x.jsonl", *words])
        assert code in codes, (seed, number, words, code, err.getvalue())
        codes[code] += 1
        if code == 74:
            assert "x.jsonl" in err.getvalue(), (seed, number, err.getvalue())
        if code == 0 and words == ("--json",):
            constants: list[str] = []
            json.loads(out.getvalue(), parse_constant=constants.append)
            assert constants == [], (seed, number)
        if "--color" not in words and words != ("--json",):
            assert "\x1b" not in out.getvalue() + err.getvalue(), (seed, number, words)
    assert all(count > COUNT // 100 for code, count in codes.items() if code != 1), codes
