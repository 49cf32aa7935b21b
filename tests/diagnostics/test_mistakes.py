"""At least 300 mistakes of newcomers, with what is said of each and how good that is (O-9.12): none may be wrong, at most one in
ten may be without a help that can be pasted. `--bless` writes what is said now; a message that changed is to be graded again."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import mistakes as corpus

ALL = [one for habit in corpus.HABITS for one in corpus.read(habit)]
GRADES = ("right", "vague", "wrong", corpus.UNREAD)
PASTED = re.compile(r"`([^`]+)`")


@pytest.fixture(scope="module", autouse=True)
def written(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--bless"):
        for habit in corpus.HABITS:
            corpus.write(habit, [one.blessed() for one in corpus.read(habit)])
        ALL[:] = [one for habit in corpus.HABITS for one in corpus.read(habit)]


@pytest.mark.parametrize("habit", corpus.HABITS)
def test_what_the_compiler_says(habit: str) -> None:
    now = {one.name: corpus.found(one.program()) for one in ALL if one.habit == habit}
    assert now == {one.name: one.golden for one in ALL if one.habit == habit}


@pytest.mark.parametrize("habit", corpus.HABITS)
def test_what_was_meant_is_right(habit: str) -> None:
    """The corpus knows the language: the mended programs have no error."""
    wrong = {
        one.name: [found.message for found in corpus.reported(one.program("meant")) if found.is_error]
        for one in ALL
        if one.habit == habit and "meant" in one.row
    }
    assert {name: found for name, found in wrong.items() if found} == {}


def test_there_are_enough() -> None:
    assert len(ALL) >= 300
    assert len({one.id for one in ALL}) == len(ALL)
    assert {one.grade for one in ALL} <= set(GRADES)


def test_every_message_was_read() -> None:
    assert [one.id for one in ALL if one.grade == corpus.UNREAD] == []


def test_none_is_wrong() -> None:
    """A silent mistake is wrong as well."""
    assert [one.id for one in ALL if one.grade == "wrong" or one.golden.code == corpus.SILENT] == []


def test_a_right_help_holds_something_to_paste() -> None:
    assert [one.id for one in ALL if one.grade == "right" and not PASTED.search(one.golden.help)] == []


def test_at_most_one_in_ten_is_vague() -> None:
    vague = [one.id for one in ALL if one.grade != "right"]
    assert len(vague) <= len(ALL) // 10, vague


def mended(one: corpus.Mistake) -> list[str]:
    """The program with each replacement of the help put where the message stands."""
    program = one.program()
    first = sorted(corpus.reported(program), key=lambda found: not found.is_error)[0]
    return [
        program[: first.span.start] + text + program[first.span.end :]
        for text in PASTED.findall(one.golden.help)
        if "…" not in text
    ]


NEAR = re.compile(r"did you mean `[^`]+`\?")


@pytest.mark.parametrize("one", [one for one in ALL if NEAR.fullmatch(one.golden.help)], ids=lambda one: one.id)
def test_a_name_that_was_meant_can_be_put_in_place(one: corpus.Mistake) -> None:
    """Where the help is a name alone, it replaces what is pointed at, and the message is gone."""
    (program,) = mended(one)
    assert one.golden.message not in [found.message for found in corpus.reported(program)]


@pytest.mark.parametrize("one", [one for one in ALL if "meant" in one.row], ids=lambda one: one.id)
def test_what_was_meant_has_no_such_message(one: corpus.Mistake) -> None:
    said = {(found.code, found.message) for found in corpus.reported(one.program("meant"))}
    assert (one.golden.code, one.golden.message) not in said


def test_helps_hold_what_was_meant() -> None:
    """Of the mistakes that say what was meant, at least four of five have a help with a text that stands there: without blanks,
    and with anything for `…`."""
    known = [one for one in ALL if "meant" in one.row]
    held = [one.id for one in known if any(_stands_in(text, str(one.row["meant"])) for text in PASTED.findall(one.golden.help))]
    assert len(held) >= len(known) * 4 // 5, sorted({one.id for one in known} - set(held))


def _stands_in(text: str, meant: str) -> bool:
    """Names of the help such as `xs` and `x` stand for any operand."""
    whole = "".join(meant.split())
    parts = [re.escape(part) for part in "".join(text.split()).split("…")]
    pattern = re.sub(r"(?<![\\\w])(?:xs|ys|x|T|default|sep|text|a|b)(?!\w)", lambda _: r"(?:.+?)", ".*?".join(parts))
    return re.search(pattern, whole, re.DOTALL) is not None
