"""The container: bytes and back, and what is refused on the way (G-3.1 to G-3.4, V-3.1)."""

from __future__ import annotations

import copy
import hashlib
import random
import struct
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from concerto.vm.bytecode import encoding, shape
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.encoding import MAGIC, content_hash, decode, encode
from concerto.vm.bytecode.image import Limits

from .builder import code, empty_image, with_functions


@pytest.fixture(scope="module")
def image() -> i.Image:
    return with_functions(code("INT 3; STORE 0; LOAD 0; RETURN"), code("CONST 1; RETURN", name="g"))


@pytest.fixture(scope="module")
def data(image: i.Image) -> bytes:
    return encode(image)


def seal(payload: bytes, head: bytes = MAGIC + bytes(i.FORMAT)) -> bytes:
    """A payload with head and a fitting hash."""
    return head + payload + hashlib.sha256(head + payload).digest()


def refusal(data: bytes, **options: Any) -> str:
    with pytest.raises(i.ImageError) as caught:
        decode(data, **options)
    return caught.value.code


def with_value(image: i.Image, change: Callable[[list[Any]], Any]) -> bytes:
    value = copy.deepcopy(shape.lower(image))
    replaced = change(value)
    return seal(msgpack.packb(value if replaced is None else replaced))


def test_round_trip(image: i.Image, data: bytes) -> None:
    assert decode(data) == image
    assert encode(decode(data)) == data


def test_layout(data: bytes) -> None:
    assert data[:6] == MAGIC and tuple(data[6:8]) == i.FORMAT
    assert data[-32:] == hashlib.sha256(data[:-32]).digest()
    assert content_hash(data) == data[-32:].hex()


def test_every_prefix_is_refused(data: bytes) -> None:
    assert {refusal(data[:length]) for length in range(len(data))} <= {"V001", "V004"}


def test_every_bit_flip_is_refused(data: bytes) -> None:
    for position in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        assert refusal(bytes(flipped)) in {"V002", "V003", "V004"}


def test_size() -> None:
    assert refusal(b"") == "V001"
    assert refusal(bytes(8 + 32)) == "V001"
    assert refusal(bytes(100), limits=Limits(file=99)) == "V001"
    assert refusal(bytes(100), limits=Limits(file=100)) == "V002"


@pytest.mark.parametrize(
    ("major", "minor", "accepted"), [(0, 3, True), (0, 2, True), (0, 1, True), (0, 0, True), (0, 4, False), (1, 0, False)]
)
def test_format_versions(data: bytes, major: int, minor: int, accepted: bool) -> None:
    value = msgpack.unpackb(data[8:-32])
    value[0][0] = [major, minor]
    del value[i.SECTIONS_BEFORE.get(minor, len(value)) :]
    changed = seal(msgpack.packb(value), MAGIC + bytes([major, minor]))
    if accepted:
        read = decode(changed)
        assert read.header.format == [major, minor] and encode(read) == changed  # its identity stays
    else:
        with pytest.raises(i.ImageError, match=rf"^V003: image needs Concerto image format {major}.{minor}; this is 0.3$"):
            decode(changed)


@pytest.mark.parametrize("minor", [0, 1, 2])
def test_an_earlier_format_has_its_own_sections(data: bytes, minor: int) -> None:
    """Else one program would have two files, and two identities."""
    value = msgpack.unpackb(data[8:-32])
    value[0][0] = [0, minor]
    count = i.SECTIONS_BEFORE[minor]
    for sections in (value, value[: count + 1], value[: count - 1]):
        with pytest.raises(i.ImageError, match=rf"^V008: an image of format 0.{minor} has {count} sections$"):
            decode(seal(msgpack.packb(sections), MAGIC + bytes([0, minor])))
    image = decode(data)
    image.header.format = [0, minor]
    image.externs = [i.Extern("f", "m", "f", 0, False, True, None, [])]
    with pytest.raises(i.ImageError, match="^V008: the image cannot be encoded: its format has not all the sections"):
        encode(image)


@pytest.mark.parametrize(("field", "value"), [("opcodes", 0), ("opcodes", 2), ("std", i.STD_VERSION + 1)])
def test_other_versions(image: i.Image, field: str, value: int) -> None:
    def change(sections: list[Any]) -> None:
        sections[0][i.Header.__slots__.index(field)] = value

    assert refusal(with_value(image, change)) == "V003"


def test_older_standard_library_is_served(image: i.Image) -> None:
    def change(sections: list[Any]) -> None:
        sections[0][i.Header.__slots__.index("std")] = 0

    assert decode(with_value(image, change)).header.std == 0


def test_what_the_host_demands_is_asked_of_the_whole_file(data: bytes) -> None:
    asked: list[bytes] = []
    assert decode(data, demand=asked.append) and asked == [data]
    assert refusal(data, demand=no_trust) == "V005"


