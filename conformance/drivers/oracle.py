#!/usr/bin/env python3
"""The driver of the second evaluator: one route, no fuel (C-12.3). It checks nothing, so it claims no diagnostics.

A program it cannot evaluate is answered by the status `not claimed`; its emits are held back until it is known to be claimed.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[2])

from conformance.oracle.program import run as evaluate
from conformance.oracle.types import NotClaimed

Json = dict[str, Any]
HELLO = {
    "event": "hello", "name": "oracle", "version": "1", "spec": "1.0", "protocol": 1, "levels": [0, 1, 2], "features": [],
    "routes": ["interp"], "diagnostics": False,
}  # fmt: skip


def send(message: Json) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n")


def run(op: Json) -> None:
    limits = op.get("limits") or {}
    try:
        if op["op"] != "run" or set(limits) - {"depth"} or op["permissions"]:
            raise NotClaimed(f"{op['op']} with these fields")
        files = {name: c.encode() if isinstance(c, str) else base64.b64decode(c["base64"]) for name, c in op["files"].items()}
        result, emits = evaluate(files, op["main"], limits.get("depth", 10_000), op["mode"] == "test")
    except NotClaimed as reason:
        send({"id": op["id"], "status": "not claimed", "reason": str(reason)})
        return
    for n, (channel, payload) in enumerate(emits):
        send({"id": op["id"], "event": "emit", "n": n, "channel": channel, "json": payload})
    send({"id": op["id"], **result})


def main() -> int:
    for line in sys.stdin:
        op = json.loads(line)
        if op["op"] == "bye":
            return 0
        if op["op"] == "hello":
            send(HELLO)
        elif op["op"] != "cancel":
            run(op)
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
