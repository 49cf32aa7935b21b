"""The tools of an image: what the verifier refuses in them (O-10.11, V106 to V108, V119)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.image import ImageError
from concerto.vm.interp.link import load_image
from concerto.vm.schema import arguments_form

from .builder import code, with_functions

METHOD = code("NIL; RETURN", name="Point::m", params='[["self", 1, null], ["x", 0, null]]', flags='["method"]')
CHANGING = code("NIL; RETURN", name="Point::m", params='[["self", 1, null], ["x", 0, null]]', flags='["method", "inout"]')
X = ["x", ["int"], False, False, None, "text"]


def image(*fields: Any, function: str = METHOD, number: int = 0, state: int = 1, **others: Any) -> i.Image:
    shape = others.get("shape", ["object", "T.m", [], list(fields)])
    row = ["m", number, "T__m", "d", shape, others.get("schema") or arguments_form(shape), None, others.get("effect")]
    return with_functions(function, tools=[i.Tool("T", "d", state, [row])], **others.get("sections", {}))


def test_a_tool_is_loaded() -> None:
    assert load_image(image(X)).tool_methods == {("T", "m"): ("x",)}


REFUSED = [
    (image(X, number=1), "V106"),
    (image(X, state=0), "V107"),
    (image(X, state=9), "V107"),
    (image(["x", ["number"], False, False, None, None], schema={"a": 1}), "V107"),
    (image(["x", ["int"], 1, False, None, None]), "V107"),
    (image(X, schema={"type": "object"}), "V107"),
    (image(X, effect="twice"), "V107"),
    (image(), "V119"),
    (image(X, X, X), "V119"),
    (image(X, function=CHANGING), "V119"),
    (image(shape=["array", ["int"]], schema={"a": 1}), "V119"),
    (image(X, sections={"models": [i.Model("M", "c", {}, None, None, [["tools", 1, []]], [])]}), "V108"),
]


@pytest.mark.parametrize(("refused", "rule"), REFUSED)
def test_refused(refused: i.Image, rule: str) -> None:
    with pytest.raises(ImageError) as error:
        load_image(refused)
    assert error.value.code == rule
