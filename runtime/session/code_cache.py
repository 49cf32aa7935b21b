"""Translated code from one process to the next, so that it need not be translated again (V-7.2, G-3.7).

A file holds the parts of one image as one version of Python and of the translator made them; what does not fit, or may not be
relied upon, is as if it were not there. The files are looked at when something is first worth translating. Hands on `CodeCache`.
Must not know: how code is translated, where a user keeps such files.
"""

from __future__ import annotations

import os
import sys
import time

from ...vm.bytecode.encoding import content_hash, encode, sha256
from ...vm.interp import link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ...vm.interp.link import Program


PATIENCE = 0.5  # seconds of translating, of which nothing is said


class CodeCache:
    """The files of one folder. `tell` takes a line that says what was found there, or why not; `progress` a line while the first
    run of a program translates for long, and an empty one when that goes on with the program."""

    def __init__(
        self, folder: str, tell: Callable[[str], object] = lambda line: None, progress: Callable[[str], object] | None = None
    ) -> None:
        self.folder = folder
        self.tell = tell
        self.progress = progress
        self.began = time.time()

    def of(self, program: Program) -> Kept:
        return Kept(self, program)


class Kept:
    """What is kept of one program: `Program.kept` of the machine."""

    def __init__(self, cache: CodeCache, program: Program) -> None:
        self.cache = cache
        self.program = program
        self.digest: bytes | None = None
        self.spent = 0.0  # seconds in which parts were made

    def making(self, number: int) -> Callable[[], None] | None:
        """A part is translated now, the so-many-th of the program; what it gives is called when that is done."""
        progress = self.cache.progress
        if progress is None:
            return None
        began = time.perf_counter()
        if self.spent > PATIENCE:
            progress(f"translating this program for later runs: part {number}")

        def done() -> None:
            if self.spent > PATIENCE:
                progress("")
            self.spent += time.perf_counter() - began

        return done

    def key(self) -> bytes:
        """The digest of all that code objects depend on."""
        if self.digest is None:
            image = self.program.content_hash or content_hash(encode(self.program.image))
            what = (image, sys.version, sys.implementation.cache_tag, sys.flags.optimize, translator(self.cache.began))
            self.digest = sha256(repr(what).encode()).digest()
        return self.digest

    @property
    def name(self) -> str:
        return self.key().hex()[:40] + ".code"

    def read(self) -> Any:
        """What `save` was given by another process, or None."""
        from . import code_files

        try:
            found = code_files.read(self.cache.folder, self.name, self.key())
        except (code_files.Unusable, OSError) as error:
            self.cache.tell(f"translated code: none read: {reason(error)}")
            return None
        self.cache.tell(f"translated code: read {os.path.join(self.cache.folder, self.name)}")
        return found

    def save(self) -> None:
        """Keep what this process has translated, if it did."""
        made = self.program.translation
        if made is None or made.grown() == 0:
            return
        from . import code_files

        try:
            code_files.write(self.cache.folder, self.name, self.key(), made.packed())
        except (code_files.Unusable, OSError) as error:
            self.cache.tell(f"translated code: none kept: {reason(error)}")
            return
        made.found += made.grown()
        self.cache.tell(f"translated code: kept {os.path.join(self.cache.folder, self.name)}")


def reason(error: Exception) -> str:
    return (error.strerror or "not possible").lower() if isinstance(error, OSError) else str(error)


def translator(began: float) -> tuple[Any, ...]:
    """Which sources translate: all of the machine, since translated code calls it by name."""
    from .code_files import Unusable

    found = sorted(sources(os.path.dirname(os.path.dirname(link.__file__ or "")), ""))
    if not found or max([when for _, _, when in found]) > began * 1e9:
        raise Unusable("the sources of the machine are not those that this process runs")
    return tuple(found)


def sources(folder: str, inner: str) -> Iterator[tuple[str, int, int]]:
    """Name, size and time of change, as Python's own byte code files hold them."""
    for entry in os.scandir(folder):
        if entry.name.endswith(".py"):
            found = entry.stat()
            yield inner + entry.name, found.st_size, found.st_mtime_ns
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from sources(entry.path, f"{inner}{entry.name}/")
