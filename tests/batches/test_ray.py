"""Batches on a Ray cluster of three nodes on this machine (S-2.3); skipped where the extra `ray` is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concerto
import pytest

from ..command import environment
from .ray_cluster import cluster
from .serving import PROGRAM, Served, lines, served, write_rows

pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with cluster(3) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, 0.05) as running:
        yield running


def test_the_same_files_as_here(nodes: Any, server: Served, tmp_path: Path) -> None:
    server.program(tmp_path)
    write_rows(tmp_path / "rows.jsonl", 60)
    with (tmp_path / "rows.jsonl").open("a") as file:
        file.write('{"text": "fail"}\n{"text": 3}\n')
    outputs = []
    for where in ([], ["--on", f"ray={nodes.address}"]):
        out = tmp_path / f"{len(outputs)}.jsonl"
        words = ["batch", "ask.conc", "--fn", "ask", "--in", "rows.jsonl", "--out", out.name, "--retries", "0", *where]
        variables = environment(RAY_TMPDIR=os.environ["RAY_TMPDIR"])
        done = subprocess.run(
            [sys.executable, "-m", "concerto", *words], cwd=tmp_path, env=variables, capture_output=True, text=True
        )
        assert done.returncode == 1 and "62 rows: 60 done, 2 failed" in done.stdout, done
        outputs.append((out.read_bytes(), out.with_name(f"{len(outputs)}.errors.jsonl").read_bytes()))
    assert outputs[0] == outputs[1]


def test_a_budget_is_that_of_the_cluster(nodes: Any, server: Served) -> None:
    prices = {"m": {"input_per_million": 1000.0, "output_per_million": 1000.0}}
    rows = [{"text": f"row {number}"} for number in range(100)]
    program = concerto.compile(PROGRAM.format(port=server.port))
    batch = concerto.batch(program, "ask", rows, on=f"ray={nodes.address}", max_cost=0.45, pricing=prices, limit=12)
    done = list(batch)
    assert all(row.ok for row in done) and 0.40 <= batch.counts.cost <= 0.45  # a row costs 0.015
    assert batch.counts.left == 100 - len(done) and batch.ended_by.startswith("cost budget of the batch spent")
    assert sum(server.counts().values()) == len(done)


def test_a_dataset(nodes: Any) -> None:
    pytest.importorskip("ray.data", exc_type=ImportError)
    program = concerto.compile('pub fn twice(n: Int) -> Result<Int, String> { if n == 2 { Err("two") } else { Ok(2 * n) } }')
    dataset = concerto.batch(program, "twice", [{"n": n} for n in range(5)], on=f"ray={nodes.address}", retries=0).dataset()
    rows = dataset.take_all()
    assert [row["value"] for row in rows] == ["0", "2", None, "6", "8"]
    assert [row["ok"] for row in rows] == [True, True, False, True, True]


def test_what_cannot_be_sent_is_refused(nodes: Any) -> None:
    program = concerto.compile("pub fn f() -> Int { 1 }")
    for options in ({"budgets": concerto.SharedBudget(tokens=5)}, {"stdin": "text"}):
        with pytest.raises(concerto.BatchError, match="belongs to this process"):
            list(concerto.batch(program, "f", [{}], on=f"ray={nodes.address}", **options))  # type: ignore[arg-type]


def test_a_lost_node_loses_no_row(nodes: Any, server: Served, tmp_path: Path) -> None:
    """The last of this module: a node is gone behind it."""
    write_rows(tmp_path / "rows.jsonl", 400)
    program = server.program(tmp_path)
    batch = concerto.batch(
        program, "ask", tmp_path / "rows.jsonl", on=f"ray={nodes.address}", limit=24, store=tmp_path / "s.rows"
    )
    found = []
    for row in batch:
        found.append(row)
        if len(found) == 100:
            nodes.remove_node(nodes.workers[0], allow_graceful=False)
    assert [row.number for row in found] == list(range(1, 401)) and all(row.ok for row in found)
    asked = server.counts()
    assert len(asked) == 400 and sum(asked.values()) <= 400 + 24  # at most what was on its way there
    assert lines(tmp_path / "rows.jsonl")[0] == {"text": "row 1"}


def test_no_cluster_there() -> None:
    import ray

    ray.shutdown()
    program = concerto.compile("pub fn f() -> Int { 1 }")
    with pytest.raises(concerto.BatchError, match="cannot reach the Ray cluster 127.0.0.1:1"):
        list(concerto.batch(program, "f", [{}], on="ray=127.0.0.1:1"))
