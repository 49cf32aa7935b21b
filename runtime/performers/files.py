"""`std::fs` (L-7.3): which files, and what becomes of what an operation gives.

Must not know: how a path is walked, what an operation does.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.values import Array, Err, ErrorValue, Ok
from ..files.operations import Failed
from ..guard import Denied, denied_error, denied_panic
from ..system import Unsupported
from .granted_files import Files
from .tests import EMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running

INPUT = "/dev/stdin"


async def perform(run: Running, effect: Effect) -> Any:
    operation, path, *rest = effect.payload
    try:
        files = run.state.get("file")
        if files is None:
            files = run.state["file"] = _files_of(run)
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


def _files_of(run: Running) -> Files:
    if EMITS not in run.state:
        return Files(run)
    from .files_of_tests import TestFiles

    return TestFiles(run)


def _error(path: str, failed: Failed) -> ErrorValue:
    hint = "; standard input is read with `std::io::read_all()`" if path == INPUT else ""
    return ErrorValue("FsError", failed.variant, f"{path}: {failed.reason}{hint}", {"path": path})
