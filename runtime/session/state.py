"""The state of a session as bytes, and back (O-9.45): hashmaps, ledgers, volatile memories, states of tools, spawned models.

What lives elsewhere is not in it: logs and hashmaps with a store or file of their own, processes, caches, counters; what was
used of the budgets of a session is. Hands on `dumped` and `restored`; both between calls only.
"""

from __future__ import annotations

from itertools import chain

from ...vm.interp.methods_models import ROLES
from ...vm.snapshot import machine as stores
from ...vm.snapshot.envelope import misshapen
from ...vm.snapshot.machine import Held, own_part, read, written
from ...vm.snapshot.reader import WRONG, Reader
from ...vm.snapshot.writer import Writer
from ...vm.values import Array, Map
from ..access.permissions import permissions_of
from ..access.secrets import whole_text
from ..calls.streams import STREAMS
from ..memory.entries import InvalidValue, MemoryFailure
from ..tools.tools import MOCKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ...vm.values import MemoryRef
    from ..effects.models import ModelCalls, ModelInstance
    from ..memory.states import Changes, Logs
    from ..running import Running
    from ..tools.tools import Tools
    from .session import Session


# Secrets in the values of a snapshot: they stand there by name, and come back to who is granted the variable (G-10.3,
# G-10.5).


class SnapshotSecrets:
    """What a session knows of secrets, for who writes or reads its values."""

    def __init__(self, run: Running) -> None:
        self.run = run

    def clean(self, text: str) -> str:
        return self.run.redactor.clean(text)

    def split(self, text: str, form: Callable[[str], str] = str) -> list[str]:
        """The text without secrets and, between its parts, their names; `form`: how one stands in it."""
        return self.run.redactor.split(text, form)

    def value(self, name: str) -> str:
        """The secret of that name, if the program is granted its variable, else what a sink shows."""
        given = self.run.host.env.get(name)
        if given is None or not permissions_of(self.run).allows_variable(name):
            return f"<secret {name}>"
        value = self.run.redactor.value(name) or whole_text(given)
        self.run.redactor.add(value, name)
        return value


WHAT = "session state"


def dumped(session: Session) -> bytes:
    """SnapshotError for what no state can hold: more than 64 MiB."""
    secrets = SnapshotSecrets(session)
    w = Writer(session.program, secrets, session.memories.head)
    roots = [
        session.initialised,
        stores.lowered(w, session.machine, False),
        lowered_logs(session, secrets, True),
        [[name, messages, _facts(w, facts)] for name, messages, facts in session.memories.beginnings()],
        _tool_states(w, session.state.get("tools")),
        _models(w, session.state.get("models")),
        getattr(session.state.get("agents"), "calls", 0),
        session.machine.root_count,
        session.account.used,
    ]
    return w.sealed(WHAT, roots)


def lowered_logs(session: Session, secrets: SnapshotSecrets, whole: bool) -> list[Any]:
    """The volatile logs, or what was not written of them yet."""
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
    """A handle and its volatile log were written at one moment (M-14.6)."""
    for ref, version in handles:
        if session.memories.differs(ref, version, changes):
            raise misshapen(f"a handle of the memory {ref.name} with another version than its log")


def _facts(w: Writer, facts: list[Any]) -> list[Any]:
    return [list(map(w.put, arguments)) for arguments in facts]


def _tool_states(w: Writer, tools: Tools | None) -> list[Any]:
    return [] if tools is None else [[name, w.put(state)] for name, state in tools.states.items()]


def _models(w: Writer, calls: ModelCalls | None) -> list[Any]:
    """Calls made, models spawned, and what was spawned."""
    if calls is None:
        return [0, 0, []]
    return [calls.calls, calls.spawned, [_instance(w, *at, made) for at, made in calls.instances.items() if at[1]]]


def _instance(w: Writer, name: str, number: int, made: ModelInstance) -> list[Any]:
    return [name, number, w.put(made.computed_map), made.is_down, _tool_states(w, made.own_tools)]


# ---------------------------------------------------------------- reading


