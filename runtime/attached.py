"""The conversation a call records its turn in: an attached memory with the turn locks of its session (M-5.17).

Hands on `conversation` to the performers of models and agents. Must not know: effects, providers, agents.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..vm.values import MemoryRef
    from .memory.conversation import Conversation
    from .memory.declared import DerivedMemory
    from .memory.locks import TurnLocks
    from .memory.memory import Memory
    from .running import Running


def conversation(run: Running, name: str | MemoryRef, auto: bool) -> Conversation:
    """`name`: a declared memory, or the handle of a branch; `auto`: whether the turn is appended (O-3.5)."""
    from .memory.conversation import Conversation

    attached = run.memories.attached(name)
    return Conversation(attached, auto, locks=_turn_locks(run, attached))


def _turn_locks(run: Running, attached: Memory | DerivedMemory) -> TurnLocks | None:
    """Those of the session, made when a memory needs one."""
    from .memory.declared import DerivedMemory

    memory = attached.memory if isinstance(attached, DerivedMemory) else attached
    if memory.policy.on_conflict != "Serial":
        return None
    locks: TurnLocks | None = run.state.get("turn_locks")
    if locks is None:
        from .memory.locks import TurnLocks

        locks = run.state["turn_locks"] = TurnLocks(loop=lambda: run.work.loop)
    return locks
