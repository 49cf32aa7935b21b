"""Matches drawn at random, with nested patterns and alternatives: what the checker says of them against all values (L-5.8.12)."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from concerto.compiler.checker import exhaustiveness
from concerto.compiler.pipeline import compile_source

# A type is the name of a part and its constructors: each a form of its text and the types of its parts.
DECLARED = "enum Three { A, B(Bool), C(Bool, Two) }\nenum Two { X, Y(Bool?) }\n"
Shape = list[tuple[str, tuple[Any, ...]]]
BOOL: Shape = [("true", ()), ("false", ())]
MAYBE: Shape = [("nil", ()), ("true", ()), ("false", ())]
TWO: Shape = [("Two::X", ()), ("Two::Y({})", (MAYBE,))]
OPTION: Shape = [("None", ()), ("Some({})", (TWO,))]
THREE: Shape = [("Three::A", ()), ("Three::B({})", (BOOL,)), ("Three::C({}, {})", (BOOL, TWO))]
RESULT: Shape = [("Ok({})", (OPTION,)), ("Err({})", (BOOL,))]
PAIR: Shape = [("({}, {})", (THREE, OPTION))]
TRIPLE: Shape = [("({}, {}, {})", (BOOL, TWO, BOOL))]
SUBJECTS = {
    "Three": THREE, "Option<Two>": OPTION, "Result<Option<Two>, Bool>": RESULT, "(Three, Option<Two>)": PAIR,
    "(Bool, Two, Bool)": TRIPLE, "Two": TWO,
}  # fmt: skip
Value = tuple[Any, ...]  # form and parts
Matches = Callable[[Value], bool]


def values_of(shape: Shape) -> Iterator[Value]:
    for form, parts in shape:
        for inside in product(*map(list, map(values_of, parts))):
            yield (form, *inside)


def pattern(rng: random.Random, shape: Shape, depth: int = 0) -> tuple[str, Matches]:
    chance = rng.random()
    if chance < 0.2 + 0.1 * depth:
        return "_", lambda value: True
    if chance < 0.4 + 0.05 * depth:
        options = [pattern(rng, shape, depth + 1) for _ in range(rng.choice((2, 2, 3)))]
        return f"({' | '.join(text for text, _ in options)})", lambda value: any(matches(value) for _, matches in options)
    form, parts = rng.choice(shape)
    inside = [pattern(rng, part, depth + 1) for part in parts]

    def matches(value: Value) -> bool:
        return value[0] == form and all(one(part) for (_, one), part in zip(inside, value[1:], strict=True))

    return form.format(*[text for text, _ in inside]), matches


def wrong(rng: random.Random) -> str | None:
    """Draw a match and return it if the checker says other things of it than a look at all values does."""
    type_ = rng.choice(list(SUBJECTS))
    shape = SUBJECTS[type_]
    arms = [(*pattern(rng, shape), rng.random() < 0.15) for _ in range(rng.randrange(1, 9))]
    lines = [f"        {text}{' if c' if guarded else ''} => {at}," for at, (text, _, guarded) in enumerate(arms)]
    source = "\n".join([DECLARED + f"fn f(v: {type_}, c: Bool) -> Int {{", "    match v {", *lines, "    }", "}", "fn main() {}"])
    left, useless = list(values_of(shape)), []
    for at, (_, matches, guarded) in enumerate(arms):
        matched = [value for value in left if matches(value)]
        if not matched:
            useless.append(at)
        if not guarded:
            left = [value for value in left if not matches(value)]
    found = compile_source(source.encode(), "m.conc").diagnostics.found
    first_arm = len(DECLARED.split("\n")) + 2
    offsets = [sum(len(line) + 1 for line in source.split("\n")[: first_arm - 1 + at]) for at in range(len(arms))]
    told = sorted(offsets.index(source.rindex("\n", 0, one.span.start) + 1) for one in found if one.code == "W0004")
    missing = any(one.code == "E3001" for one in found)
    others = [one.code for one in found if one.code.startswith("E") and one.code != "E3001"]
    if (missing, told, others) == (bool(left), useless, []):
        return None
    return f"{source}\nleft: {left[:3]}, useless: {useless}; told: {missing}, {told}, {others}"


@pytest.mark.parametrize("seed", range(4))
def test_matches_drawn_at_random(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(400):
        assert (fault := wrong(rng)) is None, fault


def test_what_a_search_knows_stays_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state is known by the ids of lists: one that is freed during the search may give its id to another."""
    seen: list[Any] = []
    state_of = exhaustiveness._state

    def noted(rows: Any) -> object:
        # The list, the name `columns` and the argument are ours.
        assert all(sys.getrefcount(columns) > 3 for columns in seen)
        seen.extend(row.columns for row in rows if row.columns is not None)
        return state_of(rows)

    def anew(search: Any) -> Any:
        def begin(*arguments: Any) -> Any:
            seen.clear()
            return search(*arguments)

        return begin

    monkeypatch.setattr(exhaustiveness, "_state", noted)
    for name in ("_uncovered", "covering"):
        monkeypatch.setattr(exhaustiveness.Search, name, anew(getattr(exhaustiveness.Search, name)))
    rng = random.Random(1)
    for _ in range(50):
        assert (fault := wrong(rng)) is None, fault
