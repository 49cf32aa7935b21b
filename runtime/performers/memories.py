"""Direct writes that wait: for vectors of facts (M-10.16), and for the turn lock of their memory (M-5.17). The method itself is
performed when the task goes on.

Must not know: how facts are ranked, which embedder it is, who holds the lock.
"""

from __future__ import annotations

from ...vm.handles import EMBEDDED
from ...vm.panics import Panic
from ...vm.values import KeyedRef
from ..attached import turn_locks
from ..jobs import gather
from ..memory.direct_facts import drafted
from ..memory.errors import InvalidValue, MemoryFailure
from ..memory.lacking_vectors import pending, store_pending
from ..memory.remembering import Facts
from ..settled import Settled
from ..translation import failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...vm.effects import Effect, MemoryUse
    from ..memory.locks import TurnLocks
    from ..memory.memory import Memory
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    use: MemoryUse = effect.payload
    if type(use.memory) is KeyedRef:
        return await _erase_keys(run, effect, use.memory, *use.arguments)
    stores = use.method not in ("recall", "view")
    turn: HeldTurn | None = None
    try:
        opened = run.memories.at(use.memory)
        memory: Memory = getattr(opened, "memory", opened)  # a derived view has the facts of its memory
        if run.memories.waits(use.memory, use.method, effect.task):
            turn = await _held(run, effect, memory, lambda: [memory])
        if memory.embedding is not None and use.method in EMBEDDED:
            await memory.embedding.fill(_texts(memory, effect.task.path, use, stores))
    except InvalidValue as error:
        raise Panic("P452", str(error)) from None
    except MemoryFailure as failure:
        raise Panic("P451", failure.message) from None

    def commit() -> Any:
        try:
            value = _performed(run, use, effect.task)
        finally:
            if turn is not None:
                turn.close()
        if stores and memory.embedding is not None:
            store_pending(memory)
        return value

    return Settled(commit)


async def _erase_keys(run: Running, effect: Effect, ref: KeyedRef, values: dict[str, Any]) -> Any:
    """`erase` of a keyed memory, when it has the turn locks of all these keys (M-7.3)."""
    turn: HeldTurn | None = None
    try:
        if not run.memories.within_keys(ref, values, effect.task):
            turn = await _held(run, effect, None, lambda: run.memories.with_keys(ref, values))
    except InvalidValue as error:
        raise Panic("P452", str(error)) from None
    except MemoryFailure as failure:
        value = failed(failure)
        return Settled(lambda: value)

    def commit() -> Any:
        try:
            return run.memories.keyed(ref, "erase", values, effect.task)
        finally:
            if turn is not None:
                turn.close()

    return Settled(commit)


class HeldTurn:
    """The turn lock in the hands of a direct write, or the locks of several keys, among the turns in progress; `close` gives it
    back."""

    run = None

    def __init__(self, memory: Memory | None, give_back: Callable[[], None]) -> None:
        self.memory = memory
        self.close = give_back


async def _held(run: Running, effect: Effect, memory: Memory | None, wanted: Callable[[], list[Memory]]) -> HeldTurn:
    """`wanted`: the memories whose locks are taken, in the order of their keys, so that two who take several do not wait for each
    other; then those that were begun meanwhile. `memory`: the only one."""
    held: list[tuple[TurnLocks, Memory]] = []
    turns = run.memories.turns

    def give_back() -> None:
        turns.pop(effect, None)
        while held:
            locks, memory = held.pop()
            locks.release(memory)

    async def take() -> None:
        while missing := [one for one in wanted() if all(one != mine for _, mine in held)]:
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


def _performed(run: Running, use: MemoryUse, task: Any) -> Any:
    if use.method not in ("append", "clear"):
        return run.memories.perform(use.memory, use.method, use.arguments, task)
    try:
        return getattr(run.memories.written(use.memory, task), use.method)(*use.arguments)
    except MemoryFailure as failure:
        raise Panic("P451", failure.message) from None


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
