"""Images whose functions are all hidden from traces (V-7.5): what ends a run is a panic still."""

from __future__ import annotations

import concerto
import pytest
from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode.encoding import encode
from concerto.vm.bytecode.image import F_HIDDEN

PANICS = {
    "P407": 'println(env("HOME"));',
    "P003": "let zero = 0; println(1 / zero);",
    "P001": 'panic("over");',
}


@pytest.mark.parametrize("tier", ["both", "interp"])
@pytest.mark.parametrize("code", PANICS)
def test_a_panic_has_its_code_and_no_place(code: str, tier: concerto.Tier) -> None:
    image = compile_source(f"fn main() {{ {PANICS[code]} }}".encode(), "main.conc").image
    assert image is not None
    for function in image.functions:
        function.flags |= F_HIDDEN
    with concerto.load(encode(image)).session(tier=tier) as session:
        error = session.run().error
    assert isinstance(error, concerto.Panic) and error.code == code
