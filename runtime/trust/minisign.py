"""Keys and detached signatures in the public format of minisign (G-3.6): texts to keys and back, signing, verifying.

Hands on to `concerto keygen` what makes keys (`new_key`, `written_public_key`, `written_secret_key`); to `concerto sign` what
signs (`read_secret_key`, `SecretKey`, `sign`); to `levels.py` what verifies (`read_public_key`, `read_signature`, `verify`) and
`PublicKey`, which `cli/inputs.py` takes too. The failure `MinisignError` goes to `levels.py` and `concerto sign`,
`LibraryMissing` to both commands and `cli/inputs.py`; SUFFIX, which the file of a signature has behind the name of what it signs,
to `levels.py`, `cli/inputs.py`, `concerto sign` and `concerto verify`; MOST_BYTES, the size of such a file, to `levels.py` and
`concerto sign`. What reads takes the content of a file, what is written is one. Ed25519 and scrypt are those of the package
`cryptography`, the extra `sign`, which the first use imports. No file is opened here, and no message holds any part of a secret
key or a password.

A file is lines: a comment, then base64. What the base64 holds, in bytes (numbers are little-endian):

    public key   2 algorithm "Ed", 8 key id, 32 point
    secret key   2 algorithm "Ed", 2 derivation ("Sc" scrypt, zeros none), 2 checksum "B2", 32 salt, 8 work and 8 memory of
                 scrypt, then, if there is a derivation under its stream: 8 key id, 32 seed, 32 point,
                 32 checksum (BLAKE2b-256 of algorithm, key id, seed and point)
    signature    2 algorithm ("Ed" signs the file, "ED" its BLAKE2b-512), 8 key id, 64 signature;
                 then a line of the trusted comment, and base64 of 64 that sign the signature and that comment
"""

from __future__ import annotations

import binascii
import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from hashlib import blake2b
from hmac import compare_digest
from typing import TYPE_CHECKING

from ..errors import install_advice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

SUFFIX = ".minisig"
MOST_BYTES = 16 << 10  # of a file that holds a key or a signature
MOST_COMMENT = 1024  # bytes of a comment that is written; minisign reads as many

SECRET_BYTES = 158  # of what the base64 of a secret key holds
UNTRUSTED, TRUSTED = b"untrusted comment: ", b"trusted comment: "
WHOLE, HASHED = b"Ed", b"ED"  # what is signed: the file, its BLAKE2b-512
NO_DERIVATION, SCRYPT, BLAKE2 = b"\0\0", b"Sc", b"B2"
# What minisign asks of scrypt by default, and the most that is done here: 1 GiB.
MOST_WORK, MOST_MEMORY = 1 << 25, 1 << 30


class MinisignError(Exception):
    """A key or a signature that is refused, or a comment that cannot be written; str() says why."""


class LibraryMissing(ImportError):
    """The package that signs and verifies is not installed; str() says how to install it."""

    def __init__(self) -> None:
        super().__init__(f"signatures need the package cryptography, which is not installed: {install_advice('sign')}")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """What verifies: `id`, 8 bytes that signatures name their key by, and `point`, the 32 bytes of the key."""

    id: bytes
    point: bytes

    def __str__(self) -> str:
        return key_name(self.id)


