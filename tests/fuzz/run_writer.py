"""A process that keeps a run in a file, begins it or goes on with it: `run_writer.py PATH SYNC COUNT`. It prints `kept N` for
each commit that it was told is kept, and ends with 3 and the message where the store refuses."""

from __future__ import annotations

import sys
import time

from concerto.runtime.journal.rows import EmitRow, EndRow, Header, JournalRefused
from concerto.runtime.journal.run_store import RunStore

RUN = "a1"


def write(path: str, full: bool, count: int) -> None:
    store = RunStore(path, time.time, full=full)
    header = Header(program="p", image="00", run=RUN, args=[], seed=1, wall=1.0, offline=True)
    claim = store.claim(RUN, take_over=True) if store.runs() else store.begin(header, b"image" * 2_000, {})
    for number in range(claim.rows, count):
        text = f"{number} " * (4_000 if number % 5 == 4 else 10)
        claim.commit([EmitRow("c", [number, text], False, 0.0)], number + 1, [])
        print("kept", number, flush=True)
    claim.commit([EndRow("ok")], count, [])
    print("ended", flush=True)
    claim.close()


if __name__ == "__main__":
    try:
        write(sys.argv[1], sys.argv[2] == "full", int(sys.argv[3]))
    except JournalRefused as refused:
        print(refused, file=sys.stderr)
        sys.exit(3)
