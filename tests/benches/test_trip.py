"""`tools/trip.py`: files and functions that one run enters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = """
import sys
sys.path.insert(0, "tools")
from trip import trip
entered = trip(["check", "examples/conversation.conc"])
called = all(entered[file] for file in ("cli/check.py", "compiler/pipeline.py"))
print(called, entered["compiler/__init__.py"], "conftest.py" in entered)
"""


def test_a_file_that_is_only_imported_is_entered_and_has_no_functions() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split("\n")[-2] == "True set() False", done
