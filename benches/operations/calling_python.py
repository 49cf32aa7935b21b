"""P-1.10: 1,000 calls of a function of Python from a program, beside the same calls from Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from concerto.api.program import compile as compile_program
from concerto.api.session import Session

from ..execution import require
from ..figures import Figure, Target
from ..sampling import Plan, interleave

TWICE = Target("P-1.10", 2.0, on_ratio=True)
CALLS = 1000
ROUNDS = 2100  # of the function's loop: 60 µs of CPU time at rest
PROGRAM = """\
extern python "work" { fn plain(n: Int) -> Int; async fn coroutine(n: Int) -> Int; }
pub fn call_plain(count: Int) -> Int { let mut sum = 0; for i in 0..count { sum += plain(i); } sum }
pub fn call_coroutine(count: Int) -> Int { let mut sum = 0; for i in 0..count { sum += coroutine(i); } sum }
fn main() {}
"""


def work(n: int) -> int:
    total = 0
    for i in range(ROUNDS):
        total += i * n % 7
    return total


async def coroutine(n: int) -> int:
    return work(n)


def calling_python(plan: Plan) -> list[Figure]:
    """Both kinds of function; the calls of the plain one cross to a thread and back."""
    count = CALLS // 10 if plan.quick else CALLS
    with compile_program(PROGRAM).session() as session:
        session.bind("work", {"plain": work, "coroutine": coroutine})
        expected = sum(work(n) for n in range(count))
        require([session.call("call_plain", count), session.call("call_coroutine", count)], [expected, expected])
        return [
            _row(plan, "python_plain", session, "call_plain", count, partial(_directly, count), "in a thread; twin: a call"),
            _row(plan, "python_coroutine", session, "call_coroutine", count, partial(_awaited, count), "on the loop; twin: same"),
        ]  # fmt: skip


def _row(
    plan: Plan, name: str, session: Session, function: str, count: int, twin: Callable[[], object], note: str
) -> Figure:
    ours, theirs = interleave([partial(session.call, function, count), twin], plan)
    each = ours.median / count * 1e6
    return Figure(name, each, "µs", TWICE, ratio=ours.median / theirs.median, spread=ours.spread, note=note)


def _directly(count: int) -> int:
    return sum(work(n) for n in range(count))


def _awaited(count: int) -> int:
    async def all_of_them() -> int:
        total = 0
        for n in range(count):
            total += await coroutine(n)
        return total

    return asyncio.run(all_of_them())
