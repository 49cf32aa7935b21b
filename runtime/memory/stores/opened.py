"""The stores of a session by name, each opened when a memory first uses it (M-8.2, M-8.3).

Hands on `OpenStores`. What a declaration says of its store stands in the image. Must not know: memories, the manifest.
"""

from __future__ import annotations

import os

from ...host import full_text
from ..entries import MemoryFailure, store_failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ..entries import Key
    from .protocol import Store
    from .thread import StoreThread


FILE = os.path.join(".concerto", "memory.db")


class OpenStores:
    """`configured`: the `store` of the steps of each memory, by the name of the store. `given`: those of the host, which replace
    them. `folder`: where paths start from. `env` holds the addresses of servers. With `volatile` nothing outlives the session
    (M-8.15)."""

    def __init__(
        self,
        configured: Mapping[str, Mapping[str, Any]],
        given: Mapping[str, Store],
        folder: str,
        env: Mapping[str, str],
        volatile: bool = False,
        thread: StoreThread | None = None,
    ) -> None:
        self.configured = configured
        self.given = given
        self.folder = folder
        self.env = env
        self.volatile = volatile
        self.thread = thread
        self.open: dict[str, Any] = {}

    def __call__(self, name: str) -> Store:
        """MemoryFailure `Store` when it cannot be opened."""
        found: Store | None = self.open.get(name)
        if found is None:
            found = self.open[name] = self._opened(name, self.configured[name])
        return found

    def _opened(self, name: str, said: Mapping[str, Any]) -> Any:
        if self.volatile:
            from .volatile import VolatileStore

            return VolatileStore()
        if name in self.given:

            store = HostStore(name, self.given[name])
            return self._remote(name, store, lambda: store) if store.blocking else store
        kind, deflates = said["kind"], said.get("compress", False)
        if kind == "host":
            raise store_failed(name, "the host gives no store of this name")
        if kind == "sqlite":
            from .sqlite import SqliteStore

            path = os.path.join(self.folder, said.get("path", FILE))
            return SqliteStore(path, name=name, deflates=deflates, thread=self.thread)
        address = self.env.get(said["url_env"])
        if not address:
            raise store_failed(name, f"the variable {said['url_env']} is not set")
        if kind == "redis":
            from .redis import RedisStore

            return self._remote(name, RedisStore, lambda: RedisStore(address, name=name))
        from .postgres import PostgresStore

        return self._remote(name, PostgresStore, lambda: PostgresStore(address, name=name, deflates=deflates))

    def _remote(self, name: str, kind: Any, opener: Callable[[], Any]) -> Any:
        if self.thread is None:
            return opener()
        from .remote import Remote

        return Remote(name, kind, opener, self.thread)

    def close(self) -> None:
        """Closes what it opened itself; a store of the host stays open."""
        for name, store in self.open.items():
            if name not in self.given:
                store.close()
        self.open.clear()


# ----------------------------------------------------------------
# A store that the host brings, behind a border (M-8.6): what its methods raise is an Err `Store`, not the end of the session.
#
# Hands on `HostStore`.


class HostStore:
    """Has the optional methods that the store has. `keys` is read to its end at once: it may fail on the way."""

    def __init__(self, name: str, store: Store) -> None:
        self.name = name
        self.store = store
        self.blocking = store.blocking

    def __getattr__(self, method: str) -> Any:
        call = getattr(self.store, method)
        return lambda *given, **named: self._guarded(lambda: call(*given, **named))

    def keys(self, prefix: Key) -> Iterator[Key]:
        return iter(self._guarded(lambda: list(self.store.keys(prefix))))

    def _guarded(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except MemoryFailure:
            raise
        except Exception as error:
            raise store_failed(self.name, full_text(error)) from error
