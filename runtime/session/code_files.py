"""The files of translated code: a folder that only its user can write, and content behind a digest (G-3.7).

Decoding code objects from a file is as dangerous as running a program from it. So a file is read only from a folder that
belongs to this user and that nobody else can write, and only when its digest fits. `key` is the digest, of DIGEST bytes, of all
that the code depends on: a file is read only by the key that it was written with. `name` ends with `.code`: `tidy` leaves
files alone that end neither so nor with `.tmp`. Hands on `read`, `write` and `Unusable` to `code_cache.py`.
"""

from __future__ import annotations

import marshal
import os
import stat
import time
from contextlib import suppress

from ...vm.bytecode.encoding import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MAGIC = b"CONCCODE"
DIGEST = sha256().digest_size
LARGEST = 4 << 20  # bytes of a file
ROOM, FILES = 64 << 20, 500  # bytes and files of the folder; those unused for longest are removed first
ABANDONED = 3600  # seconds after which an unfinished file is removed
READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class Unusable(Exception):
    """A folder or a file that is not used; the text says why."""


def read(path: str, name: str, key: bytes) -> Any:
    """Return the content of the file `name` in the folder `path`, and set the time of its last use. Raises Unusable for a folder
    or a file that cannot be trusted or does not fit `key`, and OSError, also when there is no such file."""
    folder = open_folder(path)
    try:
        value = content(folder, name, key)
        with suppress(OSError):  # reading is permitted where nothing can be written
            os.utime(name, dir_fd=folder)  # its time says when it was last used
    finally:
        os.close(folder)
    return value


def write(path: str, name: str, key: bytes, value: Any) -> None:
    """Write plain data with code objects to a file, in a folder that is made if there is none, and remove what is then too much
    in it. Raises Unusable, also for more than LARGEST bytes, and OSError."""
    try:
        data = with_digest(key, marshal.dumps(value))
    except ValueError as error:
        raise Unusable(str(error)) from None
    os.makedirs(path, 0o700, exist_ok=True)
    folder = open_folder(path)
    try:
        replace_file(folder, name, data)
        tidy(folder)
    finally:
        os.close(folder)


def open_folder(folder: str) -> int:
    """Return a descriptor of a folder that only this user can write, so that nobody else has put anything into it (G-3.7).

    Raises Unusable for any other one, and OSError when it cannot be opened. Rights that others have by access lists show in the
    bits of the group."""
    if not hasattr(os, "geteuid") or os.open not in os.supports_dir_fd:
        raise Unusable("this system does not tell who can write a folder")
    fd = os.open(folder, READ | os.O_DIRECTORY)
    try:
        check(os.fstat(fd), folder)
    except Unusable:
        os.close(fd)
        raise
    return fd


def check(status: os.stat_result, name: str) -> None:
    """Raise Unusable for a file or folder that somebody else owns or can write."""
    if status.st_uid != os.geteuid():
        raise Unusable(f"{name} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unusable(f"{name} can be written by others")


def content(folder: int, name: str, key: bytes) -> Any:
    """Return what the file `name` in the folder with this descriptor holds. It is checked after it was opened: what a name leads
    to may change between the two. Raises Unusable and OSError as `read`."""
    fd = os.open(name, READ, dir_fd=folder)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        check(status, name)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise Unusable(f"{name} is no file of translated code")
        data = file.read(LARGEST + 1)
    return checked_body(key, data, name)


def with_digest(key: bytes, body: bytes) -> bytes:
    """Return the bytes of a file: magic, key, digest of key and body, body. Unusable when they are more than LARGEST."""
    data: bytes = MAGIC + key + sha256(key + body).digest() + body
    if len(data) > LARGEST:
        raise Unusable(f"it has {len(data)} bytes, the limit is {LARGEST}")
    return data


def checked_body(key: bytes, data: bytes, name: str) -> Any:
    """Return the decoded body of `data`, the bytes of the file `name`. It must be decoded only when key and digest fit, since
    marshal may crash on damaged data. Raises Unusable when they do not fit."""
    start = len(MAGIC) + DIGEST
    body = memoryview(data)[start + DIGEST :]
    if data[:start] != MAGIC + key or data[start : start + DIGEST] != sha256(key + bytes(body)).digest():
        raise Unusable(f"{name} is damaged")
    return marshal.loads(body)


def replace_file(folder: int, name: str, data: bytes) -> None:
    """Write a new file and put it in the place of the old one: readers see one or the other, however many processes write. Raises
    OSError."""
    temporary = f".{name}.{os.urandom(6).hex()}.tmp"
    fd = os.open(temporary, NEW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise


def tidy(folder: int) -> None:
    """Remove files until the folder is within its bounds (ROOM, FILES). Another process may do the same at the same time. Raises
    OSError."""
    files: list[tuple[int, int, str]] = []  # time of last use in nanoseconds, size in bytes, name
    for name in os.listdir(folder):
        if not name.endswith((".code", ".tmp")):
            continue
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if name.endswith(".tmp") and status.st_mtime < time.time() - ABANDONED:
                os.unlink(name, dir_fd=folder)
            else:
                files.append((status.st_mtime_ns, status.st_size, name))
    total = 0
    for position, (_, size, name) in enumerate(sorted(files, reverse=True)):
        total += size
        if total > ROOM or position >= FILES:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
