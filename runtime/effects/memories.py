"""Performs the methods of memories that have to wait: for vectors of facts (M-10.16), for the turn lock of their memory (M-5.17),
or for its store (G-12.7); and the files of persistent hashmaps.

What is waited for is done here; the method itself is performed by the commit, when the task goes on (`memory/memories.py`). What
need not wait is done by the machine at once, and does not get here. Hands on `perform` and `perform_stores` to `table.py`.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from random import Random
from time import monotonic, sleep

from ...vm.builtins.memories import message_array
from ...vm.interp.context_slots import CHANGING, is_slot_method, slot_method
from ...vm.interp.effects import Effect
from ...vm.interp.tasks import Invoke
from ...vm.panics import Panic
from ...vm.values import Err, KeyedRef, Ok
from ..errors import CallFailure
from ..loop import gather, pause
from ..memory.fact_methods import drafted
from ..memory.failures import InvalidValue, MemoryFailure
from ..memory.memories import EMBEDDED
from ..memory.methods import of_failure, viewed
from ..memory.remembering import Facts
from ..memory.turns import attached_as
from ..memory.vectors import pending, store_pending
from ..records import failed
from . import files
from .conversations import turn_locks
from .runner import PendingCommit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...vm.interp.effects import MemoryUse, StoreFile
    from ..memory.keys import Key
    from ..memory.locks import TurnLocks
    from ..memory.memory import Memory
    from ..running import EffectContext


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Do what a method of a memory has to wait for, and return a PendingCommit that performs the method itself. The payload of
    the effect, which is the machine's request, is a `MemoryUse`: the handle of the memory, the method and its arguments.

    Slots of contexts (M-8.21) and entries of hashmaps in a store (O-5.41) are read and written here, and views that a function of
    the program makes are made here: they give their value at once. Raises panic P452 for an invalid value; a failure of the
    memory or its store is an Err or a panic, as the method says. A view panics with P451 where `view_function_caller` raises a
    failure; the panics of that pass, as do those of `slot_method` and `stored_hashmaps.table`, and that of a budget which the
    vectors use up."""
    use: MemoryUse = effect.payload
    if type(use.memory) is KeyedRef:
        return await _keyed_method(run, effect, use.memory, use.method, *use.arguments)
    if is_slot_method(use.method):
        return await _slot_method(run, effect, use)
    stores = use.method not in ("recall", "view")
    turn: HeldTurn | None = None
    embeds = use.method in EMBEDDED and run.memories.embeds(use.memory) and not run.memories.initialising
    memories, operations = run.memories, run.operations
    events = None
    if memories.is_heard(use.memory.name):
        from .memory_callbacks import MemoryEvents

        events = MemoryEvents(run, effect)
    try:
        waits = await operations.use(lambda: memories.waits(use.memory, use.method, effect.task))
        memory: Memory | None = await operations.use(lambda: _opened(run, use)) if waits or embeds else None
        if waits and memory is not None:
            turn = await _take_turn_locks(run, effect, memory)
        if embeds and memory is not None and memory.embedding is not None:
            texts = await operations.use(lambda: _texts(memory, effect.task.path, use, stores))
            await memory.embedding.fill(texts, effect.task.path)
        if use.method == "view" and memories.asks(use.memory):
            return await _view_with_function(run, effect, use)
    except InvalidValue as error:
        raise Panic("P452", str(error)) from None
    except MemoryFailure as failure:
        return of_failure(use.method, failure)

    def commit() -> Any:
        return memories.perform(use.memory, use.method, use.arguments, effect.task, None if events is None else events.listening)

    async def after() -> None:
        with suppress(MemoryFailure):  # the method itself is done; missing vectors come with a later commit
            if memory is not None and stores and embeds:
                await operations.use(lambda: store_pending(memory))
        if events is not None:
            await events.deliver()

    has_more = (stores and embeds) or events is not None
    return PendingCommit(commit, after if has_more else None, (lambda: None) if turn is None else turn.close)


