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
from concerto.runtime.journal.forms import digest_of

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
    return sealed_anew(rows)


def sealed_anew(rows: list[Any]) -> bytes:
    """The bytes of a file with these rows, whose seals fit."""
    seal, lines = "", []
    for row in rows:
        text = json.dumps(row, default=repr)
        # a seal stands in an object, so what is none gets the line of one
        line, seal = _sealed(text if text.startswith("{") and len(text) > 2 else f'{{"row":{text}}}', seal)
        lines.append(f"{line}\n")
    return "".join(lines).encode()


def leaves(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in plain data that hold no others."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    found = [leaf for name, value in inside for leaf in leaves(value, (*path, name))]
    return found or [path]


def with_other_request(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A recording in which one value of one request is another one, digest and seals made anew; and the key of that effect."""
    rows = [json.loads(line) for line in data.splitlines()]
    row = rng.choice([row for row in rows if isinstance(row.get("request"), dict) and row["request"]])
    *way, last = rng.choice(leaves(row["request"]))
    place = row["request"]
    for name in way:
        place = place[name]
    value = place[last]
    place[last] = value + "x" if isinstance(value, str) else (not value if isinstance(value, bool) else 4711)
    row["digest"] = digest_of(row["request"])
    for one in rows:
        one.pop("seal", None)
    return sealed_anew(rows), str(row["effect"] if "effect" in row else row["key"])


def requests(seed: int, count: int) -> Figures:
    """Give recordings again whose requests are not those of the program: each is reported by its key."""
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        program, data = recording(Path(name))
        path = Path(name) / "altered.effects.jsonl"
        for case in range(count):
            altered, key = with_other_request(data, random.Random(f"{seed}-{case}"))
            path.write_bytes(altered)
            code, said = command("run", program, "--replay", str(path), *LIMITS)
            assert code == 1 and "P406" in said and f"effect {key}" in said, f"case {case} of seed {seed}: {key}: {code} {said}"
            kinds["reported"] += 1
    return kinds


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
    Campaign("altered requests of recordings", "G-16.11, G-14.2", 20, 1_000, requests),
]
