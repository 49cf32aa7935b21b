"""The files that an agent reads and writes through its client, under the permissions of the program (O-7.46).

An agent that speaks ACP, a protocol of requests in both directions, asks its client, which is Concerto, for files of the project.
Hands on `AgentFiles` to `acp.py`, which answers such requests, and to the performer of agents, which makes it; `FileRefused` to
`acp.py`; and both to `journal/peers.py`, which stands before such files in a run with a journal. The operations are those of
`std::fs` (`access/files.py`), with the same roots and audit records; which lines of a text the agent gets is decided in `acp.py`.
"""

from __future__ import annotations

from ..access.files import Failed
from ..access.permissions import Denied, permissions_of
from ..access.roots import Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..access.files import Files
    from ..running import EffectContext


class FileRefused(Exception):
    """A file that is not read or written: a permission is missing, the operation failed, or the system cannot keep paths inside a
    root. `message` is the reason that the agent is told; `is_missing`: there is no such file."""

    def __init__(self, message: str, is_missing: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.is_missing = is_missing


class AgentFiles:
    """The files of the session `run` for its agents. `opened` gives its Files, which are opened with the first operation. A
    `path` is absolute, or relative to the working directory of the program."""

    def __init__(self, run: EffectContext, opened: Callable[[EffectContext], Files]) -> None:
        self.run = run
        self.opened = opened

    @property
    def reads(self) -> bool:
        """Return whether the program has a permission to read any file."""
        return bool(permissions_of(self.run).scopes["fs_read"])

    @property
    def writes(self) -> bool:
        """Return whether the program has a permission to write any file."""
        return bool(permissions_of(self.run).scopes["fs_write"])

    async def read(self, path: str) -> str:
        """Return the text of a file, which must be UTF-8. Raises FileRefused."""
        text: str = await self._access("read_file", path, [])
        return text

    async def write(self, path: str, text: str) -> None:
        """Write a text into a file, a new one or in place of what it has. Raises FileRefused."""
        await self._access("write_file", path, [text])

    async def _access(self, operation: str, path: str, arguments: list[Any]) -> Any:
        try:
            return await self.opened(self.run).access(operation, path, arguments, self.run)
        except Denied as denied:  # how it is granted is no matter of the agent
            raise FileRefused(f"permission denied: {denied.capability}") from None
        except Failed as failed:
            raise FileRefused(f"{path}: {failed.reason}", failed.variant == "NotFound") from None
        except Unsupported as unsupported:
            raise FileRefused(unsupported.message) from None
