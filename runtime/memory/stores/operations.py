"""Operations on stores: plain code that reads or changes a memory, and may have to wait for a store (G-12.7).

Hands on the protocol `Operations` and its simple form `IN_PLACE` to whoever reads or changes memories, `MustWait` to those who
try an operation first, and to the stores the limits of their waits, `LONGEST_WAIT` (to `search/search_database.py` too) and
`LONGEST_CONNECT`. An operation is tried where the session runs, and done there when nothing has to be waited for, which costs
nothing more. A store that would wait raises `MustWait` before it has changed anything, and the operation begins anew where it
may wait: in the thread of the session. Others that have these methods: `StoreThread` (`thread.py`), the form of a session with
a store, and `JournaledOperations` (`runtime/journal/stores.py`), which stands around it where the run has a journal.
"""

from __future__ import annotations

from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Operations(Protocol):
        """How the operations of a session are run. What `work` or `call` raises passes through."""

        def attempt(self, work: Callable[[], Any]) -> Any:
            """Return what `work` returns. Raises MustWait when a store has to be waited for, or another operation."""

        async def use(self, work: Callable[[], Any], effect: Any = None) -> Any:
            """Return what `work` returns, tried first where the session runs; other tasks go on while it waits. `effect` is the
            request of a task of the program whose outcome it is, None where no task waits for one. When the caller is cancelled
            nothing was changed, unless a change was under way that could not be taken back."""

        def home(self, call: Callable[[], Any]) -> Any:
            """Return what `call` returns on the session's own thread, for an operation that may be in another one."""

        def clock(self) -> float:
            """Return seconds that only grow, by which sessions take turns."""

        def timed(self, loop: Any) -> Any:
            """Return `loop`, the event loop of the session, with `time` and `call_later` of those by which whoever waits for a
            lock gives up (a recording has when they ran out); all else is that loop's."""

        @property
        def beside(self) -> Operations:
            """The operations for what no outcome of the program hangs on, such as to give a lock back: no recording has them.
            While a recording is given, `attempt` and `use` of these do nothing and return None."""

        def close(self) -> None:
            """End the thread, if there is one, and wait for its end; the next operation that waits begins another one."""


LONGEST_WAIT = 30.0
"""Seconds for one answer of a store, or for a lock of it (G-12.5)."""
LONGEST_CONNECT = 10
"""Seconds until a server has accepted a connection."""


class MustWait(BaseException):
    """The store has to be waited for, and nothing was changed. It is no failure: the operation is repeated in the thread
    of the session. A BaseException, so that no handler of failures catches it."""


class InPlace:
    """Operations that are done where they are asked for, however long that takes: for sessions whose memories are all volatile,
    and in tests. The methods are those of `Operations`; none raises MustWait of its own."""

    def attempt(self, work: Callable[[], Any]) -> Any:
        return work()

    async def use(self, work: Callable[[], Any], effect: Any = None) -> Any:
        return work()

    def home(self, call: Callable[[], Any]) -> Any:
        return call()

    def clock(self) -> float:
        return monotonic()

    def timed(self, loop: Any) -> Any:
        return loop

    @property
    def beside(self) -> Operations:
        return self

    def close(self) -> None:
        """Do nothing: it has no thread."""


IN_PLACE = InPlace()
