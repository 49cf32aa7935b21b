"""The state of a session as bytes, and back (O-9.45), and snapshots of a session in the middle of a run (V-5.8, G-13.7).

Hands on `dumped` and `restored` to the Python API, for use between calls: hashmaps, ledgers, volatile memories, indexes in
memory, states of tools, spawned models, and what was used of the session's budgets (tokens, dollars, requests to models). Hands
on `snapshot`, `Snapshots`, `SnapshotLogs` and `resume` to the drivers of conformance, benches and tests, for use between two
steps of a run: a snapshot holds the tasks that run too, which a state does not. What lives elsewhere is in neither: logs and
hashmaps with a store or file of their own, processes, caches, most counters. The form of the bytes, and SnapshotError, is
`vm/snapshot/`. A new part of a state goes to the end of the list in `dumped`; `restored` takes it from `more`, where it may be
missing, so that the states of earlier versions are still read.
"""

from __future__ import annotations

from itertools import chain

from ...vm.builtins.memories import ROLES
from ...vm.record import record
from ...vm.snapshot import machine as stores
from ...vm.snapshot.envelope import misshapen
from ...vm.snapshot.machine import HostRecords, own_part, read_run, write_run
from ...vm.snapshot.reader import WRONG, Reader
from ...vm.snapshot.writer import Writer
from ...vm.values import Array, Map
from ..access.snapshot_secrets import SnapshotSecrets
from ..calls.streams import STREAMS
from ..memory.failures import InvalidValue, MemoryFailure
from ..tools.tools import MOCKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ...vm.values import MemoryRef
    from ..effects.models import ModelCalls, ModelInstance
    from ..memory.states import Changes, Logs
    from ..search.index import SearchIndex
    from ..search.session_indexes import Indexes
    from ..tools.tools import Tools
    from .session import Session


WHAT = "session state"  # the bytes of `dumped`, as errors call them


def dumped(session: Session) -> bytes:
    """Return the state of a session, between two calls. SnapshotError (V001) when it is larger than 64 MiB, and (V008) for a
    value that no state can hold, such as a reply that is still read or a function of an earlier program."""
    secrets = SnapshotSecrets(session)
    w = Writer(session.program, secrets, session.memories.head)
    roots = [
        session.initialised,
        stores.lower_stores(w, session.machine, False),
        lowered_logs(session, secrets, True),
        [[name, messages, _facts(w, facts)] for name, messages, facts in session.memories.beginnings()],
        _tool_states(w, session.state.get("tools")),
        _models(w, session.state.get("models")),
        getattr(session.state.get("agents"), "calls", 0),
        session.machine.root_count,
        session.account.used,
        _indexes(w, session.state.get("indexes")),
    ]
    return w.sealed(WHAT, roots)


def _indexes(w: Writer, indexes: Indexes | None) -> list[Any]:
    """Return name and documents of each index in memory."""
    if indexes is None:
        return []
    return [[name, [list(map(w.put, row)) for row in rows]] for name, rows in indexes.volatile_rows()]


def lowered_logs(session: Session, secrets: SnapshotSecrets, whole: bool) -> list[Any]:
    """Return the volatile logs as rows of `memory/states.py`: with `whole` all of each log, else what the snapshot before does
    not have of it."""
    if not session.memories.volatile_stores():
        return []
    from ..memory import states  # with the code of a store, which a program without memories does not load (M-14.7)

    return states.lowered(session.memories, secrets, whole)


def _read_logs(session: Session, secrets: SnapshotSecrets, rows: Any, handles: list[Any]) -> Changes | None:
    if rows == [] and not handles:
        return None
    from ..memory import states

    changes = states.Logs().checked(session.memories, secrets, rows)
    check_handles(session, handles, changes)
    return changes


def check_handles(session: Session, handles: list[tuple[MemoryRef, int]], changes: Changes) -> None:
    """Raise SnapshotError (V008) unless each handle, given with the version that the snapshot has for it, fits the version of its
    volatile log: both were written at one moment (M-14.6)."""
    for ref, version in handles:
        if session.memories.differs(ref, version, changes):
            raise misshapen(f"a handle of the memory {ref.name} with another version than its log")


def _facts(w: Writer, facts: list[Any]) -> list[Any]:
    return [list(map(w.put, arguments)) for arguments in facts]


def _tool_states(w: Writer, tools: Tools | None) -> list[Any]:
    return [] if tools is None else [[name, w.put(state)] for name, state in tools.states.items()]


def _models(w: Writer, calls: ModelCalls | None) -> list[Any]:
    """Return the numbers of calls and of spawned models so far, and the spawned models."""
    if calls is None:
        return [0, 0, []]
    instances = [_instance(w, *key, instance) for key, instance in calls.instances.items() if key[1]]
    return [calls.calls, calls.spawned, instances]


