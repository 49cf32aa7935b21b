"""A command whose reader may go away early, as `| head` does: what it still prints goes nowhere, without a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def run(main: Callable[[list[str]], int], argv: list[str]) -> int:
    """The exit status of `main`; 1 when nobody read its output to the end."""
    try:
        status = main(argv)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
