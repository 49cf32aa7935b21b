"""Levels of trust, and what a host demands of an image through the API (G-1.2, G-3.1, G-3.6, O-9.75)."""

from __future__ import annotations

import asyncio
import sys
from base64 import b64encode
from collections.abc import Callable
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.errors import install_advice
from concerto.runtime.trust.minisign import SecretKey, new_key, read_signature, sign, verify, written_public_key
from concerto.vm.bytecode import encoding
from concerto.vm.bytecode.encoding import encode
from concerto.vm.bytecode.verify import verify as verified
from concerto.vm.interp import link
from concerto.vm.interp.link import ARITY, PERFORMED, load_image

PROGRAM = concerto.compile('fn main() { emit("out", 1); }')
IMAGE, HASH = PROGRAM.to_bytes(), PROGRAM.content_hash
OTHER = concerto.compile('fn main() { emit("out", 2); }').to_bytes()
KEY, STRANGER = new_key(), new_key()


def text_of(key: SecretKey) -> str:
    return written_public_key(key.public).split(b"\n")[1].decode()


PUBLIC = text_of(KEY)
SIGNATURE = sign(KEY, IMAGE, "for tests")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An image with its signature beside it, and the key."""
    (tmp_path / "x.concb").write_bytes(IMAGE)
    (tmp_path / "x.concb.minisig").write_bytes(SIGNATURE)
    (tmp_path / "k.pub").write_bytes(written_public_key(KEY.public))
    return tmp_path / "x.concb"


def refused(load: Callable[[], Any]) -> str:
    with pytest.raises(concerto.ImageError) as caught:
        load()
    assert caught.value.code == "V005"
    return caught.value.message


# ---------------------------------------------------------------- levels


def test_each_way_to_a_program_has_its_level(path: Path) -> None:
    source = path.with_name("a.conc")
    source.write_text("fn main() {}")
    assert concerto.compile("fn main() {}").trust == concerto.compile(path=source).trust == PROGRAM.trust == "local"
    assert concerto.load(IMAGE).trust == concerto.load(path).trust == "foreign"
    assert concerto.load(IMAGE, pins=HASH).trust == concerto.load(path, pins=[HASH]).trust == "pinned"
    assert concerto.load(path, keys=PUBLIC).trust == "signed"
    assert concerto.load(path, keys=PUBLIC, pins=HASH).trust == "pinned"


def test_a_signature_that_nobody_asks_for_makes_nothing_trusted(path: Path) -> None:
    assert concerto.load(path).trust == "foreign"


def test_an_image_of_this_process_that_comes_back_as_bytes_is_not_local() -> None:
    assert concerto.load(PROGRAM.to_bytes()).trust == "foreign"
    image = encoding.decode(IMAGE)
    for program in (load_image(image), link.Program(verified(image, ARITY, performed=PERFORMED))):
        assert program.trust == "foreign", "the machine trusts nothing that nobody has named"


# ---------------------------------------------------------------- pins


def test_a_pin_is_the_hash_that_inspect_shows() -> None:
    assert sha256(IMAGE[:-32]).hexdigest() == HASH
    for pins in (HASH, HASH.upper(), [HASH], (text_of_other(), HASH), {HASH}, iter([HASH])):
        assert concerto.load(IMAGE, pins=pins).trust == "pinned"
    told = f"the image {HASH} is not one that the host has pinned"
    for others in (text_of_other(), [text_of_other()], [], ()):
        assert refused(lambda others=others: concerto.load(IMAGE, pins=others)) == told


def text_of_other() -> str:
    return encoding.content_hash(OTHER)


@pytest.mark.parametrize("pin", ["", HASH[:-1], HASH + "0", HASH[:-1] + "g", "sha256:" + HASH, " " + HASH])
def test_what_is_no_hash_is_a_mistake_of_the_host(pin: str) -> None:
    with pytest.raises(ValueError, match="is no content hash: it has 64 hexadecimal digits, as `concerto inspect` shows them"):
        concerto.load(IMAGE, pins=[HASH, pin])


# ---------------------------------------------------------------- keys


def test_keys_are_files_or_texts(path: Path) -> None:
    for keys in (
        PUBLIC, path.with_name("k.pub"), str(path.with_name("k.pub")), [PUBLIC], (text_of(STRANGER), PUBLIC),
        [path.with_name("k.pub"), text_of(STRANGER)],
    ):  # fmt: skip
        assert concerto.load(path, keys=keys).trust == "signed"


def test_signatures_are_found_beside_the_file_or_given(path: Path) -> None:
    elsewhere = path.with_name("y.sig")
    path.with_name("x.concb.minisig").rename(elsewhere)
    for signature in (SIGNATURE, elsewhere, str(elsewhere)):
        assert concerto.load(path, keys=PUBLIC, signature=signature).trust == "signed"
        assert concerto.load(IMAGE, keys=PUBLIC, signature=signature).trust == "signed"


def test_a_signature_over_the_whole_file_is_as_good_as_one_of_its_hash(path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signer, lines = Ed25519PrivateKey.from_private_bytes(KEY.seed), SIGNATURE.split(b"\n")
    whole = signer.sign(IMAGE)
    lines[1] = b64encode(b"Ed" + KEY.id + whole)
    lines[3] = b64encode(signer.sign(whole + b"for tests"))
    assert concerto.load(path, keys=PUBLIC, signature=b"\n".join(lines)).trust == "signed"
    lines[1] = b64encode(b"ED" + KEY.id + whole)
    assert "has not signed this file" in refused(lambda: concerto.load(path, keys=PUBLIC, signature=b"\n".join(lines)))


def test_a_missing_signature_is_refused_without_fallback(path: Path) -> None:
    beside = path.with_name("x.concb.minisig")
    beside.unlink()
    assert refused(lambda: concerto.load(path, keys=PUBLIC)) == f"no trusted signature: there is no {beside}"
    assert refused(lambda: concerto.load(path, keys=PUBLIC, pins=HASH)) == f"no trusted signature: there is no {beside}"
    told = "no trusted signature: none was given with the bytes of the image"
    assert refused(lambda: concerto.load(IMAGE, keys=PUBLIC)) == told
    beside.mkdir()
    assert refused(lambda: concerto.load(path, keys=PUBLIC)) == f"no trusted signature: cannot read {beside}: Is a directory"


def test_unknown_and_wrong_signatures_are_refused(path: Path) -> None:
    beside = path.with_name("x.concb.minisig")
    unknown = "no trusted signature: it is by the key {}, which is not trusted (trusted: {})"
    assert refused(lambda: concerto.load(path, keys=text_of(STRANGER))) == unknown.format(KEY.public, STRANGER.public)
    assert refused(lambda: concerto.load(path, keys=[])) == unknown.format(KEY.public, "none")
    beside.write_bytes(sign(KEY, OTHER, "for tests"))
    told = f"no trusted signature: the key {KEY.public} has not signed this file"
    assert refused(lambda: concerto.load(path, keys=PUBLIC)) == told
    beside.write_bytes(SIGNATURE.replace(b"for tests", b"for users"))
    told = "no trusted signature: its trusted comment is not the one that was signed"
    assert refused(lambda: concerto.load(path, keys=PUBLIC)) == told
    beside.write_bytes(bytes(1 << 20))
    told = "no trusted signature: a signature of minisign has at most 16384 bytes, not 16385"
    assert refused(lambda: concerto.load(path, keys=PUBLIC)) == told


def test_with_pins_and_keys_both_must_hold(path: Path) -> None:
    assert "not one that the host has pinned" in refused(lambda: concerto.load(path, keys=PUBLIC, pins=text_of_other()))
    assert "not trusted" in refused(lambda: concerto.load(path, keys=text_of(STRANGER), pins=HASH))


def test_two_keys_of_one_id_are_both_tried(path: Path) -> None:
    twin = SecretKey(KEY.id, STRANGER.seed)
    assert concerto.load(path, keys=[text_of(twin), PUBLIC]).trust == "signed"
    assert "has not signed this file" in refused(lambda: concerto.load(path, keys=text_of(twin)))


def test_mistakes_of_the_host_are_no_refusals(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        concerto.load(path, keys=path.with_name("none.pub"))
    for no_key in (PUBLIC[:-1] + "*", path, path.with_name("x.concb.minisig")):
        with pytest.raises(ValueError, match="no public key: "):
            concerto.load(path, keys=no_key)
    with pytest.raises(ValueError, match=r"^a signature is verified by keys=…; without keys nobody looks at it$"):
        concerto.load(path, signature=SIGNATURE)
    with pytest.raises(ValueError, match="without keys nobody looks at it"):
        concerto.load(path, pins=HASH, signature=SIGNATURE)


# ---------------------------------------------------------------- run


def test_run_demands_what_load_demands(path: Path) -> None:
    assert concerto.run(path, keys=PUBLIC, pins=HASH).emits == [concerto.Emit("out", 1)]
    assert asyncio.run(concerto.arun(path, keys=PUBLIC, signature=SIGNATURE)).emits == [concerto.Emit("out", 1)]
    refused(lambda: concerto.run(path, keys=text_of(STRANGER)))
    refused(lambda: asyncio.run(concerto.arun(path, pins=[])))


def test_a_source_is_refused_where_an_image_is_demanded(path: Path) -> None:
    """Else who may write the file would need no signature."""
    path.write_text('fn main() { emit("out", "forged"); }')
    assert refused(lambda: concerto.run(path, keys=PUBLIC)) == "it is a source, and a signed image is demanded"
    assert refused(lambda: concerto.run(path, pins=HASH)) == "it is a source, and an image that is pinned is demanded"


def test_of_a_program_nothing_is_demanded_later() -> None:
    for demand in ({"keys": PUBLIC}, {"pins": HASH}, {"signature": SIGNATURE}, {"keys": []}):
        with pytest.raises(TypeError, match="where it is loaded, by load"):
            concerto.run(PROGRAM, **demand)  # type: ignore[arg-type]


# ---------------------------------------------------------------- order, and what is loaded for it


def test_the_demand_comes_before_anything_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of G-3.1: what it does not trust, nobody unpacks."""

    def unpacked(*arguments: object, **options: object) -> None:
        raise AssertionError("it was decoded")

    monkeypatch.setattr(encoding.msgpack, "unpackb", unpacked)
    monkeypatch.setattr(encoding, "precheck_msgpack", unpacked)
    refused(lambda: concerto.load(IMAGE, keys=PUBLIC))
    refused(lambda: concerto.load(IMAGE, pins=text_of_other()))
    with pytest.raises(AssertionError, match="it was decoded"):
        concerto.load(IMAGE, keys=PUBLIC, signature=SIGNATURE)