@dataclass(frozen=True, slots=True)
class SecretKey:
    """What signs: the `id` of its public key, and the 32 bytes of `seed`, which no text of this object shows."""

    id: bytes
    seed: bytes = field(repr=False)

    @property
    def public(self) -> PublicKey:
        """The key that verifies what this one signs. Raises LibraryMissing."""
        return PublicKey(self.id, _ed25519().Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw())


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature as it was read; nothing says yet that it fits. `algorithm` is WHOLE or HASHED, `key` the id of the key that
    it names, `signature` that of the file, `comment` the trusted one in bytes, and `comment_signature` signs the last two."""

    algorithm: bytes
    key: bytes
    signature: bytes
    comment: bytes
    comment_signature: bytes

    @property
    def text(self) -> str:
        """The trusted comment; it may hold any character but the end of a line."""
        return self.comment.decode("utf-8", "replace")


def key_name(id: bytes) -> str:
    """Return the id of a key as minisign shows it: 16 hexadecimal digits."""
    return id[::-1].hex().upper()


def _ed25519() -> ModuleType:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cryptography":
            raise
        raise LibraryMissing from None
    return ed25519


# ---------------------------------------------------------------- texts
#
# Only what this module would write is read, but for comments and the ends of lines: then no bit of a signature can change unseen.


def _lines(content: bytes, count: int, what: str) -> list[bytes]:
    if len(content) > MOST_BYTES:
        raise MinisignError(f"{what} has at most {MOST_BYTES} bytes, not {len(content)}")
    lines = [line.removesuffix(b"\r") for line in content.removesuffix(b"\n").split(b"\n")]
    if len(lines) != count:
        raise MinisignError(f"{what} has {count} lines, not {len(lines)}")
    return lines


def _comment(line: bytes, prefix: bytes, what: str) -> bytes:
    if not line.startswith(prefix):
        raise MinisignError(f"{what} has a line that begins with `{prefix.decode()}`")
    return line[len(prefix) :]


def _decoded(line: bytes, size: int, what: str) -> bytes:
    try:
        data = b64decode(line, validate=True)
    except binascii.Error:
        data = b""
    if len(data) != size or b64encode(data) != line:
        raise MinisignError(f"{what} has a line of {size} bytes in base64")
    return data


def _written(comment: str, data: bytes, prefix: bytes = UNTRUSTED) -> bytes:
    return prefix + _checked(comment) + b"\n" + b64encode(data) + b"\n"


def _checked(comment: str) -> bytes:
    """Return the bytes of a comment. Raise MinisignError for one that is no line of text."""
    if not comment.replace("\t", " ").isprintable():
        raise MinisignError("a comment is one line without control characters")
    data = comment.encode()
    if len(data) > MOST_COMMENT:
        raise MinisignError(f"a comment has at most {MOST_COMMENT} bytes, not {len(data)}")
    return data


def read_public_key(content: bytes) -> PublicKey:
    """Return the key that a file holds, or the base64 of its second line alone. Raise MinisignError for anything else."""
    what = "a public key of minisign"
    if content.startswith(UNTRUSTED):
        _, line = _lines(content, 2, what)
    else:
        (line,) = _lines(content, 1, what)
    if len(line) == len(b64encode(bytes(SECRET_BYTES))):
        raise MinisignError("this is a secret key; the public one is in a file of its own")
    data = _decoded(line, 42, what)
    if data[:2] != WHOLE:
        raise MinisignError(f"a key of the algorithm {_named(data[:2])} is not supported, only Ed25519 (`Ed`)")
    return PublicKey(data[2:10], data[10:])


def written_public_key(key: PublicKey) -> bytes:
    """Return the content of a file for a public key."""
    return _written(f"minisign public key {key}", WHOLE + key.id + key.point)


def _named(code: bytes) -> str:
    return f"`{code.decode()}`" if code.isalnum() else code.hex()


def read_signature(content: bytes) -> Signature:
    """Return the signature that a file holds. Raise MinisignError for anything else, and for another algorithm."""
    what = "a signature of minisign"
    lines = _lines(content, 4, what)
    _comment(lines[0], UNTRUSTED, what)
    data = _decoded(lines[1], 74, what)
    comment = _comment(lines[2], TRUSTED, what)
    if data[:2] not in (WHOLE, HASHED):
        raise MinisignError(f"a signature of the algorithm {_named(data[:2])} is not supported, only `Ed` and `ED` (Ed25519)")
    return Signature(data[:2], data[2:10], data[10:], comment, _decoded(lines[3], 64, what))


# ---------------------------------------------------------------- secret keys


def new_key() -> SecretKey:
    """Return a new secret key with a new id, both by chance."""
    return SecretKey(secrets.token_bytes(8), secrets.token_bytes(32))


def written_secret_key(key: SecretKey) -> bytes:
    """Return the content of a file for a secret key, which no password protects: it is for files that their owner alone can read.
    Raise LibraryMissing."""
    plain = key.id + key.seed + key.public.point
    head = WHOLE + NO_DERIVATION + BLAKE2 + bytes(32 + 8 + 8)
    return _written(f"minisign secret key {key_name(key.id)}", head + plain + _checksum(plain))


def read_secret_key(content: bytes, password: Callable[[], str]) -> SecretKey:
    """Return the key that a file holds; `password` is called for one that is encrypted. Raise MinisignError for what is no such
    key, is damaged or needs something that is not supported, and for a wrong password; LibraryMissing; and what `password`
    raises."""
    what = "a secret key of minisign"
    comment, line = _lines(content, 2, what)
    _comment(comment, UNTRUSTED, what)
    data = _decoded(line, SECRET_BYTES, what)
    algorithm, derivation, checksum = data[:2], data[2:4], data[4:6]
    if algorithm != WHOLE:
        raise MinisignError(f"a key of the algorithm {_named(algorithm)} is not supported, only Ed25519 (`Ed`)")
    if checksum != BLAKE2:
        raise MinisignError(f"a key with the checksum {_named(checksum)} is not supported, only with BLAKE2b (`B2`)")
    if derivation not in (NO_DERIVATION, SCRYPT):
        raise MinisignError(f"a key under the derivation {_named(derivation)} is not supported, only under scrypt (`Sc`) or none")
    plain = data[54:]
    if derivation == SCRYPT:
        plain = _decrypted(data, password)
    # minisign leaves the checksum of a key without password empty
    elif plain[72:] not in (bytes(32), _checksum(plain[:72])):
        raise MinisignError("the secret key is damaged: its checksum does not fit")
    key = SecretKey(plain[:8], plain[8:40])
    if not compare_digest(key.public.point, plain[40:72]):
        raise MinisignError("the secret key is damaged: its public half is that of another key")
    return key


def _checksum(plain: bytes) -> bytes:
    return blake2b(WHOLE + plain, digest_size=32).digest()


def _decrypted(data: bytes, password: Callable[[], str]) -> bytes:
    work, memory = (int.from_bytes(data[at : at + 8], "little") for at in (38, 46))
    if work > MOST_WORK or memory > MOST_MEMORY:
        raise MinisignError("the secret key asks for more work of scrypt than minisign does, which is not supported")
    n, r, p = scrypt_costs(work, memory)
    _ed25519()
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    secret = password().encode("utf-8", "surrogateescape")
    try:
        stream = Scrypt(salt=data[6:38], length=104, n=n, r=r, p=p).derive(secret)
    except MemoryError:
        needed = n * r * 128 >> 20
        raise MinisignError(f"there is not enough memory for the password of the secret key, which takes {needed} MiB") from None
    plain = bytes(a ^ b for a, b in zip(data[54:], stream, strict=True))
    if not compare_digest(plain[72:], _checksum(plain[:72])):
        raise MinisignError("the password is not that of the secret key")
    return plain


def scrypt_costs(work: int, memory: int) -> tuple[int, int, int]:
    """Return N, r and p of scrypt for the amounts of work and memory that a key names, as libsodium documents them: r is 8, N the
    largest power of two that both allow, p what is left of the work."""
    work, r = max(work, 32768), 8
    most = work // (r * 4) if work < memory // 32 else memory // (r * 128)
    n = 2
    while n <= most // 2:
        n *= 2
    return n, r, 1 if work < memory // 32 else max(1, work // 4 // n // r)


# ---------------------------------------------------------------- signing and verifying


def sign(key: SecretKey, data: bytes, comment: str) -> bytes:
    """Return the content of the file of a signature, of the algorithm `ED`, over data and the trusted comment. Raise
    MinisignError for a comment that cannot be written, LibraryMissing."""
    signer = _ed25519().Ed25519PrivateKey.from_private_bytes(key.seed)
    signature: bytes = signer.sign(blake2b(data).digest())
    both = signer.sign(signature + _checked(comment))
    return _written(f"signature by the key {key_name(key.id)}", HASHED + key.id + signature) + _written(comment, both, TRUSTED)


def verify(signature: Signature, data: bytes, keys: Sequence[PublicKey]) -> PublicKey:
    """Return the key, one of `keys`, whose signature of data and trusted comment this is. Raise MinisignError if it is none,
    LibraryMissing."""
    named = [key for key in keys if key.id == signature.key]
    if not named:
        trusted = ", ".join(map(str, keys)) or "none"
        raise MinisignError(f"it is by the key {key_name(signature.key)}, which is not trusted (trusted: {trusted})")
    message = blake2b(data).digest() if signature.algorithm == HASHED else data
    for key in named:
        if _fits(key, signature.signature, message):
            if not _fits(key, signature.comment_signature, signature.signature + signature.comment):
                raise MinisignError("its trusted comment is not the one that was signed")
            return key
    raise MinisignError(f"the key {key_name(signature.key)} has not signed this file")


def _fits(key: PublicKey, signature: bytes, message: bytes) -> bool:
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key.point).verify(signature, message)
    except InvalidSignature:
        return False
    return True
