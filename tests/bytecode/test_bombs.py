"""Files that promise more than they hold, and forms that no image has: refused at once, in little memory (G-2.5, G-3.3)."""

from __future__ import annotations

import importlib.metadata
import struct
import subprocess
import sys
import time
import tracemalloc
from functools import partial
from pathlib import Path

import msgpack
import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.encoding import decode, encode

from tests.least import least

from .builder import empty_image
from .test_codec import seal

HUGE = 2**32 - 1
HEADS = {
    "array": b"\xdd" + struct.pack(">I", HUGE), "map": b"\xdf" + struct.pack(">I", HUGE),
    "text": b"\xdb" + struct.pack(">I", HUGE),
    "bytes": b"\xc6" + struct.pack(">I", HUGE), "array of 64 Ki": b"\xdc\xff\xff", "map of 64 Ki": b"\xde\xff\xff",
    "ext": b"\xc9" + struct.pack(">I", HUGE) + b"\x01", "nested": b"\x91" * 200_000,
}  # fmt: skip
SECTIONS = b"\xdc" + struct.pack(">H", len(i.SECTIONS))
PLACES = {
    "alone": b"%s", "behind the sections": SECTIONS + b"%s", "in the first section": SECTIONS + b"\x99\x92\x00\x02%s",
    "again and again": SECTIONS + b"%s" * 9, "in a map": b"\x81\xa1k%s",
}  # fmt: skip
BOMBS = {f"{head} {place}": form.replace(b"%s", HEADS[head]) for head in HEADS for place, form in PLACES.items()}
MEASURE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (512 << 20,) * 2)
from concerto.vm.bytecode.encoding import decode
from concerto.vm.bytecode.image import ImageError
try:
    decode(open(sys.argv[1], "rb").read())
except ImageError as error:
    sys.exit(0 if error.code in ("V006", "V008") else error.code)
sys.exit("it was taken")
"""


def test_forty_bombs() -> None:
    assert len(BOMBS) == 40
    for name, payload in BOMBS.items():
        assert least(partial(_seconds_of_a_bomb, name, seal(payload)), 1) <= 1, name


def _seconds_of_a_bomb(name: str, data: bytes) -> float:
    start = time.process_time()
    tracemalloc.start()
    with pytest.raises(i.ImageError) as refused:
        decode(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused.value.code in ("V006", "V008"), (name, refused.value)
    assert peak <= 4 * len(data) + (32 << 20), (name, peak)
    return time.process_time() - start


@pytest.mark.parametrize("name", ["array alone", "text in the first section", "nested in a map", "map again and again"])
def test_in_a_process_of_512_mebibytes(name: str, tmp_path: Path) -> None:
    file = tmp_path / "bomb.concb"
    file.write_bytes(seal(BOMBS[name]))
    ended = subprocess.run([sys.executable, "-c", MEASURE, str(file)], capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stderr) == (0, ""), ended


# What stands in the place of the map of budgets: bytes of msgpack, and the code.
FORMS = {
    "ext": (msgpack.packb(msgpack.ExtType(5, b"")), "V006"),
    "fixext": (b"\xd4\x01\x00", "V006"),
    "time stamp": (b"\xd6\xff\x00\x00\x00\x00", "V006"),
    "int as key": (b"\x81\x01\x02", "V006"),
    "nil as key": (b"\x81\xc0\x02", "V006"),
    "bool as key": (b"\x81\xc3\x02", "V006"),
    "float as key": (b"\x81" + msgpack.packb(1.5) + b"\x02", "V006"),
    "array as key": (b"\x81\x90\x02", "V006"),
    "key twice": (b"\x82\xa1k\x01\xa1k\x02", "V007"),
    "float of 32 bits": (b"\x81\xa7seconds\xca\x3f\x80\x00\x00", "V007"),
    "long form of a number": (b"\x81\xa5steps\xcd\x00\x05", "V007"),
    "text that is no UTF-8": (b"\x81\xa2\xff\xfe\x01", "V006"),
    "byte that is no form": (b"\xc1", "V006"),
}


@pytest.mark.parametrize("name", FORMS)
def test_only_the_forms_of_images_occur(name: str) -> None:
    form, code = FORMS[name]
    image = empty_image()
    payload = encode(image)[8:-32]
    header = msgpack.packb(image.header.values())
    assert header in payload and header.endswith(b"\x80\x80")  # budgets, pricing: two empty maps
    changed = payload.replace(header, header[:-2] + form + b"\x80")
    with pytest.raises(i.ImageError) as refused:
        decode(seal(changed))
    assert refused.value.code == code, refused.value


def test_every_length_has_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The options of the decoder, as it is called."""
    seen: dict[str, object] = {}
    real = msgpack.unpackb

    def unpackb(data: bytes, **options: object) -> object:
        seen.update(options)
        return real(data, **options)

    monkeypatch.setattr(msgpack, "unpackb", unpackb)
    data = encode(empty_image())
    decode(data)
    size = len(data) - 40
    limits = {f"max_{kind}_len": size for kind in ("str", "bin", "array", "map")}
    assert seen == {**limits, "max_ext_len": 0, "raw": False, "use_list": True, "strict_map_key": True}
    assert tuple(int(part) for part in importlib.metadata.version("msgpack").split(".")[:3]) >= (1, 2, 4)
