"""Work on large values looks up from it: what asks it to end is met before the work is done (G-6.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from concerto.vm.builtins.json import _Builder
from concerto.vm.builtins.sentences import blank_from
from concerto.vm.builtins.strings import to_lower, trim, trim_end, trim_start
from concerto.vm.builtins.url import query_function
from concerto.vm.interp.stores import HashStore, Ledger, words
from concerto.vm.values import Array, Map, brief, debug, equal, from_json, quote, share_all
from concerto.vm.values.arithmetic import WHITE_SPACE, read_float, read_int
from concerto.vm.values.casts import cast
from concerto.vm.values.long_text import lstrip, rstrip, strip
from concerto.vm.values.metering import BLOCK, STRIDE, exchange
from concerto.vm.values.structural import make_set

if TYPE_CHECKING:
    from collections.abc import Callable


class Ended(Exception):
    pass


class Ending:
    """A run that is told to end after so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def attention(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def attend(self) -> None:
        raise Ended

    def spend(self, items: int) -> None:
        pass

    def announce(self, items: int) -> None:
        pass


MANY = 20
PAIRS = [(Array([]), number) for number in range(MANY * STRIDE)]
BLANK = " \n" * (MANY * BLOCK // 2)
PAIR_SETS = make_set(PAIRS), make_set(PAIRS)
NUMBERS = Map(dict.fromkeys(range(MANY * STRIDE), 1)), Map(dict.fromkeys(range(MANY * STRIDE), 1))
WORKS: dict[str, Callable[[], Any]] = {
    "share_all": lambda: share_all(PAIRS),
    "strip": lambda: trim(BLANK),
    "lstrip": lambda: trim_start(BLANK),
    "rstrip": lambda: trim_end(BLANK),
    "Int": lambda: read_int("0" * len(BLANK)),
    "Int of blanks": lambda: read_int(BLANK),
    "Float of blanks": lambda: read_float(BLANK),
    "Sets": lambda: equal(*PAIR_SETS),
    "Maps in a Set": lambda: make_set([Array([NUMBERS[0]])]),
    "Sets in a Set": lambda: make_set([PAIR_SETS[0]]),
    "Maps": lambda: equal(*NUMBERS),
    "keys": NUMBERS[0].key_list,
    "a word": lambda: blank_from("a" * (MANY * BLOCK), 0, MANY * BLOCK),
    "quote": lambda: debug("é\n" * (MANY * BLOCK // 2)),
    "object": lambda: from_json(dict.fromkeys(map(str, range(MANY * STRIDE)), 1)),
    "read object": lambda: _Builder(False).table(dict.fromkeys(map(str, range(MANY * STRIDE)), 1)),
    "lower case": lambda: to_lower("É" * (MANY * BLOCK)),
    "words": lambda: words("ab c-" * (MANY * BLOCK // 5)),
    "keys of a search": lambda: Ledger("l").by_any_key(["k"] * (MANY * STRIDE)),
    "query": lambda: query_function(Map({f"k{number}": Array([number]) for number in range(MANY * STRIDE)})),
}


@pytest.mark.parametrize("name", sorted(WORKS))
def test_it_ends_in_the_middle(name: str) -> None:
    before = exchange(Ending(MANY // 2))
    try:
        with pytest.raises(Ended):
            WORKS[name]()
    finally:
        exchange(before)


@pytest.mark.parametrize(
    ("value", "type_", "walks"),
    [(NUMBERS[0], ("map", ("int",), ("float",)), 4), (make_set(range(MANY * STRIDE)), ("set", ("float",)), 2)],
)
def test_a_cast_ends_while_its_result_is_made(value: Any, type_: Any, walks: int) -> None:
    before = exchange(Ending(walks * MANY - MANY // 2))
    try:
        with pytest.raises(Ended):
            cast(value, type_)
    finally:
        exchange(before)


def test_a_cut_of_a_long_text_does_not_look() -> None:
    before = exchange(Ending(0))
    try:
        assert brief("\n" * (MANY * BLOCK), 4) == '"\\n\\…'
    finally:
        exchange(before)
    assert quote("a\n" * BLOCK) == '"' + "a\\n" * BLOCK + '"'


@pytest.mark.parametrize("text", ["É", "İx", "ΑΣ", "ΑΣ Σ\n", "Σ"])
def test_long_texts_are_in_lower_case_as_short_ones(text: str) -> None:
    whole = text * (2 * BLOCK // len(text) + 3)
    assert to_lower(whole) == whole.lower()


@pytest.mark.parametrize("work", ["entries", "delete", "calls"])
def test_methods_of_hashmaps_end_before_anything_is_changed(work: str) -> None:
    store = HashStore("h", ("string",), ("any",), None)
    store.items = {f"a:{number}": number for number in range(MANY * STRIDE)}
    view, keys = store.view(["a"]), list(store.items)
    works: dict[str, Callable[[], Any]] = {
        "entries": view.entries, "delete": lambda: view.delete(keys), "calls": lambda: store.calls([(key, 0, 0) for key in keys]),
    }  # fmt: skip
    looks = MANY // 2 + (MANY if work == "entries" else 0)  # the keys are walked over first
    before = exchange(Ending(looks))
    try:
        with pytest.raises(Ended):
            works[work]()
    finally:
        exchange(before)
    assert len(store.items) == MANY * STRIDE
    assert len(view.delete(keys)) == MANY * STRIDE and not store.items


@pytest.mark.parametrize("inner", ["", "a", "a b", "\n".join("ab"), "é" * (BLOCK + 1)])
@pytest.mark.parametrize("left", [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 1])
@pytest.mark.parametrize("right", [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 1])
def test_long_texts_are_stripped_as_python_does(inner: str, left: int, right: int) -> None:
    text = " " * left + inner + "\n" * right
    assert strip(text, WHITE_SPACE) == text.strip(WHITE_SPACE)
    assert lstrip(text, WHITE_SPACE) == text.lstrip(WHITE_SPACE)
    assert rstrip(text, WHITE_SPACE) == text.rstrip(WHITE_SPACE)


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
@pytest.mark.parametrize(("text", "found"), [("a", {"a"}), ("A b", {"a", "b"}), ("é-1 ", {"é-1"}), ("!", set())])
def test_words_of_long_texts_are_whole(size: int, text: str, found: set[str]) -> None:
    blanks = "," * size
    assert words(f"{blanks}{text}{blanks}") == found
    assert words(f"{'x' * size}{text}{'Z' * size}") >= ({"x" * size, "z" * size} if text == "!" else set())
    assert words(f"{'x' * size} {text} {'Z' * size}") == {"x" * size, "z" * size} | found
