"""A session whose machine is dropped between two steps and made anew from its bytes (V-5.8, V-5.9, G-13.7).

What the session performs goes on: requests on their way, conversations, logs of memories (M-14.6), processes. Hands on `snapshot`
and `resume`. Must not know: where bytes are kept.
"""

from __future__ import annotations

from ..vm.snapshot.runs import Held, read, written
from .snapshot_secrets import SnapshotSecrets
from .streams import STREAMS
from .tools import MOCKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .session import Session


def snapshot(session: Session) -> bytes:
    """SnapshotError for what no snapshot can hold."""
    return written(session.machine, [table[name] for table, name in _kept(session)], SnapshotSecrets(session))


def resume(session: Session, data: bytes) -> None:
    """Go on with the machine that the bytes tell of. SnapshotError, and nothing has changed, for the bytes of another program or
    of another moment: each effect in them has to be one that the session performs."""
    old = session.machine
    machine = old.successor()
    held = Held(old, [table[name] for table, name in _kept(session)])
    values, streams = read(machine, data, held, SnapshotSecrets(session))
    session.machine = machine
    for (table, name), value in zip(_kept(session), values, strict=True):
        table[name] = value
    for effect, call in session.state.get(STREAMS, {}).items():
        call.stream = streams.get(effect.key, call.stream)


def _kept(session: Session) -> list[tuple[dict[Any, Any], Any]]:
    """Where the session has values of the machine: states of tools, of spawned models too, and what stands in for tools."""
    tools = session.state.get("tools")
    models = session.state.get("models")
    spawned = [] if models is None else [made.own_tools for made in models.instances.values() if made.is_spawned]
    tables = [each.states for each in (tools, *spawned) if each is not None]
    tables += session.state.get(MOCKS, {}).values()
    return [(table, name) for table in tables for name in table]
