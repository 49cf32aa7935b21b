"""Methods of memories that wait: for vectors of facts (M-10.16), for the turn lock of their memory (M-5.17), for its store
(G-12.7). The method itself is performed when the task goes on.

Must not know: how facts are ranked, which embedder it is, who holds the lock, which store it is.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from random import Random
from time import monotonic, sleep

from ...vm.interp.effects import Effect
from ...vm.interp.methods_models import message_array
from ...vm.interp.methods_stores import CHANGING, is_slot_method, slot_method
from ...vm.interp.tasks import Invoke
from ...vm.panics import Panic
from ...vm.values import Err, KeyedRef, Ok
from ..errors import CallFailure
from ..loop import gather, pause
from ..memory.entries import InvalidValue, MemoryFailure
from ..memory.fact_methods import drafted
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
    from ..memory.entries import Key
    from ..memory.locks import TurnLocks
    from ..memory.memory import Memory
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    use: MemoryUse = effect.payload
    if type(use.memory) is KeyedRef:
        return await _of_keys(run, effect, use.memory, use.method, *use.arguments)
    if is_slot_method(use.method):
        return await _of_slot(run, effect, use)
    stores = use.method not in ("recall", "view")
    turn: HeldTurn | None = None
    embeds = use.method in EMBEDDED and run.memories.embeds(use.memory) and not run.memories.initialising
    memories, operations = run.memories, run.operations
    heard = None
    if memories.is_heard(use.memory.name):
        from .memory_callbacks import MemoryEvents

        heard = MemoryEvents(run, effect)
    try:
        waits = await operations.use(lambda: memories.waits(use.memory, use.method, effect.task))
        memory: Memory | None = await operations.use(lambda: _opened(run, use)) if waits or embeds else None
        if waits and memory is not None:
            turn = await _held(run, effect, memory)
        if embeds and memory is not None and memory.embedding is not None:
            await memory.embedding.fill(await operations.use(lambda: _texts(memory, effect.task.path, use, stores)))
        if use.method == "view" and memories.asks(use.memory):
            return await _asked_view(run, effect, use)
    except InvalidValue as error:
        raise Panic("P452", str(error)) from None
    except MemoryFailure as failure:
        return of_failure(use.method, failure)

    def commit() -> Any:
        return memories.perform(use.memory, use.method, use.arguments, effect.task, None if heard is None else heard.of)

    async def after() -> None:
        with suppress(MemoryFailure):  # what was asked for is done: vectors come with a later commit
            if memory is not None and stores and embeds:
                await operations.use(lambda: store_pending(memory))
        if heard is not None:
            await heard.deliver()

    follows = (stores and embeds) or heard is not None
    return PendingCommit(commit, after if follows else None, (lambda: None) if turn is None else turn.close)


async def _asked_view(run: Running, effect: Effect, use: MemoryUse) -> Any:
    """A view whose messages a function of the program gives (M-6.12)."""
    from .memory_callbacks import view_function_caller

    (prompt,) = use.arguments
    opened = await run.operations.use(lambda: run.memories.at(use.memory))
    element = attached_as(opened)
    view = await run.operations.use(lambda: viewed(opened, prompt))
    try:
        await view_function_caller(run, effect)(element, view)
    except CallFailure as failure:
        raise Panic("P451", failure.message) from None
    return message_array(view.messages(prompt))


def _opened(run: Running, use: MemoryUse) -> Memory:
    opened = run.memories.at(use.memory)
    memory: Memory = getattr(opened, "memory", opened)  # a derived view has the facts of its memory
    return memory


async def _of_slot(run: Running, effect: Effect, use: MemoryUse) -> Any:
    """What the code of a program reads or writes of a context, with its default where it has none."""
    machine: Any = run.machine
    in_turn = use.method in CHANGING and run.memories.is_shared(use.memory)
    if in_turn and use.method == "_seen":
        await _take_turn(run, use)
    value = await run.operations.use(
        lambda: slot_method(machine, effect.task, use.memory, use.method, use.arguments), effect
    )
    if in_turn and use.method == "_swap":
        await _after_change(run, effect, use, value[0])
    return await run.call(effect, value.code, value.arguments) if type(value) is Invoke else value


LEAST_PAUSE, LONGEST_PAUSE = 0.002, 0.1
_chance = Random()


async def _take_turn(run: Running, use: MemoryUse) -> None:
    slot = run.memories.slot_turn(use.memory, use.arguments[0])
    memory = await _of_turn(run, use)
    if memory is not None and run.memories.slot_turns is not None:
        await run.memories.slot_turns.take(slot, memory.store, _turn_key(memory, use), run.operations.use, partial(_rest, run))


async def _after_change(run: Running, effect: Effect, use: MemoryUse, is_stored: bool) -> None:
    """A change that came too late is made again when it is its turn; within a session, where there are no turns, and where a
    store has none, after a pause, of real time and longer each time: those who write one slot at once would only keep each other
    busy (M-8.21)."""
    slot, lost = run.memories.slot_turn(use.memory, use.arguments[0]), run.memories.lost
    if is_stored:
        lost.pop(effect.task.path, None)
        memory = await _of_turn(run, use) if slot.since is not None else None
        if memory is not None and run.memories.slot_turns is not None:
            await run.memories.slot_turns.stored(slot, memory.store, _turn_key(memory, use), run.operations.use)
        return
    slot.lost()
    times = lost[effect.task.path] = lost.get(effect.task.path, 0) + 1
    await _rest(run, _chance.uniform(0, min(LONGEST_PAUSE, LEAST_PAUSE * 2**times)))


async def _of_turn(run: Running, use: MemoryUse) -> Memory | None:
    """None where the store cannot be opened, which the change itself says."""
    with suppress(MemoryFailure):
        opened: Memory = await run.operations.use(lambda: _opened(run, use))
        return opened
    return None


def _turn_key(memory: Memory, use: MemoryUse) -> Key:
    """Of no log: that has one part less."""
    return (*memory.key, use.arguments[0])


async def _rest(run: Running, seconds: float) -> None:
    until = monotonic() + seconds
    while (left := until - monotonic()) > 0:
        before = monotonic()
        await pause(run.work.loop, left)
        if monotonic() - before < left / 2:  # a clock that jumps
            sleep(left)


async def _of_keys(run: Running, effect: Effect, ref: KeyedRef, method: str, values: dict[str, Any]) -> Any:
    """`keys`; `erase` of a keyed memory, when it has the turn locks of all these keys (M-7.3)."""
    turn: HeldTurn | None = None
    memories, operations = run.memories, run.operations
    try:
        locks = ref.name in memories.serial and method == "erase"
        if locks and not await operations.use(lambda: memories.within_keys(ref, values, effect.task)):
            turn = await _held(run, effect, None, lambda: memories.with_keys(ref, values))
    except InvalidValue as error:
        raise Panic("P452", str(error)) from None
    except MemoryFailure as failure:
        value = failed(failure)
        return PendingCommit(lambda: value)
    return PendingCommit(
        lambda: memories.keyed(ref, method, values, effect.task), over=(lambda: None) if turn is None else turn.close
    )


class HeldTurn:
    """The turn lock in the hands of a direct write, or the locks of several keys, among the turns in progress; `close` gives it
    back."""

    run = None

    def __init__(self, memory: Memory | None, give_back: Callable[[], None]) -> None:
        self.memory = memory
        self.close = give_back


async def _held(
    run: Running, effect: Effect, memory: Memory | None, several: Callable[[], list[Memory]] = list
) -> HeldTurn:
    """`several`: the memories whose locks are taken, in the order of their keys, so that two who take several do not wait for
    each other; then those that were begun meanwhile. `memory`: the only one."""
    held: list[tuple[TurnLocks, Memory]] = []
    turns = run.memories.turns
    wanted = several if memory is None else lambda: [memory]

    def give_back() -> None:
        turns.pop(effect, None)
        while held:
            locks, memory = held.pop()
            locks.release(memory)

    async def take() -> None:
        while missing := [one for one in await run.operations.use(wanted) if all(one != mine for _, mine in held)]:
            for one in missing:
                locks = turn_locks(run, one)
                assert locks is not None, "only memories with Serial wait"
                await locks.take(one)
                held.append((locks, one))

    try:
        await gather(run.work.loop, [take()])  # in a job, as a model call is in one of its instance: in source order (M-5.18)
    except BaseException:
        give_back()
        raise
    made = turns[effect] = HeldTurn(memory, give_back)
    return made


def _texts(memory: Memory, task: Any, use: MemoryUse, stores: bool) -> list[str]:
    """The query, or what is remembered now and what was remembered while the embedder failed."""
    if not stores:
        return [use.arguments[0]]
    waiting = [fact.text for fact in pending(memory)]
    facts = Facts(memory, task)
    if use.method == "remember":
        return [drafted(facts, *use.arguments).text, *waiting]
    if use.method == "relate":
        a, relation, b = use.arguments
        said = f"{a} {relation} {b}"
        return [facts.drafted(said, said, about=[a, b]).text, *waiting]
    return waiting


# ----------------------------------------------------------------
# The files of persistent hashmaps (O-5.12): read at initialisation, rewritten after each change, under the permissions of the
# program for their paths.


async def perform_stores(run: Running, effect: Effect) -> Any:
    file: StoreFile = effect.payload
    operation = ("read_file", file.path) if file.text is None else ("write_file", file.path, file.text)
    answer = await files.perform(run, Effect(effect.key, "file", operation, True, effect.task))
    absent = file.text is None and type(answer) is Err and answer.value.variant == "NotFound"
    return Ok(None) if absent else answer
