"""A whole program: parses it, runs `main`, and gives what happened as the result of the driver protocol."""

from __future__ import annotations

import sys
import threading
from typing import Any

from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.parse import decode_source, parse

from .evaluate import Evaluator
from .scopes import Frame, Function, Scope
from .types import NotClaimed
from .values import Err, Panic, Res, display, kind_of

Json = dict[str, Any]
Emits = list[tuple[str, str]]
STACK = 512 * 1024 * 1024


def run(data: bytes, name: str, depth: int = 10_000) -> tuple[Json, Emits]:
    """The result of the program and its emits; raises NotClaimed."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(_run(data, name, depth))
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
    made: tuple[Json, Emits] = outcome[0]
    return made


def _run(data: bytes, name: str, depth: int) -> tuple[Json, Emits]:
    diagnostics = Diagnostics()
    source = decode_source(name, data, diagnostics)
    if source is None or diagnostics.has_errors:
        raise NotClaimed("no program")
    tree = parse(source, diagnostics)
    if diagnostics.has_errors:
        raise NotClaimed("no program")
    evaluator = Evaluator(source)
    emits: Emits = []
    evaluator.limit, evaluator.emit = depth, lambda channel, payload: emits.append((channel, payload))
    scope = Scope(None, Frame(None))
    evaluator.declare(scope, tree.items)
    main = scope.find("main")
    if not isinstance(main, Function):
        raise NotClaimed("no main")
    try:
        result = _ended(evaluator.framed(lambda cells: evaluator.enter(main, cells), [], 1))
    except Panic as panic:
        emits.append(("panic", f'"{panic.message}"'))
        where = {"file": name, "line": panic.line, "column": 1}
        result = {"status": "panic", "exit": 1, "panic": {"code": panic.code, "message": panic.message, **where, "trace": []}}
    return {**result, "asserts": evaluator.asserts, "diagnostics": []}, emits


def _ended(value: Any) -> Json:
    if not isinstance(value, Res) or value.ok:
        return {"status": "ok", "exit": 0}
    error = value.value
    variant = error.variant if isinstance(error, Err) else None
    return {"status": "error", "exit": 1, "fails": {"kind": kind_of(error), "variant": variant, "message": display(error)}}
