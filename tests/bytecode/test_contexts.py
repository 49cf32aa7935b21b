"""Contexts of images (O-10.15): what the verifier refuses."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.image import ImageError
from concerto.vm.bytecode.verify import verify

from .builder import BUILTINS, code, with_functions

TAKES = code("NIL; RETURN", name="takes", params='[["a", 0, null]]')
NOTHING = code("NIL; RETURN", name="nothing")


def image(slots: list[Any], uses: list[Any] = [], context: int | None = 0) -> i.Image:  # noqa: B006 - never changed
    memories = [i.Memory("log", None, {}, None, context)]
    return with_functions(NOTHING, TAKES, memories=memories, contexts=[i.Context("C", slots, uses)])


GOOD: list[Any] = ["session", "a", 0, True, 0]
USE: list[Any] = [1, "needs", "log", ["a"]]


def test_a_context_is_accepted() -> None:
    verify(image([GOOD], [USE]), BUILTINS)


@pytest.mark.parametrize(
    ("slots", "uses", "context", "rule"),
    [
        ([["session", "a", 99, True, None]], [], 0, "V107"),
        ([["session", "a", 0, True, 99]], [], 0, "V106"),
        ([["session", "a", 0, True, 1]], [], 0, "V123"),
        ([["session", "a b", 0, True, None]], [], 0, "V125"),
        ([GOOD, GOOD], [], 0, "V119"),
        ([GOOD], [[9, "needs", "log", ["a"]]], 0, "V106"),
        ([GOOD], [[0, "reads", "log", ["b"]]], 0, "V108"),
        ([GOOD], [], 1, "V108"),
    ],
)
def test_refused_contexts(slots: list[Any], uses: list[Any], context: int, rule: str) -> None:
    with pytest.raises(ImageError) as caught:
        verify(image(slots, uses, context), BUILTINS)
    assert caught.value.code == rule