def no_trust(data: bytes) -> None:
    raise i.ImageError("V005", "the host trusts nobody")


def test_order_of_checks(data: bytes) -> None:
    """Each fault hides those behind it (G-3.1)."""
    broken = bytearray(data)
    broken[8] = 0xC1
    assert refusal(bytes(broken), demand=no_trust) == "V004"
    sealed = seal(bytes(broken[8:-32]))
    assert refusal(sealed, demand=no_trust) == "V005"
    assert refusal(sealed) == "V006"
    broken[6] = 9
    assert refusal(bytes(broken)) == "V003"
    broken[0] = 0
    assert refusal(bytes(broken)) == "V002"
    assert refusal(bytes(broken), limits=Limits(file=10)) == "V001"


BOMBS = {
    "array32": b"\xdd\xff\xff\xff\xff",
    "map32": b"\xdf\xff\xff\xff\xff",
    "str32": b"\xdb\xff\xff\xff\xff",
    "bin32": b"\xc6\xff\xff\xff\xff",
    "nested claims": b"\xdc\xff\xff" * 2000 + bytes(70000),
    "nesting": b"\x91" * 5000 + b"\xc0",
    "nested maps": b"\x81\xa1a" * 5000 + b"\xc0",
    "many empty arrays": b"\xdc\xff\xff" + (b"\xdc\xff\xff" + b"\x90" * 65535) * 128,
    "many empty maps": b"\xdd\x00\x40\x00\x00" + b"\x80" * (1 << 22),
    "ext": b"\xc7\x05\x01abcde",
    "empty ext": b"\xc7\x00\x05",
    "timestamp": b"\xd6\xff\x00\x00\x00\x00",
    "never used": b"\xc1",
    "bytes behind": b"\x90\xc0",
    "nothing": b"\xc0",
    "bad utf-8": b"\x91\xa2\xff\xff",
    "surrogate": b"\x91\xa3\xed\xa0\x80",
    "integer key": b"\x81\x01\x01",
}


@pytest.mark.parametrize("name", BOMBS)
def test_decoding_bombs(name: str) -> None:
    assert refusal(seal(BOMBS[name][: 8 << 20])[: 8 << 20]) in {"V001", "V004", "V006", "V008"}
    assert refusal(seal(BOMBS[name][: 7 << 20])) == ("V008" if name == "nothing" else "V006")


@pytest.mark.parametrize(
    ("long", "short"),
    [(b"\xcc\x05", b"\x05"), (b"\xd9\x04test", b"\xa4test"), (struct.pack(">Bf", 0xCA, 1.5), struct.pack(">Bd", 0xCB, 1.5))],
)
def test_one_form_only(data: bytes, long: bytes, short: bytes) -> None:
    payload = data[8:-32]
    assert short in payload
    assert refusal(seal(payload.replace(short, long, 1))) == "V007"


def test_duplicate_key() -> None:
    data = encode(empty_image(exports=i.Exports({"aa": 1, "bb": 2}, [])))
    assert refusal(seal(data[8:-32].replace(b"\xa2bb", b"\xa2aa"))) == "V007"


def _set(*path: Any) -> Callable[[list[Any]], Any]:
    """A change of one place deep inside; the last of `path` is what is put there."""

    def change(value: Any) -> None:
        for step in path[:-2]:
            value = value[step]
        value[path[-2]] = path[-1]

    return change


_SECTION = {name: number for number, (name, _) in enumerate(i.SECTIONS)}
MISSHAPEN = {
    "no array": lambda value: {},
    "a section too many": lambda value: [*value, []],
    "a section missing": lambda value: value[:-1],
    "a list as header": _set(0, []),
    "a text as section": _set(_SECTION["constants"], "x"),
    "unknown kind of constant": _set(_SECTION["constants"], 0, [8, 1]),
    "kind true": _set(_SECTION["constants"], 0, [True, 1.0]),
    "int constant is float": _set(_SECTION["constants"], 0, [i.K_INT, 1.0]),
    "int constant is bool": _set(_SECTION["constants"], 0, [i.K_INT, True]),
    "int constant of 65 bits": _set(_SECTION["constants"], 0, [i.K_INT, 1 << 63]),
    "float constant is int": _set(_SECTION["constants"], 0, [i.K_FLOAT, 1]),
    "string constant is bytes": _set(_SECTION["constants"], 0, [i.K_STRING, b"x"]),
    "method without count": _set(_SECTION["constants"], 0, [i.K_METHOD, ["m"]]),
    "method with negative count": _set(_SECTION["constants"], 0, [i.K_METHOD, ["m", -1]]),
    "unknown type": _set(_SECTION["types"], 0, ["thing"]),
    "type with too many arguments": _set(_SECTION["types"], 0, ["array", 0, 0]),
    "type with too few arguments": _set(_SECTION["types"], 0, ["map", 0]),
    "struct without field list": _set(_SECTION["types"], 0, ["struct", "S", None]),
    "function field missing": lambda value: value[_SECTION["functions"]][0].pop() and None,
    "function name is no text": _set(_SECTION["functions"], 0, 0, 1),
    "code is text": _set(_SECTION["functions"], 0, 8, "x"),
    "hash too short": _set(_SECTION["functions"], 0, 11, b"x"),
    "handler of three": _set(_SECTION["functions"], 0, 9, [[1, 2, 3]]),
    "negative slots": _set(_SECTION["functions"], 0, 3, -1),
    "slots beyond 32 bits": _set(_SECTION["functions"], 0, 3, 1 << 32),
    "bytes in plain data": _set(_SECTION["models"], 0, 2, {"a": b"x"}),
    "memory of -1": _set(_SECTION["memories"], 0, 1, -1),
    "memory of no message": _set(_SECTION["memories"], 0, 1, 0),
    "memory of more than an Int": _set(_SECTION["memories"], 0, 1, 1 << 63),
    "an agent": _set(_SECTION["agents"], [["x"]]),
    "source is bytes": _set(_SECTION["source"], [b"x"]),
    "digest of 31": _set(_SECTION["source_map"], 0, ["a", bytes(31)]),
    "export is text": _set(_SECTION["exports"], 0, {"f": "x"}),
    "format differs": _set(0, 0, [0, 0]),
    "price of text": _set(0, 8, {"m": ["1", 2]}),
}


