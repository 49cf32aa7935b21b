"""The files of a session: a path is found in a granted root, walked from there without leaving it, and operated on (L-7.3,
G-8.2).

Hands on `Files` and `Failed` to the performer of `std::fs` (`effects/files.py`) and to the files of agents (`agents/files.py`),
and these with `OPERATIONS`, WRITING, `Spot`, `own_directory`, `make_dirs` and `read_bytes` to the files of tests
(`effects/tests.py`). An operation takes and gives plain data; it raises Failed with a variant of FsError, or of MediaError, or
the OSError of the system, which `failure_of` translates. It blocks the loop until it is done. Links are resolved here, component
by component; the system must never follow one. Only regular files and directories are operated on, but removing takes away links
and pipes too. WRITING goes to `journal/border.py` too. A new operation is a function here, a row in OPERATIONS and, if it changes
anything, a name in WRITING.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from ...vm.record import record
from ...vm.values.limits import limits, with_strings_of
from ...vm.values.media import MOST_BYTES, Refused, content_of, too_large
from .permissions import NOTHING, Access, Limited, guarded, permissions_of
from .roots import ANCHOR, Roots, flag, is_too_long

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ...vm.values.media import Content
    from ..running import EffectContext
    from .permissions import Permissions
    from .roots import Root


# Flags of `os.open`; O_NONBLOCK keeps a pipe from holding the loop up.
NO_LINKS = flag("O_NOFOLLOW") | flag("O_CLOEXEC")
READ = os.O_RDONLY | NO_LINKS | flag("O_NONBLOCK")
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_LINKS | flag("O_NONBLOCK")
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS


class Failed(Exception):
    """An operation that failed: the `variant` of FsError (here NotFound, NotAFile, Io or InvalidUtf8; in a test Unsupported too),
    of `read_media` that of MediaError, and the `reason`, without the path."""

    def __init__(self, variant: str, reason: str) -> None:
        super().__init__(reason)
        self.variant = variant
        self.reason = reason


def failure_of(error: OSError) -> Failed:
    """Return an error of the system as a Failed: NotFound when something of the path is missing or no directory, NotAFile for a
    directory, Io for anything else."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Failed("NotFound", "no such file or directory")
    if error.errno == errno.EISDIR:
        return Failed("NotAFile", "not a file")
    return Failed("Io", (error.strerror or "not possible").lower())


def read_file(spot: Spot) -> str:
    """Return the text of a file. Raises as `read_bytes`, and Failed (InvalidUtf8) when it is no UTF-8."""
    data = read_bytes(spot)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Failed("InvalidUtf8", f"no UTF-8 at byte {error.start}") from None


def read_bytes(spot: Spot) -> bytes:
    """Return the bytes of a file. Failed (Io) when they are more than a String may hold (`limits.string`, in bytes), Failed
    (NotAFile) when it is no regular file."""
    with _regular(spot, READ) as file:
        data = _read(file, limits.string + 1)
    if len(data) > limits.string:
        raise Failed("Io", f"larger than a String may be ({limits.string} bytes)")
    return data


def read_media(spot: Spot, kind: str) -> Content:
    """Return the content of a file (its kind, MIME type and bytes), which is to be of `kind`: image, audio or document (O-1.200).
    A file of more than MOST_BYTES bytes is not read. Failed (UnknownContent, OtherKind or TooLarge) for another content, Failed
    (NotAFile) when it is no regular file."""
    with _regular(spot, READ) as file:
        size = os.fstat(file.fileno()).st_size
        data = b"" if size > MOST_BYTES else _read(file, MOST_BYTES + 1)
    try:
        return content_of(kind, data) if size <= MOST_BYTES else too_large(size)
    except Refused as refused:
        raise Failed(refused.variant, refused.reason) from None


def _regular(spot: Spot, flags: int) -> Any:
    """Return the file at a spot, opened in binary mode: to append when `flags` has O_APPEND, else to read. Failed (NotAFile)
    unless it is a regular one."""
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


