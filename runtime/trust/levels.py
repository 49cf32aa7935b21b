"""What a host demands of an image before it is decoded, and the level of trust that the image has by it (G-1.2, G-3.6).

Hands on `Demand` to the Python API and the command line, which have it checked in its place in the order of G-3.1; `demand_of`,
which makes one of pins and keys, to `api/program.py`; `named_key`, which finds a key by its text or file, to `cli/inputs.py`; and
`checked_pin` to `cli/run.py`. What is in an image is not looked at. How a signature is read and verified stands in `minisign.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from ...vm.bytecode.encoding import content_hash
from ...vm.bytecode.image import ImageError
from .minisign import MOST_BYTES, SUFFIX, MinisignError, PublicKey, read_public_key, read_signature, verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Path = str | os.PathLike[str]

HASH_DIGITS = frozenset("0123456789abcdef")


class Demand:
    """What must hold of an image: `pins` are the content hashes of the only images that are wanted, in 64 hexadecimal digits,
    None for any; `keys` those of which one must have signed it, None where no signature is wanted; `signature` is the content
    of the signature's file, or its path, None for an image that has none. An empty collection refuses every image. After
    `check`, `key` is the key that signed, and `comment` the trusted comment."""

    __slots__ = ("pins", "keys", "signature", "key", "comment")

    def __init__(self, pins: frozenset[str] | None, keys: Sequence[PublicKey] | None, signature: bytes | Path | None) -> None:
        self.pins = pins
        self.keys = keys
        self.signature = signature
        self.key: PublicKey | None = None
        self.comment = ""

    @property
    def level(self) -> Literal["pinned", "signed", "foreign"]:
        """The level of an image of which this holds; one that is pinned may be signed too."""
        return "pinned" if self.pins is not None else "signed" if self.keys is not None else "foreign"

    def check(self, data: bytes) -> None:
        """Raise ImageError (V005) for the bytes of an image of which this does not hold; LibraryMissing where keys are wanted and
        the package that verifies is not installed. `check_frame` of `vm/bytecode/encoding.py` has passed them: a pin is compared
        with the hash that it has found to fit."""
        if self.pins is not None and content_hash(data) not in self.pins:
            raise ImageError("V005", f"the image {content_hash(data)} is not one that the host has pinned")
        if self.keys is not None:
            try:
                signature = read_signature(self._read())
                self.key = verify(signature, data, self.keys)
            except MinisignError as refused:
                raise ImageError("V005", f"no trusted signature: {refused}") from None
            self.comment = signature.text

    def about_source(self) -> str:
        """Return why a source is refused (V005): only images have a hash and a signature."""
        return f"it is a source, and {'an image that is pinned' if self.keys is None else 'a signed image'} is demanded"

    def _read(self) -> bytes:
        if self.signature is None:
            raise MinisignError("none was given with the bytes of the image")
        if isinstance(self.signature, bytes):
            return self.signature
        try:
            with open(self.signature, "rb") as file:
                return file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            raise MinisignError(f"there is no {os.fspath(self.signature)}") from None
        except OSError as error:
            raise MinisignError(f"cannot read {os.fspath(self.signature)}: {error.strerror or error}") from None


def demand_of(
    pins: str | Iterable[str] | None, keys: Path | Iterable[Path] | None, signature: bytes | Path | None, image: Path | None
) -> Demand | None:
    """Return what a host demands by these words, None where they are none. `pins`: one content hash, or several; `keys`: one key,
    or several, each as `named_key` takes it; `signature`: without it, that beside the file `image`, and nothing for bytes (None).
    Raise ValueError for what is no hash or key, and for a signature that nobody asks for; OSError for a key that cannot be
    read."""
    if keys is None and signature is not None:
        raise ValueError("a signature is verified by keys=…; without keys nobody looks at it")
    if keys is None and pins is None:
        return None
    known = hashes = None
    if keys is not None:
        known = [named_key(key) for key in ([keys] if isinstance(keys, str | os.PathLike) else keys)]
    if pins is not None:
        hashes = frozenset(checked_pin(pin) for pin in ([pins] if isinstance(pins, str) else pins))
    if signature is None and image is not None:
        signature = os.fspath(image) + SUFFIX
    return Demand(hashes, known, signature)


def checked_pin(pin: str) -> str:
    """Return a content hash in the form that images have. Raise ValueError for what is none."""
    lowered = pin.lower()
    if len(lowered) != 64 or not HASH_DIGITS.issuperset(lowered):
        raise ValueError(f"{pin!r} is no content hash: it has 64 hexadecimal digits, as `concerto inspect` shows them")
    return lowered


def named_key(word: Path) -> PublicKey:
    """Return a public key: `word` is the path of its file, or the text of the key itself, 56 characters that begin with RW. Raise
    ValueError for what is no key, OSError for a file that cannot be read."""
    name = os.fspath(word)
    text = isinstance(word, str) and len(word) == 56 and word.startswith("RW")
    try:
        if text:
            return read_public_key(name.encode("utf-8", "surrogateescape"))
        with open(name, "rb") as file:
            return read_public_key(file.read(MOST_BYTES + 1))
    except MinisignError as refused:
        raise ValueError(f"{name}: no public key: {refused}") from None