def test_what_is_damaged_is_told_before_the_signature_is_looked_at() -> None:
    damaged = IMAGE[:20] + bytes([IMAGE[20] ^ 1]) + IMAGE[21:]
    for data, code in ((damaged, "V004"), (b"x" * 100, "V002"), (b"", "V001")):
        with pytest.raises(concerto.ImageError) as caught:
            concerto.load(data, keys=PUBLIC)
        assert caught.value.code == code


@pytest.mark.parametrize("trusted", ["pinned", "signed"])
def test_trust_does_not_stand_for_verification(trusted: str) -> None:
    """All levels pass the checks of sections 3 and 4."""
    image = encoding.decode(IMAGE)
    image.functions[0].stack = 0
    data = encode(image)
    demand = {"pins": encoding.content_hash(data)} if trusted == "pinned" else {"keys": PUBLIC, "signature": sign(KEY, data, "")}
    with pytest.raises(concerto.ImageError, match=r"^V112"):
        concerto.load(data, **demand)  # type: ignore[arg-type]


def test_pins_need_no_package_and_keys_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for name in [name for name in sys.modules if name.startswith("cryptography.")]:
        monkeypatch.delitem(sys.modules, name)
    assert concerto.load(IMAGE, pins=HASH).trust == "pinned"
    with pytest.raises(ImportError) as caught:
        concerto.load(IMAGE, keys=PUBLIC, signature=SIGNATURE)
    assert str(caught.value) == f"signatures need the package cryptography, which is not installed: {install_advice('sign')}"
    # what is no signature at all is refused without it
    refused(lambda: concerto.load(IMAGE, keys=PUBLIC))


def test_what_is_signed_is_the_blake2b_of_the_file() -> None:
    signature = read_signature(SIGNATURE)
    legacy = signature.__class__(b"Ed", *(getattr(signature, name) for name in signature.__slots__[1:]))
    assert verify(legacy, blake2b(IMAGE).digest(), [KEY.public]) == KEY.public
    # so whoever calls the one algorithm the other has a file of 64 bytes, which is no image
    with pytest.raises(concerto.ImageError, match=r"^V002"):
        concerto.load(blake2b(IMAGE).digest(), keys=PUBLIC, signature=SIGNATURE.replace(b"\nRU", b"\nRW", 1))
