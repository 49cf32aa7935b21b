"""One of several that go on with a run at the same time: claims it, commits rows, is fenced or held, gives it back or does not.

`resumer.py PLACE RUN NAME SEED` is one as a process of its own; it prints a line of JSON for each step.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from concerto.runtime.journal import run_store
from concerto.runtime.journal.journal import Fenced
from concerto.runtime.journal.rows import EmitRow, Header
from concerto.runtime.journal.run_store import Claim, Held, RunStore

LEASE = 0.03  # seconds, so that some run out


def header(run: str) -> Header:
    return Header(program="p", image="00", run=run, args=[], seed=1, wall=1.0, offline=True)


def go_on(store: RunStore, run: str, name: str, seed: int, tell: Callable[..., None]) -> list[Claim]:
    """Claim and commit at random; tell ("claimed", epoch), ("trying", epoch, token), ("kept", epoch, token, rows), ("fenced",
    epoch) and ("held",). Return the claims, the last of which may still hold."""
    chance = random.Random(f"{seed}-{name}")
    claims, tokens = [], 0
    for _ in range(chance.randint(3, 8)):
        try:
            claim = store.claim(run, take_over=chance.random() < 0.3)
        except Held:
            tell("held")
            time.sleep(chance.uniform(0, LEASE))
            continue
        claims.append(claim)
        tell("claimed", claim.epoch)
        for _ in range(chance.randint(1, 5)):
            token, count = f"{name}.{tokens}", chance.randint(1, 3)
            tokens += 1
            tell("trying", claim.epoch, token)
            try:
                if chance.random() < 0.2:
                    claim.renew()
                claim.commit([EmitRow("c", [token, at, count], False, 0.0) for at in range(count)], 9, [])
            except Fenced:
                tell("fenced", claim.epoch)
                break
            tell("kept", claim.epoch, token, count)
            if chance.random() < 0.3:
                time.sleep(chance.uniform(0, 2 * LEASE))
        if chance.random() < 0.4:
            store.release(claim)
    return claims


def main(place: str, run: str, name: str, seed: int) -> None:
    run_store.LEASE = LEASE

    def tell(*said: Any) -> None:
        print(json.dumps(said), flush=True)

    store = RunStore(place, time.time, must_exist=True)
    print(json.dumps(["ready"]), flush=True)
    sys.stdin.readline()
    go_on(store, run, name, seed, tell)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
