"""Operations on stores with a journal before them (G-13.2, G-13.5, G-14.1).

An operation is plain code that reads and changes memories (`memory/stores/operations.py`). What it computes is the same each
time, so a row has what the stores have answered: the calls of their methods, in order, each with its outcome. A recording is
given again by running the code anew with these answers, and no store is opened. Hands on `bind_stores` to the session, and
`JournaledOperations` to `store_calls.py`, where the stores are. How an outcome is written is `store_forms.py`.

Exactly once: before a call that changes a store the rows so far are committed, and with them an intent, the row of the
operation with its calls so far. A run that goes on after the process died answers those from the intent, and looks for the
change in the store before it makes it.
"""

from __future__ import annotations

from contextvars import ContextVar

from ...vm.panics import Panic
from ...vm.snapshot.envelope import SnapshotError
from ..access.snapshot_secrets import SnapshotSecrets
from ..memory.failures import MemoryFailure
from ..memory.stores.operations import MustWait
from .forms import digest_of, hidden, shown
from .journal import Diverged
from .rows import DISCARDED, DONE, FAILED, INTENT, OBSERVED, REPEATABLE, EffectRow, JournalRefused
from .store_calls import DONE as NOTHING
from .store_calls import JournaledIndex, JournaledStore
from .store_forms import FAILURES, failure_form, failure_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..host import Host
    from ..memory.stores.operations import Operations
    from ..memory.stores.thread import StoreThread
    from .journal import Journal
    from .operation import Scope
    from .store_calls import Journaled
    from .store_forms import OfMethod

KIND = "memory"
WAITS = {"waits": True}  # the result of an attempt that had to wait
UNREADABLE = (
    SnapshotError, JournalRefused, MemoryFailure, LookupError, TypeError, ValueError, AttributeError, RecursionError, Panic,
)  # fmt: skip
"""What reading an outcome raises that somebody has changed."""


def bind_stores(run: Any, host: Host) -> None:
    """Put the journal of the session `run` between it and its durable stores and indexes: their operations go through the journal
    from now on. Called before anything else has them, or the clock of the host."""
    assert host.journal is not None
    operations = JournaledOperations(host.journal, host.journal_scope, run.operations, SnapshotSecrets(run))
    run.operations = operations
    run.open_stores.around = lambda name, opener: _ensured(JournaledStore(operations, name, opener))
    run.open_stores.around_index = lambda name, opener: _ensured(JournaledIndex(operations, f"index {name}", opener))
    host.now, host.wall = operations.now, operations.wall
    if host.stored_wall is not None:
        host.stored_wall = operations.wall


def _ensured(journaled: Journaled) -> Journaled:
    journaled.ensure()
    return journaled