def _instance(w: Writer, name: str, number: int, instance: ModelInstance) -> list[Any]:
    return [name, number, w.put(instance.computed_map), instance.is_down, _tool_states(w, instance.own_tools)]


# ---------------------------------------------------------------- reading


def restored(session: Session, data: bytes) -> Callable[[], Awaitable[None]]:
    """Read a state and return the function that makes the session go on from it. Raises SnapshotError when it does not fit; then
    nothing has changed.

    Everything is built and checked here; the returned function only puts it in its place, and closes the processes of agents."""
    secrets = SnapshotSecrets(session)
    r = Reader(session.program, data, WHAT, secrets)
    try:
        initialised, machine, logs, beginnings, tools, models, agent_calls, runs, *more = r.roots
        used = _read_used(r, more[:1])
        indexes = _read_indexes(r, session, *more[1:])
        r.flag(initialised)
        state = stores.read_stores(r, machine, False)
        volatile = _read_logs(session, secrets, logs, r.memories)
        log_beginnings = _beginnings(r, session, beginnings)
        tool_states = _read_tools(r, session, state.configured, tools)
        model_calls = _read_models(r, session, state.configured, models)
        r.index(agent_calls)
        r.index(runs)
    except MemoryFailure as failure:
        raise misshapen(failure.message) from None
    except WRONG:
        raise misshapen(f"the {WHAT} is malformed") from None

    async def replace() -> None:
        agents = session.state.get("agents")
        if agents is not None:
            await agents.aclose()  # what they remember does not fit the state; the next call starts new processes
        state.replace(session.machine)
        session.machine.root_count = max(runs, session.machine.root_count)
        session.account.used = list(map(max, used, session.account.used))  # going back gives no budget back
        if volatile is not None:
            volatile.take()
        session.memories.begin_with(None if volatile is None else volatile.logs, log_beginnings)
        session.memories.revive(r.memories)
        session.written = b""
        session.state["tools"] = tool_states
        model_calls.calls = max(model_calls.calls, getattr(session.state.get("models"), "calls", 0))  # ids are not given twice
        session.state["models"] = model_calls
        _replace_agents(session, agent_calls)
        _replace_indexes(session, indexes)
        session.initialised = initialised
        session.unread = state.files if initialised else []

    return replace


def _read_used(r: Reader, more: list[Any]) -> list[Any]:
    """Return what was used of tokens, dollars and requests to models; states of earlier versions do not have it."""
    if not more:
        return [0, 0.0, 0]
    [[tokens, cost, calls]] = more
    if type(cost) is not float or not 0 <= cost < float("inf"):
        raise misshapen("a cost that none is")
    return [r.index(tokens), cost, r.index(calls)]


def _read_indexes(r: Reader, session: Session, rows: Any = ()) -> dict[str, SearchIndex]:
    """Return the indexes in memory by their names; states of earlier versions have none."""
    read = {name: [r.values(row) for row in r.list(documents)] for name, documents in rows}
    if not read.keys() <= {index.name for index in session.program.image.indexes}:
        raise misshapen("an index that the program has not")
    for row in chain.from_iterable(read.values()):
        if [type(part) for part in row[:4]] != [str] * 4 or len(row) != 5 or type(row[4]) not in (bytes, type(None)):
            raise misshapen("a document that no index holds")
    if not read:
        return {}
    from ..search.index import SearchFailure
    from ..search.session_indexes import in_memory

    try:
        return {name: in_memory(name, documents) for name, documents in read.items()}
    except SearchFailure as failure:
        raise misshapen(failure.message) from None


def _replace_indexes(session: Session, filled: dict[str, SearchIndex]) -> None:
    if filled or "indexes" in session.state:
        from ..search.session_indexes import Indexes

        Indexes.of(session).replace_volatile(filled)


def _replace_agents(session: Session, calls: int) -> None:
    before = session.state.pop("agents", None)
    if before is not None or calls:
        from ..effects.agents import AgentCalls

        agent_calls = session.state["agents"] = AgentCalls(session)
        agent_calls.calls = max(calls, before.calls if before is not None else 0)


def _beginnings(r: Reader, session: Session, rows: Any) -> dict[str, tuple[list[Any], list[Any]]]:
    beginnings: dict[str, tuple[list[Any], list[Any]]] = {}
    for name, messages, facts in rows:
        if any(list(map(type, row)) != [str, str, bool] or row[0] not in ROLES for row in messages):
            raise misshapen("a message that no log begins with")
        session.memories.key_names(name)
        beginnings[name] = [tuple(row) for row in messages], [_fact(r, session, name, row) for row in facts]
    return beginnings


