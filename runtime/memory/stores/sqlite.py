"""The embedded durable store: one SQLite file (M-8.2, G-12.5), and the names of lease holders between processes.

Hands on `SqliteStore` to `opened.py`, `owner_name` to those who hold leases (`memory/memories.py`, `effects/conversations.py`,
`journal/run_store.py`), and `has_died` to `memory/locks.py` and the journal; to `search/search_file.py`, whose tables stand in
the same file, also `SqliteStore`, SETTINGS, BUSY_MS, the ways out of errors, `tried` and `begun`; and to run stores, whose files
are others (`journal/run_databases.py`), `put`, `is_on_network`, the ways out, DAMAGED and NO_ROOM. The statements are in
`sql.py`; here are opening, locking and errors. It uses WAL, `synchronous=FULL`, and `BEGIN IMMEDIATE` for writes. A full disk, a
read-only or damaged file raises MemoryFailure ("Store" or "Corrupt"); the file is never replaced by an empty one. What a row
holds is decided in `rows.py`.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import RLock
from time import monotonic, sleep, time

from ..failures import MemoryFailure, corrupt, store_failed
from .operations import LONGEST_WAIT
from .sql import FORMAT, NAMES, TABLES, Indexes, SqlStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from .thread import StoreThread

    T = TypeVar("T")


NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.glusterfs", "davfs")
MOUNTS = "/proc/self/mounts"
ESCAPED = re.compile(rb"\\([0-3][0-7]{2})")  # how the table writes a space, a tab, a line end and a backslash


def is_on_network(folder: str, mounts: str = MOUNTS) -> bool:
    """Return whether a folder is on a network file system, where SQLite's locks do not hold (M-8.12). The longest mount point
    above the folder decides; where the system has no table of mounts nothing is refused."""
    try:
        with open(mounts, "rb") as table:  # names of directories are bytes, not always UTF-8
            rows = [line.split(b" ") for line in table]
    except OSError:
        return False
    real = os.path.join(os.fsencode(os.path.realpath(folder)), b"")
    best = (b"", b"")
    for row in rows:
        point = os.path.join(ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), row[1]), b"")
        if real.startswith(point) and len(point) >= len(best[0]):
            best = (point, row[2])
    return os.fsdecode(best[1]) in NETWORK


BUSY_MS = int(LONGEST_WAIT * 1000)
RESTS = (0.001, 0.002, 0.005, 0.01, 0.02)
LONGEST_REST = 0.04
"""Seconds between two tries to get the lock of the file, after those of RESTS between the first ones."""
APPLICATION_ID = 0x434F4E43  # "CONC"
SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA trusted_schema = OFF",
)
NO_ROOM = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN)
MAGIC, SMALLEST_FILE = b"SQLite format 3\0", 512
FILE_WAY_OUT = "restore it from a copy, or remove it to begin anew"
# What the user can do about an error, by a word of SQLite's message.
WAYS_OUT = {
    "locked": f"another process has held it for {LONGEST_WAIT:g} s: end that one, or try again",
    "readonly": "allow writing to the file and to its folder",
    "unable to open": "the path must be a file, in a folder that may be read and written",
    "full": "make room on the disk; what is stored can still be read",
}
DAMAGED = ("malformed", "not a database", "encrypted", "corrupt", "decode to UTF-8")


class _Guard:
    """A context in which one thread is at a time, and which raises the failure that an error of SQLite means. It may be entered
    again in itself. A turn enters it eight times, so it is no generator, which takes twice as long."""

    __slots__ = ("alone", "name", "path")

    def __init__(self, alone: AbstractContextManager[bool], name: str, path: str) -> None:
        self.alone = alone
        self.name = name
        self.path = path

    def __enter__(self) -> None:
        self.alone.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.alone.__exit__(None, None, None)
        if isinstance(error, UnicodeDecodeError):  # in what SQLite says of a damaged schema, too
            raise corrupt(f"{self.path}: a text is not UTF-8") from None
        if isinstance(error, sqlite3.Error):
            reason = str(error)
            if any(word in reason for word in DAMAGED):
                raise corrupt(f"{self.path}: {reason}; {FILE_WAY_OUT}") from None
            way = next((f"; {way}" for said, way in WAYS_OUT.items() if said in reason), "")
            raise store_failed(self.name, f"{self.path}: {reason}{way}") from None


class SqliteStore(SqlStore):
    """Logs in the SQLite file `path`; file and directory are made for the user alone where they are missing. `name` is what
    failures call the store. `deflates`: parts are compressed where that helps (M-8.8). `thread`: that of the session, in which it
    waits for the lock of the file; without one it waits where it is called, up to LONGEST_WAIT seconds.

    The constructor opens the file. It raises MemoryFailure: "Store" when that fails, on a network file system and for the
    database of another program too, "Corrupt" for a damaged or empty file, "Version" for a newer format. Methods are those of
    `SqlStore` (`head`, `entries`, `commit`, `keep` and so on) and raise "Store", "Corrupt", "Version" and "Conflict" as it says;
    with a thread, they and the constructor also raise MustWait and Cancelled as `StoreThread.wait` does. After `close` every use
    is a "Store" failure."""

    def __init__(
        self, path: str, *, name: str = "durable", deflates: bool = False, thread: StoreThread | None = None
    ) -> None:
        self.path = os.path.abspath(path)
        self._thread = thread
        self.name = name
        self.deflates = deflates
        self._connection: sqlite3.Connection | None = None
        self._indexes = Indexes(self._notes, self._facts)
        self._alone = RLock()  # leases are given back from another thread than that of the turns
        self._guarded = _Guard(self._alone, self.name, self.path)
        folder = os.path.dirname(self.path)
        if "\0" in self.path:
            raise store_failed(name, "a path holds no nul")
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
        except OSError as error:
            raise store_failed(name, f"cannot make {folder}: {error.strerror}") from None
        if is_on_network(folder):
            raise store_failed(name, f"{self.path} is on a network file system, where SQLite loses data; use a local file")
        try:
            with self._guard():
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Open the file, or make it. A new file is made whole beside its place and linked there, so that an empty file at
        that place can only be a store that was lost (G-12.9). Nothing is written to a file of this format, so that a full
        disk can be read."""
        if not os.path.exists(self.path):
            self._make()
        self._check_header()
        self._connect_to_read()
        ((mark,),) = self._rows("PRAGMA application_id")
        names = {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if names and mark != APPLICATION_ID:
            raise store_failed(self.name, f"{self.path} holds something else than memories; give the store another `path`")
        if mark == APPLICATION_ID and self._is_of_this_format(names):
            return  # nothing is written, so that a full disk can be read
        self._prepare()

    def _check_header(self) -> None:
        """Raise Corrupt for a file that is no database: SQLite would take a nearly empty one for new."""
        try:
            with open(self.path, "rb") as file:
                head = file.read(SMALLEST_FILE)
        except OSError:
            return  # SQLite says it
        if not head:
            raise corrupt(f"{self.path} is empty: what it held is lost; {FILE_WAY_OUT}")
        if len(head) < SMALLEST_FILE or not head.startswith(MAGIC):
            raise corrupt(f"{self.path}: file is not a database; {FILE_WAY_OUT}")

    def _connect_to_read(self) -> None:
        """Connect. On a full disk there is no room for the shared part of the write-ahead log; then this process takes
        the file alone."""
        try:
            self._connect(self.path)
            self._rows("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in NO_ROOM:
                raise
            self.close()
            self._connect(self.path, "PRAGMA locking_mode = EXCLUSIVE")

    def _is_of_this_format(self, names: set[str]) -> bool:
        """Return whether the file is of this format, with all its tables. Raises Corrupt when what every format has is not
        there."""
        self._check_tables(names)
        return self._format(self._rows("SELECT format FROM meta")) == FORMAT and names >= NAMES

    def _connect(self, path: str, *first: str) -> None:
        self._connection = sqlite3.connect(path, timeout=LONGEST_WAIT, isolation_level=None, check_same_thread=False)
        self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MS if self._thread is None else 0}")
        for setting in (*first, *SETTINGS):
            self._tried(setting)  # some read the file, which another process may just be opening or closing

    def _prepare(self) -> None:
        self._switch_to_wal()
        with self._transaction():
            self._live().execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for table in TABLES:
                self._live().execute(table.format(bytes="BLOB", number="INTEGER", rows=" WITHOUT ROWID"))
            self._check_format()

    def _make(self) -> None:
        """Make the file, for the user alone. Another process may do the same: the first file that stands there counts."""
        new = f"{self.path}.new-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._connect(new)
            self._prepare()
            self._rows("PRAGMA wal_checkpoint(TRUNCATE)")  # closing would leave it in the log where the file cannot be written
            self.close()
            put(new, self.path)
        except OSError as error:
            raise store_failed(self.name, f"cannot make {self.path}: {error.strerror}") from None
        finally:
            self.close()
            for left in (new, f"{new}-wal", f"{new}-shm"):
                with suppress(OSError):
                    os.unlink(left)

    def _switch_to_wal(self) -> None:
        """Switch to a write-ahead log. SQLite does not wait itself for others who open the same new file."""
        until = monotonic() + LONGEST_WAIT
        while True:
            try:
                ((mode,),) = self._live().execute("PRAGMA journal_mode = WAL").fetchall()
                if mode == "wal":
                    return
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or monotonic() > until:
                    raise
            if monotonic() > until:
                raise store_failed(self.name, f"{self.path} does not allow a write-ahead log")
            self._pause(LONGEST_REST)

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._live().execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:
            if self._thread is None or not _is_busy(error) or self._live().in_transaction:
                raise
        return self._tried(statement, values).fetchall()

    def _tried(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute a statement outside of a transaction, as soon as nobody has the file locked. Raises SQLite's error
        after LONGEST_WAIT seconds."""
        if self._thread is None:  # SQLite itself waits
            return self._live().execute(statement, values)
        return tried(lambda: self._live().execute(statement, values), self._pause)

    def _pause(self, seconds: float) -> None:
        """Wait before the next try. Other threads may use the connection meanwhile: no transaction has begun."""
        if self._thread is None:
            return sleep(seconds)
        self._alone.release()
        try:
            self._thread.pause(seconds)
        finally:
            self._alone.acquire()

    def _change(self, statement: str, values: Sequence[Any]) -> int:
        return self._live().execute(statement, values).rowcount

    def _change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            self._live().executemany(statement, rows)

    def _entries_by(self, index: str) -> str:
        """Name the index; without that SQLite's planner may read the whole log by the key of the table."""
        return f"entry INDEXED BY {index}"

    def _live(self) -> sqlite3.Connection:
        if self._connection is None:
            raise store_failed(self.name, "it is closed")
        return self._connection

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._guard(), begun(self._tried("BEGIN IMMEDIATE").connection):
            if self._thread is not None:
                self._thread.changing()
            yield

    def _guard(self) -> AbstractContextManager[None]:
        return self._guarded

    def _scrub(self) -> None:
        """Empty the write-ahead log (M-8.14); `secure_delete` has overwritten the pages already. Raises
        MemoryFailure("Store") when another process reads it: erasing again tries again."""
        try:
            with self._guard():
                until = monotonic() + (0 if self._thread is None else LONGEST_WAIT)  # without a thread SQLite itself waits
                while (busy := self._tried("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]) and monotonic() < until:
                    self._pause(LONGEST_REST)
                reason = f"{self.path}: another process reads it" if busy else ""
        except MemoryFailure as failure:
            reason = failure.message
        if reason:
            raise store_failed(self.name, f"removed, but the write-ahead log still holds it ({reason}); erase again")

    def _prepare_scrub(self) -> None:
        if self._thread is not None:
            self._thread.aside()

    def _place(self) -> str:
        return self.path

    def _time(self) -> int:
        return int(time() * 1000)

    def close(self) -> None:
        """Close the file; it may be called again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def tried(attempt: Callable[[], T], pause: Callable[[float], object]) -> T:
    """Return what an attempt returns, as soon as nobody has the file locked; `pause` waits some seconds before the next one.
    Raises what both raise, and SQLite's error of a locked file after LONGEST_WAIT seconds."""
    until, tries = monotonic() + LONGEST_WAIT, 0
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or monotonic() > until:
                raise
        pause(RESTS[tries] if tries < len(RESTS) else LONGEST_REST)
        tries += 1


@contextmanager
def begun(connection: sqlite3.Connection) -> Iterator[None]:
    """Return a context around the work of a transaction that has begun: committed at its end, rolled back when it is left by an
    exception, which passes through. Raises SQLite's error where the commit fails, and then it is rolled back too."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def put(new: str, path: str) -> None:
    """Put the file `new` at its place, never over another file: then both stay as they are. Where the file system has links,
    `new` stays too, as another name of the file. Raises OSError where it cannot be put there."""
    try:
        os.link(new, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not os.path.exists(path):
            os.rename(new, path)


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


# Names of lease holders (M-8.13). A process that was killed gives no lease back. On Linux the name says machine, process and when
# that began, so that others on the same machine need not wait for the lease to end; elsewhere nothing is known of a holder.

PROC = Path("/proc")
STATE, BEGUN = 0, 19
"""Places in /proc/PID/stat behind the name of the program (proc(5): fields 3 and 22)."""


def owner_name() -> str:
    """Return a name for one holder of leases in this process. Each call returns another one, unique over all machines."""
    number = os.getpid()
    return f"{_machine()}/{number}/{_begun(number) or ''}/{os.urandom(8).hex()}"


def has_died(owner: str) -> bool:
    """Return whether the process of that name is known to be over; False when that cannot be told."""
    machine, _, rest = owner.partition("/")
    number, _, rest = rest.partition("/")
    begun = rest.partition("/")[0]
    if not begun or not number.isdecimal() or machine != _machine():
        return False
    return _begun(int(number)) != begun


@cache
def _machine() -> str:
    """Return what identifies this start of this machine and its process numbers, "" where that cannot be told."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}-{os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return ""


def _begun(number: int) -> str | None:
    """Return when a process began, in the machine's own count; None for one that is over."""
    try:
        fields = (PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[STATE] in "ZX" else fields[BEGUN]
