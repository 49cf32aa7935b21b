"""The files of persistent hashmaps (O-5.12): read at initialisation, rewritten after each change, under the permissions of the
program for their paths.

Must not know: what the text holds, how files are reached.
"""

from __future__ import annotations

from ...vm.effects import Effect
from ...vm.values import Err, Ok
from . import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import StoreFile
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    file: StoreFile = effect.payload
    operation = ("read_file", file.path) if file.text is None else ("write_file", file.path, file.text)
    answer = await files.perform(run, Effect(effect.key, "file", operation, True, effect.task))
    absent = file.text is None and type(answer) is Err and answer.value.variant == "NotFound"
    return Ok(None) if absent else answer
