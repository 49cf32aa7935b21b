"""The stores of a session by name, each opened when a memory first uses it (M-8.2, M-8.3).

Hands on `OpenStores`. What a declaration says of its store stands in the image. Must not know: memories, the manifest.
"""

from __future__ import annotations

import os

from ..errors import store_failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .protocol import Store

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
    ) -> None:
        self.configured = configured
        self.given = given
        self.folder = folder
        self.env = env
        self.volatile = volatile
        self.open: dict[str, Any] = {}

    def __call__(self, name: str) -> Store:
        """MemoryFailure `Store` when it cannot be opened."""
        found: Store | None = self.open.get(name)
        if found is None:
            found = self.open[name] = self._opened(name, self.configured[name])
        return found

    def _opened(self, name: str, said: Mapping[str, Any]) -> Store:
        if self.volatile:
            from .volatile import VolatileStore

            return VolatileStore()
        if name in self.given:
            from .of_host import HostStore

            return HostStore(name, self.given[name])
        kind, deflates = said["kind"], said.get("compress", False)
        if kind == "host":
            raise store_failed(name, "the host gives no store of this name")
        if kind == "sqlite":
            from .sqlite import SqliteStore

            return SqliteStore(os.path.join(self.folder, said.get("path", FILE)), name=name, deflates=deflates)
        address = self.env.get(said["url_env"])
        if not address:
            raise store_failed(name, f"the variable {said['url_env']} is not set")
        if kind == "redis":
            from .redis import RedisStore

            return RedisStore(address, name=name)
        from .postgres import PostgresStore

        return PostgresStore(address, name=name, deflates=deflates)

    def close(self) -> None:
        """Closes what it opened itself; a store of the host stays open."""
        for name, store in self.open.items():
            if name not in self.given:
                store.close()
        self.open.clear()
