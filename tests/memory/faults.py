"""One place to plant a fault in a call: every point it passes (request, tool, redactor, summariser, statement of the store)
counts down, and at zero the fault happens. A crash copies the files of the store as they are then: what a killed process leaves.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import contextmanager
from pathlib import Path

from concerto.runtime.errors import CallFailure
from concerto.runtime.memory.entries import check_units
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.records import Msg

SYSTEM = "Be brief."
POINTS = {
    "provider": ("error", "cancel", "crash"),
    "tool": ("error", "cancel", "crash"),
    "summariser": ("error", "cancel", "crash"),
    "redactor": ("error", "crash"),  # nothing waits there
    "statement": ("error", "crash"),
    "acknowledgement": ("crash",),  # the transaction is done: only the process can still be lost
}


class Crash(BaseException):
    """The process is gone."""


class Faults:
    """`where` and `left`: the fault happens at that point, after so many of them; None for no fault. `happened`: point and
    kind of the last one."""

    def __init__(self, folder):
        self.folder = folder
        self.where = None
        self.left = 0
        self.kind = "error"
        self.file = Path(folder) / "memory.db"
        self.happened = None
        self.crashes = 0

    def plant(self, where, left, kind):
        self.where, self.left, self.kind, self.happened = where, left, kind, None

    def none(self):
        self.where = None

    def at(self, point, error):
        """`error`: what this point raises when it fails by itself."""
        if point != self.where:
            return
        self.left -= 1
        if self.left >= 0:
            return
        self.where = None
        self.happened = point, self.kind
        if self.kind == "crash":
            self._leave_files()
            raise Crash
        raise asyncio.CancelledError if self.kind == "cancel" else error

    def _leave_files(self):
        self.crashes += 1
        left = Path(self.folder) / f"after-{self.crashes}"
        left.mkdir()
        for file in self.file.parent.glob("memory.db*"):
            if not file.name.endswith("-shm"):  # it is memory of the processes that have the file open
                shutil.copy(file, left)
        self.file = left / "memory.db"


class Store(SqliteStore):
    def __init__(self, faults):
        self.faults = None
        super().__init__(str(faults.file))
        self._connection.execute("PRAGMA synchronous = OFF")  # power stays on here
        self.faults = faults

    def _at(self, point):
        if self.faults is not None:
            self.faults.at(point, sqlite3.OperationalError("database or disk is full"))

    def _rows(self, statement, values=()):
        self._at("statement")
        return super()._rows(statement, values)

    def _change(self, statement, values):
        self._at("statement")
        return super()._change(statement, values)

    def _change_all(self, statement, rows):
        self._at("statement")
        super()._change_all(statement, rows)

    @contextmanager
    def _transaction(self):
        with super()._transaction():
            yield
            self._at("statement")
        self._at("acknowledgement")


class Model:
    """A provider, with the tools it calls, that answers from a script and looks at each request on the way."""

    name = "scripted"
    free_and_instant = True
    unmetered = True

    def __init__(self, faults, script, prompt, refused):
        self.faults = faults
        self.script = list(script)
        self.prompt = prompt
        self.refused = refused
        """Replies that may be shown to nobody again."""
        self.heads = []

    async def send(self, request):
        self.look(request.messages)
        self.faults.at("provider", CallFailure("NetworkError", None, "the connection is gone"))
        return self.script.pop(0)

    async def run(self, settings, calls):
        self.faults.at("tool", RuntimeError("a tool panics"))
        return [Msg("tool", f"of {call.id}", (), call.id) for call in reversed(calls)]

    def look(self, messages):
        """I1, I5, I6, I8 on a request."""
        assert [message.content for message in messages if message.content.startswith(SYSTEM)] == [messages[0].content]
        asked = [at for at, message in enumerate(messages) if message.content.startswith(self.prompt)]
        assert len(asked) == 1 and messages[asked[0]].role == "user"
        assert {message.role for message in messages[asked[0] + 1 :]} <= {"assistant", "tool"}
        check_units(messages)
        assert not any(message.content in self.refused for message in messages)
        self.heads.append([(message.role, message.content) for message in messages[: asked[0]]])
        assert self.heads[0] == self.heads[-1]