async def _view_with_function(run: EffectContext, effect: Effect, use: MemoryUse) -> Any:
    """Return the messages of a view that a function of the program gives (M-6.12)."""
    from .memory_callbacks import view_function_caller

    (prompt,) = use.arguments
    source = await run.operations.use(lambda: run.memories.at(use.memory))
    element = attached_as(source)
    view = await run.operations.use(lambda: viewed(source, prompt))
    try:
        await view_function_caller(run, effect)(element, view)
    except CallFailure as failure:
        raise Panic("P451", failure.message) from None
    return message_array(view.messages(prompt))


def _opened(run: EffectContext, use: MemoryUse) -> Memory:
    source = run.memories.at(use.memory)
    memory: Memory = getattr(source, "memory", source)  # a derived view has the facts of its memory
    return memory


async def _slot_method(run: EffectContext, effect: Effect, use: MemoryUse) -> Any:
    """Do a method of a slot of a context, or of a hashmap in a store, for the code of the program; a slot that is missing has its
    default. Raises as `slot_method`."""
    machine: Any = run.machine
    takes_turns = use.method in CHANGING and run.memories.is_shared(use.memory)
    if takes_turns and use.method == "_seen":
        await _take_slot_turn(run, use)
    value = await run.operations.use(
        lambda: slot_method(machine, effect.task, use.memory, use.method, use.arguments), effect
    )
    if takes_turns and use.method == "_swap":
        await _after_change(run, effect, use, value[0])
    return await run.call(effect, value.code, value.arguments) if type(value) is Invoke else value


SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.1  # seconds
MOST_DOUBLINGS = 10  # of the shortest pause; beyond, the longest one holds anyway
_random = Random()


async def _take_slot_turn(run: EffectContext, use: MemoryUse) -> None:
    slot = run.memories.slot_turn(use.memory, use.arguments[0])
    memory = await _memory_of_turn(run, use)
    if memory is not None and run.memories.slot_turns is not None:
        await run.memories.slot_turns.take(slot, memory.store, _turn_key(memory, use), run.operations.use, partial(_rest, run))


async def _after_change(run: EffectContext, effect: Effect, use: MemoryUse, is_stored: bool) -> None:
    """Count a change of a slot that came too late, and pause before it is made again (M-8.21).

    Other sessions take turns, where the store has them. Within a session, or without turns, the pause is by chance and longer
    each time (exponential backoff with jitter), in real time: writers of one slot would only keep each other busy."""
    slot, lost = run.memories.slot_turn(use.memory, use.arguments[0]), run.memories.lost
    if is_stored:
        lost.pop(effect.task.path, None)
        memory = await _memory_of_turn(run, use) if slot.since is not None else None
        if memory is not None and run.memories.slot_turns is not None:
            await run.memories.slot_turns.stored(slot, memory.store, _turn_key(memory, use), run.operations.use)
        return
    slot.lost()
    times = lost[effect.task.path] = lost.get(effect.task.path, 0) + 1
    await _rest(run, _random.uniform(0, min(LONGEST_PAUSE, SHORTEST_PAUSE * 2 ** min(times, MOST_DOUBLINGS))))


async def _memory_of_turn(run: EffectContext, use: MemoryUse) -> Memory | None:
    """Return the memory; None when its store cannot be opened, which the change itself will report."""
    with suppress(MemoryFailure):
        memory: Memory = await run.operations.use(lambda: _opened(run, use))
        return memory
    return None


def _turn_key(memory: Memory, use: MemoryUse) -> Key:
    """Return the key of a slot's turn. It is that of no log, since none has an empty part before its last one (M-7.4)."""
    return (*memory.key, "", use.arguments[0])


async def _rest(run: EffectContext, seconds: float) -> None:
    """Wait by the real clock."""
    until = monotonic() + seconds
    while (remaining := until - monotonic()) > 0:
        before = monotonic()
        await pause(run.work.loop, remaining)
        if monotonic() - before < remaining / 2:  # the loop's clock is virtual and has jumped
            sleep(remaining)


