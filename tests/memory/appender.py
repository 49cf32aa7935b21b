"""A program that appends turns to a SQLite memory until it is killed: `appender.py PATH WRITER FIRST COUNT HOW`.

Prints the number of a turn once its commit has returned, so whoever reads knows what was acknowledged.
"""

from __future__ import annotations

import sys

from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg


def main(path: str, writer: str, first: int, count: int, how: str) -> None:
    memory = Memory(Policy(tools=True, on_conflict=how), name="chat", store=SqliteStore(path))
    print("ready", flush=True)
    for number in range(first, first + count):
        run_id = f"{writer}:{number}"
        while True:
            run = open_run([Attached(memory)], run_id, [Msg("user", run_id)])
            run.add_round("", [Call("c", "find", {})], [Msg("tool", f"of {run_id}", (), "c")])
            try:
                run.commit(f"reply to {run_id}")
                break
            except MemoryFailure as failure:
                if failure.variant != "Conflict":
                    raise
        print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
