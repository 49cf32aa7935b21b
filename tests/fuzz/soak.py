"""All fuzzers at length: `make soak`. Writes docs/generated/soak.md; exits 1 when a campaign failed, after running the others.

usage: python -m tests.fuzz.soak [--only WORD] [--share F] [--page]

--share 0.1 runs a tenth of the cases, and writes the page only with --page.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
import time
from pathlib import Path

from .campaign import Campaign, Figures, all_campaigns, fresh_seed

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "generated" / "soak.md"
HEAD = """# Soak

What `make soak` ran last: every fuzzer of `tests/fuzz/` at length, with fresh seeds. `make test` runs a few seconds of each.

{date}, {system}.

| what | clause | cases | first seed | seconds | figures |
|---|---|---|---|---|---|
"""


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
    seed = fresh_seed()
    start, done = time.monotonic(), 0
    total: dict[str, int | float | str] = {}
    failure = ""
    while done < wanted and not failure:
        part = min(campaign.part, wanted - done)
        try:
            added(total, campaign.run(seed + done, part))
        except AssertionError as error:
            failure = f"seed {seed + done}, {part} cases: {error}"
            print(f"\n{campaign.name}: {failure}", file=sys.stderr)
        done += part
        print(f"\r{campaign.name}: {done:,} of {wanted:,}, {time.monotonic() - start:.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    figures = "; ".join(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in total.items())
    said = f"FAILED {failure.splitlines()[0]}" if failure else figures
    cases, seconds = f"{done:,} of {campaign.soak:,}", f"{time.monotonic() - start:.0f}"
    return f"| {campaign.name} | {campaign.clause} | {cases} | {seed} | {seconds} | {said} |\n", not failure


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--only", default="", help="campaigns with this word in their name")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases")
    parser.add_argument("--page", action="store_true", help="write the page for a share too")
    asked = parser.parse_args(arguments)
    system = f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}"
    page, well = HEAD.format(date=datetime.date.today(), system=system), True
    for campaign in all_campaigns():
        if asked.only in campaign.name:
            row, passed = soaked(campaign, asked.share)
            page, well = page + row, well and passed
    if (asked.share == 1.0 or asked.page) and not asked.only:
        PAGE.write_text(page, encoding="utf-8")
    print(page)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
