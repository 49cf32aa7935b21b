"""A session whose machine is dropped between two steps and made anew from its bytes (V-5.8, V-5.9, G-13.7).

What the session performs goes on: requests on their way, conversations, processes; volatile logs of memories are as the bytes
tell of them, logs in stores as they are by then (M-14.6). Hands on `snapshot`, `Snapshots`, each of which holds of volatile logs
only what is new, and `resume` with `Told`. Must not know: where bytes are kept.
"""

from __future__ import annotations

from ..vm.snapshot.errors import misshapen
from ..vm.snapshot.reader import WRONG
from ..vm.snapshot.runs import Held, own_part, read, written
from .memory.errors import MemoryFailure
from .session_state import check_handles, lowered_logs
from .snapshot_secrets import SnapshotSecrets
from .streams import STREAMS
from .tools import MOCKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..vm.values import MemoryRef
    from .memory.states import Changes, Logs
    from .session import Session

DIGEST = 32  # the last bytes of a snapshot are the hash of the others
COUNTED = ("models", "agents")
"""Calls have numbers, of which ids of runs are made: a run that goes on gives them again (M-5.10)."""


class WentBack:
    """A memory whose store has an earlier version than its handle had: its key was erased, or expired, or the store was lost. The
    run goes on with what the store has."""

    __slots__ = ("memory", "store", "expected", "actual")

    def __init__(self, memory: MemoryRef, store: str, expected: int, actual: int) -> None:
        self.memory = memory
        self.store = store
        self.expected = expected
        self.actual = actual

    def __str__(self) -> str:
        versions = f"version {self.actual}, the run knew version {self.expected}"
        return f"the memory {self.memory.name} went back: the store {self.store} has {versions}; it goes on with what is there"


def snapshot(session: Session) -> bytes:
    """All of it. SnapshotError for what no snapshot can hold."""
    return _written(session, b"", True)