class Operation:
    """One operation on stores. `row` is its row. `known` are the calls that are answered: all of a recorded operation
    (`is_recorded`; `was_in_thread`: it had to wait), or those of the intent of one whose process died, after which the change
    `in_doubt` came. `calls` are those made so far, `time` is when it began, in milliseconds of the run's clock, `is_over` whether
    it has ended. `state` is what stores note for the operations after it, by store and by what it is about; it counts once the
    operation is recorded."""

    def __init__(
        self, operations: JournaledOperations, row: EffectRow, known: list[Any], in_doubt: Any = None, is_recorded: bool = False,
        was_in_thread: bool = False,
    ) -> None:  # fmt: skip
        self.operations = operations
        self.row = row
        self.known = known
        self.in_doubt = in_doubt
        self.is_recorded = is_recorded
        self.was_in_thread = was_in_thread
        self.calls: list[Any] = []
        self.state: dict[tuple[Journaled, Any], Any] = {}
        self.time = row.t_start
        self.is_over = False

    def running(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """Return `work` as what is done for this operation; it may be begun more than once."""

        def done() -> Any:
            self.calls, self.state = [], {}
            if not self.is_recorded:
                self.time = self.operations.journal.begun(self.row)
            token = OPERATION.set(self)
            try:
                return work()
            finally:
                OPERATION.reset(token)

        return done

    def call(
        self, place: str, method: str, compared: Any, perform: Callable[[], Any], form: OfMethod, *, changes: bool = False,
        look_up: Callable[[], Any] | None = None,
    ) -> Any:  # fmt: skip
        """Return the outcome of a method of the store `place`, known or performed now, and note it. `compared` are its arguments
        as plain data; `changes`: it changes the store, and `look_up` says what it would have returned if that is so already, None
        if it is not. Raises what the method raises; Diverged where another one is known, or a recorded operation has no more;
        before a change also as `Journal.commit`."""
        journal = self.operations.journal
        what = [place, method, digest_of(journal.clean(compared))]
        at = len(self.calls)
        if at < len(self.known):
            noted = self.known[at]
            if noted[:3] != what:
                raise self._diverged(what, f"the recording has {noted[1]} of {noted[0]}", noted)
            self.calls.append(noted)
            return self._again(noted, form)
        if self.is_recorded:
            raise self._diverged(what, "the recording has nothing more")
        is_in_doubt = self.in_doubt is not None and at == len(self.known)
        if is_in_doubt and what != self.in_doubt:
            raise self._diverged(what, f"the recording has {self.in_doubt[1]} of {self.in_doubt[0]}", self.in_doubt)
        if changes:
            self.row.cls = REPEATABLE
            self.operations.home(lambda: journal.intend(self._intent(what)))
        try:
            value = look_up() if is_in_doubt and look_up is not None else None
            if value is None:
                value = perform()
        except FAILURES as failure:
            self.calls.append([*what, {"failure": failure_form(failure)}])
            raise
        value = None if value is NOTHING else value
        self.calls.append([*what, hidden({"value": form[0](value)}, self.operations.secrets)])
        return value

    def _again(self, noted: Any, form: OfMethod) -> Any:
        """Return a known outcome, or raise the failure that it is; Diverged for one that nothing has given."""
        place, method, _, outcome = noted
        try:
            failure = failure_of(outcome["failure"]) if "failure" in outcome else None
            value = form[1](shown(outcome, self.operations.secrets)["value"]) if failure is None else None
        except UNREADABLE:  # somebody has changed the row
            said = f"what {method} of {place} has given cannot be read; record the run anew"
            raise self.operations.journal.diverged(f"effect {self.row.key} ({KIND}): {said}") from None
        if failure is not None:
            raise failure
        return value

    def _diverged(self, what: Any, otherwise: str, noted: Any = None) -> Diverged:
        place, method, _ = what
        if noted is not None and noted[:2] == what[:2]:
            otherwise = "the recording has it with other arguments"
        return self.operations.journal.diverged(
            f"effect {self.row.key} ({KIND}): the run asks for {method} of {place}, and {otherwise}"
        )

    def _intent(self, what: list[Any]) -> EffectRow:
        row = self.row
        result = {"calls": list(self.calls), "next": what}
        return EffectRow(
            row.key, KIND, row.cls, "", None, row.idem_key, attempt=row.attempt, status=INTENT, result=result,
            t_start=row.t_start,
        )  # fmt: skip

    def end(self) -> None:
        """Note that it is over. Raises Diverged for a recorded one that has not asked for all that the recording has."""
        self.is_over = True
        if self.is_recorded and len(self.calls) < len(self.known):
            place, method, *_ = self.known[len(self.calls)]
            text = f"the run does not ask for {method} of {place}, which the recording has"
            raise self.operations.journal.diverged(f"effect {self.row.key} ({KIND}): {text}")
        for (store, what), noted in self.state.items():
            store.recorded(what, noted)


OPERATION: ContextVar[Operation | None] = ContextVar("OPERATION", default=None)


def _current() -> Operation | None:
    """Return the operation that this code runs for; a task that one has begun may still have it when it is over."""
    operation = OPERATION.get()
    return None if operation is None or operation.is_over else operation


class JournaledOperations:
    """The operations of a session with a journal, as `memory/stores/operations.py: Operations`; `inner` performs new ones, and
    `secrets` are kept out of rows. Methods raise as those of the protocol, and Diverged where the recording has another call.
    Each `attempt` is a row, which says also where it had to wait; what `use` does after that is another one. An operation sees
    the time at which it began."""

    def __init__(self, journal: Journal, scope: Scope, inner: StoreThread, secrets: SnapshotSecrets) -> None:
        self.journal = journal
        self.scope = scope
        self.inner = inner
        self.secrets = secrets

    def current(self) -> Operation | None:
        """Return the operation that makes a call of a store; None for one that is a part of another effect. Raises Diverged for
        a call outside of all operations while a recording is given."""
        operation = _current()
        if operation is None and self.journal.is_replaying and not self.journal.goes_on:
            raise self.journal.diverged("a store is asked outside of an operation")
        return operation

    def now(self) -> float:
        """Return the seconds of the run's clock, in an operation those at its beginning."""
        operation = _current()
        return self.journal.now() if operation is None else operation.time / 1000

    def wall(self) -> float:
        """Return the time of `now` in seconds since 1970."""
        return self.journal.header.wall + self.now()

    def attempt(self, work: Callable[[], Any]) -> Any:
        """Return what `work` returns, with the answers of stores recorded or new. Raises MustWait where a store has to be waited
        for."""
        if _current() is not None:
            return self.inner.attempt(work)  # a part of an operation
        key = self.journal.next_key(self.scope, KIND)
        if not key:
            return self.inner.attempt(work)
        row = self.journal.ahead(key, KIND)
        if row is not None:
            if row.result == WAITS:
                raise MustWait
            return self._again(row, work)
        is_early = self.journal.is_bound and key not in self.journal.unknown
        operation = self._new(key)
        try:
            if is_early:  # the recording has nothing of it, and outcomes that came before it are not given yet
                raise MustWait
            value = self.inner.attempt(operation.running(work))
        except MustWait:
            operation.row.result = dict(WAITS)
            self.journal.settle(operation.row)
            raise
        except Exception as error:
            self._keep(operation, error)
            raise
        self._keep(operation)
        return value

    async def use(self, work: Callable[[], Any], effect: Any = None) -> Any:
        """Return what `work` returns, as `attempt` where nothing has to be waited for, else once the store has answered."""
        try:
            return self.attempt(work)
        except MustWait:
            pass
        key = self.journal.next_key(self.scope, KIND)
        if not key:
            return await self.inner.later(work, effect)
        row = await self.journal.awaited(key, KIND)
        if row is not None:
            return self._again(row, work, was_in_thread=True)
        operation = self._new(key)
        self.journal.on_its_way(1)
        try:
            value = await self.inner.later(operation.running(work), effect)
        except Exception as error:
            self._keep(operation, error)
            raise
        except BaseException:  # nobody waits for it any more
            if self.journal.failure is None:
                operation.row.status = DISCARDED
                self.journal.settle(operation.row)
            raise
        finally:
            self.journal.on_its_way(-1)
        self._keep(operation)
        return value

    def home(self, call: Callable[[], Any]) -> Any:
        """Return what `call` returns on the session's own thread."""
        operation = _current()
        if operation is None or not operation.was_in_thread:
            return self.inner.home(call)
        token = OPERATION.set(None)  # it ran outside of the operation, too
        try:
            return call()
        finally:
            OPERATION.reset(token)

    def clock(self) -> float:
        """Return seconds by which sessions take turns: those of `wall`."""
        return self.wall()

    def timed(self, loop: Any) -> Any:
        """Return the loop with the time of the run's clock, whose timers are recorded."""
        return _TimedLoop(self.journal, self.scope, loop)

    @property
    def beside(self) -> Operations:
        """Operations that no recording has: they give None, with nothing done, while a recording is given."""
        return _Beside(self)

    def close(self) -> None:
        """End the thread of `inner`, if there is one."""
        self.inner.close()

    def _new(self, key: str) -> Operation:
        before = self.journal.unknown.pop(key, None)
        attempt, known, in_doubt = 1, [], None
        if before is not None:
            attempt, known, in_doubt = before.attempt + 1, self._calls_of(before), before.result.get("next")
        row = EffectRow(key, KIND, OBSERVED, "", None, self.journal.idem_key(key), attempt=attempt)
        return Operation(self, row, known, in_doubt)

    def _again(self, row: EffectRow, work: Callable[[], Any], was_in_thread: bool = False) -> Any:
        """Do the work with the recorded answers."""
        operation = Operation(self, row, self._calls_of(row), is_recorded=True, was_in_thread=was_in_thread)
        try:
            return operation.running(work)()
        finally:
            if self.journal.failure is None:
                operation.end()

    def _calls_of(self, row: EffectRow) -> list[Any]:
        """Return the calls of a recorded operation. Raises Diverged for a row that has none."""
        calls = row.result.get("calls") if isinstance(row.result, dict) else None
        following = [row.result.get("next")] if isinstance(row.result, dict) and row.status == INTENT else []
        if not isinstance(calls, list) or not all(map(_is_call, calls)) or not all(map(_is_name, following)):
            raise self.journal.diverged(f"effect {row.key} ({KIND}): what came of it cannot be read; record the run anew")
        return calls

    def _keep(self, operation: Operation, error: Exception | None = None) -> None:
        """Record a new operation that is over."""
        if self.journal.failure is not None:
            return
        operation.end()
        row = operation.row
        row.status = DONE if error is None else FAILED
        row.result = {"calls": operation.calls}
        self.journal.settle(row)


def _is_call(noted: Any) -> bool:
    return isinstance(noted, list) and len(noted) == 4 and _is_name(noted[:3]) and isinstance(noted[3], dict)


def _is_name(noted: Any) -> bool:
    """Return whether this names a call: store, method and digest."""
    return isinstance(noted, list) and [type(part) for part in noted] == [str, str, str]


class _Beside:
    """Operations that are not recorded: while a recording is given they are not done."""

    def __init__(self, operations: JournaledOperations) -> None:
        self.operations = operations

    def _outside(self, work: Callable[[], Any]) -> Callable[[], Any]:
        def done() -> Any:
            token = OPERATION.set(None)
            try:
                return work()
            finally:
                OPERATION.reset(token)

        return done

    def attempt(self, work: Callable[[], Any]) -> Any:
        return None if self.operations.journal.is_bound else self.operations.inner.attempt(self._outside(work))

    async def use(self, work: Callable[[], Any], effect: Any = None) -> Any:
        if self.operations.journal.is_bound:
            return None
        return await self.operations.inner.use(self._outside(work), effect)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.operations, name)


