"""A command whose reader may go away early, as `| head` does: what it still prints goes nowhere, without a traceback.

Hands on `run` to the scripts `run.py`, `coverage.py` and `generate.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def run(main: Callable[[list[str]], int], argv: list[str]) -> int:
    """Return the exit status of `main` for the words `argv`; 1 when the reader of its output has gone."""
    try:
        status = main(argv)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
