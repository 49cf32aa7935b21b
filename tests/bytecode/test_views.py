"""Views of images and the memories of their models: what the verifier and the shape of an image refuse (M-2.13, M-9.15, M-9.17,
M-9.19)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.asm import AsmError
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.image import ImageError
from concerto.vm.bytecode.verify import verify

from .builder import BUILTINS, code, with_functions

NOTHING = code("NIL; RETURN", name="nothing")
SUMMARY = {"host": "notes"}


def image(*views: tuple[int | None, dict[str, Any]], memory: Any = 0) -> i.Image:
    memories = [i.Memory(f"m{n}", None, steps, of, None) for n, (of, steps) in enumerate(views)]
    models = [i.Model("M", "openai", {}, None, memory, [], [])]
    return with_functions(NOTHING, memories=memories, models=models)


LOG: tuple[None, dict[str, Any]] = (None, {})


@pytest.mark.parametrize(
    "made",
    [
        image((1, {"window": 2}), (2, {}), LOG),
        image(LOG, (0, {"summary": {**SUMMARY, "from": "Buffer", "text": "({})", "inject": "Tool"}, "only": "Summary"})),
        image((None, {"shape": [0, 0]}), (0, {"window": 2})),
        image(LOG, LOG, memory=[0, 1]),
        image(LOG, memory=0),
    ],
)
def test_accepted(made: i.Image) -> None:
    read = decode(encode(made))
    verify(read, BUILTINS)
    assert read.memories == made.memories and read.models == made.models


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (image((0, {})), "V108"),
        (image((1, {}), (0, {})), "V108"),
        (image(LOG, (3, {})), "V108"),
        (image(LOG, (0, {"shape": [0, 0]}), (1, {})), "V119"),
        (image(LOG, (0, {"summary": SUMMARY, "only": "Summary"}), (1, {})), "V119"),
        (image(LOG, (0, {"only": "Summary"})), "V119"),
        (image(LOG, memory=[0, 4]), "V108"),
        (image((None, {"keys": ["user"]}), (0, {}), (1, {}), LOG, memory=[2, 3]), "V119"),
    ],
)
def test_refused(made: i.Image, rule: str) -> None:
    with pytest.raises(ImageError) as caught:
        verify(made, BUILTINS)
    assert caught.value.code == rule


@pytest.mark.parametrize(
    ("view", "memory"),
    [
        ({}, [0]), ({}, []), ({"summary": {**SUMMARY, "text": "none"}}, 0),
        ({"summary": {**SUMMARY, "text": "{} {}"}}, 0), ({"summary": {**SUMMARY, "from": "Uncovered"}}, 0),
        ({"only": "Units"}, 0),
    ],
)  # fmt: skip
def test_of_another_shape(view: dict[str, Any], memory: Any) -> None:
    with pytest.raises(AsmError):
        image((None, view), memory=memory)
