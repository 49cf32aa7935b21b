"""orchestration.md O-9.12 and language.md L-4.1.4."""

from __future__ import annotations

import pytest
from concerto.compiler.diagnostics import Diagnostics, Related, render_json, render_text
from concerto.compiler.source import Source, Span

SOURCE = Source("a.conc", "let x = 1;\n\tfoo(é, bar);\nend")


def reported() -> Diagnostics:
    diagnostics = Diagnostics()
    related = (Related(Span("a.conc", 4, 5), "first here"),)
    diagnostics.report("E0101", Span("a.conc", 19, 22), "no `bar`", help="try `baz`", related=related)
    diagnostics.report("W0001", Span("a.conc", 4, 5), "unused `x`")
    return diagnostics


def test_text_form() -> None:
    assert render_text(reported(), {"a.conc": SOURCE}) == (
        "a.conc:1:5: warning[W0001]: unused `x`\n"
        "  1 | let x = 1;\n"
        "    |     ^\n"
        "a.conc:2:9: error[E0101]: no `bar`\n"
        "  2 | \tfoo(é, bar);\n"
        "    | \t       ^^^\n"
        "  note: a.conc:1:5: first here\n"
        "  1 | let x = 1;\n"
        "    |     ^\n"
        "  help: try `baz`\n"
    )


def test_json_form() -> None:
    second = render_json(reported(), {"a.conc": SOURCE})[1]
    assert second == {
        "code": "E0101", "severity": "error", "message": "no `bar`", "file": "a.conc", "line": 2, "column": 9,
        "end_line": 2, "end_column": 12, "help": "try `baz`",
        "related": [
            {"message": "first here", "file": "a.conc", "line": 1, "column": 5, "end_line": 1, "end_column": 6}
        ],
    }  # fmt: skip


def test_colour_only_when_asked_for() -> None:
    assert "\x1b" not in render_text(reported(), {"a.conc": SOURCE})
    assert "\x1b[1;31merror[E0101]\x1b[0m" in render_text(reported(), {"a.conc": SOURCE}, colour=True)


def test_a_span_over_several_lines_marks_the_first() -> None:
    diagnostics = Diagnostics()
    diagnostics.report("E0001", Span("a.conc", 4, 20), "m")
    assert render_text(diagnostics, {"a.conc": SOURCE}).splitlines()[2] == "    |     ^^^^^^"


def test_the_end_of_the_file_gets_a_caret() -> None:
    diagnostics = Diagnostics()
    end = len(SOURCE.text)
    diagnostics.report("E0101", Span("a.conc", end, end), "m")
    assert render_text(diagnostics, {"a.conc": SOURCE}).splitlines() == [
        "a.conc:3:4: error[E0101]: m", "  3 | end", "    |    ^",
    ]  # fmt: skip


def test_a_file_without_text() -> None:
    diagnostics = Diagnostics()
    diagnostics.report("E0001", Span("b.conc", 7, 8), "m", help="h")
    assert render_text(diagnostics, {}) == "b.conc:1:1: error[E0001]: m\n  help: h\n"


def test_at_most_100_are_printed() -> None:
    diagnostics = Diagnostics()
    for at in range(130):
        diagnostics.report("E0101", Span("a.conc", 0, 1), f"m{at}")
    lines = render_text(diagnostics, {}).splitlines()
    assert len(lines) == 101 and lines[-1] == "… and 30 more"
    assert len(render_json(diagnostics, {})) == 130


def test_long_lines_are_cut_around_the_carets() -> None:
    source = Source("l.conc", "x" * 1000 + "HERE" + "y" * 1000)
    diagnostics = Diagnostics()
    diagnostics.report("E0101", Span("l.conc", 1000, 1004), "m")
    head, text, carets = render_text(diagnostics, {"l.conc": source}).splitlines()
    assert head.startswith("l.conc:1:1001:") and len(text) < 220
    assert text[carets.index("^") : carets.rindex("^") + 1] == "HERE"


def test_control_characters_do_not_reach_the_terminal() -> None:
    source = Source("c.conc", "a\x1b[31m\u202eb")
    diagnostics = Diagnostics()
    place = Span("c.conc", 0, 1)
    diagnostics.report("E0002", place, "m \x1b[1m", related=(Related(place, "r \u202e"),), help="h \x1b[2m")
    text = render_text(diagnostics, {"c.conc": source})
    assert "\x1b" not in text and "\u202e" not in text
    assert r"m \u{1b}[1m" in text and r"r \u{202e}" in text and r"h \u{1b}[2m" in text


@pytest.mark.parametrize(("before", "begins", "ends"), [(0, False, True), (150, True, True), (300, True, False)])
def test_a_cut_line_shows_where_there_is_more(before: int, begins: bool, ends: bool) -> None:
    text = "a" * before + "X" + "b" * (300 - before)
    source = Source("t.conc", text)
    diagnostics = Diagnostics()
    diagnostics.report("E1001", Span("t.conc", before, before + 1), "m", help="h")
    _, line, carets, _ = render_text(diagnostics, {"t.conc": source}).splitlines()
    shown = line.partition("| ")[2]
    assert (shown.startswith("…"), shown.endswith("…")) == (begins, ends) and len(shown) == 200
    assert line[carets.index("^")] == "X"
