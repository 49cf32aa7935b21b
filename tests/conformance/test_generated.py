"""Programs from seeds: one meaning in the second evaluator and on every route (C-12.4, C-12.5); `CONCERTO_GENERATED=N` runs N."""

from __future__ import annotations

import os
import re
import sys

import pytest

from conformance import generate
from conformance.generator.reduce import reduce
from conformance.generator.statements import generate as program
from conformance.generator.tree import Expr, program_text, walk

COUNT = int(os.environ.get("CONCERTO_GENERATED", "150"))


def test_no_program_differs(capsys: pytest.CaptureFixture[str]) -> None:
    status = generate.main(["--seed", "0", "--count", str(COUNT)])
    shown = capsys.readouterr().out
    assert status == 0, shown
    assert shown.startswith(f"{COUNT} programs, 0 differences, 0 not claimed"), shown


def test_a_difference_is_found_and_reduced(capsys: pytest.CaptureFixture[str]) -> None:
    null = f"{sys.executable} {generate.DRIVERS / 'null.py'}"
    assert generate.main(["--seed", "4", "--count", "1", "--against", null]) == 1
    shown = capsys.readouterr().out
    assert "differs ok ok" in shown and shown.count("emit(") == 1, shown


def test_only_whole_programs_count_as_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a difference is reduced to may be unknown to the second driver too."""
    shown = iter(["other"])

    def run(self: generate.Runner, source: str, route: str = "interp") -> tuple[generate.Seen, tuple[None, None]]:
        status = "ok" if self.command == "one" else next(shown, "not claimed")
        return (status, None, None, []), (None, None)

    monkeypatch.setattr(generate.Runner, "run", run)
    comparison = generate.Comparison("one", "two", ["interp"])
    assert comparison.judge(4) is not None
    assert comparison.unclaimed == 0
    assert comparison.judge(4) is None
    assert comparison.unclaimed == 1


def test_routes_alone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiers may be compared without the second evaluator: what one route shows and another does not is a drift."""
    asked = []

    def run(self: generate.Runner, source: str, route: str = "interp") -> tuple[generate.Seen, tuple[int, None]]:
        asked.append(route)
        return ("ok", None, None, []), (7 if route == "interp" else 8, None)

    words = ["--count", "1", "--alone", "--route", "interp", "--route", "trans"]
    assert generate.main(words) == 0
    assert capsys.readouterr().out.startswith("1 programs, 0 differences")
    monkeypatch.setattr(generate.Runner, "run", run)
    assert generate.main([*words, "--no-reduce"]) == 1
    assert "drift trans" in capsys.readouterr().out and asked == ["interp", "trans"] * 2


def test_a_seed_always_gives_the_same_program() -> None:
    assert program_text(program(7)) == program_text(program(7)) != program_text(program(8))


def test_no_type_is_expected_of_what_break_gives() -> None:
    """`loop { break Box { v: false } }` is no `Box<Bool?>`, as only the forms of L-3.2.4 hand an expected type on."""
    nodes = (node for seed in range(150) for item in program(seed) for node in walk(item))
    given = [node.parts[1] for node in nodes if isinstance(node, Expr) and node.parts[0] == "(loop { break "]
    assert given and not any(value.open for value in given)


def test_programs_are_of_5_to_200_lines() -> None:
    lengths = sorted(program_text(program(seed)).count("\n") for seed in range(200))
    assert 5 <= lengths[0] < 20 and 120 < lengths[190] <= lengths[-1] <= 200


def test_reduction_keeps_what_shows_the_difference() -> None:
    items = reduce(program(11), lambda kept: "emit(" in program_text(kept))
    assert program_text(items).count("\n") <= 6


def test_boundaries_are_frequent() -> None:
    """Extreme integers, empty collections, characters beyond the first plane, closures in loops (C-12.4)."""
    texts = [program_text(program(seed)) for seed in range(200)]
    extreme, closure = r"9223372036854775807", r"(for|while|loop)[^{]*\{[^}]*\|"
    for wanted in (extreme, r"\[\]", r"[^\u0000-\uffff]", closure):
        assert sum(re.search(wanted, text) is not None for text in texts) >= 20, wanted


def test_newer_forms_are_frequent() -> None:
    """A `catch` with a name alone, bare variants, `E::parse`, lets that their first use types, ends that are wrapped, and `?`
    on several Results (C-12.4)."""
    texts = [program_text(program(seed)) for seed in range(300)]
    forms = {
        "catch with a name": r" catch e\d+ \{",
        "variants": r"^ *(?:A|U|B|A \| C|V\(\w+\)|X \{ a: \w+, \.\. \})(?: if .*)? =>",
        "parse": r"E::parse\(", "open arrays": r"let mut n\d+ = \[\];", "open maps": r"let mut n\d+ = \{\};",
        "open options": r"let mut n\d+ = None;", "several Results": r"\w: (?:Array<Result|\((?:Result|.*Result)).*\)\?",
        "wrapped ends": r"-> Result<(?:Int|Bool|String), \w+> \{\n(?: .*\n)*    (?:-?\d+|true|false|\".*\"|\(-.*\))\n\}",
    }  # fmt: skip
    for name, form in forms.items():
        found = sum(re.search(form, text, re.MULTILINE) is not None for text in texts)
        assert found >= 3, (name, found)
