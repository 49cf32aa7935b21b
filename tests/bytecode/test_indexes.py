"""Indexes of documents of an image: what the verifier refuses in them (O-1.241, V107, V119)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.image import ImageError
from concerto.vm.bytecode.verify import verify

from .builder import BUILTINS, code, with_functions

DURABLE = {"name": "durable", "kind": "sqlite"}


def image(store: dict[str, Any] | None, value: int = 0) -> i.Image:
    made = with_functions(code("NIL; RETURN", name="nothing"), indexes=[i.Index("docs", value, None, store)])
    made.types.append(["string"])
    return made


@pytest.mark.parametrize("store", [None, DURABLE, {"name": "shared", "kind": "postgres", "url_env": "DOCS_URL"}])
def test_accepted(store: dict[str, Any] | None) -> None:
    read = decode(encode(image(store)))
    verify(read, BUILTINS)
    assert read.indexes == image(store).indexes


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (image(DURABLE, value=9), "V107"),
        (image({"name": "shared", "kind": "postgres"}), "V119"),
        (image({"name": "shared", "kind": "redis", "url_env": "DOCS_URL"}), "V119"),
        (image({"name": "shared", "kind": "host"}), "V119"),
        (image({"name": "shared"}), "V119"),
    ],
)
def test_refused(made: i.Image, rule: str) -> None:
    with pytest.raises(ImageError) as caught:
        verify(made, BUILTINS)
    assert caught.value.code == rule
