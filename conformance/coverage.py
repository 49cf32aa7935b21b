#!/usr/bin/env python3
"""Clause coverage: `python conformance/coverage.py` (C-2.3, C-10.1 to C-10.5).

usage: coverage.py [--results FILE] [--list PREFIX] [--bless]

Prints per document the clauses that programs name, then what is broken: clauses that nothing shows and `docs/spec/unbuilt.md`
does not list with a reason, or that it lists and somebody names; ids defined twice or unknown, changed texts, missing tests of
`elsewhere.txt`, programs that are too long or name too many clauses. With `--results` (of `run.py --results`) a clause counts
only if a program naming it passed.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from conformance import printing
    from conformance.clauses import main

    sys.exit(printing.run(main, sys.argv[1:]))
