"""The state of a session as bytes, and back (O-9.45): hashmaps, ledgers, volatile memories, states of tools, spawned models.

What lives elsewhere is not in it: logs and hashmaps with a store or file of their own, processes, caches, counters; what was used
of the budgets of a session is. Hands on
`dumped` and `restored`; both between calls only. Must not know: who waits for whom.
"""

from __future__ import annotations

from itertools import chain

from ..vm.handles import ROLES
from ..vm.snapshot import stores
from ..vm.snapshot.errors import misshapen
from ..vm.snapshot.reader import WRONG, Reader
from ..vm.snapshot.writer import Writer
from ..vm.values import Array, Map
from .memory.errors import InvalidValue, MemoryFailure
from .snapshot_secrets import SnapshotSecrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ..vm.values import MemoryRef
    from .memory.states import Changes
    from .model_instances import ModelInstance
    from .performers.models import ModelCalls
    from .session import Session
    from .tools import Tools

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
    from .memory import states  # with the code of a store, which a program without memories does not load (M-14.7)

    return states.lowered(session.memories, secrets, whole)


def _read_logs(session: Session, secrets: SnapshotSecrets, rows: Any, handles: list[Any]) -> Changes | None:
    if rows == [] and not handles:
        return None
    from .memory import states

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
    return [name, number, w.put(made.given), made.is_down, _tool_states(w, made.own_tools)]


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
        state = stores.read(r, machine, False)
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
        from .performers.agents import AgentCalls

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
    from .tools import Tools

    made = Tools(session)
    for name, form in rows:
        state = r.value(form)
        if type(configured.get(("tools", made.numbers[name], "state"))) is not type(state):
            raise misshapen(f"a state that the tool {name} has not")
        made.states[name] = state
    return made


def _read_models(r: Reader, session: Session, configured: dict[Any, Any], part: Any) -> ModelCalls:
    from .model_instances import ModelInstance
    from .performers.models import ModelCalls

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