async def _keyed_method(run: EffectContext, effect: Effect, ref: KeyedRef, method: str, values: dict[str, Any]) -> Any:
    """Perform `keys`, or `erase` of a keyed memory once the turn locks of all its keys are taken (M-7.3)."""
    turn: HeldTurn | None = None
    memories, operations = run.memories, run.operations
    try:
        needs_locks = ref.name in memories.serial and method == "erase"
        if needs_locks and not await operations.use(lambda: memories.within_keys(ref, values, effect.task)):
            turn = await _take_turn_locks(run, effect, None, lambda: memories.with_keys(ref, values))
    except InvalidValue as error:
        raise Panic("P452", str(error)) from None
    except MemoryFailure as failure:
        value = failed(failure)
        return PendingCommit(lambda: value)
    return PendingCommit(
        lambda: memories.keyed(ref, method, values, effect.task), over=(lambda: None) if turn is None else turn.close
    )


class HeldTurn:
    """A turn lock that a direct write holds, or the locks of several keys. It stands among the turns in progress of the session;
    `close` gives the locks back. `memory` is None when there are several keys."""

    run = None  # a Conversation, which may stand in the same place, has the run of its call here

    def __init__(self, memory: Memory | None, give_back: Callable[[], None]) -> None:
        self.memory = memory
        self.close = give_back


async def _take_turn_locks(
    run: EffectContext, effect: Effect, memory: Memory | None, several: Callable[[], list[Memory]] = list
) -> HeldTurn:
    """Take the turn lock of `memory`, or the locks of all memories that `several` gives.

    `several` gives them in the order of their keys, so that two writers that take several locks do not wait for each other. It is
    asked again until nothing is missing: a key may have been added while a lock was waited for."""
    taken_locks: list[tuple[TurnLocks, Memory]] = []
    turns = run.memories.turns
    list_memories = several if memory is None else lambda: [memory]

    def give_back() -> None:
        turns.pop(effect, None)
        while taken_locks:
            locks, memory = taken_locks.pop()
            locks.release(memory)

    async def take() -> None:
        while missing := [m for m in await run.operations.use(list_memories) if all(m != mine for _, mine in taken_locks)]:
            for one in missing:
                locks = turn_locks(run, one)
                assert locks is not None, "only memories with Serial wait"
                await locks.take(one)
                taken_locks.append((locks, one))

    try:
        await gather(run.work.loop, [take()])  # in a job, as a model call is in one of its instance: in source order (M-5.18)
    except BaseException:
        give_back()
        raise
    turn = turns[effect] = HeldTurn(memory, give_back)
    return turn


def _texts(memory: Memory, task: Any, use: MemoryUse, stores: bool) -> list[str]:
    """Return the texts that need vectors: the query of a recall, or the fact that the method remembers and those that were
    remembered while the embedder failed."""
    if not stores:
        return [use.arguments[0]]
    waiting = [fact.text for fact in pending(memory)]
    facts = Facts(memory, task)
    if use.method == "remember":
        return [drafted(facts, *use.arguments).text, *waiting]
    if use.method == "relate":
        a, relation, b = use.arguments
        sentence = f"{a} {relation} {b}"
        return [facts.drafted(sentence, sentence, about=[a, b]).text, *waiting]
    return waiting


# The files of persistent hashmaps (O-5.12): read at initialisation, rewritten after each change, under the permissions of the
# program for their paths.


async def perform_stores(run: EffectContext, effect: Effect) -> Any:
    """Read or write the file of a persistent hashmap, as the `StoreFile` of the effect says; return the Result of the operation
    (`files.py: perform`), of a read the Ok of the text. A file that does not exist is read as Ok(nil)."""
    file: StoreFile = effect.payload
    operation = ("read_file", file.path) if file.text is None else ("write_file", file.path, file.text)
    answer = await files.perform(run, Effect(effect.key, "file", operation, True, effect.task))
    absent = file.text is None and type(answer) is Err and answer.value.variant == "NotFound"
    return Ok(None) if absent else answer
