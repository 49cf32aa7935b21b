"""Whatever decodes is verified or refused with a code, and shown as text; never a Python exception (G-1.1, G-2.1, G-2.6)."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.disasm import disassemble
from concerto.vm.bytecode.encoding import MAGIC, decode, encode, encode_instructions, encode_lines
from concerto.vm.bytecode.image import ImageError
from concerto.vm.bytecode.opcodes import BY_NAME
from concerto.vm.bytecode.verify import verify
from hypothesis import given

from .builder import BUILTINS, code, empty_image, with_functions
from .strategies import SLOW, images
from .test_codec import seal
from .test_verify import CASES


@SLOW
@given(images())
def test_random_images(image: i.Image) -> None:
    try:
        verify(decode(encode(image)), BUILTINS)
    except ImageError as error:
        assert error.code.startswith("V1")


def mutants(count: int) -> list[bytes]:
    """Images of the verifier's cases with changed payloads under a fitting hash."""
    source = random.Random(5)
    originals = [(encode(case.near), [f.code for f in case.near.functions]) for case in CASES.values()]
    found = []
    for _ in range(count):
        data, codes = source.choice(originals)
        payload = bytearray(data[8:-32])
        code = source.choice(codes)
        aimed = source.randrange(2) and max(payload.find(code), 0)  # half of them into the code of a function
        for _ in range(source.randrange(1, 5)):
            at = aimed + source.randrange(len(code)) if aimed else source.randrange(len(payload))
            payload[at : at + source.randrange(2)] = source.randbytes(source.randrange(2))
        found.append(seal(bytes(payload)))
    return found


def outcome(data: bytes) -> str:
    try:
        image = decode(data)
    except ImageError as error:
        return error.code
    disassemble(image)
    try:
        verify(image, BUILTINS)
    except ImageError as error:
        return error.code
    return "passes"


def test_mutants() -> None:
    outcomes = {outcome(data) for data in mutants(3000)}
    assert len(outcomes) >= 10 and outcomes >= {"passes", "V006", "V008", "V111"}


def decoded(data: bytes) -> str:
    try:
        decode(data)
    except ImageError as error:
        return error.code
    return "passes"


PURE = """
import sys, msgpack
from concerto.vm.bytecode.encoding import decode
from concerto.vm.bytecode.image import ImageError
assert msgpack.Unpacker.__module__ == "msgpack.fallback"
for line in sys.stdin:
    try:
        decode(bytes.fromhex(line))
        print("passes")
    except ImageError as error:
        print(error.code)
"""


def test_the_pure_python_decoder_agrees() -> None:
    """msgpack without its C extension refuses the same images for the same reason (G-3.3)."""
    data = mutants(400)
    compiled = [decoded(one) for one in data]
    run = subprocess.run(
        [sys.executable, "-c", PURE],
        input="\n".join(one.hex() for one in data),
        env=os.environ | {"MSGPACK_PUREPYTHON": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == compiled
    assert {"passes", "V006", "V008"} <= set(compiled)


# ---------------------------------------------------------------- bounded work


def one_function(program: list[tuple[str, int]], **fields: object) -> i.Image:
    encoded, _ = encode_instructions([(BY_NAME[name].number, operand) for name, operand in program])
    image = with_functions(code("NIL; RETURN", slots=4096, stack=1024))
    function = image.functions[0]
    function.code, function.lines = encoded, encode_lines([(0, 0, 1, 1)])
    for name, value in fields.items():
        setattr(function, name, value)
    return image


def work(image: i.Image) -> int:
    """Lines that the verifier runs for an image, whatever the machine; refused or not."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(ImageError):
            verify(image, BUILTINS)
    finally:
        sys.settrace(before)
    return lines


Program = list[tuple[str, int]]
END: Program = [("NIL", 0), ("RETURN", 0)]
WORST: dict[str, Callable[[int], i.Image]] = {
    "branches": lambda n: one_function([("TRUE", 0), ("JUMP_IF", 0)] * (n // 2) + END),
    "to the end": lambda n: one_function([("TRUE", 0), ("JUMP_IF", n)] * (n // 2) + END),
    "stores": lambda n: one_function([("NIL", 0), ("STORE", 4095)] * (n // 2) + END),
    "iterators": lambda n: one_function(
        [("NIL", 0), ("ITERATE", 0)] * 64 + [("TRUE", 0), ("POP", 0)] * (n // 2) + [("DROP", 64), *END]
    ),
    "names": lambda n: named(one_function([("NIL", 0), ("POP", 0)] * (n // 2) + END), n),
    "handlers": lambda n: one_function(END, handlers=[[0, 1, 0, 0]] * n),
    "types": lambda n: empty_image(types=[*(["array", index + 1] for index in range(n)), ["any"]]),
}


def named(image: i.Image, rows: int) -> i.Image:
    image.names = [[["x", 0, 0, 1]] * rows]
    return image


@pytest.mark.parametrize("shape", WORST)
def test_work_is_linear_in_the_worst_shapes(shape: str) -> None:
    """Eight times the image is eight times the work (G-2.6, V-4.3): no more than 150 lines an instruction, and V126 holds the
    visits down."""
    small, large = work(WORST[shape](2_000)), work(WORST[shape](16_000))
    assert 8_000 < large < 9 * small + 1_000 and large < 16_000 * 150


def test_a_long_text_is_not_repeated_in_the_listing() -> None:
    """A listing grows with the image, not with the product of its texts and instructions."""
    program = [("CONST", 0), ("POP", 0)] * 2000 + [("NIL", 0), ("RETURN", 0)]
    image = one_function(program)
    image.constants[0] = (i.K_STRING, "x" * 100_000)
    assert len(disassemble(image)) < 1_000_000


def test_magic_is_no_text() -> None:
    assert MAGIC[0] > 0x7F and not MAGIC.startswith(b"\xef\xbb\xbf")
