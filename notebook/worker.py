"""Runs sessions in one thread: a notebook has an event loop in its main thread, in which no other can run, and stores of memories
want to be used where they were opened.

Hands on `Worker` to the cells. What a session runs, and what becomes of its outcome, is not known here.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor

from ..runtime.session.session import run_offline
from ..vm.interp.machine import Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..runtime.session.session import Outcome, Session


LOOK = 0.2  # seconds after which the main thread looks whether it was interrupted: not every wait is ended by that


class Worker:
    """The thread, which runs one session at a time."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "concerto-notebook")
        self._task: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def close(self) -> None:
        """End the thread, once what runs has ended."""
        self._executor.shutdown()

    def run(self, session: Session, **limits: Any) -> Outcome:
        """Run a session as `Session.run` does, and return its outcome. Raise KeyboardInterrupt once a run has ended that Ctrl-C,
        or the notebook, has interrupted, and RuntimeError after `close`; what else the run raises passes through."""
        future: Future[Outcome | None] = self._executor.submit(self._run, session, limits)
        interrupted = False
        while True:
            try:
                outcome = future.result(timeout=LOOK)
                break
            except TimeoutError:
                if future.done():
                    raise  # of the run itself
            except KeyboardInterrupt:
                interrupted = True
                self._interrupt(session)
        if outcome is None or interrupted:
            raise KeyboardInterrupt
        return outcome

    def _interrupt(self, session: Session) -> None:
        """End what runs: the flag ends a program that computes, the cancelling one that waits."""
        session.stop("interrupted")
        if self._task is not None:
            loop, task = self._task
            loop.call_soon_threadsafe(task.cancel)

    def _run(self, session: Session, limits: dict[str, Any]) -> Outcome | None:
        try:
            if session.host.loop is not None:
                return run_offline(session, **limits)
            with asyncio.Runner(loop_factory=session.host.new_loop) as runner:
                return runner.run(self._awaited(session, limits))
        except (Stopped, asyncio.CancelledError):
            return None

    async def _awaited(self, session: Session, limits: dict[str, Any]) -> Outcome:
        task = asyncio.ensure_future(session.run(**limits))
        self._task = asyncio.get_running_loop(), task
        try:
            return await task
        finally:
            self._task = None
