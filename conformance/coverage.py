#!/usr/bin/env python3
"""Clause coverage: `python conformance/coverage.py` (C-2.3, C-10.1 to C-10.5).

usage: coverage.py [--require FILE] [--results FILE] [--list PREFIX] [--bless]

Prints per document the clauses that programs name, then what is broken: ids defined twice or unknown, changed texts,
missing tests of `elsewhere.txt`, programs that are too long. `--require FILE` lists id prefixes (`L-1`, `O-2`) under
which every `must` clause has to be covered; what it does not list is counted, not demanded. With `--results` (of
`run.py --results`) a clause counts only if a program naming it passed.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from conformance import printing
    from conformance.clauses import main

    sys.exit(printing.run(main, sys.argv[1:]))
