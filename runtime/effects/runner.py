"""The effects that the session is performing, one job each, and how their results reach the waiting tasks (V-6.3, O-6.16).

An effect is what the machine asks the session to do for a task, which waits for the answer. Hands on `EffectRunner` to the
session, which asks it for the next result (its protocol, `running.py`, takes it too), and to session and performers
`PendingCommit`, which a performer or a stream (`calls/streams.py`) returns when its result is still to be stored. Which function
performs an effect is `table.py`; the commit itself is run by `session/session.py`.
"""

from __future__ import annotations

from contextlib import nullcontext
from heapq import heapify, heappop, heappush

from ..loop import stop_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..journal.journal import Journal


class PendingCommit:
    """The result of an effect that still has to be stored. A performer returns it in place of a value.

    `commit` stores and returns the value of the effect. It is one operation on stores: when a store makes it wait it is called
    again from its beginning. It is called when the task goes on, and never when the task was cancelled before: a call that lost a
    race leaves nothing in a memory, although its reply has come (O-6.12). `over` is called when `commit` is done or has failed;
    of a task that was cancelled before, `conversations.drop_turns` gives back what `over` would. `after` is work that follows the
    commit and that the task waits for, such as folding a summary (M-9.5)."""

    __slots__ = ("commit", "after", "over")

    def __init__(
        self,
        commit: Callable[[], Any],
        after: Callable[[], Awaitable[None]] | None = None,
        over: Callable[[], object] = lambda: None,
    ) -> None:
        self.commit = commit
        self.after = after
        self.over = over

    def committed(self, value: Any) -> PendingCommit:
        """Return what is left when the commit has given `value`: the same work afterwards, and nothing more to store."""
        return PendingCommit(lambda: value, self.after)


class EffectRunner:
    """One job for each effect that is being performed; the results are handed out one at a time. `loop` is asyncio's or an
    `OfflineLoop`.

    Of results that are ready, the one whose task has the lowest number comes first, so that the order of a program's results does
    not hang on the order in which a loop ends its jobs (O-6.16); only that of `is_committing` comes before them. While a
    `journal` gives a recording again, it says which comes first (G-13.12)."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self._jobs: dict[Effect, Any] = {}
        self._background: dict[Effect, Any] = {}  # work that outlives the answer to its effect
        self._finished: list[tuple[int, int, Effect]] = []  # a heap: number of the task, order of the end
        self._count = 0  # of jobs that have ended
        self._urgent: Effect | None = None  # its result comes before all others
        self._sleeper: Any = None  # the future that `next` waits for
        self.journal: Journal | None = None
        self._interrupted = False

    def begin(self, effect: Effect, performing: Coroutine[Any, Any, Any]) -> None:
        """Run the coroutine that performs an effect as a job; `next` will give both when the coroutine is over."""
        job = self._jobs[effect] = self.loop.create_task(performing)
        job.add_done_callback(lambda _: self._job_is_over(effect, job))

    def hold(self, effect: Effect, work: Coroutine[Any, Any, Any]) -> None:
        """Run work that an effect began and that goes on after its answer, until it is over or the effect is closed or
        released."""
        job = self._background[effect] = self.loop.create_task(work)
        job.add_done_callback(lambda _: self._background.pop(effect, None))

    def _job_is_over(self, effect: Effect, job: Any) -> None:
        if not job.cancelled():
            job.exception()  # asyncio warns of an error that nobody looks at; when the run is over nobody does
        if effect in self._jobs:
            self._count += 1
            heappush(self._finished, (effect.task.number, self._count, effect))
            self._wake()

    def interrupt(self) -> None:
        """Make `next` return None: something happened that is no end of an effect, such as a child task or the deadline. Only the
        thread of the loop may call this."""
        self._interrupted = True
        self._wake()

    def _wake(self) -> None:
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    def is_committing(self, effect: Effect) -> None:
        """Take note that an effect begins to change a store, which nobody can take back: no other result will come before its
        own, so that a race, for example, is won by the call whose turn is stored."""
        if effect in self._jobs:
            self._urgent = effect

    def wake(self) -> None:
        """Make `next` look again at what has finished."""
        self._wake()

    def is_waiting(self) -> bool:
        """Return whether `next` waits: nothing has finished, and nobody has interrupted it."""
        return self._sleeper is not None and not self._sleeper.done()

    def load(self) -> int:
        """Return how many effects are being performed, with the work that `hold` runs."""
        return len(self._jobs) + len(self._background)

    def has_finished(self, key: str) -> bool:
        """Return whether the effect of that key is over and its result not yet handed out."""
        return any(effect.key == key for _, _, effect in self._finished)

    def _chosen(self) -> Effect | None:
        """Return the effect that the journal wants to be next."""
        assert self.journal is not None
        return self.journal.chosen([entry for entry in self._finished if entry[2] in self._jobs], len(self._jobs))

    def _is_next(self) -> bool:
        if self.journal is not None and self.journal.is_replaying:
            return self._chosen() is not None
        if self._urgent is None or self._urgent not in self._jobs:
            return bool(self._finished)
        return any(effect is self._urgent for _, _, effect in self._finished)

    def _take(self) -> Effect:
        urgent, self._urgent = self._urgent, None
        if self.journal is not None and self.journal.is_replaying:
            urgent = self._chosen()
        if urgent in self._jobs:
            entry = next(entry for entry in self._finished if entry[2] is urgent)
            self._finished.remove(entry)
            heapify(self._finished)  # rare, and the heap is short: taking one out of its middle may cost its length
            return entry[2]
        return heappop(self._finished)[2]

    async def next(self) -> tuple[Effect, Any] | None:
        """Wait until an effect is over, and return it with its job, which holds the result or the error; None after `interrupt`,
        or when the effect was closed meanwhile."""
        while not self._interrupted and not self._is_next():
            self._sleeper = self.loop.create_future()
            await self._sleeper
        if self._interrupted:
            self._interrupted = False
            return None
        effect = self._take()
        if self.journal is not None and effect in self._jobs:
            self.journal.delivered(effect, len(self._jobs))
        job = self._jobs.pop(effect, None)
        return None if job is None else (effect, job)

    def __bool__(self) -> bool:
        """Return whether an effect is being performed."""
        return bool(self._jobs)

    async def close(self, effects: list[Effect]) -> None:
        """Cancel these effects, for which no task waits any more, and what `hold` runs for them. Return when their jobs are
        over."""
        jobs = [self._jobs.pop(effect) for effect in effects if effect in self._jobs]
        background = [self._background.pop(effect) for effect in effects if effect in self._background]
        with nullcontext() if self.journal is None else self.journal.ending(effects):
            await stop_all(self.loop, [*jobs, *background])

    async def release(self, effect: Effect) -> None:
        """Cancel the work that `hold` runs for an effect, and return when it is over. The effect itself goes on."""
        job = self._background.pop(effect, None)
        await stop_all(self.loop, [] if job is None else [job])

    async def close_all(self) -> None:
        """Cancel everything, at the end of a run. Return when all jobs are over."""
        await self.close([*self._jobs, *self._background])
