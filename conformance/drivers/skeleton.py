#!/usr/bin/env python3
"""A driver to start from: the protocol of PROTOCOL.md around an implementation that does not exist yet.

Replace `check` and `run` by calls of your implementation, and say in HELLO which levels, features and routes it has. As it stands
it claims level 0 and finds nothing wrong with any program.
"""

from __future__ import annotations

import json
import sys
from typing import Any

HELLO = {
    "event": "hello",
    "name": "skeleton",
    "version": "0",
    "spec": "1.0",
    "protocol": 1,
    "levels": [0],
    "features": [],
    "routes": ["interp"],
}


def send(message: dict[str, Any]) -> None:
    """Write one line to the runner, at once."""
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def read() -> dict[str, Any]:
    """Return the next message of the runner, or `bye` when the runner has gone."""
    line = sys.stdin.readline()
    message: dict[str, Any] = json.loads(line) if line else {"op": "bye"}
    return message


def check(message: dict[str, Any]) -> dict[str, Any]:
    """Return the result of reading and checking `message["files"]`. A diagnostic is an object of stage, code, severity ("error"
    or "warning"), file, line, column and message; line and column count from 1."""
    diagnostics: list[dict[str, Any]] = []
    failed = any(d["severity"] == "error" for d in diagnostics)
    return {"status": "error" if failed else "ok", "diagnostics": diagnostics, "exit": 65 if failed else 0}


def run(message: dict[str, Any]) -> dict[str, Any]:
    """Return the result of running the program. Send an emit as soon as it happens; ask the world with a request and wait for its
    reply."""
    run_id = message["id"]
    # An emit:     send({"id": run_id, "event": "emit", "n": 0, "channel": "out", "json": "1"})
    # A request:   send({"id": run_id, "event": "request", "to": 1, "kind": "model", "name": "M", "attempt": 1,
    #                    "record": {...}, "wire": "...", "headers": {}})
    # Its answer:  send({"id": run_id, "event": "idle", "until": None}), then read() until "op" is "tick";
    #              each "reply" on the way has "to", "body" or "fault", and "final".
    del run_id
    return check(message)


OPERATIONS = {"check": check, "run": run}


def main() -> None:
    """Answer messages until `bye`."""
    while True:
        message = read()
        if message["op"] == "bye":
            return
        if message["op"] == "hello":
            send(HELLO)
        elif message["op"] in OPERATIONS:
            send({"id": message["id"], **OPERATIONS[message["op"]](message)})
        elif message["op"] != "cancel":
            send({"id": message["id"], "status": "rejected", "stage": "load", "code": "V000", "exit": 74})


if __name__ == "__main__":
    main()
