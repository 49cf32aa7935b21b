"""What leaves a session is without secrets, whatever kind of value holds them, and else as it was (G-10.3)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.runtime.access.secrets import Redactor, without_secrets
from concerto.vm.values import NONE, Array, EnumType, EnumValue, Map, ModelRef, Ok, RangeValue, Some, Variant, equal

Shape = EnumType("E", ["A", Variant("B", 1)])
SECRET, HIDDEN = "a secret text", "<secret NAME>"


@pytest.fixture
def redactor() -> Redactor:
    known = Redactor()
    known.add(SECRET, "NAME")
    return known


@pytest.mark.parametrize("value", [NONE, EnumValue(Shape, 0), ModelRef("M"), RangeValue(1, 3), 1.5, None, Array([]), "secret"])
def test_what_holds_no_text_stays(value: Any, redactor: Redactor) -> None:
    assert equal(without_secrets(value, redactor), value)
    assert equal(without_secrets(Array([value]), redactor), Array([value]))


@pytest.mark.parametrize(
    "around",
    [lambda text: text, Some, Ok, lambda text: Array([text, 1]), lambda text: (text, 1), lambda text: Map({text: text}),
     lambda text: EnumValue(Shape, 1, (text,))],
)  # fmt: skip
def test_texts_inside_are_cleaned(around: Any, redactor: Redactor) -> None:
    assert equal(without_secrets(around(SECRET), redactor), around(HIDDEN))
