"""Runs `main`, or the tests, and gives what happened as the result of the driver protocol."""

from __future__ import annotations

import sys
import threading
from typing import Any

from .evaluate import Evaluator
from .scopes import Function, Program
from .types import NotClaimed
from .values import RESULT, Case, Err, Panic, display, is_good, kind_of

Json = dict[str, Any]
STACK = 512 * 1024 * 1024


def run(files: dict[str, bytes], main: str, depth: int = 10_000, tests: bool = False) -> tuple[Json, list[tuple[str, str]]]:
    """The result of the program and its emits; raises NotClaimed."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(_tests(files, main, depth) if tests else _main(files, main, depth))
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


def _main(files: dict[str, bytes], main: str, depth: int) -> tuple[Json, list[tuple[str, str]]]:
    program = Program(files, main)
    found = program.root.find("main")
    if not isinstance(found, Function):
        raise NotClaimed("no main")
    return _ended(Evaluator(program, depth), found)


def _tests(files: dict[str, bytes], main: str, depth: int) -> tuple[Json, list[tuple[str, str]]]:
    """Every `@test` function, each in a fresh program."""
    rows: list[Json] = []
    emits: list[tuple[str, str]] = []
    found = [f for f in Program(files, main).root.names.values() if isinstance(f, Function)]
    for name, decorators in [(f.name, {d.name.text: d for d in f.node.decorators}) for f in found]:
        if "test" in decorators:
            program = Program(files, main)
            result, seen = _ended(Evaluator(program, depth), program.root.names[name])
            arguments = decorators["test"].arguments
            title = arguments[0].value.value if arguments else name
            good = (result["status"] == "ok") is ("expect_fail" not in decorators)
            rows.append({"name": title, "outcome": "pass" if good else "fail"})
            emits += seen
    good = all(row["outcome"] == "pass" for row in rows)
    return {"status": "ok" if good else "error", "exit": 0 if good else 1, "tests": rows, "diagnostics": []}, emits


def _ended(evaluator: Evaluator, function: Function) -> tuple[Json, list[tuple[str, str]]]:
    emits = evaluator.emits
    try:
        value, _ = evaluator.enter(function, [])
        result: Json = {"status": "ok", "exit": 0}
        if isinstance(value, Case) and value.item is RESULT and not is_good(value):
            error = value.payload[0]
            variant = error.variant if isinstance(error, Err) else None
            fails = {"kind": kind_of(error), "variant": variant, "message": display(error)}
            result = {"status": "error", "exit": 1, "fails": fails}
    except Panic as panic:
        emits.append(("panic", f'"{panic.message}"'))
        file, line = panic.at or (function.node.span.file, 1)
        where = {"file": file, "line": line, "column": 1, "trace": []}
        result = {"status": "panic", "exit": 1, "panic": {"code": panic.code, "message": panic.message, **where}}
    return {**result, "asserts": evaluator.asserts, "diagnostics": []}, emits
