"""Search the project's own documents with the questions of `first.txt` and `held_out.txt`; print how often an answer is found.

pip install -r benches/search/requirements.txt
python -m benches.search [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from .corpus import passages
from .lsa import RANK, Lsa
from .quality import KINDS, Row, measured, questions


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benches.search")
    options.add_argument("--json", metavar="FILE", type=Path, help="write the figures there too")
    chosen = options.parse_args()
    texts = passages()
    found = measured(texts, Lsa(list(texts.values())).embed)
    for name, rows in found.items():
        show(name, rows, len(texts))
    if chosen.json is not None:
        chosen.json.write_text(
            json.dumps({name: [asdict(row) for row in rows] for name, rows in found.items()}, indent=2) + "\n", encoding="utf-8"
        )
    return 0 if all(rows[-1].all > max(row.all for row in rows[:-1]) for rows in found.values()) else 1


def show(name: str, rows: list[Row], passages_there: int) -> None:
    asked = questions(name)
    counts = {kind: sum(question.kind == kind for question in asked) for kind in KINDS}
    print(
        f"{name}.txt, {len(asked)} questions, {passages_there:,} passages, vectors of {RANK} numbers; an answer among ten hits:\n"
    )
    print("| By | " + " | ".join(f"{kind} ({counts[kind]})" for kind in KINDS) + f" | all ({len(asked)}) | mean 1 / rank |")
    print("|---" * (len(KINDS) + 3) + "|")
    for row in rows:
        shares = " | ".join(f"{100 * row.by_kind[kind]:.0f} %" for kind in KINDS)
        print(f"| {row.name} | {shares} | {100 * row.all:.1f} % | {row.reciprocal:.3f} |")
    print()


sys.exit(main())
