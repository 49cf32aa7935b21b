"""`concerto.batch` from Python: an iterator over results, which may be left early (S-2.3)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concerto
import pytest

from .serving import PROGRAM, served

TWICE = 'pub fn twice(n: Int) -> Result<Int, String> { if n == 2 { Err("two") } else { Ok(2 * n) } }'


def test_results_in_order_and_counts() -> None:
    batch = concerto.batch(concerto.compile(TWICE), "twice", ({"n": n} for n in range(300)), retries=1)
    found = list(batch)
    assert [row.value for row in found if row.ok] == [2 * n for n in range(300) if n != 2]
    assert found[2].error == {"kind": "String", "value": '"two"', "message": "two"} and found[2].attempts == 2
    assert (batch.counts.done, batch.counts.failed, batch.counts.read) == (299, 1, 300)
    with pytest.raises(RuntimeError, match="iterated once"):
        iter(batch)


def test_a_batch_that_is_left_asks_no_more_and_another_goes_on(tmp_path: Path) -> None:
    with served(tmp_path, 0.02) as server:
        program = concerto.compile(PROGRAM.format(port=server.port))
        rows = [{"text": f"row {number}"} for number in range(400)]
        for number, row in enumerate(concerto.batch(program, "ask", rows, limit=4, store=tmp_path / "s")):
            assert row.ok
            if number == 20:
                break
        asked = sum(server.counts().values())
        assert 20 <= asked < 400
        found = list(concerto.batch(program, "ask", rows, store=tmp_path / "s"))
        assert [row.value for row in found] == [f"re: row {number}" for number in range(400)]
        assert sum(server.counts().values()) <= 400 + 4  # but for what was on its way


def test_an_exception_of_the_rows_is_the_callers() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"n": 1}
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(concerto.batch(concerto.compile(TWICE), "twice", rows()))


@pytest.mark.parametrize(("options", "error", "words"), [
    ({"limit": 0}, ValueError, "limit is 0"),
    ({"on": "spark"}, ValueError, "it is 'ray' or 'ray=ADDRESS'"),
    ({"on": "ray="}, ValueError, "it is 'ray' or 'ray=ADDRESS'"),
    ({"max_cost": -1.0}, ValueError, "budget cost is -1.0"),
    ({"nothing": 1}, TypeError, "unknown option 'nothing'"),
    ({"provider_batch": True, "max_cost": 1.0}, ValueError, "what is sent is paid"),
    ({"wait": 1.0}, ValueError, "wait is for a batch of the provider"),
])  # fmt: skip
def test_wrong_options(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        concerto.batch(concerto.compile(TWICE), "twice", [], **options)


def test_a_missing_key_ends_a_batch() -> None:
    source = """model M { provider: openai, base: "m" }
pub fn ask(text: String) -> Result<String, AgentError> { Ok(M.execute(text)?.text) }"""
    batch = concerto.batch(concerto.compile(source), "ask", [{"text": "a"}, {"text": "b"}], env={})
    with pytest.raises(concerto.BatchError, match=r"OPENAI_API_KEY is not set.*in Python offline=True") as caught:
        list(batch)
    assert caught.value.kind == "configuration" and batch.counts.failed == 0


def test_a_batch_is_left_when_all_rows_are_finished_and_wait() -> None:
    """The first list is with the reader, the queue is full, and the ending has to have room behind it."""
    script = """
import time
import concerto
from concerto.batches.batch import QUEUE

rows = [{"n": n} for n in range(QUEUE + 1)]
batch = concerto.batch(concerto.compile("pub fn same(n: Int) -> Int { n }"), "same", rows, limit=1, offline=True)
for row in batch:
    while batch.counts.done < len(rows):
        time.sleep(0.01)
    time.sleep(0.5)
    break
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_reader_that_fails_ends_a_batch_whose_rows_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from concerto.batches import run

    monkeypatch.setattr(run, "WINDOW", 5)
    batch = concerto.batch(concerto.compile(TWICE), "twice", [{"n": n} for n in range(100)], retries=0, offline=True)

    async def full(rows: Any) -> None:
        await asyncio.sleep(0.2)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        asyncio.run(asyncio.wait_for(batch.arun(full), 20))


def test_a_batch_that_computes_can_be_closed_from_another_thread() -> None:
    endless = concerto.compile("pub fn endless(n: Int) -> Int { while true { } n }")
    batch = concerto.batch(endless, "endless", [{"n": 1}, {"n": 2}])
    threading.Timer(0.5, batch.close).start()
    assert list(batch) == []
