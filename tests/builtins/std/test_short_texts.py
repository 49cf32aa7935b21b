"""Short texts are searched by Python's `re` where it means the same and takes few steps: same matches as the other matchers."""

from __future__ import annotations

import random
import time

import pytest
from concerto.vm.regex.matcher import UNTIL_SHORT, Regex
from concerto.vm.regex.short import LONGEST, ShortTexts, Unfit
from concerto.vm.regex.syntax import PatternError, parse_pattern

SIGNS = ["a", "b", "c", "-", " ", "\n", "é", "1", "_", '"', "٣", "\x1c", "\x85"]
CLASSES = ["a", "b", "-", r"\d", r"\w", r"\s", "a-c", r"\D", r"\W", '"', " ", r"\n", "^"]
ATOMS = ["a", "b", "c", "1", "é", " ", '"', "_", r"\n", "-", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"]
REPEATS = ["", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??", "{0,2}?"]


def piece(chance: random.Random) -> str:
    negated = chance.choice(["", "^"])
    one_of = f"[{negated}{''.join(chance.choice(CLASSES) for _ in range(chance.randint(1, 3)))}]"
    return chance.choice([chance.choice(ATOMS), one_of]) + chance.choice(REPEATS)


def pattern(chance: random.Random, depth: int = 2) -> str:
    parts = []
    for _ in range(chance.randint(1, 4)):
        form = chance.random()
        if form < 0.2 and depth:
            parts.append(f"{chance.choice(['(', '(?:'])}{pattern(chance, depth - 1)})")
        elif form < 0.27:
            branches = ["".join(piece(chance) for _ in range(chance.randint(0, 2))) for _ in range(chance.randint(2, 3))]
            parts.append(f"(?:{'|'.join(branches)})")
        else:
            parts.append(chance.choice(["^", "$", r"\b", r"\A", r"\Z"]) if form < 0.35 else piece(chance))
    return "".join(parts)


def both(source: str) -> tuple[Regex, Regex] | None:
    """The pattern with and without the search of short texts; None for what is no pattern, or not for that search."""
    try:
        short, other = Regex(source), Regex(source)
        short.short = ShortTexts(short.tree) if short.program.linear else None
    except (PatternError, Unfit):
        return None
    other.searches = UNTIL_SHORT + 1
    return (short, other) if short.short is not None else None


def test_finds_what_the_other_matchers_find() -> None:
    chance = random.Random(7)
    compared = 0
    for _ in range(1500):
        pair = both(chance.choice(["", "", "", "(?m)", "(?s)", "(?i)"]) + pattern(chance))
        if pair is None:
            continue
        short, other = pair
        for _ in range(8):
            text = "".join(chance.choice(SIGNS) for _ in range(chance.randint(0, 14)))
            assert list(short.find_all(text)) == list(other.find_all(text)), (short.tree, text)
            assert short.find(text) == other.find(text) and short.texts(text) == other.texts(text)
            assert short.is_match(text) == other.is_match(text), (short.tree, text)
            compared += 1
    assert compared > 5000


@pytest.mark.parametrize("source", [r"(a|b)*", r"(?:ab)*", r"(a)|b", r"(a)?b", r"(?i)k", r"[\S1]", r"\B", r"(?=a)b", r"(a)\1"])
def test_other_patterns_are_left_to_the_other_matchers(source: str) -> None:
    with pytest.raises(Unfit):
        ShortTexts(parse_pattern(source).tree)


def test_what_may_take_many_steps_is_refused() -> None:
    certain, doubtful = (ShortTexts(parse_pattern(source).tree) for source in (r"\d+-\d+$", r"\w*\w*\w*\w*\w*!"))
    assert certain.takes("1" * 200) and not certain.takes("1" * (LONGEST + 1))
    assert not doubtful.takes("a" * 60)


def test_no_search_takes_long() -> None:
    chance = random.Random(11)
    tried = 0
    while tried < 60:
        pair = both("".join(piece(chance) for _ in range(6)) + "!")
        if pair is None or pair[0].short is None:
            continue
        tried += 1
        for text in ("a" * 480, "a1" * 120, "ab " * 40, '"a' * 16):
            if pair[0].short.takes(text):
                start = time.process_time()
                pair[0].is_match(text)
                assert time.process_time() - start < 0.05, (pair[0].tree, text)


def test_a_pattern_is_compiled_for_short_texts_when_it_is_used_often() -> None:
    regex = Regex(r"(\w+)=(\d+)")
    for _ in range(UNTIL_SHORT):
        assert regex.find("x a=12;") == [2, 6, 2, 3, 4, 6]
        assert regex.short is None
    assert regex.find("x a=12;") == [2, 6, 2, 3, 4, 6]
    assert regex.short is not None
    assert regex.find("." * 5000 + "a=1") == [5000, 5003, 5000, 5001, 5002, 5003]
