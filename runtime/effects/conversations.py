"""The conversation a call records its turn in: memories, with turn locks and summarisers of the session (M-5.17, M-9).

Hands on `conversation` to the performers of models and agents. Must not know: effects' kinds, providers, agents.
"""

from __future__ import annotations

from ..errors import CallFailure
from ..memory.entries import nested, reading_itself
from ..records import to_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...vm.interp.effects import Effect
    from ...vm.values import MemoryRef
    from ..memory.locks import TurnLocks
    from ..memory.memory import Memory
    from ..memory.turns import Conversation
    from ..running import Running
    from .memory_callbacks import MemoryEvents


async def call_conversation(
    run: Running,
    effect: Effect,
    given: MemoryRef | tuple[MemoryRef, ...],
    auto: bool,
    by: str,
    turn: tuple[int | None, Any] | None,
) -> Conversation:
    """`given`: handles of memories, the turn goes to the last; `auto`: whether it is appended (O-3.5); `by`: the model or agent;
    `turn`: `tokens` and `meta` of with_memory. Err when one of them may not be attached (M-4.16) or opened."""
    from ..memory.turns import Conversation

    refs = given if isinstance(given, tuple) else (given,)
    for ref in refs:
        writes = auto and ref is refs[-1]
        if not run.memories.allows(ref.name, by, writes):
            way = "" if writes else " to be read"
            raise CallFailure("AgentError", "InvalidRequest", f"the memory {ref.name} does not allow {by}{way}", model=by)
    heard: MemoryEvents | None = None
    if any(run.memories.is_heard(ref.name) for ref in refs):
        from .memory_callbacks import MemoryEvents

        heard = MemoryEvents(run, effect)
    attached = await run.operations.use(lambda: [run.memories.at(ref) for ref in refs])
    if heard is not None:
        attached = [heard.of(memory) for memory in attached]
    tokens, meta = turn or (None, None)
    made = Conversation(
        attached if len(attached) > 1 else attached[0], auto, tokens=tokens, meta=None if meta is None else to_plain(meta),
        operations=run.operations,
    )  # fmt: skip
    if any(element.policy.recall is not None for element in made.attached):
        from ..memory.remembering import Recalling

        made.recall = Recalling(effect.task.path, by, made.attached)
    made.handles = refs
    made.heard = heard
    if auto and run.memories.reading and run.memories.reads_around(effect.task, made.memory):
        raise reading_itself(made.memory.name)
    if any(element.policy.view_with is not None for element in made.attached):
        from .memory_callbacks import view_function_caller

        made.ask = view_function_caller(run, effect)
    made.locks = turn_locks(run, made.memory)
    if auto and made.memory.policy.on_conflict != "Append":
        _enter(run, effect, made)
    if auto and any(policy.summary is not None for policy in made.memory.views.values()):
        from .summarisers import summariser

        made.summarise = summariser(run, effect)
        made.report = lambda text: run.host.log("warn", text)
    return made


def _enter(run: Running, effect: Effect, made: Conversation) -> None:
    """Err Nested for a run inside another one that writes the same log: it would wait for itself (M-5.20)."""
    turns: dict[Effect, Conversation] = run.memories.turns
    if run.memories.turn_around(effect.task, made.memory) is not None:
        raise nested()
    turns[effect] = made
    made.ended = lambda: turns.pop(effect, None)


def drop_turns(run: Running, effects: Sequence[Effect]) -> None:
    """Nobody waits for these any more: a turn whose reply came, but was not committed, gives its lock back (O-6.12)."""
    turns = run.memories.turns
    for effect in effects:
        if effect in turns:
            turns[effect].close()


def run_id(run: Running, name: str, number: int, conversation: Conversation | None) -> str:
    """Unique in the log the turn goes to: a store holds the turns of other sessions too (M-5.10)."""
    if conversation is None:
        return f"{name}-{number}"
    return f"{name}-{number}{run.tag(conversation.shared)}"


def turn_locks(run: Running, memory: Memory) -> TurnLocks | None:
    """Those of the session, made when a memory needs one."""
    if memory.policy.on_conflict != "Serial":
        return None
    locks: TurnLocks | None = run.state.get("turn_locks")
    if locks is None:
        from ..memory.locks import TurnLocks
        from ..memory.stores.sqlite import owner_name

        locks = run.state["turn_locks"] = TurnLocks(owner_name(), lambda: run.work.loop, run.operations)
    return locks