class _TimedLoop:
    """A loop whose time is that of the run's clock. That a timer ran out is recorded, and a recorded one runs out as then."""

    def __init__(self, journal: Journal, scope: Scope, loop: Any) -> None:
        self.journal = journal
        self.scope = scope
        self.loop = loop

    def time(self) -> float:
        return self.journal.now()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> _Timer:
        return _Timer(self.journal, self.journal.next_key(self.scope, "limit"), self.loop, seconds, callback)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loop, name)


class _Timer:
    """A timer of a `_TimedLoop`; with the key "" it is not recorded."""

    def __init__(self, journal: Journal, key: str, loop: Any, seconds: float, callback: Callable[[], object]) -> None:
        self.journal = journal
        self.key = key
        self.loop = loop
        self.seconds = seconds
        self.callback = callback
        self._real: Any = None
        self._expiry: Any = None  # of the recording
        if key and journal.is_replaying:
            self._expiry = journal.expiry(key)
            self._expiry.add_done_callback(self._given)
        else:
            self._begin()

    def _begin(self) -> None:
        self.journal.on_its_way(1)
        self._real = self.loop.call_later(self.seconds, self._expire)

    def _given(self, expiry: Any) -> None:
        if not expiry.cancelled():
            if expiry.result() is None:  # the recording has ended: from here on the time runs
                self._begin()
            else:
                self.callback()

    def _expire(self) -> None:
        self._end()
        if self.key:
            self.journal.expired(self.key)
        self.callback()

    def _end(self) -> None:
        if self._real is not None:
            self._real.cancel()
            self._real = None
            self.journal.on_its_way(-1)

    def cancel(self) -> None:
        self._end()
        if self._expiry is not None:
            self.journal.forget(self.key, self._expiry)
