"""The group of programs that nobody tuned for: each agrees with its twin, is well written, and stays by itself."""

import pytest
from concerto.compiler.pipeline import compile_source

from benches import baseline, command, pairs, unseen
from benches.figures import Figure
from benches.sampling import Plan, Samples


@pytest.mark.parametrize("name", unseen.names())
def test_program_and_twin_agree(name):
    pair = pairs.pair(name)
    pair.check(pair.test, "both")


@pytest.mark.parametrize("name", unseen.names())
def test_the_size_changes_the_work(name):
    pair = pairs.pair(name)
    assert pair.test < pair.quick < pair.full
    assert f"fn size() -> Int {{ {pair.full} }}" in pair.source
    assert pair.twin_output(pair.test) != pair.twin_output(pair.test * 2)


@pytest.mark.parametrize("name", unseen.names())
def test_no_program_draws_a_warning(name):
    pair = pairs.pair(name)
    found = compile_source(pair.source.encode(), pair.file).diagnostics.ordered()
    assert [(diagnostic.code, diagnostic.message) for diagnostic in found] == []


def test_every_program_has_a_twin_and_the_other_way_round():
    twins = sorted(path.stem for path in (pairs.HERE / "twins" / unseen.GROUP).glob("*.py"))
    assert unseen.names() == [f"{unseen.GROUP}/{name}" for name in twins]
    assert len(twins) >= 40


def test_what_a_tool_call_tells_of_itself_is_no_output():
    pair = pairs.pair("unseen/counter_tool")
    assert [line.split()[0] for line in pair.concerto(pair.test).output()] == ["refused", "averages", "kinds"]


def test_the_group_runs_only_when_it_is_named():
    assert not set(unseen.names()) & set(command.selected([]))
    assert list(command.selected(["unseen"])) == unseen.names()
    assert list(command.selected(["unseen/ini", "fib"])) == ["fib", "unseen/ini"]
    with pytest.raises(SystemExit, match="no bench named unseen/nothing"):
        command.selected(["unseen", "unseen/nothing"])


def test_a_row_has_no_target_and_growth_is_told_where_it_is_asked_for():
    plan = Plan(samples=1, least=0.0001, quick=True)
    (plain,) = unseen.measure("unseen/knapsack", plan)
    assert (plain.name, plain.verdict) == ("unseen/knapsack", "measured") and plain.ratio > 0
    row, growth = unseen.measure("unseen/grouped_lists", plan)
    assert (row.name, growth.name) == ("unseen/grouped_lists", "unseen/grouped_lists, growth")
    assert growth.unit == "×" and growth.ratio > 0


def test_growth_is_that_of_the_program_over_that_of_the_twin(monkeypatch):
    seconds = iter([1.0, 6.0, 2.0, 4.0])
    monkeypatch.setattr(unseen, "interleave", lambda works, plan: [Samples((next(seconds),)) for _ in works])
    figure = unseen.growth("x", pairs.pair("unseen/array_calls"), Plan(quick=True))
    assert (figure.value, figure.ratio) == (6.0, 3.0)


def test_the_summary_is_over_all_programs_or_there_is_none():
    rows = [Figure(name, 1.0, "ms", ratio=2.0) for name in unseen.names()]
    rows[3] = Figure(rows[3].name, 1.0, "ms", ratio=9.0)
    mean, worst = unseen.summary([*rows, Figure("unseen/array_calls, growth", 40.0, "×", ratio=20.0)])
    assert 2.0 < mean.ratio < 2.1
    assert (worst.ratio, worst.note) == (9.0, rows[3].name)
    assert unseen.summary(rows[1:]) == []


def test_the_group_is_no_part_of_the_baseline(monkeypatch, capsys):
    rows = [Figure("fib", 1.0, "ms", ratio=2.0), Figure("unseen/ini", 1.0, "ms", ratio=2.0)]
    kept = []
    monkeypatch.setattr(command, "selected", lambda names: {"both": lambda plan: rows})
    monkeypatch.setattr(baseline, "write", kept.extend)
    assert command.main(["--baseline"]) == 0
    assert [figure.name for figure in kept] == ["fib"]
    assert "unseen/ini" in capsys.readouterr().out