@pytest.mark.parametrize("name", MISSHAPEN)
def test_shape(image: i.Image, name: str) -> None:
    assert refusal(with_value(image, MISSHAPEN[name])) == "V008"


def test_a_memory_is_bounded_by_any_int_from_1() -> None:
    for bound in (None, 1, (1 << 63) - 1):
        read = decode(encode(empty_image(memories=[i.Memory("log", bound, {}, None, None)])))
        assert read.memories[0].max_messages == bound


def test_refusal_names_the_place(image: i.Image) -> None:
    with pytest.raises(i.ImageError, match=r"V008: functions\[1\]\.handlers\[0\]: a list of 4 expected"):
        decode(with_value(image, _set(_SECTION["functions"], 1, 9, [[1, 2, 3]])))


ROOM = {"functions": 9, "constants": 9, "string": 99, "name": 40, "nesting": 9}
LIMITED = {
    "functions": (2, {}),
    "constants": (8, {}),
    "string": (5, {"constants": [(i.K_STRING, "äb!?")], "source_map": []}),
    "name": (8, {"models": [i.Model("Mmmmmmmm", "c", {}, None, None, [], [])]}),
    "nesting": (3, {"models": [i.Model("M", "c", {"a": [[[]]]}, None, None, [], [])]}),
}


@pytest.mark.parametrize("limit", LIMITED)
def test_limits(image: i.Image, limit: str) -> None:
    """At the limit accepted, above it refused."""
    size, sections = LIMITED[limit]
    data = encode(empty_image(**sections) if sections else image)
    decode(data, Limits(**(ROOM | {limit: size})))
    assert refusal(data, limits=Limits(**(ROOM | {limit: size - 1}))) == "V008"


def test_encode_refuses_what_decode_would() -> None:
    for sections in ({"constants": [(i.K_INT, 1 << 70)]}, {"constants": [(i.K_STRING, "\ud800")]}, {"types": [set()]}):
        with pytest.raises(i.ImageError, match="^V008"):
            encode(empty_image(**sections))


def test_all_nans_are_one() -> None:
    odd = struct.unpack(">d", b"\xff\xf8\x00\x00\x00\x00\x00\x01")[0]
    data = encode(empty_image(constants=[(i.K_FLOAT, odd)]))
    assert data == encode(empty_image(constants=[(i.K_FLOAT, float("nan"))]))
    assert refusal(seal(data[8:-32].replace(struct.pack(">d", float("nan")), struct.pack(">d", odd)))) == "V008"


def test_equal_images_give_equal_bytes(image: i.Image, data: bytes) -> None:
    assert encode(decode(data)) == encode(image) == data
    assert encoding.content_hash(encode(decode(data))) == content_hash(data)


def test_random_mutations_meet_nothing_but_image_errors(data: bytes) -> None:
    """Payloads changed at random under a hash that fits: refused with a code, or a whole image again."""
    source = random.Random(7)
    codes = set()
    for _ in range(4000):
        payload = bytearray(data[8:-32])
        for _ in range(source.randrange(1, 4)):
            at = source.randrange(len(payload))
            match source.randrange(3):
                case 0:
                    payload[at] = source.randrange(256)
                case 1:
                    del payload[at]
                case 2:
                    payload.insert(at, source.randrange(256))
        try:
            assert encode(decode(seal(bytes(payload)))) == seal(bytes(payload))
        except i.ImageError as error:
            codes.add(error.code)
    assert codes >= {"V006", "V007", "V008"}
