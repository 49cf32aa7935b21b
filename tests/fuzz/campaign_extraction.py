"""Replies in every tolerated spelling and place, cut and damaged: the value that was written, or nothing (O-2.54, O-2.55)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from concerto.runtime.access.secrets import clean_json
from concerto.runtime.schema.extraction import read
from concerto.runtime.schema.lenient_json import JsonRefused, parse_json

from benches.extraction.spellings import PLACES, SPELLINGS, Writer, placed

from .campaign import Campaign, Figures

Words = tuple[Sequence[str], Sequence[str]]

PIECES = (
    "Rome", "it's", 'say "hi"', "a, b: c", "{x}", "}", "[", "//", "/* no */", "# not", "```json\n{}\n```", "<think>", "</think>",
    "\\", "\n", "\t", "é", "“q”", "’", "1_000", "True", "\U0001f600", " ", ",", ":", "null", "\u200b", "é\x7f", "\\n", "'", '"',
)  # fmt: skip
KEYS = ("name", "sub", "items", "key", "first-name", "$id", "true", "None", "a b", "it's", "1", "", "é", 'q"', "a{b")
# Where one of these is lost, doubled or mistaken for another, the text says something else, or nothing.
STRUCTURE = '{}[]:,"'


# For texts that are damaged: every structural character of them is one, and no string begins as a comment does.
QUIET = [word for word in PIECES if not set(word) & set(STRUCTURE + "/#")], [key for key in KEYS if not set(key) & set(STRUCTURE)]


def value(chance: Random, words: Words, depth: int) -> Any:
    kind = chance.randrange(9 if depth < 4 else 7)
    if kind == 8:
        return document(chance, words, depth + 1)
    if kind == 7:
        return [value(chance, words, depth + 1) for _ in range(chance.randrange(4))]
    if kind > 3:
        return "".join(chance.choice(words[0]) for _ in range(chance.randrange(4)))
    if kind == 3:
        return chance.choice([0.5, -0.25, 2.0, 1e300, 12.75, 5e-7])
    if kind == 2:
        return chance.choice([0, 7, -3, 1234, 12345678901234567890, -1_000_000])
    return chance.choice([True, False, None])


def document(chance: Random, words: Words = (PIECES, KEYS), depth: int = 0) -> dict[str, Any]:
    return {name: value(chance, words, depth) for name in chance.sample(words[1], chance.randrange(1, 6))}


PLACES_OF_NESTED = tuple(place for place in PLACES if place != "bracket too many")


def nested(value: Any) -> bool:
    """Whether a bracket too many may belong to an object within an object."""
    if isinstance(value, dict):
        return any(isinstance(item, dict) or nested(item) for item in value.values())
    return isinstance(value, list) and any(map(nested, value))


def spellings(chance: Random) -> frozenset[str]:
    return frozenset(chance.sample(SPELLINGS, chance.choice((0, 1, 1, 2, 4, len(SPELLINGS)))))


def answer(text: str) -> Any:
    """The object that would be tried first; None without one."""
    runs = read(text).runs
    return runs[0][0] if runs else None


def written(seed: int, count: int) -> Figures:
    """Comes back equal, whatever it is written like and wherever it stands."""
    seen = Counter[str]()
    for number in range(count):
        chance = Random(seed * 1_000_003 + number)
        original = document(chance)
        used = spellings(chance)
        text = Writer(chance, used, chance.random() < 0.5).text(original)
        place = chance.choice(PLACES if not nested(original) else PLACES_OF_NESTED)
        before, behind = placed(text, place, chance)
        found = answer(before + text + behind)
        assert same(found, clean_json(original)), case(seed, number, before + text + behind, found, original)
        seen[place] += 1
    return {"texts": count, "places": len(seen)}


def cut(seed: int, count: int) -> Figures:
    """Cut off within the value: nothing. Behind it: the value."""
    nothing = 0
    for number in range(count):
        chance = Random(seed * 1_000_003 + number)
        original = document(chance)
        text = Writer(chance, spellings(chance), chance.random() < 0.5).text(original)
        before, behind = placed(text, chance.choice(PLACES[:9]), chance)
        whole = before + text + behind
        at = chance.randrange(len(whole))
        found = answer(whole[:at])
        if at < len(before) + len(text):
            assert found is None, case(seed, number, whole[:at], found, original)
            nothing += 1
        else:
            assert same(found, clean_json(original)), case(seed, number, whole[:at], found, original)
    return {"texts": count, "refused": nothing}


def damaged(seed: int, count: int) -> Figures:
    """One structural character lost, doubled or replaced: nothing, or the value, or what the text is as plain JSON."""
    nothing = 0
    for number in range(count):
        chance = Random(seed * 1_000_003 + number)
        original = document(chance, QUIET)
        text = Writer(chance, spellings(chance) - {"comments", "hashes"}, chance.random() < 0.5).text(original)
        at = chance.choice([i for i, c in enumerate(text) if c in STRUCTURE])
        instead = chance.choice(["", "", text[at] * 2, chance.choice(STRUCTURE), "x"])
        broken = text[:at] + instead + text[at + 1 :]
        found = answer(broken)
        nothing += found is None
        if found is not None and not same(found, clean_json(original)) and not says_so(broken, found):
            raise AssertionError(case(seed, number, broken, found, original))
    return {"texts": count, "refused": nothing}


def says_so(text: str, found: Any) -> bool:
    try:
        return same(parse_json(text), found)
    except JsonRefused:
        return False


def same(found: Any, expected: Any) -> bool:
    """Equal in kind too: 1, 1.0 and true are different."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, dict):
        return list(found) == list(expected) and all(same(found[key], expected[key]) for key in found)
    if isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected)


def case(seed: int, number: int, text: str, found: Any, original: Any) -> str:
    return f"case {number} (CONCERTO_FUZZ_SEED={seed}): {text!r}\n  gave   {found!r}\n  not    {original!r}"


CAMPAIGNS = [
    Campaign("replies in other spellings", "O-2.55", 1500, 200_000, written, 2000),
    Campaign("replies cut off", "O-2.54", 1500, 200_000, cut, 2000),
    Campaign("replies with a character damaged", "O-2.54", 1500, 200_000, damaged, 2000),
]
