"""Limits of a run with many tasks (G-6.1), and what is counted of the losers of a race (O-6.12)."""

from __future__ import annotations

import pytest

from .runs import Run

WORK = "async fn work(n: Int) -> Int { emit(\"begin\", n); std::time::sleep(10); n }"


@pytest.mark.parametrize(("tasks", "milliseconds"), [(2, 30), (3, 20), (100, 10)])
def test_tasks_beyond_the_limit_wait(tasks, milliseconds):
    run = Run(f"{WORK} fn main() {{ let xs = parallel for n in 0..6 {{ work(n) }}; emit(\"out\", xs.len()); }}", tasks=tasks)
    assert run.finish().panic is None
    assert run.emits[-1] == ("out", 6)
    assert round(run.loop.time() * 1000) == milliseconds


def test_a_task_that_waits_for_its_children_takes_no_place():
    source = f"{WORK} async fn deep(n: Int) -> Int {{ if n == 0 {{ return work(0); }} (await (deep(n - 1), 0)).0 }}"
    run = Run(f"{source} fn main() {{ emit(\"out\", deep(50)); }}", tasks=1)
    assert run.finish().panic is None
    assert run.emits == [("begin", 0), ("out", 0)]


def test_call_depth_counts_through_tasks():
    source = "async fn deep(n: Int) -> Int { (await (deep(n + 1), 0)).0 }"
    run = Run(f"{source} fn main() {{ emit(\"out\", deep(0)); }}", depth=100)
    panic = run.finish().panic
    assert panic is not None and panic.code == "P012"


def test_the_deadline_bounds_waits_and_stops_requests():
    run = Run('model M { provider: openai, base: "m" } fn main() { let _ = M.execute("a 5000"); emit("out", 1); }', seconds=2.0)
    panic = run.finish().panic
    assert panic is not None and (panic.code, panic.position[1]) == ("P102", 1)
    assert run.slow.stopped == ["a"] and run.emits == [] and run.loop.time() == 2.0


def test_tokens_of_a_loser_count():
    """Both replies come at the same moment; the second is counted, not kept."""
    run = Run(
        'memory log: Memory = Memory::new(); model M { provider: openai, base: "m", memory: log }'
        'fn main() { let _ = race(M.execute("a 10"), M.execute("b 10")); }'
    )
    assert run.finish().panic is None
    assert run.log == ["a"]
    assert run.session.metrics.as_json()["total_tokens"] == 4


def test_a_thousand_waiting_calls_are_cancelled_together():
    run = Run(
        'model M { provider: openai, base: "m" }'
        'fn main() { race({ parallel for n in 0..1000 { M.execute("${n} 500") }; 1 }, { std::time::sleep(10); 2 }); }'
    )
    assert run.finish().panic is None
    assert len(run.slow.asked) == len(run.slow.stopped) == 1000
    assert run.loop.time() == 0.01
