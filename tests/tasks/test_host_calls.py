"""Functions of the program that a performer runs under the task that waits for it: what a tool loop needs."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.runtime.records import succeeded
from concerto.runtime.session import session as session_module

from .runs import Run

SOURCE = """
model M {{ provider: openai, base: "m" }}
fn tool(n: Int) -> Int {{
    emit("begin", n);
    std::time::sleep(n);
    emit("end", n);
    if n == 13 {{ let zero = 0; return 1 / zero; }}
    n * 2
}}
fn main() {{ {body} }}
"""


@pytest.fixture(params=[False, True], ids=["offline loop", "asyncio"])
def run(request, monkeypatch):
    def make(body: str, perform: Any, **limits: Any) -> Run:
        usual = session_module.performer
        monkeypatch.setattr(session_module, "performer", lambda kind: perform if kind == "model" else usual(kind))
        return Run(SOURCE.format(body=body), asyncio=request.param, **limits)

    return make


def tool_of(run: Any) -> Any:
    return next(code for code in run.program.codes if code.label == "tool")


async def both(run: Any, effect: Any) -> Any:
    values = await run.gather(*(run.call(effect, tool_of(run), [n]) for n in (20, 10)))
    return succeeded(sum(values))


async def one_after_another(run: Any, effect: Any) -> Any:
    return succeeded(sum([await run.call(effect, tool_of(run), [n]) for n in (20, 10)]))


async def bounded(run: Any, effect: Any) -> Any:
    try:
        return succeeded(await run.within(0.015, run.call(effect, tool_of(run), [20])))
    except TimeoutError:
        return succeeded(await run.within(0.015, run.call(effect, tool_of(run), [10])))


async def breaks(run: Any, effect: Any) -> Any:
    return succeeded(await run.call(effect, tool_of(run), [13]))


RESULT = 'let r: Any = M.execute("q"); emit("value", r.unwrap());'


def test_children_run_side_by_side(run):
    made = run(RESULT, both)
    assert made.finish().panic is None
    assert made.emits == [("begin", 20), ("begin", 10), ("end", 10), ("end", 20), ("value", 60)]


def test_one_place_for_tasks_is_enough(run):
    made = run(RESULT, both, tasks=1)
    assert made.finish().panic is None
    assert made.emits == [("begin", 20), ("end", 20), ("begin", 10), ("end", 10), ("value", 60)]


def test_children_one_after_another(run):
    made = run(RESULT, one_after_another)
    made.finish()
    assert made.emits == [("begin", 20), ("end", 20), ("begin", 10), ("end", 10), ("value", 60)]


def test_a_child_that_takes_too_long_is_cancelled(run):
    made = run(RESULT, bounded)
    made.finish()
    assert made.emits == [("begin", 20), ("begin", 10), ("end", 10), ("value", 20)]


def test_cancelling_the_call_cancels_its_children(run):
    made = run('emit("value", race({ let _ = M.execute("q"); 1 }, { std::time::sleep(5); 2 })); std::time::sleep(99);', both)
    assert made.finish().panic is None
    assert made.emits == [("begin", 20), ("begin", 10), ("value", 2)]
    assert not made.session.machine.roots and not made.session.work


def test_a_panic_in_a_child_ends_the_run(run):
    made = run(f"try {{ {RESULT} }} catch {{ emit(\"caught\", 1); }}", breaks)
    panic = made.finish().panic
    assert panic is not None and panic.code == "P003"
    assert [frame[0] for frame in panic.trace] == ["tool", "main"]
    assert made.emits == [("begin", 13), ("end", 13)]
