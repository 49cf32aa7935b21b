"""Keeps translated code from one process to the next, so that it need not be translated again (V-7.2, G-3.7).

A file holds the translated parts of one image, for one version of Python and of the translator; a file that does not fit, or
cannot be trusted, counts as missing. Files are read when something is first worth translating, and written at the end of a
session. Hands on `CodeCache`, which the command line and the Python API give to the host; the session asks it for the `Kept`
of its program, which the machine reads and the session saves; reading and saving raise no failure of a file. `code_files.py`
reads and writes, and decides what can be trusted.
"""

from __future__ import annotations

import os
import sys
import time

from ...vm import BEGAN
from ...vm.bytecode.encoding import content_hash, encode, sha256
from ...vm.interp import link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ...vm.interp.link import Program


PATIENCE = 0.5  # seconds of translating before its progress is shown


class CodeCache:
    """The files of one folder. `tell` is called with a line that says what was read or written, or why nothing was; `progress`
    with a line while a first run translates for long, and with an empty one when the program goes on."""

    def __init__(
        self, folder: str, tell: Callable[[str], object] = lambda line: None, progress: Callable[[str], object] | None = None
    ) -> None:
        self.folder = folder
        self.tell = tell
        self.progress = progress

    def of(self, program: Program) -> Kept:
        """Return the cache of one program, for `Program.kept`: the same one for every cache of this folder."""
        kept: Kept = program.kept_in.setdefault(self.folder, Kept(self, program))
        return kept


class Kept:
    """The file of one program in the cache; the machine knows it as `Program.kept`. `saved` says how many parts this process
    knows to be in the file. `digest` is None until `key` is first asked for."""

    def __init__(self, cache: CodeCache, program: Program) -> None:
        self.cache = cache
        self.program = program
        self.digest: bytes | None = None
        self.saved = 0
        self.spent = 0.0  # seconds of translating so far

    def making(self, number: int) -> Callable[[], None] | None:
        """Say that part `number` of the program is being translated, once translating has taken PATIENCE seconds in all. The
        machine calls the returned function when it is done; None when nobody wants to see progress."""
        progress = self.cache.progress
        if progress is None:
            return None
        start = time.perf_counter()
        if self.spent > PATIENCE:
            progress(f"translating this program for later runs: part {number}")

        def done() -> None:
            if self.spent > PATIENCE:
                progress("")
            self.spent += time.perf_counter() - start

        return done

    def key(self) -> bytes:
        """Return the digest of all that code objects depend on: image, Python, translator. Raises as `translator` does."""
        if self.digest is None:
            image = self.program.content_hash or content_hash(encode(self.program.image))
            origin = (image, sys.version, sys.implementation.cache_tag, sys.flags.optimize, translator(BEGAN))
            self.digest = sha256(repr(origin).encode()).digest()
        return self.digest

    @property
    def name(self) -> str:
        """The name of the file in the folder. Raises as `translator` does."""
        return self.key().hex()[:40] + ".code"

    def read(self) -> Any:
        """Return the parts that `save` of an earlier run has written, None when there is nothing that can be used; `tell` gets a
        line of either."""
        from . import code_files

        try:
            parts = code_files.read(self.cache.folder, self.name, self.key())
        except (code_files.Unusable, OSError) as error:
            self.cache.tell(f"translated code: none read: {reason(error)}")
            return None
        self.cache.tell(f"translated code: read {os.path.join(self.cache.folder, self.name)}")
        self.saved = len(parts[1])
        return parts

    def save(self) -> None:
        """Write what this process has translated, if it is more than the file has, and `tell` of it. A file that cannot be
        written is no fault: `tell` gets a line of it too."""
        translation = self.program.translation
        if translation is None or translation.count() <= self.saved:
            return
        from . import code_files

        try:
            parts = translation.packed()
            code_files.write(self.cache.folder, self.name, self.key(), parts)
        except (code_files.Unusable, OSError) as error:
            self.cache.tell(f"translated code: none kept: {reason(error)}")
            return
        self.saved = len(parts[1])
        self.cache.tell(f"translated code: kept {os.path.join(self.cache.folder, self.name)}")


def reason(error: Exception) -> str:
    """Return why a file could not be read or written: the system's words in lower case without the path for an OSError, else the
    error's own text."""
    return (error.strerror or "not possible").lower() if isinstance(error, OSError) else str(error)


def translator(began: float) -> tuple[Any, ...]:
    """Return the version of the translator: name, size and time of all sources of the machine, since translated code calls it
    by name.

    `began` is when this process began to read them, in seconds since 1970. Raises Unusable when a source was changed after it or
    when there are none, and OSError when the sources cannot be listed."""
    from .code_files import Unusable

    versions = sorted(sources(os.path.dirname(os.path.dirname(link.__file__ or "")), ""))
    if not versions or max([changed for _, _, changed in versions]) > began * 1e9:
        raise Unusable("the sources of the machine are not those that this process runs")
    return tuple(versions)


def sources(folder: str, inner: str) -> Iterator[tuple[str, int, int]]:
    """Yield path, size in bytes and time of change in nanoseconds since 1970 of each Python source in `folder` and below it, in
    no certain order; the paths are those from `folder` on, with `inner` before them. Size and time are what Python's byte code
    files are checked by too. Raises OSError."""
    for entry in os.scandir(folder):
        if entry.name.endswith(".py"):
            status = entry.stat()
            yield inner + entry.name, status.st_size, status.st_mtime_ns
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from sources(entry.path, f"{inner}{entry.name}/")