def restored(session: Session, data: bytes) -> Callable[[], Awaitable[None]]:
    """SnapshotError, and nothing has changed; or what makes the session go on from that state. Everything is made and checked
    here: the rest only puts it in its place."""
    secrets = SnapshotSecrets(session)
    r = Reader(session.program, data, WHAT, secrets)
    try:
        initialised, machine, logs, beginnings, tools, models, agent_calls, runs, *more = r.roots
        used = _read_used(r, more)
        r.flag(initialised)
        state = stores.read_stores(r, machine, False)
        volatile = _read_logs(session, secrets, logs, r.memories)
        begun = _beginnings(r, session, beginnings)
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
            await agents.aclose()  # what they were told is no longer so; the next call starts them anew
        state.replace(session.machine)
        session.machine.root_count = max(runs, session.machine.root_count)
        session.account.used = list(map(max, used, session.account.used))  # what was used is used, whatever it goes back to
        if volatile is not None:
            volatile.take()
        session.memories.begin_with(None if volatile is None else volatile.logs, begun)
        session.memories.revive(r.memories)
        session.written = b""
        session.state["tools"] = tool_states
        model_calls.calls = max(model_calls.calls, getattr(session.state.get("models"), "calls", 0))  # ids are not given twice
        session.state["models"] = model_calls
        _replace_agents(session, agent_calls)
        session.initialised = initialised
        session.unread = state.files if initialised else []

    return replace


def _read_used(r: Reader, more: list[Any]) -> list[Any]:
    """Of tokens, cost and model calls, which states of earlier versions do not say."""
    if not more:
        return [0, 0.0, 0]
    [[tokens, cost, calls]] = more
    if type(cost) is not float or not 0 <= cost < float("inf"):
        raise misshapen("a cost that none is")
    return [r.index(tokens), cost, r.index(calls)]


def _replace_agents(session: Session, calls: int) -> None:
    before = session.state.pop("agents", None)
    if before is not None or calls:
        from ..effects.agents import AgentCalls

        made = session.state["agents"] = AgentCalls(session)
        made.calls = max(calls, before.calls if before is not None else 0)


def _beginnings(r: Reader, session: Session, rows: Any) -> dict[str, tuple[list[Any], list[Any]]]:
    found: dict[str, tuple[list[Any], list[Any]]] = {}
    for name, messages, facts in rows:
        if any(list(map(type, row)) != [str, str, bool] or row[0] not in ROLES for row in messages):
            raise misshapen("a message that no log begins with")
        session.memories.key_names(name)
        found[name] = [tuple(row) for row in messages], [_fact(r, session, name, row) for row in facts]
    return found


def _fact(r: Reader, session: Session, memory: str, row: Any) -> list[Any]:
    """The arguments of `remember`."""
    name, content, confidence, tier, about, seqs = r.values(row)
    lists = [held.items for held in (about, seqs) if held is not None and type(held) is Array]
    whole = len(lists) == (about is not None) + (seqs is not None) and all(type(part) in (str, int) for part in chain(*lists))
    if type(name) is not str or type(confidence) not in (int, float) or type(tier) not in (str, type(None)) or not whole:
        raise misshapen("a fact that no log begins with")
    try:
        return session.memories.checked_fact(memory, [name, content, confidence, tier, about, seqs])
    except InvalidValue as error:
        raise misshapen(str(error)) from None


def _read_tools(r: Reader, session: Session, configured: dict[Any, Any], rows: Any) -> Tools:
    from ..tools.tools import Tools

    made = Tools(session)
    for name, form in rows:
        state = r.value(form)
        if type(configured.get(("tools", made.numbers[name], "state"))) is not type(state):
            raise misshapen(f"a state that the tool {name} has not")
        made.states[name] = state
    return made


def _read_models(r: Reader, session: Session, configured: dict[Any, Any], part: Any) -> ModelCalls:
    from ..effects.models import ModelCalls, ModelInstance

    made = ModelCalls(session)
    calls, spawned, rows = part
    made.calls, made.spawned = r.index(calls), r.index(spawned)
    for name, number, given, is_down, tools in rows:
        computed = r.value(given)
        if not 0 < r.index(number) <= made.spawned or type(computed) not in (Map, type(None)):
            raise misshapen("a spawned model that none is")
        instance = ModelInstance(session, made.models[name][1], computed, True)
        instance.is_down = r.flag(is_down)
        instance.own_tools = _read_tools(r, session, configured, tools)
        made.instances[name, number] = instance
    return made


# A session whose machine is dropped between two steps and made anew from its bytes (V-5.8, V-5.9, G-13.7). What the session
# performs goes on: requests on their way, conversations, processes; volatile logs of memories are as the bytes tell of them,
# logs in stores as they are by then (M-14.6).

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
    from ..memory.states import Logs

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
    from ..effects.agents import AgentCalls
    from ..effects.models import ModelCalls

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
