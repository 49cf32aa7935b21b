#!/usr/bin/env python3
"""The driver of the second evaluator: one route, no fuel (C-12.3). It checks nothing, so it claims no diagnostics.

The runner starts it as a process. A program that it cannot evaluate is answered by the status `not claimed`; emits
are held back until the program has ended, so that such a program shows none. What a program means is said in
`oracle/`, what the host does for it in `oracle_host.py`; here are the operations and the results of the protocol.
"""

from __future__ import annotations

import base64
import itertools
import json
import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[2])

from conformance.drivers.oracle_host import Host, compact
from conformance.oracle.evaluate import Evaluator
from conformance.oracle.scopes import Function, Program
from conformance.oracle.values import Err, Panic, display, is_error, kind_of

Json = dict[str, Any]
Emits = list[tuple[str, str]]
STACK = 512 * 1024 * 1024
MEMORY = 2560 * 1024 * 1024  # a program that outgrows it is not claimed
HELLO = {
    "event": "hello", "name": "oracle", "version": "1", "spec": "1.0", "protocol": 1, "levels": [0, 1, 2],
    "features": ["libraries"],
    "routes": ["interp"], "diagnostics": False,
}  # fmt: skip


def send(message: Json) -> None:
    """Write one message to the runner; it goes out with the next flush."""
    sys.stdout.write(compact(message) + "\n")


def ask(message: Json) -> Json:
    """Send an event and return the runner's answer. Raise NotClaimed if that cancels the run."""
    send(message)
    sys.stdout.flush()
    answer: Json = json.loads(sys.stdin.readline())
    if answer["op"] == "cancel":
        raise NotClaimed("cancelled")
    return answer


class NotClaimed(Exception):
    """The evaluator does not know what this program means."""


def evaluate(op: Json) -> tuple[Json, Emits]:
    """Return the result of a program and its emits, pairs of channel and JSON text. Raise NotClaimed for whatever
    fails in the evaluator. The work is done in a thread with a stack of STACK bytes."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(tested(op) if op["mode"] == "test" else started(op, "main", itertools.count(1)))
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
    if isinstance(outcome[0], Exception):
        raise NotClaimed(f"{type(outcome[0]).__name__}: {outcome[0]}") from outcome[0]
    return outcome[0]  # type: ignore[no-any-return]


def program_of(op: Json) -> Program:
    """Return the program of the files in a message. Raise what the evaluator raises for text that it cannot read."""
    files = {name: c.encode() if isinstance(c, str) else base64.b64decode(c["base64"]) for name, c in op["files"].items()}
    return Program(files, op["main"], op.get("libraries") or ())


def cases_of(node: Any) -> list[Any]:
    """Return the expressions in `@test(cases: […])` of a function, none without it (O-8.26)."""
    arguments = [a for mark in node.decorators if mark.name.text == "test" for a in mark.arguments]
    return [case for a in arguments if a.name is not None and a.name.text == "cases" for case in a.value.items]


def started(op: Json, name: str, numbers: Iterator[int], case: int | None = None) -> tuple[Json, Emits]:
    """Run a function, for a test with the arguments of the case of that index, and return its result and the emits.
    Its requests get the next of the numbers. Raise NotClaimed if there is no such function, or a limit of steps was not
    reached."""
    program, steps = program_of(op), op["limits"].get("steps")
    function = program.root.find(name)
    if not isinstance(function, Function):
        raise NotClaimed(f"no {name}")

    def asked(message: Json) -> Json:
        number = {"to": next(numbers)} if message["event"] == "request" else {}
        return ask({"id": op["id"], **message, **number})

    host = Host(op, asked)
    evaluator = Evaluator(program, host, op["limits"].get("depth", 10_000), steps)
    emits: Emits = []
    try:
        arguments = []
        if case is not None:
            types, written = function.signature.types, cases_of(function.node)[case]
            parts = written.items if len(types) > 1 else [written]
            arguments = [evaluator.alone(part, type_, function.scope) for part, type_ in zip(parts, types, strict=True)]
        value, _ = evaluator.enter(function, arguments)
        result: Json = {"status": "ok", "exit": 0}
        if is_error(value):
            error = value.payload[0]
            variant = error.variant if isinstance(error, Err) else None
            fails = {"kind": kind_of(error), "variant": variant, "message": host.cleaned(display(error))}
            result = {"status": "error", "exit": 77 if variant == "PermissionDenied" else 1, "fails": fails}
    except Panic as panic:
        message = host.cleaned(panic.message)
        file, line = panic.at or (function.node.span.file, 1)
        where = {"file": file, "line": line, "column": 1, "trace": []}
        exit_status = 77 if panic.code == "P407" else 1
        result = {"status": "panic", "exit": exit_status, "panic": {"code": panic.code, "message": message, **where}}
        emits.append(("panic", compact(message)))
    if steps is not None and result.get("panic", {}).get("code") != "P101":
        raise NotClaimed("how much fuel is used")
    return {**result, "asserts": evaluator.asserts, "diagnostics": []}, host.shown() + emits


def tested(op: Json) -> tuple[Json, Emits]:
    """Run every `@test` in source order, each in a world of its own, and return the result and all emits (O-8.1 to
    O-8.5)."""
    tests, emits, asserts, numbers = [], [], 0, itertools.count(1)
    program = program_of(op)
    for item in program.parsed(op["main"]):
        marks = {mark.name.text: mark.arguments for mark in item.decorators}
        if "test" not in marks:
            continue
        texts = {mark: [a.value.value for a in arguments if a.name is None] for mark, arguments in marks.items()}
        name, cases = (texts["test"] or [item.name.text])[0], cases_of(item)
        for number in range(len(cases)) if cases else [None]:
            result, own = started(op, item.name.text, numbers, number)
            error = (result.get("panic") or result.get("fails") or {}).get("message")
            good = error is None
            if "expect_fail" in marks:
                good = error is not None and all(part in error for part in texts["expect_fail"])
            shown = name
            if number is not None:
                span = cases[number].span
                shown += " " + " ".join(program.sources[op["main"]].text[span.start : span.end].split())
            tests.append({"name": shown, "outcome": "pass" if good else "fail", "message": error})
            emits += [emit for emit in own if emit[0] != "panic"]
            asserts += result["asserts"]
    passed = all(test["outcome"] == "pass" for test in tests)
    result = {"status": "ok" if passed else "error", "exit": 0 if passed else 1, "tests": tests}
    return {**result, "asserts": asserts, "diagnostics": []}, emits


def run(op: Json) -> None:
    """Answer one operation: with the emits and the result, or with `not claimed`."""
    try:
        if op["op"] != "run" or set(op["limits"]) - {"depth", "steps"} or any("tool" in p for p in op["permissions"]):
            raise NotClaimed(f"{op['op']} with these fields")
        result, emits = evaluate(op)
    except NotClaimed as reason:
        send({"id": op["id"], "status": "not claimed", "reason": str(reason)})
        return
    for n, (channel, payload) in enumerate(emits):
        send({"id": op["id"], "event": "emit", "n": n, "channel": channel, "json": payload})
    send({"id": op["id"], **result})


def main() -> int:
    """Answer the messages of the runner until `bye` or the end of the input; return the exit status 0. The process
    gets at most MEMORY bytes."""
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
