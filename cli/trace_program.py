"""What a program says of its recording that no row has: the line of the source at which each effect stands, and what became of
memories (O-9.22).

Hands on `known_of` to `cli/trace.py`, whose `Known` the readers of rows use (`cli/trace_rows.py`, `cli/trace_page.py`). The
program gets every outcome from the recording, as with `run --replay`, and reaches nothing; its emits and what it prints go
nowhere. Where it does something else than was recorded, what follows from there is not known.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time

from . import exits
from .inputs import load_program
from .journals import refusing
from .run import host_of, limits_of, run_session, system_input
from .trace_rows import places_of
from .trace_source import Recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from ..runtime.journal.journal import Journal
    from ..runtime.session.session import Session
    from ..vm.interp.link import Program

LONGEST = 1 << 20  # bytes of a source that is shown
CACHE = 8_000  # KiB of what is known that are in memory


class Known:
    """What is known of a recording by its program: a place of each effect, and what memories told behind rows. A recording may be
    long, so both are in a temporary database, of which little is in memory. `sources` has the lines of files that could be read.
    `difference` says where the program does something else than the recording has, "" for nowhere."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.sources: dict[str, list[str]] = {}
        self.difference = ""
        self._database = sqlite3.connect("", isolation_level=None)  # a file without a name, which ends with the connection
        self._database.executescript(f"""
            PRAGMA cache_size = -{CACHE};
            PRAGMA synchronous = OFF;
            PRAGMA journal_mode = OFF;
            CREATE TABLE places (key TEXT PRIMARY KEY, file INTEGER, line INTEGER, at INTEGER) WITHOUT ROWID;
            CREATE TABLE told (n INTEGER PRIMARY KEY, key TEXT, event TEXT, payload TEXT);
            CREATE INDEX told_by_key ON told (key);
            BEGIN;
        """)

    def put_place(self, key: str, place: tuple[str, int, int]) -> None:
        """Keep the place of an effect: file, line and column, these from 1."""
        file, line, column = place
        row = (_kept(key), self.files.setdefault(file, len(self.files)), line, column)
        self._database.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", row)

    def place(self, key: str) -> tuple[str, int, int] | None:
        """Return the place of the effect that an operation of this key belongs to, None where it is not known."""
        found = self._database.execute("SELECT file, line, at FROM places WHERE key = ?", (_kept(places_of(key)[1]),)).fetchone()
        return None if found is None else (list(self.files)[found[0]], found[1], found[2])

    def put_told(self, key: str, event: str, payload: Any) -> None:
        """Keep an event that a memory told behind the row of this key, "" for before the first one, with its payload (M-6.25 to
        M-6.30)."""
        row = (_kept(key), event, json.dumps(payload))
        self._database.execute("INSERT INTO told (key, event, payload) VALUES (?, ?, ?)", row)

    def told(self, key: str) -> list[tuple[str, Any]]:
        """Return the events behind the row of a key with their payloads, as they came; once, since a key may stand twice."""
        found = self._database.execute("SELECT event, payload FROM told WHERE key = ? ORDER BY n", (_kept(key),)).fetchall()
        if found:
            self._database.execute("DELETE FROM told WHERE key = ?", (_kept(key),))
        return [(event, json.loads(payload)) for event, payload in found]

    def close(self) -> None:
        """Give up what is kept; nothing is asked behind that."""
        self._database.close()

    def line(self, place: tuple[str, int, int]) -> str:
        """Return the text of the line of a place, without white space around it; "" where its file could not be read."""
        lines = self.sources.get(place[0], [])
        return lines[place[1] - 1].strip() if 0 < place[1] <= len(lines) else ""


def _kept(key: str) -> str:
    """Return a key as the database takes it: in a recording it may be any text of JSON."""
    return json.dumps(key)


def known_of(arguments: argparse.Namespace) -> Known:
    """Return what the program that `--program` names says of the recording. Raise `Exit`: as `run` for a program, 66 and 74 for a
    recording that cannot be read, 1 where the library of its store is not installed."""
    program = load_program(arguments.program, quiet=arguments.quiet)
    if program.image.header.entry is None:
        missing = "error[E1013]: no main function to run; add `fn main() { }`"
        raise exits.Exit(exits.COMPILE_ERRORS, f"{arguments.program}: {missing}")
    arguments.replay, arguments.extend = arguments.recording, False
    known = Known()
    recording = refusing(arguments.recording, lambda: Recording(arguments.recording, arguments.store))
    try:
        session = _session(arguments, program, _journal(recording, known), known)
        refusing(arguments.recording, lambda: _replay(session, arguments, known))
    finally:
        recording.close()
    for file in known.files:
        known.sources[file] = _lines(os.path.join(os.path.dirname(os.path.abspath(arguments.program)), file))
    if known.difference:
        print(f"{arguments.program} does something else from here on: {known.difference}", file=sys.stderr)
    return known


def _journal(recording: Recording, known: Known) -> Journal:
    from ..runtime.journal.journal import Journal

    class Telling(Journal):
        last = ""

        def _gave(self, row: Any) -> None:
            super()._gave(row)
            self.last = row.key

        def emit(self, channel: str | None, value: Any, by_runtime: bool, tell: Callable[[], object]) -> None:
            if by_runtime and channel is not None and channel.startswith("memory:"):
                known.put_told(self.last, channel.removeprefix("memory:"), value)

    return Telling(recording.header, sink=None, recorded=iter(recording), real_time=time.monotonic, real_wall=time.time)


def _session(arguments: argparse.Namespace, program: Program, journal: Journal, known: Known) -> Session:
    from ..runtime.errors import ConfigFailure
    from ..runtime.session.session import Session

    class Placed(Session):
        async def _perform(self, effect: Any) -> None:
            place = self.machine.position(effect.task) if effect.awaited else None  # others have no rows of this key
            if place is not None and place[1]:
                known.put_place(effect.key, place)
            await super()._perform(effect)

    try:
        host = host_of(arguments, arguments.program, emit=lambda channel, value, by_runtime: None, program=program)
        host.print, host.stdin, host.journal = lambda text: None, system_input, journal
        host.args, host.offline, host.hears = journal.header.args, journal.header.offline, lambda: True
        return Placed(program, host)
    except ConfigFailure as failure:
        raise exits.Exit(exits.USAGE, f"{failure.code}: {failure.message}") from None


def _replay(session: Session, arguments: argparse.Namespace, known: Known) -> None:
    from ..runtime.journal.rows import JournalRefused

    try:
        outcome = run_session(session, **limits_of(arguments))
    except JournalRefused:
        raise
    except Exception as error:  # an outcome of the recording is none that this program can take
        known.difference = f"{type(error).__name__}: {error}"
        return
    if outcome.panic is not None and outcome.panic.code == "P406":
        known.difference = outcome.panic.message


def _lines(path: str) -> list[str]:
    """Return the lines of a source, none where it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(LONGEST).split("\n")
    except (OSError, ValueError):
        return []
