"""The event loop of a session that is called without one: it takes descriptors only when something needs them (G-6.11).

A program that waits for no connection, process or signal waits on a lock. Hands on `SessionLoop`. Must not know: sessions.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any


class LateSelector(selectors.BaseSelector):
    """`opened` is called when the first descriptor is to be watched."""

    def __init__(self) -> None:
        self.real: selectors.BaseSelector | None = None
        self.opened: Callable[[], None] = lambda: None
        self._woken = threading.Semaphore(0)

    def open(self) -> selectors.BaseSelector:
        if self.real is None:
            self.real = selectors.DefaultSelector()
            self.opened()
        return self.real

    def wake(self) -> None:
        """`select` returns, from any thread."""
        self._woken.release()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.open().register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self.open().unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.open().modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[Any]:
        if self.real is not None:
            return self.real.select(timeout)
        if timeout is None or timeout > 0:
            self._woken.acquire(timeout=timeout)
        while self._woken.acquire(blocking=False):
            pass
        return []

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        if self.real is None:
            raise KeyError(fileobj)
        return self.real.get_key(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return {} if self.real is None else self.real.get_map()

    def close(self) -> None:
        if self.real is not None:
            self.real.close()


class SessionLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, whose pipe for waking it is made with the first descriptor that it watches."""

    def __init__(self) -> None:
        self._late = LateSelector()
        super().__init__(self._late)
        self._late.opened = super()._make_self_pipe  # type: ignore[misc]

    def __del__(self) -> None:
        with suppress(ValueError, OSError):  # of a session that nobody closed the pipe may be collected first
            super().__del__()

    def _make_self_pipe(self) -> None:
        pass

    def _write_to_self(self) -> None:
        self._late.wake()
        if self._late.real is not None and hasattr(self, "_csock"):  # another thread may ask while the pipe is being opened
            super()._write_to_self()  # type: ignore[misc]

    def _close_self_pipe(self) -> None:
        if self._late.real is not None:
            super()._close_self_pipe()  # type: ignore[misc]

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:  # type: ignore[override]
        """Signals come through the pipe."""
        self._late.open()
        super().add_signal_handler(sig, callback, *args)
