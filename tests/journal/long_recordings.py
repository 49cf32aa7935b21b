"""What reading a long effect file takes of memory: `python -m tests.journal.long_recordings 1000` records a run into a file of so
many megabytes and reads it with each of READERS, in processes of their own; it prints a table as docs/guide/trace.md has it.

The test beside it does the same with a small file. The rest of a folder is removed at the end.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PROGRAM = """
model M { provider: offline }
fn main() -> Result<Nil, Error> {
    let calls = std::env::args()[0].parse_int()?;
    let long = "words of a long prompt ".repeat(std::env::args()[1].parse_int()?);
    for i in 0..calls {
        let reply = M.execute("${i} ${long}")?;
        emit("said", "${i} ${reply.text.len()}");
    }
}
"""
WORDS = "words of a long prompt "
RECORD = ("run", "p.conc", "--offline", "--record", "r.effects.jsonl")
READERS = {
    "trace": ("trace", "r.effects.jsonl"),
    "trace --json": ("trace", "r.effects.jsonl", "--json"),
    "trace --html": ("trace", "r.effects.jsonl", "--html", "page.html"),
    "trace --program": ("trace", "r.effects.jsonl", "--program", "p.conc"),
    "trace --check": ("trace", "r.effects.jsonl", "--check", "p.conc"),
    "run --replay": ("run", "p.conc", "--replay", "r.effects.jsonl"),
    "run --replay --extend": ("run", "p.conc", "--replay", "r.effects.jsonl", "--extend", "--offline"),
}
# A child that was just forked counts what its parent had: this one is small, and so is what it counts of its own child.
MEASURED = """
import os, sys
child = os.fork()
if not child:
    os.execv(sys.executable, [sys.executable, "-m", "concerto", *sys.argv[1:]])
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Taken(NamedTuple):
    """What a process took: MB of memory at its peak, seconds, and bytes that it printed."""

    megabytes: float
    seconds: float
    printed: int


def taken(folder: Path, *words: str) -> Taken:
    """Run the command in a folder. It must end well."""
    began = time.monotonic()
    with open(folder / "printed", "wb") as output:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *words], cwd=folder, stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 0, (words, done.stderr)
    kibibytes = int(done.stderr.split()[-1])
    return Taken(kibibytes / 1024, time.monotonic() - began, (folder / "printed").stat().st_size)


def recorded(folder: Path, calls: int, prompt: int) -> tuple[int, Taken]:
    """Record a run of so many calls, with prompts of about so many bytes; return the size of the file, and what that took."""
    (folder / "p.conc").write_text(PROGRAM, encoding="utf-8")
    (folder / "r.effects.jsonl").unlink(missing_ok=True)
    took = taken(folder, *RECORD, "--", str(calls), str(prompt // len(WORDS)))
    return (folder / "r.effects.jsonl").stat().st_size, took


def main(megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        of_a_call, _ = recorded(folder, 100, 2_000)
        size, took = recorded(folder, megabytes * 1_000_000 // (of_a_call // 100), 2_000)
        print(f"{size:,} bytes\n\n| | MB of memory | seconds |\n|---|---|---|")
        print(f"| `run --record` | {took.megabytes:.0f} | {took.seconds:.0f} |", flush=True)
        for what, words in READERS.items():
            took = taken(folder, *words)
            print(f"| `{what}` | {took.megabytes:.0f} | {took.seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