def _read(file: Any, most: int) -> bytes:
    """Return what a file of `_regular` has, at most so many bytes. OSError where the system would make it wait, as for some files
    of `/proc`."""
    data: bytes | None = file.read(most)
    if data is None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return data


def write_file(spot: Spot, text: str) -> None:
    """Write a text in UTF-8, as `write_bytes` does."""
    write_bytes(spot, text.encode())


def write_bytes(spot: Spot, data: bytes) -> None:
    """Write a new file beside the old one, if there is one, and put it in its place: readers see one or the other. The
    permission bits of the old file stay. Failed (NotAFile) where something else than a regular file is."""
    mode = _mode(spot)
    if spot.name == "." or not (mode is None or stat.S_ISREG(mode)):
        raise Failed("NotAFile", "not a file")
    temporary = f".{os.urandom(6).hex()}.tmp"  # without the name of the file, which may be as long as a name can be
    fd = os.open(temporary, NEW, 0o666, dir_fd=spot.fd)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(fd, stat.S_IMODE(mode))
            file.write(data)
        os.replace(temporary, spot.name, src_dir_fd=spot.fd, dst_dir_fd=spot.fd)
    except BaseException:
        os.unlink(temporary, dir_fd=spot.fd)
        raise


def append_file(spot: Spot, text: str) -> None:
    """Append a text in UTF-8; make the file if there is none. Failed (NotAFile) unless it is a regular one."""
    with _regular(spot, APPEND) as file:
        file.write(text.encode())


def remove_file(spot: Spot) -> None:
    """Remove a file or whatever else is no directory, of a link the link itself. Failed (NotAFile) for a directory, the OSError
    of the system where there is nothing."""
    mode = _mode(spot)
    if spot.name == "." or (mode is not None and stat.S_ISDIR(mode)):
        raise Failed("NotAFile", "not a file")
    os.unlink(spot.name, dir_fd=spot.fd)


def exists(spot: Spot) -> bool:
    """Return whether there is a regular file or a directory at the spot."""
    mode = _mode(spot)
    return mode is not None and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def list_dir(spot: Spot) -> list[str]:
    """Return the names in a directory in code-point order; what of them is no UTF-8 becomes U+FFFD (O-0.6). Failed (Io) when it
    is no directory, or has more names than an Array may hold."""
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
    """Return the size of a file in bytes. Failed (NotAFile) unless it is a regular one."""
    status = os.stat(spot.name, dir_fd=spot.fd, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise Failed("NotAFile", "not a file")
    return status.st_size


def make_dir(spot: Spot) -> None:
    """Make one directory, or do nothing if it exists. Failed (Io) when there is a file."""
    mode = _mode(spot)
    if mode is None:
        os.mkdir(spot.name, dir_fd=spot.fd)
    elif not stat.S_ISDIR(mode):
        raise Failed("Io", "there is a file of that name")


def remove_dir(spot: Spot, recursive: bool) -> None:
    """Remove a directory; with `recursive` all that is in it too, without it the OSError of a directory that is not empty passes
    through. Failed (NotFound) when there is nothing, Failed (Io) for what is no directory and for a granted directory itself."""
    mode = _mode(spot)
    if mode is None:
        raise Failed("NotFound", "no such file or directory")
    if spot.name == "." or not stat.S_ISDIR(mode):
        raise Failed("Io", "a granted directory itself is not removed" if spot.name == "." else "not a directory")
    if recursive:
        _empty(spot)
    os.rmdir(spot.name, dir_fd=spot.fd)


def _empty(spot: Spot) -> None:
    """Remove all that is in a directory, following no link. However deep it is, two descriptors are open at once: the way back up
    is `..`, which has to be the directory that the way down came through, else OSError."""
    names: list[str] = []
    identities: list[tuple[int, int]] = []
    fd = os.open(spot.name, STEP, dir_fd=spot.fd)
    try:
        while True:
            inner = _remove_files(fd)
            if inner is not None:
                names.append(inner)
                identities.append(_identity(fd))
                fd = _replaced(fd, inner)
            elif names:
                fd = _replaced(fd, "..")
                if _identity(fd) != identities.pop():
                    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
                os.rmdir(names.pop(), dir_fd=fd)
            else:
                return
    finally:
        os.close(fd)


def _remove_files(fd: int) -> str | None:
    """Remove what is in a directory up to the first directory in it, and return the name of that; None when it is empty."""
    while True:
        is_empty = True
        with os.scandir(fd) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    return entry.name
                os.unlink(entry.name, dir_fd=fd)
                is_empty = False
        if is_empty:
            return None


def _replaced(fd: int, name: str) -> int:
    """Return a descriptor of a directory in, or above, the one with this descriptor, which is closed then."""
    other = os.open(name, STEP, dir_fd=fd)
    os.close(fd)
    return other


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


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
    "make_dir": (make_dir, True), "remove_dir": (remove_dir, False), "read_media": (read_media, True),
}  # fmt: skip


