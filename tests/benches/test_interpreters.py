"""Rows side by side on several interpreters (V-8)."""

import json
import sys

import pytest

from benches import command, interpreters
from benches.figures import Figure, Target


def report(python, *figures):
    return {"python": python, "figures": [figure.as_json() for figure in figures]}


def test_a_column_an_interpreter_and_a_mark_where_a_target_is_missed():
    ratio, least = Target("V-8.1", 3, on_ratio=True), Target("V-8.7", 8_000, least=True)
    found = interpreters.table([
        report("3.11.7", Figure("fib", 9.0, "ms", ratio, ratio=2.0), Figure("compile", 9_000, "lines/s", least)),
        report("3.13.0", Figure("fib", 9.0, "ms", ratio, ratio=3.5), Figure("growth", 1.0, "", wrong=True)),
    ])  # fmt: skip
    assert found == [
        "row      target                3.11.7        3.13.0",
        "fib      V-8.1 3                2 ×         3.5 × !",
        "compile  V-8.7 8,000  9,000 lines/s",
        "growth                                 WRONG OUTPUT",
    ]


def test_each_interpreter_measures_in_a_process_of_its_own(tmp_path, capsys):
    file = tmp_path / "made" / "figures.json"
    assert command.main(["retry", "--quick", "--python", sys.executable, "--python", sys.executable, "--json", str(file)]) == 0
    head, row, *_ = capsys.readouterr().out.splitlines()
    assert head.count(sys.version.split()[0]) == 2 and row.startswith("retry")
    first, second = json.loads(file.read_text(encoding="utf-8"))
    assert [figure["name"] for figure in first["figures"]] == [figure["name"] for figure in second["figures"]]


@pytest.mark.parametrize("words", [["--python", "/nowhere/python"], ["--python", "/bin/false"], ["--python", "x", "--baseline"]])
def test_what_gives_no_figures_is_refused(words):
    with pytest.raises(SystemExit, match=r"benches: (/nowhere/python: No such file|/bin/false: no figures|--baseline)"):
        command.main(["retry", *words])
