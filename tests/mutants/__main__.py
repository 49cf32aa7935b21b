"""`python -m tests.mutants [--seed N] [--count N] [--jobs N]`: changes of one line in the product, drawn by a printed seed.

Writes docs/generated/mutants.md when 400 or more were drawn; exits 1 when fewer than nine in ten were found.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from conformance import suite

from .campaign import Planting, Verdict, reached, verdict
from .changes import ROOT, Change, drawn

PAGE = ROOT / "docs" / "generated" / "mutants.md"
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
WORK = ROOT / "build" / "mutants"
ENOUGH = 400
KILLED = 0.9


def reasons() -> dict[tuple[str, str, str, str], str]:
    """Why a change cannot be seen, by file, function, old and new text."""
    rows = [line.split(" | ") for line in EQUIVALENT.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {(row[0], row[1], row[2], row[3]): row[4] for row in rows}


def key_of(change: Change) -> tuple[str, str, str, str]:
    return change.file, change.function, " ".join(change.old.split()), " ".join(change.new.split())


def _finder(verdict: Verdict) -> str:
    if verdict.by.endswith(".conc") or ".conc#" in verdict.by or verdict.by.startswith("images/"):
        return "program"
    return "test" if verdict.by else ""


def page(seed: int, verdicts: list[Verdict], seconds: float) -> str:
    why = reasons()
    same = [one for one in verdicts if not one.by and key_of(one.change) in why]
    alive = [one for one in verdicts if not one.by and key_of(one.change) not in why]
    counted = len(verdicts) - len(same)
    told = subprocess.run(["git", "describe", "--always", "--dirty=, changed"], cwd=ROOT, capture_output=True, text=True)
    run = f"{datetime.date.today()}, {told.stdout.strip()}, {seconds / 60:.0f} minutes on two cores"
    share = (counted - len(alive)) / counted
    lines = [
        "# Mutants\n",
        "One-line changes of compiler, machine and runtime, drawn by a seed; each is planted in a copy of the tree, where the",
        f"programs and tests that reach its line run: `python -m tests.mutants --seed {seed} --count {len(verdicts)}`.\n",
        f"{len(verdicts)} changes, seed {seed}, {run}. Found: **{counted - len(alive)} of {counted}, {share:.1%}**; "
        f"nobody can see {len(same)} more.\n",
        "| room | drawn | found by a program | by a test | survived | cannot be seen |",
        "|---|---|---|---|---|---|",
    ]
    for room in sorted({one.change.file.split("/")[0] for one in verdicts}):
        rows = [one for one in verdicts if one.change.file.startswith(room + "/")]
        by = Counter(_finder(one) or ("same" if one in same else "alive") for one in rows)
        lines.append(f"| {room} | {len(rows)} | {by['program']} | {by['test']} | {by['alive']} | {by['same']} |")
    for title, some in (("Survivors", alive), ("What nobody can see", same)):
        lines.append(f"\n## {title}\n")
        for one in some:
            reason = f": {why[key_of(one.change)]}" if one in same else f"; {one.reached} programs and tests come here"
            lines.append(f"- `{one.change.where}` `{one.change.function}`: {one.change.what}{reason}")
        if not some:
            lines.append("None.")
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    parser.add_argument("--count", type=int, default=ENOUGH)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    print(f"seed {options.seed}", flush=True)
    start = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    changes = drawn(options.seed, options.count)
    found = reached(changes, WORK, lambda what: print(what, flush=True))
    print(f"{time.monotonic() - start:.0f} s for the map of what reaches them", flush=True)
    programs = {program.ident: program for program in suite.load()[0]}
    queue = list(enumerate(changes))[::-1]
    verdicts: list[Verdict] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        planting = Planting(WORK / f"copy-{number}")
        while True:
            with lock:
                if not queue:
                    return
                at, change = queue.pop()
            one = verdict(change, at, found, planting, programs)
            with lock:
                verdicts.append(one)
                told = one.by or f"SURVIVED ({one.reached})"
                print(f"{len(verdicts)}/{len(changes)} {change.where} {change.function} {change.what[:90]}: {told}", flush=True)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(verdicts) != len(changes):
        return 2  # a thread broke, and has said so
    text = page(options.seed, sorted(verdicts), time.monotonic() - start)
    if len(changes) >= ENOUGH:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    why = reasons()
    alive = sum(not one.by and key_of(one.change) not in why for one in verdicts)
    same = sum(not one.by for one in verdicts) - alive
    return int(alive > (1 - KILLED) * (len(verdicts) - same) or same > len(verdicts) // 20)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
