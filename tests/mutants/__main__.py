"""`python -m tests.mutants [--seed N] [--count N] [--again]`: changes of one line in the product, drawn by a printed seed.

Verdicts are kept in build/mutants/ as they come, and a run of the same seed goes on where it was stopped. `--again` plants what
survived the kept run in today's tree, where it meets programs and tests of files written since, and tests that name its file.
Both write docs/generated/mutants.md when 400 or more were drawn, and exit 1 when fewer than nine in ten were found.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from .campaign import Campaign, Verdict
from .changes import ROOT, Change, drawn
from .mending import again
from .reach_map import reached

PAGE = ROOT / "docs" / "generated" / "mutants.md"
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
WORK = ROOT / "build" / "mutants"
KEPT = WORK / "verdicts.jsonl"  # the facts of the run, then a row for each verdict
MENDED = WORK / "mended.jsonl"  # survivors, each with what finds it since
ENOUGH = 400
KILLED = 0.9


class Run(NamedTuple):
    seed: int
    count: int
    commit: str


def reasons() -> dict[tuple[str, str, str, str], str]:
    """Why a change cannot be seen, by file, function, old and new text."""
    rows = [line.split(" | ") for line in EQUIVALENT.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {(row[0], row[1], row[2], row[3]): row[4] for row in rows}


def _finder(by: str) -> str:
    if by.endswith(".conc") or ".conc#" in by or by.startswith("images/"):
        return "program"
    return "test" if by else ""


class Survivors(NamedTuple):
    """What the run itself did not find: changes that nobody can see, those that are found since, those that are alive."""

    same: list[Verdict]
    mended: list[Verdict]
    alive: list[Verdict]


def survivors_of(verdicts: list[Verdict], since: dict[Change, str]) -> Survivors:
    why = reasons()
    same = [one for one in verdicts if not one.by and one.change.key in why]
    first = [one for one in verdicts if not one.by and one.change.key not in why]
    mended = [one for one in first if since.get(one.change)]
    return Survivors(same, mended, [one for one in first if not since.get(one.change)])


def page(run: Run, verdicts: list[Verdict], seconds: float, since: dict[Change, str]) -> str:
    """The text of docs/generated/mutants.md; `since` says what finds survivors today."""
    why = reasons()
    same, mended, alive = survivors_of(verdicts, since)
    first = [*mended, *alive]
    counted = len(verdicts) - len(same)
    first_share, share = (f"{counted - len(some)} of {counted}, {(counted - len(some)) / counted:.1%}" for some in (first, alive))
    stopped = f"of the {run.count} that the seed draws, " if len(verdicts) < run.count else ""
    lines = [
        "# Mutants\n",
        "One-line changes of compiler, machine and runtime, drawn by a seed; each is planted in a copy of the tree, where",
        f"programs and tests that come to its line run: `python -m tests.mutants --seed {run.seed} --count {run.count}`. A line",
        "that many come to is not given to all of them, so a survivor may be known to one that did not run.\n",
        f"{len(verdicts)} changes, {stopped}seed {run.seed}, {datetime.date.today()}, product of {run.commit},",
        f"{seconds / 60:.0f} minutes of one process without the map. Found at first: {first_share}. With what",
        "was written since, tests that name the file, and changes whose code is gone since (`--again`):",
        f"**{share}**; nobody can see {len(same)} more.\n",
        "| room | drawn | found by a program | by a test | survived | found since | alive | cannot be seen |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for room in sorted({one.change.file.split("/")[0] for one in verdicts}):
        rows = [one for one in verdicts if one.change.file.startswith(room + "/")]
        by = Counter(_finder(one.by) for one in rows)
        counts = [sum(one in some for one in rows) for some in (first, mended, alive, same)]
        lines.append(f"| {room} | {len(rows)} | {by['program']} | {by['test']} | " + " | ".join(map(str, counts)) + " |")
    for title, some in (("Survivors", alive), ("Found since", mended), ("What nobody can see", same)):
        lines.append(f"\n## {title}\n")
        for one in some:
            told = why.get(one.change.key) or since.get(one.change) or f"{one.reached} programs and tests come here"
            lines.append(f"- `{one.change.where}` `{one.change.function}`: {one.change.what}; {told}")
        if not some:
            lines.append("None.")
    return "\n".join(lines) + "\n"


def kept(file: Path) -> tuple[Run, list[tuple[Verdict, float]]]:
    """The run whose verdicts the file holds, each with its seconds."""
    facts, *rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return Run(**facts), [(Verdict(Change(*change), by, count), seconds) for change, by, count, seconds in rows]


def _mended() -> dict[Change, str]:
    """What `--again` has found for survivors; nothing for those that are alive."""
    rows = map(json.loads, MENDED.read_text(encoding="utf-8").splitlines()) if MENDED.exists() else ()
    return {Change(*change): by for change, by in rows}


def _ask_all(seed: int, count: int) -> None:
    told = subprocess.run(["git", "describe", "--always", "--dirty=, changed"], cwd=ROOT, capture_output=True, text=True)
    run = Run(seed, count, told.stdout.strip())
    changes = drawn(seed, count)
    done: set[Change] = set()
    if KEPT.exists() and kept(KEPT)[0] == run:
        done = {verdict.change for verdict, _ in kept(KEPT)[1]}
    else:
        _write(KEPT, [run._asdict()], "w")
        MENDED.unlink(missing_ok=True)
    start = time.monotonic()
    found = reached(changes, WORK, lambda what: print(what, flush=True))
    print(f"{time.monotonic() - start:.0f} s for the map of what comes to them", flush=True)
    numbers = [number for number in range(len(changes)) if changes[number] not in done]
    random.Random(seed).shuffle(numbers)  # a run that is stopped has seen all rooms
    campaign = Campaign(changes, found, WORK / "copy")
    for number in numbers:
        start = time.monotonic()
        one = campaign.verdict(number)
        seconds = round(time.monotonic() - start, 1)
        _write(KEPT, [[list(one.change), one.by, one.reached, seconds]], "a")
        done.add(one.change)
        place = f"{len(done)}/{len(changes)} {seconds} s {one.change.where} {one.change.function}"
        print(f"{place} {one.change.what[:90]}: {one.by or f'SURVIVED ({one.reached})'}", flush=True)
    campaign.close()


def _write(file: Path, rows: list[Any], mode: str) -> None:
    with file.open(mode, encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    parser.add_argument("--count", type=int, default=ENOUGH)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args(argv)
    WORK.mkdir(parents=True, exist_ok=True)
    if not options.again:
        print(f"seed {options.seed}", flush=True)
        _ask_all(options.seed, options.count)
    run, rows = kept(KEPT)
    verdicts = sorted(verdict for verdict, _ in rows)
    if options.again:
        survivors = [one.change for one in survivors_of(verdicts, _mended()).alive]
        for change, by in again(survivors, run.commit, WORK / "again"):
            _write(MENDED, [[list(change), by]], "a")
            print(f"{change.where} {change.function} {change.what[:90]}: {by or 'ALIVE'}", flush=True)
    since = _mended()
    text = page(run, verdicts, sum(seconds for _, seconds in rows), since)
    if run.count >= ENOUGH:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    same, _, alive = survivors_of(verdicts, since)
    return int(len(alive) > (1 - KILLED) * (len(verdicts) - len(same)) or len(same) > len(verdicts) // 20)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
