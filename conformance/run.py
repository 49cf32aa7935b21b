#!/usr/bin/env python3
"""The runner's command line: `python conformance/run.py --driver CMD [PATH-PREFIX ...] [--level n] [--route r]`; `--help` tells
of the other flags. What they do, and the exit status, is said in `command.py`; nothing is handed on."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from conformance import printing
    from conformance.command import main

    sys.exit(printing.run(main, sys.argv[1:]))
