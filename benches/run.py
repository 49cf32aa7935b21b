#!/usr/bin/env python3
"""The command line: `python benches/run.py [NAME ...] [--quick] [--json FILE] [--baseline] [--plot FILE] [--list]`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from benches.command import main

    sys.exit(main(sys.argv[1:]))
