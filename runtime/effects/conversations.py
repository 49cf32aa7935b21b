"""Makes the conversation that a call of a model or agent records its turn in: its memories, with the turn locks, summarisers and
callbacks of the session (M-5.17, M-9).

Hands on `call_conversation` and `run_id` to the performers of models and agents, `turn_locks` to the one of memories, and
`drop_turns` to the first two and to the session. A turn is what one call adds to a log: prompt, tool rounds and reply; an effect
is the machine's request for which a task waits, here that call. What a conversation does, from its snapshot to its commit, is
`memory/conversation.py`.
"""

from __future__ import annotations

from ..errors import CallFailure
from ..memory.failures import nested, reading_itself
from ..records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...vm.interp.effects import Effect
    from ...vm.values import MemoryRef
    from ..memory.conversation import Conversation
    from ..memory.locks import TurnLocks
    from ..memory.memory import Memory
    from ..running import EffectContext
    from .memory_callbacks import MemoryEvents


async def call_conversation(
    run: EffectContext,
    effect: Effect,
    memories: MemoryRef | tuple[MemoryRef, ...],
    auto: bool,
    by: str,
    turn: tuple[int | None, Any] | None,
) -> Conversation:
    """Return the conversation of a call with these memories, of which the last one gets the turn.

    `effect` is the call; `auto` says whether the turn is appended (O-3.5); `by` is the name of the model or agent; `turn` has
    `tokens` and `meta` of `with_memory`, None without them. Raises CallFailure when a memory does not allow `by` (M-4.16), when a
    store cannot be opened or a bound does not fit, and, with `auto`, when the call is inside a function that makes a view of the
    same memory (M-4.33), or inside another run that writes it, unless its `on_conflict` is "Append" (M-5.20). Panics with P103
    for a `meta` beyond the limits of JSON."""
    from ..memory.conversation import Conversation

    refs = memories if isinstance(memories, tuple) else (memories,)
    for ref in refs:
        writes = auto and ref is refs[-1]
        if not run.memories.allows(ref.name, by, writes):
            way = "" if writes else " to read it"
            raise CallFailure("AgentError", "InvalidRequest", f"the memory {ref.name} does not allow {by}{way}", model=by)
    events: MemoryEvents | None = None
    if any(run.memories.is_heard(ref.name) for ref in refs):
        from .memory_callbacks import MemoryEvents

        events = MemoryEvents(run, effect)
    sources = await run.operations.use(lambda: [run.memories.at(ref) for ref in refs])
    if events is not None:
        sources = [events.listening(memory) for memory in sources]
    tokens, meta = turn or (None, None)
    conversation = Conversation(
        sources if len(sources) > 1 else sources[0], auto, tokens=tokens, meta=None if meta is None else json_form(meta),
        operations=run.operations,
    )  # fmt: skip
    if any(element.policy.recall is not None for element in conversation.attached):
        from ..memory.remembering import Recalling

        conversation.recall = Recalling(effect.task.path, by, conversation.attached)
    conversation.handles = refs
    conversation.task = effect.task.path
    conversation.heard = events
    # A function that gives the messages of a view must not change the memory that the view is made of.
    if auto and run.memories.reading and run.memories.reads_around(effect.task, conversation.memory):
        raise reading_itself(conversation.memory.name)
    if any(element.policy.view_with is not None for element in conversation.attached):
        from .memory_callbacks import view_function_caller

        conversation.ask = view_function_caller(run, effect)
    conversation.locks = turn_locks(run, conversation.memory)
    if auto:
        _register_run(run, effect, conversation)
    if auto and any(policy.summary is not None for policy in conversation.memory.views.values()):
        from .summarisers import summariser

        conversation.summarise = summariser(run, effect)
    conversation.report = run.warn
    return conversation


def _register_run(run: EffectContext, effect: Effect, conversation: Conversation) -> None:
    """Note the conversation among the runs in progress, and among the turns where its log has a lock, until it has ended. Raises
    CallFailure (Nested) for a run inside another one that writes the same log, unless its `on_conflict` is "Append": it would
    wait for itself (M-5.20)."""
    turns: dict[Effect, Conversation] = run.memories.turns
    runs: dict[Effect, Conversation] = run.memories.runs
    if conversation.memory.policy.on_conflict != "Append":
        if run.memories.turn_around(effect.task, conversation.memory) is not None:
            raise nested()
        turns[effect] = conversation
    runs[effect] = conversation

    def over() -> None:
        turns.pop(effect, None)
        runs.pop(effect, None)

    conversation.ended = over


def drop_turns(run: EffectContext, effects: Sequence[Effect]) -> None:
    """End the turns of effects that have failed or that no task waits for any more, and give back their locks: their replies are
    never committed (O-6.12). Effects without a turn are passed over."""
    turns, runs = run.memories.turns, run.memories.runs
    for effect in effects:
        if effect in turns:
            turns[effect].close()
        runs.pop(effect, None)


def run_id(run: EffectContext, name: str, number: int, conversation: Conversation | None) -> str:
    """Return the id of a run by `name`, the model or agent. It is unique in the session, and with a conversation in the log that
    its turn goes to: a store may hold the turns of other sessions too (M-5.10). `number` is that of the call, which no other call
    of this name in the session may have."""
    if conversation is None:
        return f"{name}-{number}"
    return f"{name}-{number}{run.tag(conversation.shared)}"


def turn_locks(run: EffectContext, memory: Memory) -> TurnLocks | None:
    """Return the turn locks of the session, None for a memory that needs none: its `on_conflict` is not "Serial". They are made
    for the first one that does."""
    if memory.policy.on_conflict != "Serial":
        return None
    locks: TurnLocks | None = run.state.get("turn_locks")
    if locks is None:
        from ..memory.locks import TurnLocks
        from ..memory.stores.sqlite import owner_name

        locks = run.state["turn_locks"] = TurnLocks(owner_name(), lambda: run.work.loop, run.operations)
    return locks
