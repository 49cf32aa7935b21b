"""`std::io` (L-7.11): lines and texts of standard input, as the host hands it on.

Must not know: where it comes from, who may have it.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.values import NONE, Err, ErrorValue, Ok, Some
from ..standard_input import Scripted, TooLong
from .tests import EMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running

INPUT = "stdin"  # what the session keeps: where it reads


async def perform(run: Running, effect: Effect) -> Any:
    operation, content = effect.payload
    testing = EMITS in run.state
    if operation == "script":
        if not testing:
            raise run.machine.placed(effect.task, Panic("P013", "`io::script` stands in for standard input in a `@test` alone"))
        run.state[INPUT] = Scripted(content.encode())
        return None
    source = run.state.get(INPUT)
    if source is None and (testing or run.host.stdin is not None):
        source = run.state[INPUT] = Scripted() if testing else run.host.stdin()
    if source is None:
        return _error("Unavailable", "no standard input: the host of this program hands it none (option `stdin`)")
    try:
        found = await source.take(run, operation != "read_line", run.machine.value_bytes)
    except OSError as error:
        return _error("Io", f"standard input: {(error.strerror or 'not possible').lower()}")
    return _answer(operation, found, run.machine.value_bytes)


def _answer(operation: str, found: bytes | TooLong, limit: int) -> Any:
    if isinstance(found, TooLong):
        what = "a line" if operation == "read_line" else "standard input"
        return _error("TooLong", f"{what} is longer than a String may be ({limit} bytes)")
    if operation == "read_bytes":
        return Ok(found)
    if operation == "read_line" and not found:
        return Ok(NONE)
    try:
        text = found.decode()
    except UnicodeDecodeError as error:
        return _error("InvalidUtf8", f"standard input: no UTF-8 at byte {error.start} of what was read")
    if operation == "read_all":
        return Ok(text)
    return Ok(Some(text.removesuffix("\n").removesuffix("\r")))


def _error(variant: str, message: str) -> Err:
    return Err(ErrorValue("IoError", variant, message, {}))
