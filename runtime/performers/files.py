"""`std::fs`: each path is found in a granted root and walked from there (L-7.3, G-8.2).

Must not know: how a path is walked, what an operation does.
"""

from __future__ import annotations

import errno

from ...vm.panics import Panic
from ...vm.values import Array, Err, ErrorValue, Ok
from ...vm.values.limits import with_strings_of
from ..files.operations import OPERATIONS, Failed, failure_of
from ..files.roots import Roots
from ..files.walk import Outside, Spot, walk
from ..guard import Access, Denied, denied_error, denied_panic, guarded, permissions_of
from ..system import Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running

WRITING = ("write_file", "append_file", "remove_file")
EVERYTHING = ("/",)


async def perform(run: Running, effect: Effect) -> Any:
    operation, path, *rest = effect.payload
    try:
        files = run.state.get("file")
        if files is None:
            files = run.state["file"] = Files(run)
        found = await files.access(operation, path, rest)
    except Unsupported as unsupported:
        if operation == "exists":
            raise run.machine.placed(effect.task, Panic("P013", unsupported.message)) from None
        return Err(ErrorValue("FsError", "Unsupported", unsupported.message, {"path": path}))
    except Denied as denied:
        if operation == "exists":
            raise denied_panic(run, effect, denied) from None
        return denied_error("FsError", denied, path=path)
    except Failed as failed:
        return False if operation == "exists" else Err(_error(path, failed))
    if operation == "exists":
        return found
    return Ok(Array(found) if operation == "list_dir" else found)


def _error(path: str, failed: Failed) -> ErrorValue:
    return ErrorValue("FsError", failed.variant, f"{path}: {failed.reason}", {"path": path})


class Files:
    """The granted roots of a session. They are opened before the first of its file operations, so none can change them."""

    def __init__(self, run: Running) -> None:
        self.run = run
        self.roots = {
            name: Roots(run.host.folder, EVERYTHING if scope is True else scope or ())
            for name, scope in (
                ("fs:read", permissions_of(run).scopes["fs_read"]),
                ("fs:write", permissions_of(run).scopes["fs_write"]),
            )
        }

    async def access(self, operation: str, path: str, arguments: list[Any]) -> Any:
        capability = "fs:write" if operation in WRITING else "fs:read"
        access = Access(capability, path, "audit:file_access", {"operation": operation, "path": path})
        function, follow = OPERATIONS[operation]
        reached = self._reach(capability, path, follow)

        async def perform() -> Any:
            if not isinstance(reached, Spot):
                raise reached or OSError
            with reached:
                return with_strings_of(self.run.machine.value_bytes, lambda: function(reached, *arguments))

        try:
            return await guarded(self.run, access, reached is not None, perform)
        except OSError as error:
            raise failure_of(error) from None

    def _reach(self, capability: str, path: str, follow: bool) -> Spot | OSError | None:
        """Where the path ends in a granted root, or why it cannot be walked; None when it is in none or leads out. One root
        that it leads out of does not keep another from granting it (G-8.9)."""
        if "\0" in path:
            return OSError(errno.EINVAL, "a path holds no NUL")
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

