"""Performs `std::fs` (L-7.3), the files of `std::media` (O-1.206) and the commands of ShellTool (O-4.35): turns what an operation
gives, or its failure, into a value.

Hands on the performers to `table.py`, `perform` also to the performer of persistent hashmaps (`memories.py`), and `session_files`
to that of agents. An effect is what the machine asks the session to do for a task, and its payload says what. The operations, and
which paths they may reach, are `access/files.py`, in a test `tests.py: TestFiles`; a failed one is an Err of FsError or
MediaError. Processes are started by `agents/children.py`, without a shell.
"""

from __future__ import annotations

import posixpath

from ...vm.panics import Panic
from ...vm.values import Array, Err, ErrorValue, Media, Ok
from ..access.files import Failed, Files
from ..access.permissions import Denied, denied_error, denied_panic
from ..access.rights import session_of
from ..access.roots import Unsupported
from ..access.secrets import whole_text
from ..agents.children import NotStarted, environment, split_command, start_process
from .tests import EMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..agents.child import Child
    from ..running import EffectContext


INPUT = "/dev/stdin"
MEDIA = "read_media"


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Perform an operation of `std::fs`, or read the file of a Media (O-1.206). The payload is (operation, path, and the other
    arguments of the function). Return its Result, or the Bool of `exists`, which has no Result: there a denial is panic P407, and
    a system that cannot keep paths inside a root panic P013."""
    operation, path, *rest = effect.payload
    try:
        value = await session_files(run).access(operation, path, rest, run)
    except Unsupported as unsupported:
        if operation == "exists":
            raise run.machine.placed(effect.task, Panic("P013", unsupported.message)) from None
        return Err(ErrorValue(_family(operation), "Unsupported", unsupported.message, {"path": path}))
    except Denied as denied:
        if operation == "exists":
            raise denied_panic(run, effect, denied) from None
        return denied_error(_family(operation), denied, path=path)
    except Failed as failed:
        return False if operation == "exists" else Err(_error(operation, path, failed))
    if operation == "exists":
        return value
    if operation == MEDIA:
        return Ok(Media.holding(value, posixpath.basename(path)))
    return Ok(Array(value) if operation == "list_dir" else value)


def session_files(run: EffectContext) -> Files:
    """Return the files of the session, in a test those of the test. Raises Unsupported on a system that cannot keep paths inside
    a root, and Failed for a test that can have no folder of its own."""
    files: Files | None = run.state.get("file")
    if files is None:  # the roots are opened now, before the first operation could change what they name
        files = run.state["file"] = _files_of(session_of(run))
    return files


def _files_of(run: EffectContext) -> Files:
    if EMITS not in run.state:
        return Files(run)
    from .tests import TestFiles

    return TestFiles(run)


def _family(operation: str) -> str:
    return "MediaError" if operation == MEDIA else "FsError"


def _error(operation: str, path: str, failed: Failed) -> ErrorValue:
    hint = "; standard input is read with `std::io::read_all()`" if path == INPUT else ""
    place = f"{path}: " if path else ""  # `temp_dir` takes none
    return ErrorValue(_family(operation), failed.variant, f"{place}{failed.reason}{hint}", {"path": path})


# Commands of ShellTool: started from their words, without a shell, read to their end within a time limit (O-4.35, G-11.1).

MOST_BYTES = 1024 * 1024  # of output (G-6.1)
PLACE = {"tool": "ShellTool", "method": "exec"}


async def perform_commands(run: EffectContext, effect: Effect) -> Any:
    """Run a command, for at most the milliseconds of the effect, and return the Ok of its standard output when it exits with 0,
    else an Err of ToolError: ExecutionFailed, as for an output of more than MOST_BYTES bytes, InvalidArguments for a text that
    cannot be split into words, PermissionDenied, Timeout, or Unsupported on a system that cannot end what it starts. The payload
    is (command, milliseconds). All processes of the command have been stopped by then. Only exceptions of a host's own `children`
    are raised."""
    command, timeout_ms = effect.payload
    try:
        words = split_command(command)
    except ValueError as error:
        return _failed("InvalidArguments", f"the command cannot be split into words: {error}")
    try:
        child = await start_process(run, PLACE["tool"], words, environment(run, PLACE["tool"], {}), run.host.folder)
    except Denied as denied:
        return denied_error("ToolError", denied, **PLACE)
    except Unsupported as unsupported:
        return _failed("Unsupported", unsupported.message)
    except NotStarted as failure:
        return _failed("ExecutionFailed", run.redactor.clean(failure.message))
    try:
        return await _output(child, words[0], timeout_ms)
    finally:
        await child.stop()


async def _output(child: Child, name: str, timeout_ms: int) -> Any:
    import asyncio

    from ..agents.child import OutputTooLong

    try:
        async with asyncio.timeout(timeout_ms / 1000):
            output = await child.output(MOST_BYTES)
    except TimeoutError:
        return _failed("Timeout", f"{name} has not ended within {timeout_ms} ms")
    except OutputTooLong:
        return _failed("ExecutionFailed", f"{name} wrote more than {MOST_BYTES} bytes")
    text = whole_text(output.decode("utf-8", "replace"))
    if child.exit_code == 0:
        return Ok(text)
    await child.stop()  # after it all that the command wrote to its standard error has been read
    code = child.exit_code
    assert code is not None
    how = f"exit status {code}" if code >= 0 else f"ended by signal {-code}"
    return _failed("ExecutionFailed", f"{how}: {text}{whole_text(child.stderr)}")


def _failed(variant: str, message: str) -> Err:
    return Err(ErrorValue("ToolError", variant, message, dict(PLACE)))