MOST_LINKS = 40  # on the way of one path, so that a circle of links ends
MOST_OPEN = 32  # descriptors of one walk: a path may have more components than a process may have descriptors
STEP = os.O_RDONLY | flag("O_DIRECTORY") | flag("O_NOFOLLOW") | flag("O_NONBLOCK") | flag("O_CLOEXEC")


class Outside(Exception):
    """The path leads out of the root that it was looked for in."""


@record
class Spot:
    """Where a path ends: the descriptor `fd` of an open directory, and a `name` in it, or `.` for the directory itself. There may
    be nothing of that name; it is a link only if the walk was not to follow one. As a context manager it closes the
    descriptor."""

    fd: int
    name: str

    def __enter__(self) -> Spot:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def walk(root: Root, components: Sequence[str], *, follow: bool = True, make: bool = False) -> Spot:
    """Walk from a root along `components`, which begin at its descriptor, and return where the path ends; the caller closes the
    Spot. Without `follow` a link at the end is not resolved; with `make` directories that are missing on the way are made.

    Raises Outside when the path leaves the root, and OSError when a component other than the last is missing or no directory, or
    for more than MOST_LINKS links."""
    walker = _Walk(root, components, follow, make)
    try:
        return walker.run()
    finally:
        for fd in walker.open:
            os.close(fd)


class _Walk:
    """One walk. `pending` are the components that are left, the next one last; `names` leads from the root to the directory that
    is reached; `open` has the descriptors of the last directories on the way, at most MOST_OPEN; `links` counts the links so
    far."""

    def __init__(self, root: Root, components: Sequence[str], follow: bool, make: bool) -> None:
        self.root = root
        self.follow = follow
        self.make = make
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
        # the descriptor of the root may be of a directory above the granted path
        if tuple(reached[: len(self.root.tail)]) != self.root.tail:
            raise Outside
        return Spot(self.open.pop(), name)

    def _up(self) -> None:
        if not self.names:
            raise Outside
        self.names.pop()
        if len(self.open) > 1:
            os.close(self.open.pop())
            return
        self._back()
        for name in self.names:
            self._step(name)

    def _back(self) -> None:
        """Go back to the root; `names` stays."""
        self.open.append(os.dup(self.root.fd))
        while len(self.open) > 1:
            os.close(self.open.pop(0))

    def _down(self, part: str) -> None:
        try:
            self._step(part)
        except FileNotFoundError:
            if not self._may_make(part):
                raise
            with suppress(FileExistsError):  # somebody else has made it meanwhile
                os.mkdir(part, dir_fd=self.open[-1])
            self._step(part)
        self.names.append(part)

    def _step(self, part: str) -> None:
        # STEP refuses links: one that somebody puts here after `_through_link` looked is an error, and not followed
        self.open.append(os.open(part, STEP, dir_fd=self.open[-1]))
        if len(self.open) > MOST_OPEN:
            os.close(self.open.pop(0))

    def _may_make(self, part: str) -> bool:
        """Return whether a missing directory may be made: it is the granted path or below, and nothing leads up again."""
        tail = self.root.tail
        return self.make and ".." not in self.pending and (*self.names, part)[: len(tail)] == tail

    def _through_link(self, part: str) -> bool:
        """Replace a link by its target and return True; False when the component is no link, or one that is not to be
        followed."""
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
        """Return the components of an absolute target, for which the walk goes back to the root. Raises Outside."""
        components = self.root.below_base(os.path.normpath(target))
        if components is None:
            raise Outside
        self.names.clear()
        self._back()
        return components


