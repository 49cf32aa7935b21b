"""All fuzzers at length: `make soak`. Puts a row for each into docs/generated/soak.md; exits 1 when a campaign failed, after
running the others.

usage: python -m tests.fuzz.soak [--only WORD] [--share F] [--page]

--only runs one by its name, or those with a word in theirs; their rows are replaced and the others stay. --share 0.1
runs a tenth of the cases, and writes rows only with --page.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from .campaign import Campaign, Figures, all_campaigns, fresh_seed

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "generated" / "soak.md"
HEAD = """# Soak

What ran last of each fuzzer of `tests/fuzz/` at length, with fresh seeds: `make soak`, or `python -m tests.fuzz.soak --only WORD`
for one, whose row is then replaced. `make test` runs a few seconds of each. A machine that does other things is slower, and is
named so.

Of hostile sources `max ratio` is the figure that G-5.7 promises to be at most 2.5: how many times as long twice the bytes took.
0.05 s of CPU time are left out, which a busy machine may need once, and so are texts that E0114 refuses.

| what | clause | cases | first seed | seconds | figures | run |
|---|---|---|---|---|---|---|
"""


def told(*command: str) -> str:
    """What a command prints in this tree; "" where there is no such command or it fails."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def where() -> str:
    """The commit and the machine that a row is of."""
    commit = told("git", "describe", "--always") or "no commit"
    if told("git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/generated/soak.md"):
        commit += ", changed"
    system = f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}"
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = "idle" if load < cores / 2 else f"busy, load {load:.0f}"
    return f"{datetime.date.today()}, {commit}, {system}, {cores} cores, {busy}"


def merged(page: str, made: dict[str, str], campaigns: list[Campaign]) -> str:
    """The rows of a page with those that were made now, in the order of the campaigns; of others than these none is kept."""
    before = {line.split(" | ")[0].removeprefix("| "): line + "\n" for line in page.splitlines() if line.startswith("| ")}
    rows = before | made
    return HEAD + "".join([rows[one.name] for one in campaigns if one.name in rows])


def added(total: dict[str, int | float | str], figures: Figures) -> None:
    """Counts add up; a figure whose name begins with `max` or `p99` keeps its largest; texts the last."""
    for name, value in figures.items():
        before = total.get(name)
        if before is None or isinstance(value, str) or isinstance(before, str):
            total[name] = value
        else:
            total[name] = max(before, value) if name.startswith(("max", "p99")) else before + value


def soaked(campaign: Campaign, share: float) -> tuple[str, bool]:
    """The row of the page, and whether all went well."""
    wanted = max(1, round(campaign.soak * share))
    seed, place = fresh_seed(), where()
    start, done = time.monotonic(), 0
    total: dict[str, int | float | str] = {}
    failure = ""
    while done < wanted and not failure:
        part = min(campaign.part, wanted - done)
        try:
            added(total, campaign.run(seed + done, part))
        except Exception as error:  # what is no AssertionError is a failure of the fuzzer itself, and no reason to end the others
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            failure = f"seed {seed + done}, {part} cases: {kind}{error}"
            print(f"\n{campaign.name}: {failure}", file=sys.stderr)
        done += part
        print(f"\r{campaign.name}: {done:,} of {wanted:,}, {time.monotonic() - start:.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    figures = "; ".join(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in total.items())
    said = f"FAILED {failure.splitlines()[0]}" if failure else figures
    cases, seconds = f"{done:,} of {campaign.soak:,}", f"{time.monotonic() - start:.0f}"
    cells = (campaign.name, campaign.clause, cases, str(seed), seconds, said.replace("|", "/"), place)
    return f"| {' | '.join(cells)} |\n", not failure


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--only", default="", help="the campaign of this name, or those with this word in their name")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases")
    parser.add_argument("--page", action="store_true", help="write rows for a share too")
    asked = parser.parse_args(arguments)
    rows, well = {}, True
    is_name = any(campaign.name == asked.only for campaign in all_campaigns())
    for campaign in all_campaigns():
        if asked.only == campaign.name if is_name else asked.only in campaign.name:
            rows[campaign.name], passed = soaked(campaign, asked.share)
            well = well and passed
            if asked.share == 1.0 or asked.page:
                before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
                PAGE.write_text(merged(before, rows, all_campaigns()), encoding="utf-8")
    print(HEAD + "".join(rows.values()))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
