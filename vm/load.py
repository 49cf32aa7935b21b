"""From bytes to a program that can run: decode, verify, link; nothing skips a step (V-4.1, G-3.1).

Hands on `Program`. Must not know: files, sessions.
"""

from __future__ import annotations

from .builtins.table import ARITY, PERFORMED
from .bytecode.codec import content_hash, decode
from .bytecode.verify import verify
from .link import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .bytecode.image import Image


def load_bytes(data: bytes) -> Program:
    """Raises ImageError (V0xx, V1xx)."""
    program = load_image(decode(data))
    program.content_hash = content_hash(data)
    return program


def load_image(image: Image, known: dict[Any, Any] | None = None) -> Program:
    """A program from an image of this process; it is verified like any other (G-4.1). `known`: as for `Program`."""
    return Program(verify(image, ARITY, performed=PERFORMED), known)
