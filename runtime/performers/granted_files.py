"""The files of a session: each path is found in a granted root and walked from there (L-7.3, G-8.2).

Hands on `Files`. Must not know: effects, how a path is walked, what an operation does.
"""

from __future__ import annotations

import errno
import os

from ...vm.values.limits import with_strings_of
from ..files.operations import OPERATIONS, failure_of
from ..files.roots import Roots
from ..files.walk import Outside, Spot, walk
from ..guard import Access, guarded, permissions_of
from ..links import is_too_long

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..running import Running

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

