"""The stores of a session by name, each opened when a memory first uses it (M-8.2, M-8.3), and the border around a store
of the host (M-8.6).

Hands on `OpenStores` to `memory/from_image.py`, which makes that of a session, and to the protocol of sessions (`running.py`);
and FILE to `search/session_indexes.py`. What a declaration says of its store is in the image; a new kind of store gets its name
in `vm/memory_steps.STORE_KINDS` and is opened here.
"""

from __future__ import annotations

import os

from ...host import full_text
from ..failures import MemoryFailure, store_failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ..keys import Key
    from .protocol import Store
    from .thread import StoreThread


FILE = os.path.join(".concerto", "memory.db")  # of a SQLite store whose declaration names none


class OpenStores:
    """The stores of a session, each opened when it is first asked for. `configured`: the `store` of the steps of each memory, by
    the name of the store: the same `name`, `kind` ("sqlite", "postgres", "redis" or "host"), `path` of a file, `url_env`, the
    variable with a server's address, and `compress`. `of_host`: the stores of the host, which replace those of their names.
    `folder`: where paths start from. `env` holds the variables. With `volatile` every store, one of the host too, is replaced by
    a volatile one, and nothing outlives the session (M-8.15). `thread`: where a session waits for its stores; without one they
    are waited for where they are called. `open` are the stores that were asked for so far."""

    def __init__(
        self,
        configured: Mapping[str, Mapping[str, Any]],
        of_host: Mapping[str, Store],
        folder: str,
        env: Mapping[str, str],
        volatile: bool = False,
        thread: StoreThread | None = None,
    ) -> None:
        self.configured = configured
        self.of_host = of_host
        self.folder = folder
        self.env = env
        self.volatile = volatile
        self.thread = thread
        self.open: dict[str, Any] = {}
        self.around: Callable[[str, Callable[[], Any]], Any] = lambda name, opener: opener()
        """Returns the store of a name, which `opener` opens; whoever sets another function puts something before stores."""
        self.around_index: Callable[[str, Callable[[], Any]], Any] = lambda name, opener: opener()
        """The same of a search index."""

    def __call__(self, name: str) -> Store:
        """Return the store of this name, opened at its first use; KeyError for a name that is not in `configured`. Raises
        MemoryFailure when it cannot be opened ("Store", or "Corrupt" or "Version" for what it holds), and MustWait where an
        operation is only tried (`StoreThread.attempt`) and another process has the file locked. With a thread a server is
        connected to when a method of the returned store is first called, and a failure to do so comes then."""
        store: Store | None = self.open.get(name)
        if store is None:
            store = self.open[name] = self.around(name, lambda: self._opened(name, self.configured[name]))
        return store

    def _opened(self, name: str, settings: Mapping[str, Any]) -> Any:
        if self.volatile:
            from .volatile import VolatileStore

            return VolatileStore()
        if name in self.of_host:
            store = HostStore(name, self.of_host[name])
            return self._remote(name, store, lambda: store) if store.blocking else store
        kind, deflates = settings["kind"], settings.get("compress", False)
        if kind == "host":
            raise store_failed(name, "the host gives no store of this name")
        if kind == "sqlite":
            from .sqlite import SqliteStore

            path = os.path.join(self.folder, settings.get("path", FILE))
            return SqliteStore(path, name=name, deflates=deflates, thread=self.thread)
        address, source = self.address(settings)
        if kind == "redis":
            from .redis import RedisStore

            return self._remote(name, RedisStore, lambda: RedisStore(address, name=name, source=source))
        from .postgres import PostgresStore

        return self._remote(name, PostgresStore, lambda: PostgresStore(address, name=name, deflates=deflates, source=source))

    def address(self, settings: Mapping[str, Any]) -> tuple[str, str]:
        """Return the address of the server of a store, and what failures call the place where it stands. Raises
        MemoryFailure("Store") where none is set."""
        source = f"the variable {settings['url_env']}"
        address = self.env.get(settings["url_env"])
        if not address:
            raise store_failed(settings["name"], f"{source} is not set")
        return address, source

    def _remote(self, name: str, kind: Any, opener: Callable[[], Any]) -> Any:
        if self.thread is None:
            return opener()
        from .remote import Remote

        return Remote(name, kind, opener, self.thread)

    def close(self) -> None:
        """Close what was opened here, all of it also where one fails; the first failure is raised then. A store of the host stays
        open. A store that is asked for again is opened again."""
        opened = [store for name, store in self.open.items() if name not in self.of_host]
        self.open.clear()
        failures = []
        for store in opened:
            try:
                store.close()
            except Exception as failure:
                failures.append(failure)
        if failures:
            raise failures[0]


class HostStore:
    """A store that the host gives (M-8.6), under the `name` that the program calls it by; `store` is the host's own, and
    `blocking` what that says. Any Exception that its methods raise becomes MemoryFailure("Store"), so that it does not end the
    session; a MemoryFailure passes as it is. It has the optional methods that the host's store has, AttributeError for any other.
    `keys` is read to its end at once, since it may fail on the way."""

    def __init__(self, name: str, store: Store) -> None:
        self.name = name
        self.store = store
        self.blocking = store.blocking

    def __getattr__(self, method: str) -> Any:
        call = getattr(self.store, method)
        return lambda *arguments, **named: self._guarded(lambda: call(*arguments, **named))

    def keys(self, prefix: Key) -> Iterator[Key]:
        """Return the written keys that begin with these parts, in the order of the host's store."""
        return iter(self._guarded(lambda: list(self.store.keys(prefix))))

    def _guarded(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except MemoryFailure:
            raise
        except Exception as error:
            raise store_failed(self.name, full_text(error)) from error
