"""The section `externs` of images: functions of Python (O-10.24, V-3.2)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.asm import assemble
from concerto.vm.bytecode.disasm import disassemble
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.hashing import hash_functions
from concerto.vm.bytecode.image import ImageError
from concerto.vm.bytecode.verify import verify

from .builder import BUILTINS

SOURCE = b"""
mod shop {
    pub extern python "shop.prices" {
        @effect("pure") @timeout(2) fn price(article: String, n: Int = 3) -> Int;
        async fn rows() -> Stream<Float> = "Table.rows";
    }
}
fn main() { println(shop::price("x")); for r in shop::rows() { println(r); } }
"""


def image() -> i.Image:
    made = compile_source(SOURCE, "main.conc").image
    assert made is not None
    return made


def test_what_the_image_holds_of_a_function_of_python() -> None:
    made = image()
    price, rows = made.externs
    decorators = [["effect", {"class": "pure"}], ["timeout", {"seconds": 2}]]
    assert price.values()[:3] == ["shop::price", "shop.prices", "price"]
    assert price.values()[4:] == [False, True, None, decorators]
    assert rows.values()[1:3] == ["shop.prices", "Table.rows"] and rows.is_async
    assert made.types[rows.elements or 0] == ["float"]
    assert [name for name, _, _ in made.functions[price.function].params] == ["article", "n"]
    assert made.header.wanted == ["python=shop.prices"] and made.header.format == [0, 3]


def test_bytes_and_text_hold_the_section() -> None:
    made = image()
    assert decode(encode(made)).externs == made.externs == assemble(disassemble(made)).externs


def test_the_hash_of_a_function_covers_what_it_calls() -> None:
    other = compile_source(SOURCE.replace(b"shop.prices", b"shop.offers"), "main.conc").image
    assert other is not None
    changed = {f.name for f, g in zip(image().functions, other.functions, strict=True) if f.hash != g.hash}
    assert {"price", "rows", "main"} <= changed
    made = image()
    made.externs[0].thread = not made.externs[0].thread
    changed = {f.name for f, after in zip(made.functions, hash_functions(made), strict=True) if f.hash != after}
    assert {"price", "main"} <= changed and "rows" not in changed


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("module", "shop..prices", "V125"), ("module", "a b", "V008"), ("attribute", "1x", "V125"), ("function", 999, "V106"),
        ("elements", 999, "V107"), ("decorators", [["a b", {}]], "V008"), ("name", "", "V008"), ("thread", 1, "V008"),
    ],
)  # fmt: skip
def test_what_no_entry_may_say(field: str, value: Any, rule: str) -> None:
    made = image()
    setattr(made.externs[0], field, value)
    with pytest.raises(ImageError) as caught:
        verify(decode(encode(made)), BUILTINS)
    assert caught.value.code in (rule, "V125")


def test_an_operand_names_an_entry() -> None:
    made = image()
    made.externs.pop()
    with pytest.raises(ImageError, match="V108"):
        verify(decode(encode(made)), BUILTINS)
