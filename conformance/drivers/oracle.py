#!/usr/bin/env python3
"""The driver of the second evaluator: one route, no fuel (C-12.3). It checks nothing, so it claims no diagnostics.

A program it cannot evaluate is answered by the status `not claimed`; its emits are held back until it is known to be claimed.
"""

from __future__ import annotations

import base64
import json
import resource
import sys
import threading
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[2])

from conformance.oracle.evaluate import Evaluator
from conformance.oracle.scopes import Function, Program
from conformance.oracle.types import NotClaimed
from conformance.oracle.values import Err, Panic, display, is_error, kind_of

Json = dict[str, Any]
Emits = list[tuple[str, str]]
STACK = 512 * 1024 * 1024
MEMORY = 2560 * 1024 * 1024  # a program that outgrows it is not claimed
HELLO = {
    "event": "hello", "name": "oracle", "version": "1", "spec": "1.0", "protocol": 1, "levels": [0, 1, 2], "features": [],
    "routes": ["interp"], "diagnostics": False,
}  # fmt: skip


def send(message: Json) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n")


def evaluate(files: dict[str, bytes], main: str, depth: int = 10_000, steps: int | None = None) -> tuple[Json, Emits]:
    """The result of the program and its emits; raises NotClaimed."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(started(files, main, depth, steps))
        except Exception as error:
            outcome.append(error)

    # Calls of the program are calls of Python here; its own limit of depth is to end it, not Python's.
    frames, size = sys.getrecursionlimit(), threading.stack_size(STACK)
    sys.setrecursionlimit(1_000_000)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    threading.stack_size(size)
    sys.setrecursionlimit(frames)
    if isinstance(outcome[0], (RecursionError, MemoryError)):
        raise NotClaimed(type(outcome[0]).__name__)
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]  # type: ignore[no-any-return]


def started(files: dict[str, bytes], main: str, depth: int, steps: int | None) -> tuple[Json, Emits]:
    program = Program(files, main)
    function = program.root.find("main")
    if not isinstance(function, Function):
        raise NotClaimed("no main")
    evaluator = Evaluator(program, depth, steps)
    emits = evaluator.emits
    try:
        value, _ = evaluator.enter(function, [])
        result: Json = {"status": "ok", "exit": 0}
        if is_error(value):
            error = value.payload[0]
            variant = error.variant if isinstance(error, Err) else None
            fails = {"kind": kind_of(error), "variant": variant, "message": display(error)}
            result = {"status": "error", "exit": 77 if variant == "PermissionDenied" else 1, "fails": fails}
    except Panic as panic:
        emits.append(("panic", f'"{panic.message}"'))
        file, line = panic.at or (function.node.span.file, 1)
        where = {"file": file, "line": line, "column": 1, "trace": []}
        result = {"status": "panic", "exit": 1, "panic": {"code": panic.code, "message": panic.message, **where}}
    if steps is not None and result.get("panic", {}).get("code") != "P101":
        raise NotClaimed("how much fuel is used")
    return {**result, "asserts": evaluator.asserts, "diagnostics": []}, emits


def run(op: Json) -> None:
    limits = op.get("limits") or {}
    try:
        if op["op"] != "run" or op["mode"] != "run" or set(limits) - {"depth", "steps"} or op["permissions"]:
            raise NotClaimed(f"{op['op']} with these fields")
        files = {name: c.encode() if isinstance(c, str) else base64.b64decode(c["base64"]) for name, c in op["files"].items()}
        result, emits = evaluate(files, op["main"], limits.get("depth", 10_000), limits.get("steps"))
    except NotClaimed as reason:
        send({"id": op["id"], "status": "not claimed", "reason": str(reason)})
        return
    for n, (channel, payload) in enumerate(emits):
        send({"id": op["id"], "event": "emit", "n": n, "channel": channel, "json": payload})
    send({"id": op["id"], **result})


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
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
