"""Keys and signatures against what the program `minisign` made, and against itself where it is installed (G-3.6)."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from concerto.runtime.errors import install_advice
from concerto.runtime.trust.minisign import (
    MOST_BYTES,
    LibraryMissing,
    MinisignError,
    PublicKey,
    SecretKey,
    key_name,
    new_key,
    read_public_key,
    read_secret_key,
    read_signature,
    scrypt_costs,
    sign,
    verify,
    written_public_key,
    written_secret_key,
)

MADE = Path(__file__).resolve().parent.parent / "fixtures" / "minisign"
MESSAGE = (MADE / "message").read_bytes()
PASSWORD = "correct horse"


def made(name: str) -> bytes:
    return (MADE / name).read_bytes()


def nobody() -> str:
    raise AssertionError("no password is asked for")


def public(name: str) -> PublicKey:
    return read_public_key(made(f"{name}.pub"))


def secret(name: str, password: str = PASSWORD) -> SecretKey:
    return read_secret_key(made(f"{name}.key"), lambda: password)


# ---------------------------------------------------------------- what minisign made


@pytest.mark.parametrize(
    ("name", "key", "comment"),
    [
        ("hashed", "plain", "release 1.0, the whole of it"),
        ("whole", "plain", "in the older way"),
        ("by-encrypted", "encrypted", "ünïcode"),
    ],
)
def test_signatures_of_minisign_are_verified(name: str, key: str, comment: str) -> None:
    signature = read_signature(made(f"{name}.minisig"))
    others = [new_key().public, public("plain"), public("encrypted")]
    assert verify(signature, MESSAGE, others) == public(key)
    assert signature.text == comment
    with pytest.raises(MinisignError, match="has not signed this file"):
        verify(signature, MESSAGE + b"\n", others)


def test_both_algorithms_are_there() -> None:
    assert read_signature(made("hashed.minisig")).algorithm == b"ED"
    assert read_signature(made("whole.minisig")).algorithm == b"Ed"


def test_the_example_of_minisign_is_verified() -> None:
    """Key and signature that the author of minisign has published, in the form of one line too."""
    key = read_public_key(b"RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")
    signature = read_signature(
        b"untrusted comment: signature from minisign secret key\r\n"
        b"RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=\r\n"
        b"trusted comment: timestamp:1555779966\tfile:test\r\n"
        b"QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA=="
    )
    assert str(verify(signature, b"test", [key])) == "E7620F1842B4E81F"


@pytest.mark.parametrize("name", ["plain", "encrypted"])
def test_keys_of_minisign_are_read(name: str) -> None:
    assert secret(name).public == public(name)
    assert made(f"{name}.pub").decode().splitlines()[0] == f"untrusted comment: minisign public key {public(name)}"


def test_our_signature_is_the_one_that_minisign_accepted() -> None:
    assert sign(secret("plain"), MESSAGE, "made by Concerto") == made("ours.minisig").replace(
        made("ours.minisig").split(b"\n")[0], f"untrusted comment: signature by the key {public('plain')}".encode()
    )


def test_a_wrong_password_is_refused() -> None:
    for password in ("", "Correct horse", "correct horse ", "\udcff"):
        with pytest.raises(MinisignError, match="^the password is not that of the secret key$"):
            secret("encrypted", password)


def test_costs_of_scrypt_are_those_of_libsodium() -> None:
    """Its constants for sensitive and interactive use, and the documented N of the latter."""
    assert scrypt_costs(33554432, 1073741824) == (1 << 20, 8, 1)
    assert scrypt_costs(524288, 16777216) == (1 << 14, 8, 1)
    assert scrypt_costs(0, 1 << 30) == (1 << 10, 8, 1)
    assert scrypt_costs(1 << 25, 1 << 24) == (1 << 14, 8, 64)


# ---------------------------------------------------------------- the form


def test_what_is_written_is_read() -> None:
    for _ in range(20):
        key = new_key()
        assert read_secret_key(written_secret_key(key), nobody) == key
        assert read_public_key(written_public_key(key.public)) == key.public
        signature = read_signature(sign(key, MESSAGE, "ein Kommentar\tmit Tab"))
        assert (signature.algorithm, signature.text) == (b"ED", "ein Kommentar\tmit Tab")
        assert verify(signature, MESSAGE, [new_key().public, key.public]) == key.public


def test_no_text_of_a_secret_key_shows_it() -> None:
    key = new_key()
    for text in (repr(key), str(key), f"{key}", repr([key])):
        assert key.seed.hex() not in text and repr(key.seed) not in text and "seed" not in text


@pytest.mark.parametrize("comment", ["a\nb", "a\rb", "\x1b[2J", "\x00", "\x85", "\u2028", "\udcff", "x" * 1025, "ü" * 513])
def test_a_comment_is_one_line_of_text(comment: str) -> None:
    with pytest.raises(MinisignError, match="^a comment "):
        sign(new_key(), MESSAGE, comment)


PUBLIC = made("plain.pub").split(b"\n")[1]
SECRET = b64decode(made("plain.key").split(b"\n")[1])
UNDER_SCRYPT = SECRET[:2] + b"Sc" + SECRET[4:]
HEAD = b"untrusted comment: x\n"


def with_bytes(at: int, new: bytes, old: bytes = SECRET) -> bytes:
    return HEAD + b64encode(old[:at] + new + old[at + len(new) :]) + b"\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "a line of 42 bytes in base64"),
        (HEAD, "2 lines, not 1"),
        (HEAD + PUBLIC + b"\n\n", "2 lines, not 3"),
        (b"trusted comment: x\n" + PUBLIC, "1 lines, not 2"),
        (PUBLIC[:-1], "42 bytes"),
        (PUBLIC + b"=", "42 bytes"),
        (PUBLIC[:-1] + b"-", "42 bytes"),
        (PUBLIC[:20] + b" " + PUBLIC[21:], "42 bytes"),
        (b" " + PUBLIC, "42 bytes"),
        (b64encode(b"ED" + bytes(40)), "the algorithm `ED` is not supported, only Ed25519"),
        (b64encode(b"\x00\xff" + bytes(40)), "the algorithm 00ff is not supported"),
        (made("plain.key"), "this is a secret key"),
        (made("hashed.minisig"), "2 lines, not 4"),
        (b"x" * (MOST_BYTES + 1), f"at most {MOST_BYTES} bytes"),
    ],
)
def test_what_is_no_public_key(content: bytes, why: str) -> None:
    with pytest.raises(MinisignError, match=why) as caught:
        read_public_key(content)
    assert b64encode(SECRET)[60:100].decode() not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "2 lines, not 1"),
        (made("plain.pub"), "a line of 158 bytes in base64"),
        (made("plain.key").replace(b"untrusted", b"trusted"), "begins with `untrusted comment: `"),
        (with_bytes(0, b"Ex"), "a key of the algorithm `Ex` is not supported"),
        (with_bytes(2, b"Ar"), "a key under the derivation `Ar` is not supported, only under scrypt"),
        (with_bytes(2, b"\x00\x01"), "a key under the derivation 0001 is not supported"),
        (with_bytes(4, b"B3"), "a key with the checksum `B3` is not supported"),
        (with_bytes(62, bytes([SECRET[62] ^ 1])), "damaged: its public half is that of another key"),
        (with_bytes(100, bytes([SECRET[100] ^ 1])), "damaged: its public half is that of another key"),
        (with_bytes(157, b"\x01"), "damaged: its checksum does not fit"),
        (with_bytes(38, bytes(7) + b"\x01", UNDER_SCRYPT), "more work of scrypt"),
        (with_bytes(46, (1 + (1 << 30)).to_bytes(8, "little"), UNDER_SCRYPT), "more work of scrypt"),
    ],
)
def test_what_is_no_secret_key(content: bytes, why: str) -> None:
    with pytest.raises(MinisignError, match=why) as caught:
        read_secret_key(content, nobody)
    assert SECRET[62:94].hex() not in str(caught.value) and b64encode(SECRET)[80:120].decode() not in str(caught.value)


@pytest.mark.parametrize("name", ["hashed", "whole"])
def test_another_algorithm_of_a_signature_is_refused_by_name(name: str) -> None:
    lines = made(f"{name}.minisig").split(b"\n")
    for code, shown in ((b"XX", "`XX`"), (b"ed", "`ed`"), (b"\0\xff", "00ff")):
        lines[1] = b64encode(code + b64decode(lines[1])[2:])
        with pytest.raises(MinisignError, match=f"^a signature of the algorithm {shown} is not supported, only `Ed` and `ED`"):
            read_signature(b"\n".join(lines))


@pytest.mark.parametrize(("number", "prefix"), [(0, "untrusted comment: "), (2, "trusted comment: ")])
def test_each_comment_of_a_signature_says_which_it_is(number: int, prefix: str) -> None:
    lines = made("hashed.minisig").split(b"\n")
    for wrong in (b"", b"x" + lines[number], lines[number].replace(b": ", b":"), lines[2 - number]):
        changed = [*lines[:number], wrong, *lines[number + 1 :]]
        with pytest.raises(MinisignError, match=f"has a line that begins with `{prefix}`"):
            read_signature(b"\n".join(changed))


def test_a_checksum_of_a_key_without_password_counts_where_it_is_there() -> None:
    content = written_secret_key(key := new_key())
    data = b64decode(content.split(b"\n")[1])
    assert any(data[126:]) and read_secret_key(with_bytes(126, bytes(32), data), nobody) == key
    with pytest.raises(MinisignError, match="its checksum does not fit"):
        read_secret_key(with_bytes(60, bytes([data[60] ^ 1]), data), nobody)


def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from cryptography.hazmat.primitives.kdf import scrypt

    class Scrypt:
        def __init__(self, **costs: object) -> None:
            pass

        def derive(self, password: bytes) -> bytes:
            raise MemoryError

    monkeypatch.setattr(scrypt, "Scrypt", Scrypt)
    with pytest.raises(MinisignError, match=r"^there is not enough memory for the password of the secret key, .* \d+ MiB$"):
        secret("encrypted")


def test_without_the_package_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    signature = read_signature(made("hashed.minisig"))
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for name in [name for name in sys.modules if name.startswith("cryptography.")]:
        monkeypatch.delitem(sys.modules, name)
    key = new_key()
    for use in (
        lambda: verify(signature, MESSAGE, [public("plain")]),
        lambda: sign(key, MESSAGE, ""),
        lambda: written_secret_key(key),
        lambda: secret("plain"),
        lambda: secret("encrypted"),
    ):
        with pytest.raises(LibraryMissing) as caught:
            use()
        assert str(caught.value) == f"signatures need the package cryptography, which is not installed: {install_advice('sign')}"


# ---------------------------------------------------------------- minisign itself

minisign = shutil.which("minisign")
with_minisign = pytest.mark.skipif(minisign is None, reason="no minisign here: install Debian's package minisign")


def run(*words: str | Path, cwd: Path, stdin: str = "") -> int:
    assert minisign is not None
    command = [minisign, *map(str, words)]
    return subprocess.run(command, cwd=cwd, input=stdin.encode(), capture_output=True, timeout=60).returncode


@with_minisign
def test_minisign_accepts_what_is_signed_here(tmp_path: Path) -> None:
    key = new_key()
    (tmp_path / "k.pub").write_bytes(written_public_key(key.public))
    for size in (0, 1, 127, 128, 129, 100_000):
        message = os.urandom(size)
        (tmp_path / "f").write_bytes(message)
        (tmp_path / "f.minisig").write_bytes(sign(key, message, f"{size} Bytes, größer"))
        assert run("-V", "-H", "-p", "k.pub", "-m", "f", cwd=tmp_path) == 0
        (tmp_path / "f").write_bytes(message + b"x")
        assert run("-V", "-p", "k.pub", "-m", "f", cwd=tmp_path) != 0


@with_minisign
def test_minisign_signs_with_a_key_of_ours(tmp_path: Path) -> None:
    key = new_key()
    (tmp_path / "k.key").write_bytes(written_secret_key(key))
    (tmp_path / "f").write_bytes(MESSAGE)
    for algorithm in ("-H", "-l"):
        assert run("-S", algorithm, "-W", "-s", "k.key", "-m", "f", "-t", "from minisign", cwd=tmp_path) == 0
        signature = read_signature((tmp_path / "f.minisig").read_bytes())
        assert verify(signature, MESSAGE, [key.public]) == key.public and signature.text == "from minisign"


@with_minisign
def test_a_new_pair_of_minisign_is_read(tmp_path: Path) -> None:
    assert run("-G", "-W", "-p", "k.pub", "-s", "k.key", cwd=tmp_path) == 0
    key = read_secret_key((tmp_path / "k.key").read_bytes(), nobody)
    assert key.public == read_public_key((tmp_path / "k.pub").read_bytes()) and key_name(key.id) == str(key.public)
    assert stat.S_IMODE((tmp_path / "k.key").stat().st_mode) == 0o600