def _fact(r: Reader, session: Session, memory: str, row: Any) -> list[Any]:
    """Return the arguments of a `remember` with which a log begins. SnapshotError when they do not fit."""
    name, content, confidence, tier, about, seqs = r.values(row)
    lists = [array.items for array in (about, seqs) if array is not None and type(array) is Array]
    are_sound = len(lists) == (about is not None) + (seqs is not None) and all(type(part) in (str, int) for part in chain(*lists))
    if type(name) is not str or type(confidence) not in (int, float) or type(tier) not in (str, type(None)) or not are_sound:
        raise misshapen("a fact that no log begins with")
    try:
        return session.memories.checked_fact(memory, [name, content, confidence, tier, about, seqs])
    except InvalidValue as error:
        raise misshapen(str(error)) from None


def _read_tools(r: Reader, session: Session, configured: dict[Any, Any], rows: Any) -> Tools:
    from ..tools.tools import Tools

    tools = Tools(session)
    for name, form in rows:
        state = r.value(form)
        if type(configured.get(("tools", tools.numbers[name], "state"))) is not type(state):
            raise misshapen(f"a state that the tool {name} has not")
        tools.states[name] = state
    return tools


def _read_models(r: Reader, session: Session, configured: dict[Any, Any], part: Any) -> ModelCalls:
    from ..effects.models import ModelCalls, ModelInstance

    model_calls = ModelCalls(session)
    calls, spawned, rows = part
    model_calls.calls, model_calls.spawned = r.index(calls), r.index(spawned)
    for name, number, fields, is_down, tools in rows:
        computed = r.value(fields)
        if not 0 < r.index(number) <= model_calls.spawned or type(computed) not in (Map, type(None)):
            raise misshapen("a spawned model that none is")
        instance = ModelInstance(session, model_calls.models[name][1], computed, True)
        instance.is_down = r.flag(is_down)
        instance.own_tools = _read_tools(r, session, configured, tools)
        model_calls.instances[name, number] = instance
    return model_calls


# Snapshots: the machine is dropped between two steps and built again from its bytes (V-5.8, V-5.9, G-13.7). What the session
# performs goes on: requests on their way, conversations, processes, indexes in memory and what was used of budgets, which stay as
# they are. Volatile logs of memories are as the bytes say, logs in stores as they are by then (M-14.6).

DIGEST = 32  # the last bytes of a snapshot are the hash of the others
COUNTED = ("models", "agents")  # families whose calls are numbered; ids of runs are made of the numbers (M-5.10)


@record
class WentBack:
    """A memory whose store has an earlier version than the run knew: its key was erased, or has expired, or the store was lost.
    The run goes on with what the store has. `store` is the name of the store; `expected`, the version that the run knew, and
    `actual` count the changes of the log."""

    memory: MemoryRef
    store: str
    expected: int
    actual: int

    def __str__(self) -> str:
        versions = f"version {self.actual}, the run knew version {self.expected}"
        return f"the memory {self.memory.name} went back: the store {self.store} has {versions}; it goes on with what is there"


def snapshot(session: Session) -> bytes:
    """Return a whole snapshot of a session, as bytes. SnapshotError for what no snapshot can hold, or when it is too large."""
    return _written(session, b"", True)


