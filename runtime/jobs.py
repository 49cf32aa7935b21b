"""Coroutines side by side, on asyncio's loop or the one of offline runs.

Both loops have `create_task`, `create_future` and `call_later`; nothing else is used here. Must not know: effects, the machine.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any


def asyncio_loop() -> Any:
    from asyncio import get_running_loop

    return get_running_loop()


async def ended(loop: Any, job: Any) -> None:
    """Waits until a job is over, however it ends."""
    if not job.done():
        over = loop.create_future()
        job.add_done_callback(lambda _: None if over.done() else over.set_result(None))
        await over
    if not job.cancelled():
        job.exception()  # asked for, so that nobody complains that it was not


async def pause(loop: Any, seconds: float) -> None:
    """By the clock of the loop."""
    over = loop.create_future()
    timer = loop.call_later(seconds, lambda: over.done() or over.set_result(None))
    try:
        await over
    finally:
        timer.cancel()


async def stop_all(loop: Any, jobs: list[Any]) -> None:
    """Cancels jobs and returns when all are over (G-7.2), also for a caller that is itself cancelled meanwhile."""
    for job in jobs:
        job.cancel()
    cancelled = None
    for job in jobs:
        while not job.done():
            try:
                await ended(loop, job)
            except BaseException as error:  # of the caller: what a job ends in is not raised here
                cancelled = error
    if cancelled is not None:
        raise cancelled


async def gather(loop: Any, coroutines: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """The results in order; the first failure, or a cancellation, stops the others."""
    jobs = [loop.create_task(coroutine) for coroutine in coroutines]
    try:
        return [await job for job in jobs]
    finally:
        await stop_all(loop, jobs)


async def within(loop: Any, seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine, which is cancelled when the time is up: TimeoutError."""
    job = loop.create_task(coroutine)
    expired = False

    def expire() -> None:
        nonlocal expired
        if not job.done():
            expired = True
            job.cancel()

    timer = loop.call_later(seconds, expire)
    try:
        await ended(loop, job)
    finally:
        timer.cancel()
        await stop_all(loop, [job])
    if expired and job.cancelled():
        raise TimeoutError
    return job.result()
