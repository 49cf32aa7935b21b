"""Whatever decodes is verified or refused with a code, and shown as text; never a Python exception (G-1.1, G-2.1, G-2.6)."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.disasm import disassemble
from concerto.vm.bytecode.encoding import MAGIC, decode, encode, encode_instructions, encode_lines
from concerto.vm.bytecode.image import ImageError
from concerto.vm.bytecode.opcodes import BY_NAME
from concerto.vm.bytecode.verify import verify
from concerto.vm.schema import plain_form
from hypothesis import given

from .builder import BUILTINS, code, empty_image, lines_run, with_functions
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

    def verified() -> None:
        with contextlib.suppress(ImageError):
            verify(image, BUILTINS)

    return lines_run(verified)


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
    "views": lambda n: empty_image(memories=views(n)),
    "views that come first": lambda n: empty_image(memories=[*(view(index + 1) for index in range(n)), LOG]),
    "models with a view": lambda n: empty_image(memories=views(n // 2), models=[model(n // 2, {}) for _ in range(n // 2)]),
    "fallbacks": lambda n: empty_image(models=[*(model(None, {"fallback": [f"M{n - 1}"]}, k) for k in range(n))]),
    "captures": lambda n: captured(n, n // 4),
}
LOG = i.Memory("log", 5, {}, None, None)


def view(of: int) -> i.Memory:
    return i.Memory("view", None, {}, of, None)


def views(count: int) -> list[i.Memory]:
    """A log, and views of one another."""
    return [LOG, *map(view, range(count))]


def model(memory: int | None, fields: dict[str, object], number: int = 0) -> i.Model:
    return i.Model(f"M{number}", "c", fields, None, memory, [], [])


def captured(closures: int, cells: int) -> i.Image:
    """A function that makes closures, each of many captured cells."""
    program: Program = [*(("NEW_CELL", cell) for cell in range(cells)), *([("CLOSURE", 1), ("POP", 0)] * closures), *END]
    image = one_function(program, cells=4000)
    inner = one_function(END, captures=list(range(cells)), cells=4000, flags=i.F_CLOSURE).functions[0]
    image.functions.append(inner)
    return image


def named(image: i.Image, rows: int) -> i.Image:
    image.names = [[["x", 0, 0, 1]] * rows]
    return image


@pytest.mark.parametrize("shape", WORST)
def test_work_is_linear_in_the_worst_shapes(shape: str) -> None:
    """Eight times the image is eight times the work (G-2.6, V-4.3): no more than 150 lines an instruction, and V126 holds the
    visits down."""
    small, large = work(WORST[shape](2_000)), work(WORST[shape](16_000))
    assert 8_000 < large < 9 * small + 1_000 and large < 16_000 * 150


def test_a_context_looks_up_its_slots_in_one_set() -> None:
    """The set of names is not made again for each function that uses one."""
    hashed = 0

    class Name(str):
        def __hash__(self) -> int:
            nonlocal hashed
            hashed += 1
            return hash(str(self))

    names = [Name(f"s{number}") for number in range(500)]
    slots = [["session", name, 0, False, None] for name in names]
    image = with_functions(code("NIL; RETURN"))
    image.contexts = [i.Context("C", slots, [[0, "needs", "m", [name]] for name in names])]
    verify(image, BUILTINS)
    assert len(names) < hashed < 5 * len(names)


def test_a_schema_has_each_mode_once() -> None:
    """Else their number and that of the fields would make work of their product."""
    image = with_functions(code("NIL; RETURN"))
    image.schemas[0].shape[2] = ["partial", "coerce"]
    image.schemas[0].plain = plain_form(image.schemas[0].shape)
    verify(image, BUILTINS)
    image.schemas[0].shape[2] = ["partial", "coerce", "partial"]
    with pytest.raises(ImageError, match="V107.*unknown mode, or one twice"):
        verify(image, BUILTINS)


def test_definitions_of_one_wire_name_are_numbered_in_one_pass() -> None:
    """Names that differ behind the 64th character are one to providers (O-1.104)."""
    def shape(count: int) -> list[object]:
        names = ["p" * 70 + str(number) for number in range(count)]
        inner = [["object", name, [], [["y", ["ref", name], True, False, None, None]]] for name in names]
        return ["object", "S", [], [[name, kind, False, False, None, None] for name, kind in zip(names, inner, strict=True)]]

    small, large = (lines_run(partial(plain_form, shape(count))) for count in (100, 400))
    assert large < 5 * small
    definitions = plain_form(shape(12))["$defs"]
    assert list(definitions)[1::9] == ["p" * 62 + "_2", "p" * 61 + "_11"]


def test_a_long_text_is_not_repeated_in_the_listing() -> None:
    """A listing grows with the image, not with the product of its texts and instructions."""
    program = [("CONST", 0), ("POP", 0)] * 2000 + [("NIL", 0), ("RETURN", 0)]
    image = one_function(program)
    image.constants[0] = (i.K_STRING, "x" * 100_000)
    assert len(disassemble(image)) < 1_000_000


def test_magic_is_no_text() -> None:
    assert MAGIC[0] > 0x7F and not MAGIC.startswith(b"\xef\xbb\xbf")
