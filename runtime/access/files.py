"""What `std::fs` does at a spot: plain data in, plain data out, `Failed` with a variant of FsError (L-7.3, G-8.2).

Only regular files and directories are opened.
"""

from __future__ import annotations

import errno
import os
import stat

from ...vm.values.limits import limits, with_strings_of
from .permissions import Access, guarded, permissions_of
from .roots import Roots, flag, is_too_long

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..running import Running
    from .roots import Root


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


# A path walked component by component from the descriptor of a root, links resolved on the way and never left to the system
# (G-8.2).

MOST_LINKS = 40
STEP = os.O_RDONLY | flag("O_DIRECTORY") | flag("O_NOFOLLOW") | flag("O_NONBLOCK") | flag("O_CLOEXEC")


class Outside(Exception):
    """The path leads out of the root."""


class Spot:
    """Where a path ends: an open directory and a name in it that is no link, or `.`. A context manager that closes it."""

    __slots__ = ("fd", "name")

    def __init__(self, fd: int, name: str) -> None:
        self.fd = fd
        self.name = name

    def __enter__(self) -> Spot:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def walk(root: Root, components: Sequence[str], *, follow: bool = True) -> Spot:
    """Raises Outside, or OSError where a component is missing. Without `follow` a link at the end is not resolved."""
    walker = _Walk(root, components, follow)
    try:
        return walker.run()
    finally:
        for fd in walker.open:
            os.close(fd)


class _Walk:
    """`open` holds a descriptor per directory on the way, `names` what each but the first is called."""

    def __init__(self, root: Root, components: Sequence[str], follow: bool) -> None:
        self.root = root
        self.follow = follow
        self.pending = list(components)[::-1]
        self.open = [os.dup(root.fd)]
        self.names: list[str] = []
        self.links = 0

    def run(self) -> Spot:
        name = "."
        while self.pending:
            part = self.pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                self._up()
            elif not self._through_link(part):
                if not self.pending:
                    name = part
                    break
                self._down(part)
        reached = [*self.names, *([] if name == "." else [name])]
        if tuple(reached[: len(self.root.tail)]) != self.root.tail:
            raise Outside
        return Spot(self.open.pop(), name)

    def _up(self) -> None:
        if not self.names:
            raise Outside
        self.names.pop()
        os.close(self.open.pop())

    def _down(self, part: str) -> None:
        self.open.append(os.open(part, STEP, dir_fd=self.open[-1]))
        self.names.append(part)

    def _through_link(self, part: str) -> bool:
        """Puts the target of a link in its place."""
        if not self.follow and not self.pending:
            return False
        try:
            target = os.readlink(part, dir_fd=self.open[-1])
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return False
            raise
        self.links += 1
        if self.links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self.pending.extend(reversed(self._from_root(target) if target.startswith("/") else target.split("/")))
        return True

    def _from_root(self, target: str) -> list[str]:
        """An absolute target starts anew at the root, or leads out of it."""
        components = self.root.below_base(os.path.normpath(target))
        if components is None:
            raise Outside
        while self.names:
            self._up()
        return components


# The files of a session: each path is found in a granted root and walked from there (L-7.3, G-8.2).

WRITING = ("write_file", "append_file", "remove_file", "write_bytes", "make_dir", "remove_dir", "temp_dir")
EVERYTHING = ("/",)


class Files:
    """The granted roots of a session. They are opened before the first of its file operations, so none can change them."""

    def __init__(self, run: Running) -> None:
        self.run = run
        self.made: list[str] = []  # directories of `temp_dir`, which end with the run
        self.roots = {
            name: Roots(run.host.folder, EVERYTHING if scope is True else scope or ())
            for name, scope in (
                ("fs:read", permissions_of(run).scopes["fs_read"]),
                ("fs:write", permissions_of(run).scopes["fs_write"]),
            )
        }

    async def access(self, operation: str, path: str, arguments: list[Any]) -> Any:
        if operation == "temp_dir":
            return await self._temporary()
        capability = "fs:write" if operation in WRITING else "fs:read"
        access = Access(capability, path, "audit:file_access", {"operation": operation, "path": path})
        reached = self._reach(capability, path, OPERATIONS[operation][1])

        async def perform() -> Any:
            return with_strings_of(self.run.machine.value_bytes, lambda: self.perform(operation, path, reached, arguments))

        try:
            return await guarded(self.run, access, self.allows(operation, path, reached), perform)
        except OSError as error:
            raise failure_of(error) from None

    def allows(self, operation: str, path: str, reached: Spot | OSError | None) -> bool:
        return reached is not None

    def perform(self, operation: str, path: str, reached: Spot | OSError | None, arguments: list[Any]) -> Any:
        """An operation that is allowed."""
        function, follow = OPERATIONS[operation]
        if operation == "make_dir" and isinstance(reached, OSError) and reached.errno == errno.ENOENT:
            above = os.path.dirname(path.rstrip("/"))
            self.perform(operation, above, self._reach("fs:write", above, True), [])
            reached = self._reach("fs:write", path, follow)
        if not isinstance(reached, Spot):
            raise reached or OSError(errno.ENOENT, "no such file or directory")
        with reached:
            return function(reached, *arguments)

    async def _temporary(self) -> str:
        """Who may write anywhere may write in a directory of the run's own, which it may read too (L-7.3.8)."""
        import tempfile

        base = tempfile.gettempdir()
        access = Access("fs:write", base, "audit:file_access", {"operation": "temp_dir", "path": base})

        async def perform() -> str:
            made = os.path.realpath(tempfile.mkdtemp(prefix="concerto-"))
            self.made.append(made)
            for roots in self.roots.values():
                roots.add(made)
            return made

        return await guarded(self.run, access, bool(permissions_of(self.run).scopes["fs_write"]), perform)

    def _reach(self, capability: str, path: str, follow: bool) -> Spot | OSError | None:
        """Where the path ends in a granted root, or why it cannot be walked; None when it is in none or leads out. One root
        that it leads out of does not keep another from granting it (G-8.9)."""
        if "\0" in path:
            return OSError(errno.EINVAL, "a path holds no NUL")
        if is_too_long(path):
            return OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        failure: OSError | None = None
        for root, components in self.roots[capability].find(path):
            try:
                return walk(root, components, follow=follow)
            except Outside:
                continue
            except OSError as error:
                failure = failure or error
        return failure

    def close(self) -> None:
        for roots in self.roots.values():
            roots.close()
        for made in self.made:
            from shutil import rmtree

            rmtree(made, ignore_errors=True)
