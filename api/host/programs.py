"""A compiled program (O-9.6).

Hands on `Program`.
"""

from __future__ import annotations

import os
from typing import Unpack

from ..vm import link
from ..vm.bytecode.codec import content_hash, encode
from .errors import Diagnostic
from .options import Options
from .sessions import Session
from .testing import TestReport, tested

PathLike = str | os.PathLike[str]


class Program:
    """Code without state: every session begins anew. Made by `compile` and `load`."""

    def __init__(self, linked: link.Program, warnings: tuple[Diagnostic, ...] = (), project: str | None = None) -> None:
        """`project`: the directory of the manifest, where processes of agents run; None: the current one (O-7.6)."""
        self._linked = linked
        self._project = project
        self.warnings = warnings

    @property
    def name(self) -> str:
        """The name in the image: that of the source file, without its ending."""
        return self._linked.image.header.name

    @property
    def content_hash(self) -> str:
        """The identity of the image: equal programs have equal ones."""
        return content_hash(self.to_bytes())

    @property
    def wanted(self) -> tuple[str, ...]:
        """What the program asks of permissions; it grants nothing."""
        return tuple(self._linked.image.header.wanted)

    @property
    def functions(self) -> tuple[str, ...]:
        """The public functions, which a session can call."""
        return tuple(sorted(self._linked.image.exports.functions))

    def to_bytes(self) -> bytes:
        """The image; `load` reads it."""
        return encode(self._linked.image)

    def save(self, path: PathLike) -> None:
        """Write the image to a file."""
        data = self.to_bytes()
        with open(path, "wb") as file:
            file.write(data)

    def session(self, **options: Unpack[Options]) -> Session:
        """A session of this program; several share nothing but code."""
        return Session(self._linked, options, self._project)

    def test(self, filter: str | None = None, **options: Unpack[Options]) -> TestReport:
        """Run the tests whose description contains `filter`, each in a fresh session with these options."""
        return tested(self._linked, filter or "", options, self._project)

    def __repr__(self) -> str:
        return f"<Program {self.name}>"
