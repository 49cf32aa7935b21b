"""`python -m benches.extraction [--write]`: the corpus through every reader that is installed, and how time grows with length.

`--write` renews docs/generated/extraction.md and .svg. The exit status is 1 when ours gives a wrong value.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time

from .chart import Counts, Outcomes, Times, page, svg, table, time_tables
from .corpus import CLASSES, Row, rows
from .readers import REFUSED, Reader, equal, readers

PAGES = Path(__file__).resolve().parents[2] / "docs" / "generated"
SIZES = (38_000, 2 * 38_000, 8 * 38_000)
ENOUGH = 20.0  # seconds for one text


def outcome(row: Row, reader: Reader) -> str:
    value = reader(row)
    if value is REFUSED:
        return "refused"
    return "right" if row.cls in "AB" and equal(value, row.value) else "wrong"


def counts(corpus: Sequence[Row], reader: Reader) -> dict[str, Counts]:
    found = {cls: [0, 0, 0] for cls in CLASSES}
    for row in corpus:
        found[row.cls][("right", "refused", "wrong").index(outcome(row, reader))] += 1
    return {cls: (three[0], three[1], three[2]) for cls, three in found.items()}


# ---------------------------------------------------------------- time


def with_trailing_commas(size: int) -> str:
    """An object of facts in a fence, with prose around it."""
    facts = ",\n".join(f'    "fact {n}": {n}' for n in range(size // 22))
    return f"Here it is {{as asked}}:\n```json\n{{\n  \"facts\": {{\n{facts},\n  }},\n}}\n```\n"


def in_other_spellings(size: int) -> str:
    facts = "\n".join(f"    'fact {n}': +{n:_}, // as of {n}" for n in range(size // 38))
    return f"Sure:\n{{\n  facts: {{\n{facts}\n  }}\n}}\n"


TEXTS: dict[str, Callable[[int], str]] = {
    "Prose, a fence, commas before closing brackets": with_trailing_commas,
    "Single quotes, keys without quotes, comments, numbers like `+1_000`": in_other_spellings,
}


def times(every: Mapping[str, Reader]) -> dict[str, Times]:
    found = {}
    for title, text in TEXTS.items():
        made = {size: Row("T", "A", "time", "Facts", text(size), None) for size in SIZES}
        found[title] = {name: {size: seconds(row, reader) for size, row in made.items()} for name, reader in every.items()}
    return found


def seconds(row: Row, reader: Reader) -> float | None:
    """The best of five, fewer where it takes long."""
    best, spent = float("inf"), 0.0
    for _ in range(5):
        start = process_time()
        value = reader(row)
        took = process_time() - start
        if value is REFUSED:
            return None
        best, spent = min(best, took), spent + took
        if spent > ENOUGH:
            break
    return best


def main(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    every, missing = readers()
    corpus = rows()
    outcomes: Outcomes = {name: counts(corpus, reader) for name, reader in every.items()}
    taken = times(every)
    print("\n".join([f"{len(corpus)} rows: right/refused/wrong", *table(outcomes), *time_tables(taken)]))
    if missing:
        print(f"\nnot installed: {', '.join(missing)} (pip install -r benches/extraction/requirements.txt)")
    if options.write:
        (PAGES / "extraction.md").write_text(page(outcomes, taken, missing), encoding="utf-8")
        (PAGES / "extraction.svg").write_text(svg(outcomes), encoding="utf-8")
    return 1 if any(wrong for _, _, wrong in outcomes["Concerto"].values()) else 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benches.extraction", description="Replies read by ours and by others.")
    made.add_argument("--write", action="store_true", help="renew docs/generated/extraction.md and extraction.svg")
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
