"""Search the project's own documents with questions that stand in `questions.txt`; print how often an answer is found.

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
from .quality import KINDS, measured, questions


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benches.search")
    options.add_argument("--json", metavar="FILE", type=Path, help="write the figures there too")
    chosen = options.parse_args()
    texts = passages()
    rows = measured(texts, Lsa(list(texts.values())).embed)
    asked = questions()
    counts = {kind: sum(question.kind == kind for question in asked) for kind in KINDS}
    print(f"{len(asked)} questions, {len(texts):,} passages, vectors of {RANK} numbers; an answer among the first ten:\n")
    print("| By | " + " | ".join(f"{kind} ({counts[kind]})" for kind in KINDS) + f" | all ({len(asked)}) | mean 1 / rank |")
    print("|---" * (len(KINDS) + 3) + "|")
    for row in rows:
        shares = " | ".join(f"{100 * row.by_kind[kind]:.0f} %" for kind in KINDS)
        print(f"| {row.name} | {shares} | {100 * row.all:.1f} % | {row.reciprocal:.3f} |")
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")
    words, vectors, both = (row.all for row in rows)
    return 0 if both > max(words, vectors) else 1


sys.exit(main())
