"""A recording of some 200 MB under a limit of memory: `concerto trace` keeps no more of it than a few rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..command import environment
from ..recordings import many, recorded

ROWS, LENGTH = 35_000, 1_500  # of so many characters a text
LEAST = 190_000_000
LIMIT = 300_000_000  # bytes of address space: a quarter is Python itself, with what it maps

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is one of Linux")

PROGRAM = """\
import resource, sys
from concerto.cli.main import main
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
code = main(sys.argv[1:])
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def test_a_recording_of_200_megabytes(tmp_path: Path) -> None:
    file = recorded(tmp_path / "large.jsonl", many(ROWS, length=LENGTH))
    assert os.path.getsize(file) > LEAST
    for words in ((), ("--json",), ("--effect", "0.1:3/2"), ("--html", str(tmp_path / "page.html"))):
        command = [sys.executable, "-c", PROGRAM.format(limit=LIMIT), "trace", str(file), *words]
        with open(tmp_path / "out", "wb") as out:
            done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, env=environment(), timeout=600)
        last = done.stderr.decode().splitlines()[-1].split()
        assert last[0] == "0", done.stderr.decode()
        print(f"{words[:1]}: {int(last[1]) // 1024} MB")
        assert os.path.getsize(tmp_path / "out") > (0 if words[:1] == ("--html",) else 1000) - 1
    assert (tmp_path / "page.html").read_bytes().endswith(b"</html>\n")
