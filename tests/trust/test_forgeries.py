"""Forged images where the host demands a signature: each kind is refused, drawn with a fresh seed (G-2.3).

CONCERTO_FUZZ_SEED repeats a run. What may change is the untrusted comment alone, which is there for people.
"""

from __future__ import annotations

import random
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256

import concerto
import pytest
from concerto.runtime.trust.minisign import SecretKey, new_key, sign, written_public_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ..fuzz.campaign import fresh_seed

DRAWN = 300  # of each kind
ORDER = 2**252 + 27742317777372353535851937790883648493  # of the group of Ed25519 (RFC 8032)

Forged = tuple[bytes, bytes]  # an image, and what stands in the file of its signature


class Scene:
    """What a forger has: two images, honest signatures of both by the trusted key, a key of its own, and chance. It has not the
    secret half of the trusted key, whose uses here are the honest ones."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        key = new_key()
        self.trusted = written_public_key(key.public).split(b"\n")[1].decode()
        self.id = key.id
        self.image, self.other = (concerto.compile(f'fn main() {{ emit("out", {n}); }}').to_bytes() for n in (1, 2))
        self.signature, self.again = (sign(key, self.image, comment) for comment in ("version 1", "version 2"))
        self.of_other = sign(key, self.other, "version 1")
        self.own = new_key()

    def lines(self, content: bytes | None = None) -> list[bytes]:
        return (self.signature if content is None else content).split(b"\n")

    def with_line(self, number: int, line: bytes) -> Forged:
        lines = self.lines()
        lines[number] = line
        return self.image, b"\n".join(lines)

    def flipped(self, data: bytes, first: int = 0) -> bytes:
        """The bytes with one bit changed, of those from `first` on."""
        at = self.rng.randrange(first * 8, len(data) * 8)
        return data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :]


def bit_of_the_file(scene: Scene) -> Forged:
    return scene.flipped(scene.image), scene.signature


def bit_of_the_file_with_its_hash_made_to_fit(scene: Scene) -> Forged:
    body = scene.flipped(scene.image[:-32], 8)
    return body + sha256(body).digest(), scene.signature


def bit_of_the_signature(scene: Scene) -> Forged:
    data = b64decode(scene.lines()[1])
    return scene.with_line(1, b64encode(scene.flipped(data, 10)))


def bit_of_the_key_id(scene: Scene) -> Forged:
    data = b64decode(scene.lines()[1])
    return scene.with_line(1, b64encode(data[:2] + scene.flipped(data[2:10]) + data[10:]))


def bit_of_the_trusted_comment(scene: Scene) -> Forged:
    return scene.with_line(2, scene.flipped(scene.lines()[2]))


def bit_of_the_signature_of_the_comment(scene: Scene) -> Forged:
    return scene.with_line(3, b64encode(scene.flipped(b64decode(scene.lines()[3]))))


def bit_of_the_text_of_the_file(scene: Scene) -> Forged:
    """Anywhere behind the untrusted comment, ends of lines and what base64 leaves unused included."""
    return scene.image, scene.flipped(scene.signature, len(scene.lines()[0]))


def other_algorithm(scene: Scene) -> Forged:
    data = b64decode(scene.lines()[1])
    code = scene.rng.choice([b"Ed", b"eD", b"ed", b"\0\0", scene.rng.randbytes(2)])
    return scene.with_line(1, b64encode((code if code != b"ED" else b"Ed") + data[2:]))


def other_trusted_comment(scene: Scene) -> Forged:
    text = scene.rng.choice(["version 2", "version 1 ", "", "version 1\tfile:x", "Version 1", "ü" * scene.rng.randrange(1, 99)])
    return scene.with_line(2, b"trusted comment: " + text.encode())


def comment_of_another_signature(scene: Scene) -> Forged:
    """With its own signature, by the trusted key. Only the first signature tells that they do not belong together."""
    elsewhere = scene.lines(scene.of_other)
    lines = [*scene.lines()[:2], *elsewhere[2:]]
    return scene.image, b"\n".join(lines)


def signature_of_another_file(scene: Scene) -> Forged:
    return scene.rng.choice([(scene.other, scene.signature), (scene.image, scene.of_other)])


def parts_of_two_signatures(scene: Scene) -> Forged:
    ours, theirs = scene.lines(), scene.lines(scene.of_other)
    mixed = [scene.rng.choice(pair) for pair in zip(ours, theirs, strict=True)]
    mixed[1] = theirs[1]
    return scene.image, b"\n".join(mixed)


def truncated_signature(scene: Scene) -> Forged:
    # without its last character, the end of the last line, it is whole
    return scene.image, scene.signature[: scene.rng.randrange(len(scene.signature) - 1)]


def truncated_file(scene: Scene) -> Forged:
    return scene.image[: scene.rng.randrange(len(scene.image))], scene.signature


def appended_file(scene: Scene) -> Forged:
    return scene.image + scene.rng.randbytes(scene.rng.randrange(1, 99)), scene.signature


def lines_added_or_exchanged(scene: Scene) -> Forged:
    lines = scene.lines()[:4]
    if scene.rng.random() < 0.5:
        lines.insert(scene.rng.randrange(4), scene.rng.choice([b"", *scene.lines(scene.of_other)]))
    else:
        first, second = scene.rng.sample(range(4), 2)
        lines[first], lines[second] = lines[second], lines[first]
    return scene.image, b"\n".join(lines) + b"\n"


def key_of_the_forger(scene: Scene) -> Forged:
    return scene.other, sign(scene.own, scene.other, "version 1")


def key_of_the_forger_under_the_id_of_the_trusted_one(scene: Scene) -> Forged:
    return scene.other, sign(SecretKey(scene.id, scene.rng.randbytes(32)), scene.other, "version 1")


def comment_by_the_forger(scene: Scene) -> Forged:
    """The file is signed by the trusted key, the comment by another."""
    signer = Ed25519PrivateKey.from_private_bytes(scene.own.seed)
    signature = b64decode(scene.lines()[1])[10:]
    lines = scene.lines()
    lines[2:4] = [b"trusted comment: version 3", b64encode(signer.sign(signature + b"version 3"))]
    return scene.image, b"\n".join(lines)


def second_form_of_the_signature(scene: Scene) -> Forged:
    """S + L signs what S signs, to who does not look how large it is."""
    number = scene.rng.choice([1, 3])
    data = b64decode(scene.lines()[number])
    larger = int.from_bytes(data[-32:], "little") + ORDER
    return scene.with_line(number, b64encode(data[:-32] + larger.to_bytes(32, "little")))


def signature_of_the_neutral_point(scene: Scene) -> Forged:
    """It fits any message under a key that is one."""
    neutral = bytes([1]) + bytes(63)
    lines = scene.lines()
    lines[1], lines[3] = b64encode(b"ED" + scene.id + neutral), b64encode(neutral)
    return scene.image, b"\n".join(lines)


def no_signature(scene: Scene) -> Forged:
    return scene.image, scene.rng.choice([b"", b"\n", b"\n" * 4, scene.rng.randbytes(200), scene.image, b"untrusted comment: \n"])


KINDS: list[Callable[[Scene], Forged]] = [
    bit_of_the_file, bit_of_the_file_with_its_hash_made_to_fit, bit_of_the_signature, bit_of_the_key_id,
    bit_of_the_trusted_comment, bit_of_the_signature_of_the_comment, bit_of_the_text_of_the_file, other_algorithm,
    other_trusted_comment, comment_of_another_signature, signature_of_another_file, parts_of_two_signatures, truncated_signature,
    truncated_file, appended_file, lines_added_or_exchanged, key_of_the_forger, key_of_the_forger_under_the_id_of_the_trusted_one,
    comment_by_the_forger, second_form_of_the_signature, signature_of_the_neutral_point,
    no_signature,
]  # fmt: skip


OF_THE_FRAME = {bit_of_the_file, truncated_file, appended_file}  # which the hash of the image finds before


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_forgeries_are_refused(kind: Callable[[Scene], Forged]) -> None:
    seed = fresh_seed()
    print(f"seed {seed}")  # pytest shows it with a failure
    scene = Scene(seed)
    for signed in (scene.signature, scene.again):
        assert concerto.load(scene.image, keys=scene.trusted, signature=signed).trust == "signed"
    codes = {"V001", "V002", "V003", "V004"} if kind in OF_THE_FRAME else {"V005"}
    for _ in range(DRAWN):
        image, signature = kind(scene)
        with pytest.raises(concerto.ImageError) as caught:
            concerto.load(image, keys=scene.trusted, signature=signature)
        assert caught.value.code in codes, (image, signature)


def test_every_bit_behind_the_untrusted_comment_counts() -> None:
    scene = Scene(fresh_seed())
    first = len(scene.lines()[0])
    for at in range(first * 8, len(scene.signature) * 8):
        forged = bytearray(scene.signature)
        forged[at // 8] ^= 1 << at % 8
        with pytest.raises(concerto.ImageError, match="^V005"):
            concerto.load(scene.image, keys=scene.trusted, signature=bytes(forged))


def test_the_untrusted_comment_is_for_people() -> None:
    scene = Scene(fresh_seed())
    lines = scene.lines()
    for text in (b"", b"anything", b"\xff\xfe", b"x" * 1000):
        lines[0] = b"untrusted comment: " + text
        for end in (b"\n", b"\r\n"):  # of a system that changes the ends of lines
            assert concerto.load(scene.image, keys=scene.trusted, signature=end.join(lines)).trust == "signed"
