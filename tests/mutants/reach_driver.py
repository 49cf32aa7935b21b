"""The suite's driver of this implementation, which notes after each operation what it reached."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.mutants.reach import Reach, note

REACH = Reach()

from concerto.conformance.drivers import concerto as driver  # noqa: E402 - what imports reach is noted too

if __name__ == "__main__":
    note("", REACH.taken())
    for name, operation in list(driver.OPERATIONS.items()):

        def watched(op, operation=operation):
            try:
                return operation(op)
            finally:
                note("program", REACH.taken())

        driver.OPERATIONS[name] = watched
    sys.exit(driver.main())
