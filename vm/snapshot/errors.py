"""What is wrong with a snapshot, or with a value that none can hold (G-13.8, G-13.9).

Hands on `SnapshotError` with the codes of images (G-3.1): V001 size, V002 magic, V003 format, V004 hash, V005 of another image,
V006 decoding, V007 canonical form, V008 shape.
"""

from __future__ import annotations


class SnapshotError(Exception):
    """`code` is V0xx; the message ends with the way out."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def misshapen(what: str) -> SnapshotError:
    """Bytes that no writer of this format makes."""
    return SnapshotError("V008", f"{what}; take the bytes as they were written")
