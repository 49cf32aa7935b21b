"""A store that the host brings, behind a border (M-8.6): what its methods raise is an Err `Store`, not the end of the session.

Hands on `HostStore`. Must not know: what the store keeps, or where.
"""

from __future__ import annotations

from ...host_failures import full_text
from ..errors import MemoryFailure, store_failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..keys import Key
    from .protocol import Store


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
