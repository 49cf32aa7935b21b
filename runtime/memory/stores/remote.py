"""A store whose methods wait for a network, or for whatever a host does in it, as operations of a session use it (G-12.7).

Hands on `Remote` to `opened.py`. An operation calls each method but `close` in the thread of the session; the store is opened
there too, when it is first used. A method of a store that changes it has to stand in CHANGES. What a store is asked is decided by
those who call it.
"""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

from ..failures import store_failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .protocol import Store
    from .thread import StoreThread


CHANGES = frozenset(("commit", "keep", "swap", "touch", "remove", "expire", "acquire", "release"))
_calls: WeakKeyDictionary[Any, Lock] = WeakKeyDictionary()
_unknown: dict[int, tuple[Lock, Any]] = {}


class Remote:
    """The store `name`, called in the thread. `kind`, its class or an object of it, says which of the optional methods there are
    before anything is opened; `opener` opens it. A store that several sessions share, such as one of a host, is called by one of
    them at a time.

    It has the methods of `kind`, AttributeError for any other. A method raises what that of the store raises, what opening it
    raises, MemoryFailure("Store") when no answer comes within LONGEST_WAIT seconds, MustWait, with nothing called, where an
    operation is only tried, and Cancelled in one that nobody waits for any more."""

    blocking = True

    def __init__(self, name: str, kind: Any, opener: Callable[[], Store], thread: StoreThread) -> None:
        self.name = name
        self._kind = kind
        self._opener = opener
        self._thread = thread
        self._store: Any = None

    def __getattr__(self, method: str) -> Any:
        getattr(self._kind, method)  # AttributeError for an optional method that the kind lacks
        changes = method in CHANGES

        def call(*arguments: Any, **named: Any) -> Any:
            if changes:
                self._thread.changing()
            check = self._thread.check()
            try:
                return self._thread.wait(lambda: self._called(method, arguments, named, check), self._interrupt)
            except TimeoutError as error:
                raise store_failed(self.name, str(error)) from None

        return call

    def _called(self, method: str, arguments: Any, named: Any, check: Callable[[], object]) -> Any:
        if self._store is None:
            self._store = self._opener()
        with one_at_a_time(self._store):
            check()  # what waited here until nobody wanted it any more must not come behind what was done since
            return getattr(self._store, method)(*arguments, **named)

    def _interrupt(self) -> None:
        interrupt = getattr(self._store, "interrupt", None)
        if interrupt is not None:
            interrupt()

    def close(self) -> None:
        """Close the store where it is called, if it was opened."""
        if self._store is not None:
            self._store.close()


def one_at_a_time(store: Any) -> Lock:
    """Return the lock under which a store is called, the same one for all threads of this process."""
    store = getattr(store, "store", store)  # a HostStore around it
    try:
        lock = _calls.get(store)
        return lock if lock is not None else _calls.setdefault(store, Lock())
    except TypeError:  # a class that knows no weak references, or no hash
        return _unknown.setdefault(id(store), (Lock(), store))[0]
