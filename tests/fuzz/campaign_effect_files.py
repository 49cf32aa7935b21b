"""Effect files that somebody has changed: bytes, lines, and rows in their structure, with seals that fit and without (G-2.24,
G-14.2). Given again, extended and shown as a trace, one is refused by name, reported as another run (P406), or is fine; never an
error of the host language."""

from __future__ import annotations

import json
import os
import random
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from concerto.runtime.journal.effect_file import _sealed

from .campaign import Campaign, Figures
from .campaign_stored_runs import FINE, LIMITS, PROGRAM, command
from .mutation import change_bytes, change_structure

FOREIGN = (b"\n", b"{}\n", b"[]\n", b"null\n", b"[" * 5_000 + b"\n", b"\0\n", b"\xff\n", b'{"end":"ok"}\n')
QUESTION = 'let yes = approve("go on?")?;'
WHOLE = PROGRAM.replace(QUESTION, "let yes = true;")
assert WHOLE != PROGRAM


def recording(folder: Path) -> tuple[str, bytes]:
    """The path of a program, and the bytes of a recording of it that is whole."""
    program, path = folder / "p.conc", folder / "whole.effects.jsonl"
    program.write_text(WHOLE)
    code, said = command("run", str(program), "--offline", "--record", str(path), "--allow-fs", "--no-code-cache")
    assert code == 0, said
    return str(program), path.read_bytes()


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        change_bytes(changed, rng)
    return bytes(changed)


def of_lines(data: bytes, rng: random.Random) -> bytes:
    """Lines left out, doubled, exchanged, cut and put between others."""
    lines = data.splitlines(keepends=True)
    for _ in range(rng.choice((1, 1, 2))):
        at, kind = rng.randrange(len(lines)), rng.randrange(5)
        if kind == 0 and len(lines) > 1:
            del lines[at]
        elif kind == 1:
            lines.insert(rng.randrange(len(lines)), lines[at])
        elif kind == 2:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 3:
            lines[at] = lines[at][: rng.randrange(len(lines[at]))]
        else:
            lines.insert(at, rng.choice(FOREIGN))
    return b"".join(lines)


def of_rows(data: bytes, rng: random.Random) -> bytes:
    """The data of a row changed in its structure, and every line sealed anew."""
    rows = [json.loads(line) for line in data.splitlines()]
    for row in rows:
        row.pop("seal", None)
    at = rng.randrange(len(rows))
    value = [rows[at]]
    for _ in range(rng.choice((1, 1, 2))):
        change_structure(value, rng, 0)
    rows[at] = value[0]
    seal, lines = "", []
    for row in rows:
        text = json.dumps(row, default=repr)
        # a seal stands in an object, so what is none gets the line of one
        line, seal = _sealed(text if text.startswith("{") and len(text) > 2 else f'{{"row":{text}}}', seal)
        lines.append(f"{line}\n")
    return "".join(lines).encode()


def cases(seed: int, count: int, change: Any) -> Figures:
    ends: Counter[str] = Counter()
    before = os.environ.get("CONCERTO_TRACEBACK")
    os.environ["CONCERTO_TRACEBACK"] = "1"
    try:
        with tempfile.TemporaryDirectory() as name:
            program, data = recording(Path(name))
            path = Path(name) / "changed.effects.jsonl"
            for case in range(count):
                path.write_bytes(change(data, random.Random(f"{seed}-{case}")))
                ends[used(program, str(path), f"case {case} of seed {seed}")] += 1
    finally:
        os.environ.pop("CONCERTO_TRACEBACK")
        if before is not None:
            os.environ["CONCERTO_TRACEBACK"] = before
    return ends


def used(program: str, path: str, where: str) -> str:
    """How a replay ends, behind traces and before the file is extended."""
    replay = ("run", program, "--replay", path, *LIMITS)
    ends = ""
    for words in (("trace", path), ("trace", path, "--json"), replay, (*replay, "--extend", "--offline")):
        try:
            code, said = command(*words)
        except Exception:
            raise AssertionError(f"{where}: {' '.join(words)}: {traceback.format_exc()}") from None
        assert code in FINE and (code == 0 or said.strip()), f"{where}: {' '.join(words)}: {code} {said}"
        if words is replay:
            ends = {0: "equal", 74: "refused"}.get(code, "another run" if "P406" in said else "failed")
    return ends


def campaign(name: str, small: int, soak: int, change: Any) -> Campaign:
    return Campaign(name, "G-2.24, G-14.2", small, soak, lambda seed, count: cases(seed, count, change))


CAMPAIGNS = [
    campaign("bytes of effect files", 25, 4_000, of_bytes),
    campaign("lines of effect files", 20, 3_000, of_lines),
    campaign("rows of effect files", 20, 3_000, of_rows),
]
