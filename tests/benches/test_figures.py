"""The arithmetic of the benches: samples, ratios, verdicts, means, the table, the baseline and the chart."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from benches import baseline, command, plot, report
from benches.execution import WrongOutput
from benches.figures import Figure, Target, geometric_mean
from benches.pairs import EACH
from benches.sampling import Plan, Samples, interleave, ratio


class Clock:
    """A clock that only work moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def work(self, seconds, journal, name):
        def run():
            self.now += seconds
            journal.append(name)

        return run


def test_ratio_is_median_over_median():
    assert ratio(Samples((9.0, 2.0, 4.0)), Samples((1.0, 8.0, 2.0))) == 2.0


def test_samples_are_interleaved_and_repeated_until_they_last():
    clock, journal = Clock(), []
    works = [clock.work(4.0, journal, "slow"), clock.work(0.5, journal, "fast")]
    slow, fast = interleave(works, Plan(samples=3, least=2.0), clock)
    assert slow.seconds == (4.0, 4.0, 4.0)
    assert fast.seconds == (0.5, 0.5, 0.5)
    assert ratio(slow, fast) == 8.0
    sampled = journal[-15:]
    assert sampled == ["slow", "fast", "fast", "fast", "fast"] * 3


def test_spread():
    assert Samples((1.0, 2.0, 4.0)).spread == 1.5
    assert Samples((2.0, 2.0)).spread == 0.0


def test_geometric_mean():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    with pytest.raises(ValueError, match="nothing"):
        geometric_mean([])


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (Target("V-1", 10.0), "met"),
        (Target("V-1", 9.9), "missed"),
        (Target("V-1", 10.0, least=True), "met"),
        (Target("V-1", 10.1, least=True), "missed"),
        (Target("V-1", 3.0, on_ratio=True), "met"),
        (Target("V-1", 2.9, on_ratio=True), "missed"),
        (None, "measured"),
    ],
)
def test_verdicts(target, verdict):
    assert Figure("row", 10.0, "µs", target, ratio=3.0).verdict == verdict


def test_a_wrong_row_is_never_met():
    assert Figure("row", 1.0, "µs", Target("V-1", 10.0), wrong=True).verdict == "WRONG OUTPUT"


def test_table_aligns_and_compares_with_the_baseline():
    figures = [
        Figure("fib", 12.0, "ms", EACH, ratio=30.0, spread=0.2),
        Figure("append", 0.25, "µs", Target("V-8.5", 0.6)),
        Figure("new", 1.0, "µs"),
    ]
    head, fib, append, new = report.table(figures, {"fib": 20.0, "append": 0.5})
    assert head.split() == ["row", "target", "figure", "ratio", "±", "change", "verdict"]
    assert fib.split() == ["fib", "V-8.2", "ratio", "≤", "40", "12.00", "ms", "30.00", "10%", "+50%", "met"]
    assert append.split() == ["append", "V-8.5", "≤", "0.6", "0.25", "µs", "-50%", "met"]
    assert new.split() == ["new", "1", "µs", "measured"]


def test_the_mean_row_is_judged_by_its_own_limit():
    mean = report.mean_of([Figure(str(r), 1.0, "ms", EACH, ratio=r) for r in (4.0, 36.0)])
    assert mean.ratio == pytest.approx(12.0)
    assert mean.verdict == "met"
    assert report.mean_of([Figure("a", 1.0, "ms", EACH, ratio=39.0)]).verdict == "missed"


def test_baseline_keeps_rows_that_were_not_measured(tmp_path):
    file = tmp_path / "baseline.json"
    assert baseline.read(file) == {}
    baseline.write([Figure("a", 10.0, "ms", ratio=2.0), Figure("b", 5.0, "µs")], file)
    baseline.write([Figure("b", 6.0, "µs")], file)
    assert baseline.read(file) == {"a": 2.0, "b": 6.0}


def test_the_chart_is_svg_with_a_bar_a_row():
    figures = [Figure(f"row <{n}>", 1.0, "ms", EACH, ratio=r) for n, r in enumerate((0.5, 17.0, 55.0))]
    tree = ElementTree.fromstring(plot.svg(figures, "Title & more"))
    texts = [element.text for element in tree.iter() if element.tag.endswith("text")]
    assert "row <1>" in texts and "17.0" in texts and "target 40" in texts
    bars = [float(e.get("width")) for e in tree.iter() if e.tag.endswith("rect") and e.get("rx")]
    assert len(bars) == 3 and bars == sorted(bars)
    with pytest.raises(ValueError, match="no figure"):
        plot.svg([Figure("a", 1.0, "ms")], "t")


def test_a_wrong_output_is_shown_and_fails_the_run(monkeypatch, capsys, tmp_path):
    def lying(plan):
        raise WrongOutput("gave 1, expected 2")

    monkeypatch.setattr(command, "selected", lambda names: {"lying": lying, "honest": lambda plan: [Figure("honest", 1.0, "µs")]})
    monkeypatch.setattr(baseline, "write", lambda figures: pytest.fail("a wrong run became the baseline"))
    assert command.main(["--json", str(tmp_path / "out.json"), "--baseline"]) == 1
    shown = capsys.readouterr().out
    assert "WRONG OUTPUT" in shown and "gave 1, expected 2" in shown
    verdicts = {f["name"]: f["verdict"] for f in json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["figures"]}
    assert verdicts == {"lying": "WRONG OUTPUT", "honest": "measured"}


def test_an_unknown_name_is_refused():
    with pytest.raises(SystemExit, match="no bench named nothing"):
        command.main(["nothing"])


def test_a_long_source_is_as_long_as_asked():
    from benches.generated_source import PART_LINES, source

    for lines in (100, 1_000):
        assert abs(source(lines).count("\n") - lines) <= PART_LINES
