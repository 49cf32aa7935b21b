"""M-14: what a memory costs however long it is: views, durable logs, bytes.

Times are those of the process; what a disk takes to sync is not among them.
"""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Msg

from ..execution import require
from ..figures import Figure, Target
from ..sampling import Plan, interleave

FLAT = Target("M-14.2", 1.5)
TURN = Target("M-14.5", 1)
OPEN = Target("M-14.5", 50)
ENTRY = Target("M-14.1", 700)
SHORT = 1_000
PIECE = 50_000


def long_views(plan: Plan) -> list[Figure]:
    """The same window, messages and turns of a short log and of a long one."""
    count = 100_000 if plan.quick else 1_000_000
    logs = [_filled(VolatileStore(), n) for n in (SHORT, count)]
    figures = []
    for name, work in (("view", _view), ("last", _last), ("turns", _turns)):
        require(work(logs[0]), work(logs[1]))
        few, many = interleave([partial(work, log) for log in logs], plan)
        note = f"50 of {count:,} messages over 50 of {SHORT:,}"
        figures.append(Figure(f"{name}_flat", many.median / few.median, "×", FLAT, spread=many.spread, note=note))
    return figures


def durable_log(plan: Plan) -> list[Figure]:
    """A file of many messages: opened and windowed, and one turn more."""
    count = 100_000 if plan.quick else 1_000_000
    with tempfile.TemporaryDirectory(prefix="concerto-bench-") as folder:
        path = str(Path(folder) / "memory.db")
        store = SqliteStore(path)
        _filled(store, count)
        store.close()
        require(_opened(path), 50)
        store = SqliteStore(path)
        log = Memory(Policy(window=50), name="chat", store=store)
        number = [0]
        opening, turn = interleave([partial(_opened, path), partial(_turn, log, number)], plan)
        store.close()
    return [
        Figure("durable_open", opening.median * 1e3, "ms", OPEN, spread=opening.spread, note=f"window 50 of {count:,} messages"),
        Figure("durable_turn", turn.median * 1e3, "ms", TURN, spread=turn.spread, note=f"a turn behind {count:,}, without syncs"),
    ]


def bytes_of_memories(plan: Plan) -> list[Figure]:
    count, users = 20_000, 500
    texts = [f"message {n}" for n in range(count)]
    entry = _held(lambda: _of_texts(Memory(), texts)) / count
    idle = _held(lambda: _conversations(users, texts[:20])) / users
    return [
        Figure("entry_bytes", entry, "B", ENTRY, note="a message in a volatile log, besides its text"),
        Figure("idle_conversation", idle / 1024, "KiB", note="twenty messages of one user between two turns"),
    ]


def _held(work: Callable[[], Any]) -> int:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = work()
    size = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    del kept
    return size


def _of_texts(log: Memory, texts: list[str]) -> Memory:
    for text in texts:
        log.append("user", text)
    require(len(log.messages()), len(texts))
    return log


def _conversations(users: int, texts: list[str]) -> VolatileStore:
    store = VolatileStore()
    for user in range(users):
        _of_texts(Memory(Policy(retain=20), store=store, key=("app", "chat", f"user {user}", "")), texts)
    return store


def _filled(store: Any, count: int) -> Memory:
    """The last fifty messages are the same, whatever the count."""
    log = Memory(Policy(), name="chat", store=store)
    for start in range(0, count, PIECE):
        log.append_all([Msg("user", str(count - n)) for n in range(start, min(start + PIECE, count))])
    for n in range(50):
        log.append("user", f"the last {n}")
    return Memory(Policy(window=50, tokens=100_000), name="chat", store=store)


def _view(log: Memory) -> list[str]:
    return [message.content for message in log.view()[0].window]


def _last(log: Memory) -> list[str]:
    return [message.content for message in log.last(50)]


def _turns(log: Memory) -> list[str]:
    return [entry.message.content for _, entries in log.turns(20) for entry in entries]


def _opened(path: str) -> int:
    store = SqliteStore(path)
    try:
        return len(Memory(Policy(window=50), name="chat", store=store).view()[0].window)
    finally:
        store.close()


def _turn(log: Memory, number: list[int]) -> None:
    number[0] += 1
    open_run([Attached(log)], f"r{number[0]}", [Msg("user", "prompt")]).commit("reply")