def make_dirs(path: str) -> None:
    """Make a directory of the host, and those above it that are missing; do nothing if it exists. The path is taken from the
    working directory if it is relative. Raises OSError."""
    missing: list[str] = []
    path = os.path.abspath(path)
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        os.mkdir(each)


def own_directory(prefix: str) -> str:
    """Make a directory among those for temporary files, whose name begins with `prefix`, and return its path without links.
    Raises Failed (Io)."""
    import tempfile

    try:
        return os.path.realpath(tempfile.mkdtemp(prefix=prefix))
    except OSError as error:
        raise Failed("Io", f"no temporary directory can be made: {failure_of(error).reason}") from None


# The operations that need the capability `fs:write`; the others need `fs:read`.
WRITING = ("write_file", "append_file", "remove_file", "write_bytes", "make_dir", "remove_dir", "temp_dir")
EVERYTHING = ("/",)


class Files:
    """The granted roots of a session, by the name of the capability. They are opened when the object is made, before its first
    operation on files, so no operation can change what they name; Unsupported is raised then where the system cannot keep paths
    inside a root. `made` are the paths of temporary directories, which `close` removes."""

    def __init__(self, run: EffectContext) -> None:
        self.run = run
        self.made: list[str] = []
        permissions = permissions_of(run)
        self.roots = self._opened(permissions)
        # Those of libraries, by name: what their code reaches must lie in these too (P-3.2).
        self.of_libraries = {
            library.name: self._opened(permissions.libraries.get(library.name, NOTHING))
            for library in run.program.image.libraries
        }

    def _opened(self, permissions: Permissions) -> dict[str, Roots]:
        return {
            name: Roots(self.run.host.folder, EVERYTHING if scope is True else scope or ())
            for name, scope in (("fs:read", permissions.scopes["fs_read"]), ("fs:write", permissions.scopes["fs_write"]))
        }

    async def access(self, operation: str, path: str, arguments: list[Any], run: EffectContext) -> Any:
        """Perform an operation (a key of OPERATIONS, or `temp_dir`) under the permissions of `run`, the session or a view of it,
        and return what it gives; `arguments` are those behind the path. Raises Denied and Failed, and what the host's sink of the
        audit record raises."""
        if operation == "temp_dir":
            return await self._temporary(run)
        capability = "fs:write" if operation in WRITING else "fs:read"
        access = Access(capability, path, "audit:file_access", {"operation": operation, "path": path})
        reached = self._reach(capability, path, OPERATIONS[operation][1])

        async def perform() -> Any:
            try:
                return with_strings_of(self.run.machine.value_bytes, lambda: self.perform(operation, path, reached, arguments))
            except OSError as error:  # here alone: one of the sink that gets the audit record is no failure of a file
                raise failure_of(error) from None

        try:
            allowed = self.allows(operation, path, reached) and self._allows_libraries(run, capability, path, operation, reached)
            return await guarded(run, access, allowed, perform)
        finally:
            if isinstance(reached, Spot):
                os.close(reached.fd)

    def _allows_libraries(
        self, run: EffectContext, capability: str, path: str, operation: str, reached: Spot | OSError | None
    ) -> bool:
        """Return whether a path is inside a granted root of each library whose code acts."""
        permissions = permissions_of(run)
        for name in permissions.names if isinstance(permissions, Limited) else ():
            own = self._reach(capability, path, OPERATIONS[operation][1], roots=self.of_libraries[name])
            if own is None:
                return False
            if isinstance(own, Spot):
                with own:
                    # The two walks must end at the same place: what lies on the way may have changed between them.
                    if isinstance(reached, Spot) and (_identity(own.fd), own.name) != (_identity(reached.fd), reached.name):
                        return False
        return True

    def allows(self, operation: str, path: str, reached: Spot | OSError | None) -> bool:
        """Return whether a path is inside a granted root. The files of tests replace this method and `perform`. `reached` is what
        `_reach` gave for it; what can be no path counts as inside, and fails later."""
        return reached is not None

    def perform(self, operation: str, path: str, reached: Spot | OSError | None, arguments: list[Any]) -> Any:
        """Perform an operation (a key of OPERATIONS) that is permitted; `reached`, which is as in `allows`, stays open.
        `make_dir` makes the directories above, too. Raises Failed and OSError."""
        function, follow = OPERATIONS[operation]
        if operation == "make_dir" and isinstance(reached, OSError) and reached.errno == errno.ENOENT:
            made = self._reach("fs:write", path, follow, make=True)
            if isinstance(made, Spot):
                with made:
                    return function(made)
            reached = made
        if not isinstance(reached, Spot):
            raise reached or OSError(errno.ENOENT, "no such file or directory")
        return function(reached, *arguments)

    async def _temporary(self, run: EffectContext) -> str:
        """Make a directory for the run and return its path. A run that may write anywhere may write there, and read (L-7.3.8)."""
        import tempfile

        try:
            base = tempfile.gettempdir()
        except OSError:  # no directory can be written: `perform` will say so, if it is permitted at all
            base = "/tmp"
        access = Access("fs:write", base, "audit:file_access", {"operation": "temp_dir", "path": base})

        async def perform() -> str:
            folder = own_directory("concerto-")
            self.made.append(folder)
            try:
                for roots in self._all_roots(permissions.names if isinstance(permissions, Limited) else ()):
                    roots.add(folder)
            except OSError as error:
                raise failure_of(error) from None
            return folder

        permissions = permissions_of(run)
        return await guarded(run, access, bool(permissions.scopes["fs_write"]), perform)

    def _all_roots(self, libraries: Iterable[str]) -> list[Roots]:
        """Return the roots of the run, and of these libraries."""
        return [roots for opened in (self.roots, *(self.of_libraries[name] for name in libraries)) for roots in opened.values()]

    def _reach(
        self, capability: str, path: str, follow: bool, make: bool = False, roots: dict[str, Roots] | None = None
    ) -> Spot | OSError | None:
        """Return where a path ends in a granted root, or why it cannot be walked; None when it is in no root or leaves it. That
        it leaves one root does not keep another from granting it (G-8.9). `follow` and `make` are as in `walk`; `roots` are by
        default those of the run."""
        if "\0" in path:
            return OSError(errno.EINVAL, "a path holds no NUL")
        if is_too_long(path):
            return OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        failure: OSError | None = None
        for root, components in (self.roots if roots is None else roots)[capability].find(path):
            try:
                return walk(root, components, follow=follow, make=make)
            except Outside:
                continue
            except OSError as error:
                failure = failure or error
        return failure

    def close(self) -> None:
        """Close the roots and remove the temporary directories; what cannot be removed stays."""
        for roots in self._all_roots(self.of_libraries):
            roots.close()
        for folder in self.made:
            from shutil import rmtree

            above, name = os.path.split(folder)
            with suppress(OSError, Failed), Spot(os.open(above, ANCHOR), name) as spot:  # the program may have removed it
                remove_dir(spot, True)
                continue
            with suppress(RecursionError):  # what can be removed of it
                rmtree(folder, ignore_errors=True)
