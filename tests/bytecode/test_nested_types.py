"""Types of an image that nest: what the verifier takes costs little to link, and a walk over it ends (G-2.1, G-4.3)."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from concerto.vm.bytecode.encoding import encode
from concerto.vm.bytecode.image import ImageError
from concerto.vm.interp.link import Program, load_bytes
from concerto.vm.values import Array
from concerto.vm.values.casts import matches
from concerto.vm.values.types import type_text

from .builder import empty_image


def loaded(types: list[Any]) -> Program:
    return load_bytes(encode(empty_image(types=types)))


def chain(depth: int) -> list[Any]:
    """Types of which the first nests this deep."""
    return [*[["array", number] for number in range(1, depth)], ["any"]]


def doubled(times: int) -> list[Any]:
    """Types of which each holds the one before twice."""
    return [["int"], *[["tuple", [number, number]] for number in range(times)]]


def test_types_nest_as_deep_as_is_said() -> None:
    assert type_text(loaded(chain(300)).descriptors[0]) == "Array<" * 299 + "Any" + ">" * 299
    with pytest.raises(ImageError, match=r"^V107: type 0: it nests deeper than 300"):
        loaded(chain(301))
    with pytest.raises(ImageError, match=r"^V107"):
        loaded(chain(20_000))


def test_types_are_made_of_as_many_as_is_said() -> None:
    assert type_text(loaded(doubled(11)).descriptors[-1]).count("Int") == 2**11
    for times in (12, 40):
        with pytest.raises(ImageError, match=r"^V107: type 12: it is made of more than 6000 types"):
            loaded(doubled(times))


def test_types_share_their_parts() -> None:
    size = len(encode(empty_image(types=(types := [*doubled(11), *[["array", 11] for _ in range(20_000)]]))))
    tracemalloc.start()
    program = loaded(types)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert program.descriptors[-1][1] is program.descriptors[11]
    assert peak < 50 * size + (8 << 20)


def test_traits_of_traits_end() -> None:
    traits = [["trait", f"T{number}", [[number + 1, []], [number + 1, []]]] for number in range(40)]
    program = loaded([*traits, ["trait", "T40", [[0, []]]]])
    assert program.descriptors[0] == ("trait", "T0", (("any",), ("any",)))


def test_a_trait_tells_kinds_apart_whatever_is_inside() -> None:
    program = loaded([["trait", "T", [[1, []], [2, []]]], ["array", 0], ["nilable", 3], ["tuple", [0, 0]]])
    trait = program.descriptors[0]
    assert [matches(value, trait) for value in (Array([1]), (1, 2), None, (1,), 1)] == [True, True, True, False, False]