class Snapshots:
    """The snapshots of a run, one after another: parts of volatile logs that one has are not written to the next.

    So each is read after the one before it. The first is whole, and so is one after the logs of the session were replaced, or
    written for somebody else.

    `last` is the digest of the last one, empty before the first. The next one goes on from it while `session.written` is the same
    digest."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.last = b""

    def write(self) -> bytes:
        """Return the bytes of the next snapshot. SnapshotError for what no snapshot can hold, or when it is too large; then the
        next one goes on from the one before."""
        session = self.session
        whole = not self.last or session.written != self.last or not _noted(session)
        data = _written(session, b"" if whole else self.last, whole)
        self.last = data[-DIGEST:]
        _note(session, self.last)
        return data


class SnapshotLogs:
    """The volatile logs as a series of snapshots has them, read one after another. `last` is the digest of the last one, empty
    before the first; `logs` is what they hold together, None while none has had any."""

    def __init__(self) -> None:
        self.last = b""
        self.logs: Logs | None = None

    def add(self, session: Session, data: bytes) -> None:
        """Take the logs of a snapshot that is not the last one of its series. SnapshotError when it does not fit; then nothing
        has changed."""
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


def resume(session: Session, data: bytes, earlier: SnapshotLogs | None = None) -> list[WentBack]:
    """Make a session go on with the machine of a snapshot, and return the memories that went back, each of which is logged as a
    warning too. `earlier` has the snapshots before it, and takes the logs of this one; None for a whole snapshot.

    SnapshotError for the bytes of another program or another moment, and then nothing has changed: each effect in them must be
    one that the session is performing."""
    before = earlier or SnapshotLogs()
    old = session.machine
    machine = old.successor()
    checked_parts: list[Any] = []

    def check(own: Any, handles: list[tuple[MemoryRef, int]]) -> None:
        try:
            checked_parts.extend((handles, *_checked(before, session, own, handles)))
        except MemoryFailure as failure:
            raise misshapen(failure.message) from None

    performed = HostRecords(old, [table[name] for table, name in _value_places(session)], check)
    values, streams = read_run(machine, data, performed, SnapshotSecrets(session))
    session.machine = machine
    for (table, name), value in zip(_value_places(session), values, strict=True):
        table[name] = value
    for effect, call in session.state.get(STREAMS, {}).items():
        call.stream = streams.get(effect.key, call.stream)
    handles, changes, name, numbers = checked_parts
    before._take(changes, data)
    _replace(session, before, name, numbers)
    session.memories.revive(handles)
    return _went_back(session, handles)


# ---------------------------------------------------------------- the part of the host


def _written(session: Session, before: bytes, whole: bool) -> bytes:
    secrets = SnapshotSecrets(session)
    values = [table[name] for table, name in _value_places(session)]
    if session.memories.lasting:
        session.tag(True)  # names the session now: a name made after the snapshot would differ in each process (M-5.10)
    numbers = [getattr(session.state.get(family), "calls", 0) for family in COUNTED]
    own = [before, session.name, numbers, lowered_logs(session, secrets, whole)]
    return write_run(session.machine, values, secrets, session.memories.head, own)


def _checked(
    earlier: SnapshotLogs, session: Session, own: Any, handles: list[tuple[MemoryRef, int]] | None = None
) -> tuple[Changes | None, str, list[int]]:
    """Check the host's part of a snapshot; return the changes of the logs, the name of the session, and the numbers of its
    calls."""
    before, name, numbers, rows = own
    if type(name) is not str or len(numbers) != len(COUNTED) or any(type(n) is not int or n < 0 for n in numbers):
        raise misshapen("a run without a name")
    if before not in (b"", earlier.last):
        raise misshapen("a snapshot that goes on from another one; read those before it first")
    if not len(session.memories):
        if rows != [] or handles:
            raise misshapen("logs of memories that the program has not")
        return None, name, numbers
    from ..memory.states import Logs

    logs = earlier.logs if before and earlier.logs is not None else Logs()
    changes = logs.checked(session.memories, SnapshotSecrets(session), rows)
    if handles is not None:
        check_handles(session, handles, changes)
    return changes, name, numbers


def _replace(session: Session, earlier: SnapshotLogs, name: str, numbers: list[int]) -> None:
    session.written = b""
    if earlier.logs is not None:
        session.memories.hold(earlier.logs)
    session.name = name or session.name
    performing = any(task.effect is not None for root in session.machine.roots for task in root.subtree())
    for family, number in zip(COUNTED, numbers, strict=True):
        calls = session.state.get(family)
        if calls is None and number:
            calls = session.state[family] = _calls(family)(session)
        if calls is not None:  # a call that is being performed may have got its number after the bytes were written
            calls.calls = max(number, calls.calls) if performing else number
    _note(session, earlier.last)


def _calls(family: str) -> Any:
    from ..effects.agents import AgentCalls
    from ..effects.models import ModelCalls

    return {"models": ModelCalls, "agents": AgentCalls}[family]


def _noted(session: Session) -> bool:
    return all(store.changed is not None for _, store in session.memories.volatile_stores())


def _note(session: Session, digest: bytes) -> None:
    """Note that the snapshot with this digest has the volatile logs as they are at this moment."""
    for _, store in session.memories.volatile_stores():
        if session.written == b"":
            store.changed = None
        store.written()
    session.written = digest


def _went_back(session: Session, handles: list[tuple[MemoryRef, int]]) -> list[WentBack]:
    memories = []
    for ref, version in handles:
        actual = session.memories.went_back(ref, version)
        if actual is not None:
            memories.append(WentBack(ref, str(session.memories.head(ref)[0]), version, actual))
    for memory in memories:
        session.warn(str(memory))
    return memories


def _value_places(session: Session) -> list[tuple[dict[Any, Any], Any]]:
    """Return the places, each as table and key, where the session has values of the machine: states of tools, those of spawned
    models too, and mocks of tools."""
    tools = session.state.get("tools")
    models = session.state.get("models")
    spawned = [] if models is None else [instance.own_tools for instance in models.instances.values() if instance.is_spawned]
    tables = [each.states for each in (tools, *spawned) if each is not None]
    tables += session.state.get(MOCKS, {}).values()
    return [(table, name) for table in tables for name in table]
