"""A reply that arrives in pieces is read in time linear in its text, whatever it holds."""

from __future__ import annotations

import pytest
from concerto.runtime.records import TreeBuilder
from concerto.runtime.schema.growing_json import LONGEST_NAME, GrowingObject
from concerto.runtime.schema.partial_values import Parts
from concerto.vm.schema import PROGRESS, partial_key

WHOLE = '{"a": 1 /* one */ , // two\n /* * / // */ "b" /**/ : [1, /*/ x */ 2], c: "d" }'


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(WHOLE)])
def test_comments_are_passed_over_wherever_they_are_cut(size: int) -> None:
    reply = GrowingObject()
    for at in range(0, len(WHOLE), size):
        reply.feed(WHOLE[at : at + size])
    assert reply.is_whole and reply.members == {"a": 1, "b": [1, 2], "c": "d"}


@pytest.mark.parametrize("piece", [" ", "\n", "x", "1"])
@pytest.mark.parametrize("before", ['{"a": 1,', '{"a": 1, //', '{"a": 1, /*', '{"a": 1, /* *'])
def test_what_is_passed_over_is_not_kept(before: str, piece: str) -> None:
    reply = GrowingObject()
    reply.feed(before)
    for _ in range(2 * LONGEST_NAME):
        reply.feed(piece)
    assert len(reply._buffer) <= LONGEST_NAME and reply.members == {"a": 1}


class Shown:
    """Stands for the class of a Partial: a list of what its fields show."""

    of = staticmethod(list)


class Progress:
    """Stands for the declaration of the states."""

    index = {"Missing": 0, "Growing": 1, "Done": 2}


@pytest.mark.parametrize("part", ["9" * 400, "[" + "9" * 400 + "]", "[" * 500 + "]" * 500])
def test_a_part_that_no_value_holds_is_not_shown(part: str) -> None:
    builder = TreeBuilder({partial_key("T"): Shown, PROGRESS: Progress})  # type: ignore[dict-item]
    parts = Parts(["object", "T", [], [["x", ["any"], False, False, None, None]]], builder)
    parts.feed(f'{{"x": {part}, ')
    assert [field.variant for field in parts.value()] == [Progress.index["Missing"]]
