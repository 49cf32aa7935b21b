"""`std::fs`: files, relative to the working directory (L-7.3). Payload: (operation, path, …)."""

from __future__ import annotations

from ..guards import binary, boolean, text
from ..registry import std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

READ = "fs:read"
WRITE = "fs:write"


@std_effect("fs", "read_file(p: String) -> Result<String, FsError>", effect="file", permission=READ, clause="L-7.3.1")
def read_file(p: Any) -> tuple[Any, ...]:
    """The text of a file in UTF-8."""
    return ("read_file", text(p))


@std_effect("fs", "write_file(p: String, s: String) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.2")
def write_file(p: Any, s: Any) -> tuple[Any, ...]:
    """Makes the text the whole content of a file, which may be new."""
    return ("write_file", text(p), text(s))


@std_effect(
    "fs", "append_file(p: String, s: String) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.2"
)
def append_file(p: Any, s: Any) -> tuple[Any, ...]:
    """Adds the text at the end of a file, which may be new."""
    return ("append_file", text(p), text(s))


@std_effect("fs", "remove_file(p: String) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.2")
def remove_file(p: Any) -> tuple[Any, ...]:
    """Removes a file."""
    return ("remove_file", text(p))


@std_effect("fs", "exists(p: String) -> Bool", effect="file", permission=READ, clause="L-7.3.3")
def exists(p: Any) -> tuple[Any, ...]:
    """Whether there is a file or directory."""
    return ("exists", text(p))


@std_effect("fs", "list_dir(p: String) -> Result<Array<String>, FsError>", effect="file", permission=READ, clause="L-7.3.4")
def list_dir(p: Any) -> tuple[Any, ...]:
    """The sorted names in a directory."""
    return ("list_dir", text(p))


@std_effect("fs", "file_size(p: String) -> Result<Int, FsError>", effect="file", permission=READ, clause="L-7.3.4")
def file_size(p: Any) -> tuple[Any, ...]:
    """The size of a file in bytes."""
    return ("file_size", text(p))


@std_effect("fs", "read_bytes(p: String) -> Result<Bytes, FsError>", effect="file", permission=READ, clause="L-7.3.6")
def read_bytes(p: Any) -> tuple[Any, ...]:
    """The bytes of a file."""
    return ("read_bytes", text(p))


@std_effect("fs", "write_bytes(p: String, b: Bytes) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.6")
def write_bytes(p: Any, b: Any) -> tuple[Any, ...]:
    """Makes the bytes the whole content of a file, which may be new."""
    return ("write_bytes", text(p), binary(b))


@std_effect("fs", "make_dir(p: String) -> Result<Nil, FsError>", effect="file", permission=WRITE, clause="L-7.3.7")
def make_dir(p: Any) -> tuple[Any, ...]:
    """Makes a directory and those above it that are missing; one that is there stays as it is."""
    return ("make_dir", text(p))


@std_effect(
    "fs", "remove_dir(p: String, recursive: Bool = false) -> Result<Nil, FsError>", effect="file", permission=WRITE,
    clause="L-7.3.7",
)  # fmt: skip
def remove_dir(p: Any, recursive: Any) -> tuple[Any, ...]:
    """Removes an empty directory, or with `recursive` one with all that is in it; a link in it is removed, not followed."""
    return ("remove_dir", text(p), boolean(recursive))


@std_effect("fs", "temp_dir() -> Result<String, FsError>", effect="file", permission=WRITE, clause="L-7.3.8")
def temp_dir() -> tuple[Any, ...]:
    """The path of a new directory that this run may read and write, and that is removed at its end."""
    return ("temp_dir", "")
