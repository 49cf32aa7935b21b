"""Durable runs beside peers: lines are counted, kills judged, the variant of Concerto runs, and the guide has the figures."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from benches.durable.chart import svg, tables
from benches.durable.judging import history_of, judged
from benches.durable.kills import History, Refund
from benches.durable.lines import written
from benches.durable.server import Call, Server
from benches.durable.variants import PROGRAMS, ROOT, VARIANTS, Place

FIGURES = ROOT / "docs" / "generated" / "durable-peers.json"


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.py", "# why\n\nimport x\n    # so\nx.y()  # behind code\n", 2),
        ("a.conc", '// why\n\nfn main() {\n    // so\n    emit("a", 1); // behind code\n}\n', 3),
        ("b.conc", "# no comment here\n", 1),
    ],
)
def test_lines_that_hold_more_than_a_comment_are_counted(tmp_path: Path, name: str, text: str, lines: int) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert written(file) == lines


def test_a_file_of_another_language_is_not_counted(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a\.go: lines of \.go are not counted here"):
        written(tmp_path / "a.go")


# ------------------------------------------------------------ what came again


def calls(*rows: tuple[str, float, float | None]) -> list[Call]:
    return [Call(what, "o", came, answered, found=what == "look") for what, came, answered in rows]


@pytest.mark.parametrize(
    ("made", "approved", "kind", "state"),
    [
        ([("decide", 0, None), ("decide", 5, 6)], False, "model", "in flight"),
        ([("decide", 0, 4), ("decide", 5, 6)], False, "model", "in flight"),  # it was answered behind the death
        ([("decide", 0, 1), ("decide", 5, 6)], False, "model", "answered"),
        ([("decide", 0, 1), ("charge", 2, None), ("decide", 5, 6)], False, "model", "gone on"),
        ([("write", 0, 1), ("write", 5, 6)], True, "model", "gone on"),  # the person had been asked
        ([("send", 0, 1), ("send", 5, 6)], True, "model", "answered"),
        ([("decide", 0, 1), ("decide", 2, 2.5)], False, "model", "no kill"),
        ([("charge", 0, 1), ("charge", 5, 6)], False, "bank", "answered"),
        ([("charge", 0, None), ("look", 5, 6)], False, "bank", "in flight"),
        ([("charge", 0, 1), ("write", 2, None), ("look", 5, 6)], False, "bank", "gone on"),
    ],
)
def test_a_request_that_came_again_is_judged_by_what_it_was_at_the_death(
    made: list[tuple[str, float, float | None]], approved: bool, kind: str, state: str
) -> None:
    found = judged([History("o", calls(*made), [(3.0, approved)])])
    again = {(name, each): count for name in ("model", "bank") for each, count in found[name].items() if count}
    assert again == {(kind, state): 1}


def test_charges_results_and_waits_are_counted() -> None:
    twice = History("o", calls(("charge", 0, 1), ("charge", 5, 6)), [(3.0, False)], [2.0, 1.0, 6.0], is_right=True)
    found = judged([twice, History("p", calls(("charge", 0, 1), ("decide", 2, 3)))])
    assert (found["kills"], found["runs"], found["wrong"], found["double_charges"], found["found"]) == (1, 2, 1, 1, 0)
    assert found["waited"] == {"least": 1.0, "median": 2.0, "most": 6.0}
    assert judged([History("p")])["waited"] is None


def test_a_history_comes_back_from_json() -> None:
    from dataclasses import asdict

    history = History("o", calls(("charge", 0, 1)), [(3.0, True)], [2.0], is_right=True)
    assert history_of(json.loads(json.dumps(asdict(history)))) == history


# ------------------------------------------------------------ Concerto


@pytest.mark.parametrize("kills", [0, 3])
def test_the_refund_of_concerto_asks_nothing_again_that_it_had_gone_on_from(tmp_path: Path, kills: int) -> None:
    server = Server(0.02)
    try:
        place = Place(tmp_path, {**os.environ, **server.environment})
        history = Refund(VARIANTS[0], place, server, "order1", random.Random(5), kills).go()
    finally:
        server.close()
    found = judged([history])
    # Under load a run may end before the kills that were still to come.
    assert history.is_right and bool(kills) <= found["kills"] <= kills and not found["wrong"] and not found["double_charges"]
    assert not any(found[kind][state] for kind in ("model", "bank") for state in ("gone on", "no kill"))
    if not kills:
        assert [call.what for call in history.calls] == ["decide", "charge", "write", "send"]


# ------------------------------------------------------------ figures of the guide


def test_the_guide_and_the_chart_show_what_was_measured() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    guide = (ROOT / "docs" / "guide" / "durable.md").read_text(encoding="utf-8")
    assert [line for line in tables(figures) if line not in guide] == []
    assert FIGURES.with_suffix(".svg").read_text(encoding="utf-8") == svg(figures)
    assert "not measured" not in "\n".join(tables(figures))


def test_the_lines_of_the_guide_are_those_of_the_programs() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    counted = {variant.name: written(PROGRAMS / variant.program) for variant in VARIANTS}
    assert {name: variant["lines"] for name, variant in figures["variants"].items()} == counted
