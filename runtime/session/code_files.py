"""The files of translated code: a folder that its user alone can write, content behind a digest (G-3.7).

Hands on `read` and `write`. Must not know: how code is translated, what a file is for.
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
ROOM, FILES = 64 << 20, 500  # bytes and files of the folder; the longest unused go first
ABANDONED = 3600  # seconds after which a file that nobody finished goes
READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class Unusable(Exception):
    """Why a folder or a file of it is left alone."""


def read(path: str, name: str, key: bytes) -> Any:
    """What a file holds; raises Unusable and OSError."""
    folder = opened(path)
    try:
        found = content(folder, name, key)
        with suppress(OSError):  # it may be read where nothing can be written
            os.utime(name, dir_fd=folder)
    finally:
        os.close(folder)
    return found


def write(path: str, name: str, key: bytes, value: Any) -> None:
    """Keep plain data with code objects, in a folder that is made if there is none; raises Unusable and OSError."""
    try:
        data = framed(key, marshal.dumps(value))
    except ValueError as error:
        raise Unusable(str(error)) from None
    os.makedirs(path, 0o700, exist_ok=True)
    folder = opened(path)
    try:
        written(folder, name, data)
        tidy(folder)
    finally:
        os.close(folder)


def opened(folder: str) -> int:
    """A folder that this user alone can write, so that nobody else has put anything into it (G-3.7). Rights of others by access
    lists show in the bits of the group."""
    if not hasattr(os, "geteuid") or os.open not in os.supports_dir_fd:
        raise Unusable("this system does not tell who can write a folder")
    fd = os.open(folder, READ | os.O_DIRECTORY)
    try:
        check(os.fstat(fd), folder)
    except Unusable:
        os.close(fd)
        raise
    return fd


def check(found: os.stat_result, name: str) -> None:
    if found.st_uid != os.geteuid():
        raise Unusable(f"{name} belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unusable(f"{name} can be written by others")


def content(folder: int, name: str, key: bytes) -> Any:
    fd = os.open(name, READ, dir_fd=folder)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        check(found, name)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise Unusable(f"{name} is no file of translated code")
        data = file.read(LARGEST + 1)
    return unframed(key, data, name)


def framed(key: bytes, body: bytes) -> bytes:
    data: bytes = MAGIC + key + sha256(key + body).digest() + body
    if len(data) > LARGEST:
        raise Unusable(f"it has {len(data)} bytes, the limit is {LARGEST}")
    return data


def unframed(key: bytes, data: bytes, name: str) -> Any:
    """The body, once its digest fits: marshal itself may crash on damaged data."""
    start = len(MAGIC) + DIGEST
    body = memoryview(data)[start + DIGEST :]
    if data[:start] != MAGIC + key or data[start : start + DIGEST] != sha256(key + bytes(body)).digest():
        raise Unusable(f"{name} is damaged")
    return marshal.loads(body)


def written(folder: int, name: str, data: bytes) -> None:
    """A new file that takes the place of the old one: readers see one or the other, whoever else writes."""
    made = f".{name}.{os.urandom(6).hex()}.tmp"
    fd = os.open(made, NEW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(made, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(made, dir_fd=folder)
        raise


def tidy(folder: int) -> None:
    """Keep the folder within its bounds; what other processes remove meanwhile is gone already."""
    kept: list[tuple[int, int, str]] = []
    for name in os.listdir(folder):
        if not name.endswith((".code", ".tmp")):
            continue
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if name.endswith(".tmp") and found.st_mtime < time.time() - ABANDONED:
                os.unlink(name, dir_fd=folder)
            else:
                kept.append((found.st_mtime_ns, found.st_size, name))
    total = 0
    for position, (_, size, name) in enumerate(sorted(kept, reverse=True)):
        total += size
        if total > ROOM or position >= FILES:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
