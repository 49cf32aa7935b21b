"""What `std::fs` does at a spot: plain data in, plain data out, `Failed` with a variant of FsError (L-7.3, G-8.2).

Only regular files and directories are opened. Must not know: permissions, values of the machine.
"""

from __future__ import annotations

import errno
import os
import stat

from ...vm.values.limits import limits
from ..system import flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .walk import Spot

KEPT_IN = flag("O_NOFOLLOW") | flag("O_CLOEXEC")
READ = os.O_RDONLY | KEPT_IN | flag("O_NONBLOCK")
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | KEPT_IN | flag("O_NONBLOCK")
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | KEPT_IN


class Failed(Exception):
    """`variant` of FsError and what went wrong, without the path."""

    def __init__(self, variant: str, reason: str) -> None:
        super().__init__(reason)
        self.variant = variant
        self.reason = reason


def failure_of(error: OSError) -> Failed:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Failed("NotFound", "no such file or directory")
    if error.errno == errno.EISDIR:
        return Failed("NotAFile", "not a file")
    return Failed("Io", (error.strerror or "not possible").lower())


def read_file(spot: Spot) -> str:
    data = read_bytes(spot)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Failed("InvalidUtf8", f"no UTF-8 at byte {error.start}") from None


def read_bytes(spot: Spot) -> bytes:
    with _regular(spot, READ) as file:
        data: bytes = file.read(limits.string + 1)
    if len(data) > limits.string:
        raise Failed("Io", f"larger than a String may be ({limits.string} bytes)")
    return data


def _regular(spot: Spot, flags: int) -> Any:
    """The open file at a spot; NotAFile unless it is a regular one."""
    if spot.name == ".":
        raise Failed("NotAFile", "not a file")
    try:
        fd = os.open(spot.name, flags, 0o666, dir_fd=spot.fd)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a pipe without a reader, a socket
            raise Failed("NotAFile", "not a file") from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Failed("NotAFile", "not a file")
    return os.fdopen(fd, "ab" if flags & os.O_APPEND else "rb")


def write_file(spot: Spot, text: str) -> None:
    write_bytes(spot, text.encode())


def write_bytes(spot: Spot, data: bytes) -> None:
    """A new file in the same directory that takes the place of the old one: readers see one or the other."""
    mode = _mode(spot)
    if spot.name == "." or not (mode is None or stat.S_ISREG(mode)):
        raise Failed("NotAFile", "not a file")
    made = f".{spot.name[:100]}.{os.urandom(6).hex()}.tmp"
    fd = os.open(made, NEW, 0o666, dir_fd=spot.fd)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(fd, stat.S_IMODE(mode))
            file.write(data)
        os.replace(made, spot.name, src_dir_fd=spot.fd, dst_dir_fd=spot.fd)
    except BaseException:
        os.unlink(made, dir_fd=spot.fd)
        raise


def append_file(spot: Spot, text: str) -> None:
    with _regular(spot, APPEND) as file:
        file.write(text.encode())


def remove_file(spot: Spot) -> None:
    mode = _mode(spot)
    if spot.name == "." or (mode is not None and stat.S_ISDIR(mode)):
        raise Failed("NotAFile", "not a file")
    os.unlink(spot.name, dir_fd=spot.fd)


def exists(spot: Spot) -> bool:
    mode = _mode(spot)
    return mode is not None and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def list_dir(spot: Spot) -> list[str]:
    """Names in code-point order; what is no UTF-8 in them is U+FFFD (O-0.6)."""
    try:
        fd = os.open(spot.name, READ | flag("O_DIRECTORY"), dir_fd=spot.fd)
    except NotADirectoryError:
        raise Failed("Io", "not a directory") from None
    try:
        names = os.listdir(fd)
    finally:
        os.close(fd)
    if len(names) > limits.items:
        raise Failed("Io", f"{len(names)} names are more than an Array holds ({limits.items})")
    return sorted(os.fsencode(name).decode("utf-8", "replace") for name in names)


def file_size(spot: Spot) -> int:
    found = os.stat(spot.name, dir_fd=spot.fd, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        raise Failed("NotAFile", "not a file")
    return found.st_size


def make_dir(spot: Spot) -> None:
    """One directory; those above it are there."""
    mode = _mode(spot)
    if mode is None:
        os.mkdir(spot.name, dir_fd=spot.fd)
    elif not stat.S_ISDIR(mode):
        raise Failed("Io", "there is a file of that name")


def remove_dir(spot: Spot, recursive: bool) -> None:
    mode = _mode(spot)
    if mode is None:
        raise Failed("NotFound", "no such file or directory")
    if spot.name == "." or not stat.S_ISDIR(mode):
        raise Failed("Io", "a granted directory itself is not removed" if spot.name == "." else "not a directory")
    if recursive:
        from shutil import rmtree

        rmtree(spot.name, dir_fd=spot.fd)
    else:
        os.rmdir(spot.name, dir_fd=spot.fd)


def _mode(spot: Spot) -> int | None:
    try:
        return os.stat(spot.name, dir_fd=spot.fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


# Operation: the function, and whether a link at the end of the path is followed.
OPERATIONS: dict[str, tuple[Callable[..., Any], bool]] = {
    "read_file": (read_file, True), "write_file": (write_file, True), "append_file": (append_file, True),
    "remove_file": (remove_file, False), "exists": (exists, True), "list_dir": (list_dir, True),
    "file_size": (file_size, True), "read_bytes": (read_bytes, True), "write_bytes": (write_bytes, True),
    "make_dir": (make_dir, True), "remove_dir": (remove_dir, False),
}  # fmt: skip
