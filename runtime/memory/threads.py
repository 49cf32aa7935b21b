"""One thread per blocking store: whole methods of a memory run there, in the order they were asked for.

A cancelled waiter still waits for the transaction it began, so that it knows what was stored. Must not know: what is run.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor
    from typing import TypeVar

    from .stores.protocol import Store

    T = TypeVar("T")


class StoreThreads:
    """The threads of a session, made with the first work of their store."""

    def __init__(self) -> None:
        self._executors: dict[int, tuple[Store, ThreadPoolExecutor]] = {}

    async def call(self, store: Store, work: Callable[[], T]) -> T:
        """The result of `work`; at once when the store does not block."""
        if not store.blocking:
            return work()
        import asyncio

        running = asyncio.get_running_loop().run_in_executor(self._executor(store), work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise

    def _executor(self, store: Store) -> ThreadPoolExecutor:
        found = self._executors.get(id(store))
        if found is None:
            from concurrent.futures import ThreadPoolExecutor

            executor = ThreadPoolExecutor(1, thread_name_prefix=f"memory-{store.name}")
            found = self._executors[id(store)] = (store, executor)
        return found[1]

    def close(self) -> None:
        """Waits for the work under way, then closes the stores on their threads."""
        for store, executor in self._executors.values():
            executor.submit(store.close).result()
            executor.shutdown()
        self._executors.clear()
