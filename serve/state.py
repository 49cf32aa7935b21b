"""The file of states: what a server remembers across restarts (S-1.3, S-1.7).

Hands on `State` to the application, which opens it, and to sessions, budgets and idempotency: a SQLite file with the states of
named sessions, what each caller used on each day, and the first answers by their keys. Several processes of one machine may have
it open. How long something is kept is decided by those who take it. The file holds data of programs: keep it as such.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from typing import Any

from .problems import Problem

log = logging.getLogger("concerto.serve")

TABLES = (
    "sessions (caller TEXT, name TEXT, image TEXT, state BLOB, used REAL, PRIMARY KEY (caller, name))",
    "days (day TEXT, caller TEXT, tokens INTEGER, cost REAL, PRIMARY KEY (day, caller))",
    "answers (caller TEXT, key TEXT, digest TEXT, status INTEGER, body TEXT, given REAL, PRIMARY KEY (caller, key))",
)


class State:
    """The file at `path`, which is made. Raises OSError, with the path, where it cannot be used. The methods raise Problem (503)
    where it takes or gives nothing, which the log tells. Keys of sessions are the names of caller and session, days texts such as
    "2026-11-27", of UTC."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)  # for this user alone
            os.close(descriptor)
            self.database = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
            self.database.execute("PRAGMA journal_mode=WAL")
            self.database.execute("PRAGMA synchronous=NORMAL")
            for table in TABLES:
                self.database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        except sqlite3.Error as error:
            raise OSError(f"{self.path}: {error}") from None
        except OSError as error:
            raise OSError(f"{self.path}: {error.strerror or error}") from None

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows of a statement."""
        try:
            return self.database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            log.error("the file of states does not work: %s", error)
            raise Problem(503, "state", "the file of states does not work now", headers={"Retry-After": "1"}) from None

    def session(self, image: str, key: tuple[str, str]) -> bytes | None:
        """Return the state of a session of the program with that content hash; None without one."""
        rows = self._rows("SELECT state FROM sessions WHERE caller=? AND name=? AND image=?", *key, image)
        return bytes(rows[0][0]) if rows else None

    def save_session(self, image: str, key: tuple[str, str], state: bytes) -> None:
        """Write the state of a session in place of the one before."""
        self._rows("INSERT OR REPLACE INTO sessions VALUES (?,?,?,?,?)", *key, image, state, time.time())

    def forget_session(self, key: tuple[str, str]) -> None:
        """Remove the state of a session."""
        self._rows("DELETE FROM sessions WHERE caller=? AND name=?", *key)

    def forget_old(self, seconds: float) -> None:
        """Remove the states of sessions that nobody used for so long."""
        self._rows("DELETE FROM sessions WHERE used < ?", time.time() - seconds)

    def used(self, day: str, caller: str) -> tuple[int, float]:
        """Return the tokens and the cost, in dollars, that a caller has used on a day; zeros for none."""
        rows = self._rows("SELECT tokens, cost FROM days WHERE day=? AND caller=?", day, caller)
        return (int(rows[0][0]), float(rows[0][1])) if rows else (0, 0.0)

    def add_used(self, day: str, caller: str, tokens: int, cost: float) -> None:
        """Add to what a caller has used on a day."""
        self._rows(
            "INSERT INTO days VALUES (?,?,?,?) ON CONFLICT (day, caller) DO UPDATE SET tokens=tokens+excluded.tokens, "
            "cost=cost+excluded.cost",
            day, caller, tokens, cost,
        )  # fmt: skip

    def answer(self, caller: str, key: str, most_age: float) -> tuple[str, int, str] | None:
        """Return digest of the request, status and body of the first answer; None without one of the last `most_age` seconds."""
        since = time.time() - most_age
        rows = self._rows("SELECT digest, status, body FROM answers WHERE caller=? AND key=? AND given >= ?", caller, key, since)
        return (str(rows[0][0]), int(rows[0][1]), str(rows[0][2])) if rows else None

    def save_answer(self, caller: str, key: str, digest: str, status: int, body: str, most_age: float) -> None:
        """Write a first answer, and forget those that are older than `most_age` seconds."""
        now = time.time()
        self._rows("DELETE FROM answers WHERE given < ?", now - most_age)
        self._rows("INSERT OR IGNORE INTO answers VALUES (?,?,?,?,?,?)", caller, key, digest, status, body, now)

    def close(self) -> None:
        """Close the file."""
        self.database.close()
