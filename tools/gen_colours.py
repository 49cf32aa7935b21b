"""Writes the TextMate grammar of the editors' folder, for editors that read such, from the lexer's tables.

`--check` writes nothing and fails if the file is stale. The grammar itself is made by `colours/textmate.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from concerto.colours.textmate import grammar

TARGET = Path(__file__).resolve().parent.parent / "editors" / "vscode" / "syntaxes" / "concerto.tmLanguage.json"


def text() -> str:
    """Return the text of the grammar's file."""
    return json.dumps(grammar(), indent=2) + "\n"


def main() -> int:
    """Write the file if it is stale, or with `--check` only say so; return the exit status, 1 for a stale file that is
    checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the file is stale")
    arguments = parser.parse_args()
    wanted = text()
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == wanted:
        return 0
    if arguments.check:
        print(f"{TARGET.name} is stale: run make gen", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(wanted, encoding="utf-8")
    print(f"wrote {TARGET.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