class Snapshots:
    """The snapshots of a run, one after another: what was written of volatile logs is not written again. Each is read after the
    one before it; the first is whole, and so is one after the logs of the session were replaced, or written for somebody else."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.last = b""

    def write(self) -> bytes:
        session = self.session
        whole = not self.last or session.written != self.last or not _noted(session)
        data = _written(session, b"" if whole else self.last, whole)
        self.last = data[-DIGEST:]
        _note(session, self.last)
        return data


class Told:
    """What snapshots tell of volatile logs, one after another."""

    def __init__(self) -> None:
        self.last = b""
        self.logs: Logs | None = None

    def add(self, session: Session, data: bytes) -> None:
        """One that is not the last: the run is not taken up. SnapshotError, and nothing has changed."""
        try:
            self._take(_checked(self, session, own_part(session.program, data))[0], data)
        except MemoryFailure as failure:
            raise misshapen(failure.message) from None
        except WRONG:
            raise misshapen("the part of the host is malformed") from None

    def _take(self, changes: Changes | None, data: bytes) -> None:
        if changes is not None:
            changes.take()
            self.logs = changes.logs
        self.last = data[-DIGEST:]


def resume(session: Session, data: bytes, told: Told | None = None) -> list[WentBack]:
    """Go on with the machine that the bytes tell of; `told`: what those before tell. SnapshotError, and nothing has changed, for
    the bytes of another program or of another moment: each effect in them has to be one that the session performs."""
    before = told or Told()
    old = session.machine
    machine = old.successor()
    found: list[Any] = []

    def check(own: Any, handles: list[tuple[MemoryRef, int]]) -> None:
        try:
            found.extend((handles, *_checked(before, session, own, handles)))
        except MemoryFailure as failure:
            raise misshapen(failure.message) from None

    held = Held(old, [table[name] for table, name in _kept(session)], check)
    values, streams = read(machine, data, held, SnapshotSecrets(session))
    session.machine = machine
    for (table, name), value in zip(_kept(session), values, strict=True):
        table[name] = value
    for effect, call in session.state.get(STREAMS, {}).items():
        call.stream = streams.get(effect.key, call.stream)
    handles, changes, name, numbers = found
    before._take(changes, data)
    _replace(session, before, name, numbers)
    session.memories.revive(handles)
    return _went_back(session, handles)


# ---------------------------------------------------------------- the part of the host


def _written(session: Session, before: bytes, whole: bool) -> bytes:
    secrets = SnapshotSecrets(session)
    kept = [table[name] for table, name in _kept(session)]
    if session.memories.lasting:
        session.tag(True)  # before a run id is made of its name: one made later would be another in each process (M-5.10)
    numbers = [getattr(session.state.get(family), "calls", 0) for family in COUNTED]
    own = [before, session.name, numbers, lowered_logs(session, secrets, whole)]
    return written(session.machine, kept, secrets, session.memories.head, own)


def _checked(
    told: Told, session: Session, own: Any, handles: list[tuple[MemoryRef, int]] | None = None
) -> tuple[Changes | None, str, list[int]]:
    """What becomes of logs, the name of the run, the numbers of its calls."""
    before, name, numbers, rows = own
    if type(name) is not str or len(numbers) != len(COUNTED) or any(type(n) is not int or n < 0 for n in numbers):
        raise misshapen("a run without a name")
    if before not in (b"", told.last):
        raise misshapen("a snapshot that goes on from another one; read those before it first")
    if not len(session.memories):
        if rows != [] or handles:
            raise misshapen("logs of memories that the program has not")
        return None, name, numbers
    from .memory.states import Logs

    logs = told.logs if before and told.logs is not None else Logs()
    changes = logs.checked(session.memories, SnapshotSecrets(session), rows)
    if handles is not None:
        check_handles(session, handles, changes)
    return changes, name, numbers


def _replace(session: Session, told: Told, name: str, numbers: list[int]) -> None:
    session.written = b""
    if told.logs is not None:
        session.memories.hold(told.logs)
    session.name = name or session.name
    performing = any(task.effect is not None for root in session.machine.roots for task in root.subtree())
    for family, number in zip(COUNTED, numbers, strict=True):
        calls = session.state.get(family)
        if calls is None and number:
            calls = session.state[family] = _calls(family)(session)
        if calls is not None:  # what is performed meanwhile may have begun, and have a number, after the bytes were written
            calls.calls = max(number, calls.calls) if performing else number
    _note(session, told.last)


def _calls(family: str) -> Any:
    from .performers.agents import AgentCalls
    from .performers.models import ModelCalls

    return {"models": ModelCalls, "agents": AgentCalls}[family]


def _noted(session: Session) -> bool:
    return all(store.changed is not None for _, store in session.memories.volatile_stores())


def _note(session: Session, digest: bytes) -> None:
    """The volatile logs stand in the snapshot with that hash as they are now."""
    for _, store in session.memories.volatile_stores():
        if session.written == b"":
            store.changed = None
        store.written()
    session.written = digest


def _went_back(session: Session, handles: list[tuple[MemoryRef, int]]) -> list[WentBack]:
    found = []
    for ref, version in handles:
        actual = session.memories.went_back(ref, version)
        if actual is not None:
            found.append(WentBack(ref, str(session.memories.head(ref)[0]), version, actual))
    for one in found:
        session.host.log("warn", str(one))
    return found


def _kept(session: Session) -> list[tuple[dict[Any, Any], Any]]:
    """Where the session has values of the machine: states of tools, of spawned models too, and what stands in for tools."""
    tools = session.state.get("tools")
    models = session.state.get("models")
    spawned = [] if models is None else [made.own_tools for made in models.instances.values() if made.is_spawned]
    tables = [each.states for each in (tools, *spawned) if each is not None]
    tables += session.state.get(MOCKS, {}).values()
    return [(table, name) for table in tables for name in table]
