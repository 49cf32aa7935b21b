"""The journal of a run: every outcome that the machine cannot compute, recorded as it comes, or given again from a recording
(G-13.4, G-14.1, G-14.2).

Between effects a run is deterministic, so a journal needs no state of the machine: a run that starts anew and gets the recorded
outcomes in the recorded order is in the same state. `Journal` stands between the runtime and the world: `perform` does an
operation and records it, or gives what is recorded; `chosen` says whose result the session hands out next; `now` and `wall` are
the clock, which moves only with outcomes, so that it too is the same when they come again. Hands on `Journal` to the session and
its effects, by its host, to the other files of this folder, the command line, notebooks and the Python API, `RecordedPanic` to
`border.py`, `Diverged` to `stores.py` and `rehearsal.py`, `Fenced` and `Suspended` to `rehearsal.py`, the command line and the
Python API, the former to run stores too. What is an operation, and how its request and outcome are written, is for `border.py`;
where rows are kept, for `effect_file.py` and `run_store.py`.

Order: an outcome of the recording is given when its row is the next one and all that the rows before it set off has been done,
which is so when the loop has nothing ready (`_hop`). A row that is never asked for, or an operation that no row is for, is found
when the run comes to a standstill.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial

from ...vm.panics import Panic
from ...vm.snapshot.envelope import SnapshotError
from ..errors import CallFailure
from ..host import EffectUnknown
from ..loop import stop_all, wait_until_done, within
from .forms import brief, difference, digest_of, failure_form, failure_of
from .operation import AS_IT_IS, SCOPE, Form, Scope, Within, redacted, redacted_piece
from .rows import (
    DISCARDED,
    DONE,
    EXPIRED,
    FAILED,
    INTENT,
    OBSERVED,
    ONCE,
    PANICKED,
    UNKNOWN,
    DeliveryRow,
    EffectRow,
    EmitRow,
    EndRow,
    JournalRefused,
    PieceRow,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from ...vm.interp.effects import Effect
    from .rows import Header, Row

    class Sink(Protocol):
        """Where rows are kept. `commit` returns when they are; it raises Fenced where another process goes on with the run, and
        JournalRefused where they cannot be kept. `told` is how many emits the run has made, those among the rows too, `waits`
        what only another process can bring. `parks` says whether a run may be suspended and gone on with later."""

        parks: bool

        def commit(self, rows: Sequence[Row], told: int, waits: Sequence[Any]) -> None: ...
        def renew(self) -> None: ...
        def forget_answer(self, key: str) -> None: ...
        def close(self) -> None: ...

    class Runner(Protocol):
        """The effects of a session that are on their way."""

        def wake(self) -> None:
            """Make the session look for a result to hand out."""

        def has_finished(self, key: str) -> bool:
            """Return whether the effect of that key has a result that was not handed out yet."""

        def is_waiting(self) -> bool:
            """Return whether the session waits for a result."""

        def load(self) -> int:
            """Return how many effects are on their way, with work that goes on after an answer."""


class _Nobody:
    """The runner of a journal that no session uses."""

    def wake(self) -> None: ...
    def has_finished(self, key: str) -> bool:
        return False

    def is_waiting(self) -> bool:
        return False

    def load(self) -> int:
        return 0


_NOBODY = _Nobody()

HOPS = 12  # rounds of the loop after which all that an outcome set off has been done
STANDSTILL = 1.0  # seconds without a step, while every task waits, after which nothing more comes
RENEWAL = 20.0  # seconds between renewals of the right to go on with a run
DRAFT = 256  # rows that wait for a commit


class Fenced(Exception):
    """Another process goes on with the run: this one must not commit anything more (G-13.6)."""


class Suspended(Exception):
    """Every task of the run waits for answers from outside, and nobody here gives one: the run goes on when it has one."""


class Diverged(Panic):
    """The run asks for something else than its recording has (G-14.2)."""

    def __init__(self, message: str) -> None:
        super().__init__("P406", message)


class RecordedPanic(Panic):
    """A panic of a recording. `is_placed`: whoever raised it has ended the run with it, at the place of its effect."""

    def __init__(self, code: str, message: str, is_placed: bool) -> None:
        super().__init__(code, message)
        self.is_placed = is_placed


async def _result_of(loop: Any, job: Any) -> Any:
    try:
        await wait_until_done(loop, job)
    finally:
        await stop_all(loop, [job])
    return job.result()


class Journal:
    """The journal of one session, whose run `header` describes. `is_replaying`: outcomes of a recording are given. `recorded`
    gives the rows of a recording, in their order; None for a new run. `sink` keeps new rows, None to keep none. With `goes_on`
    the run goes on live where the recording ends; without, it must not ask for more. `unknown` has the rows of effects that began
    in the recording and whose outcome is not in it, by key, and `answers` outcomes that the host knows of them (plain forms).
    `real_time` gives seconds that only grow, `real_wall` seconds since 1970. `emits` is how many the recording has, and how many
    of them listeners have heard for certain. `close` gives back what the recording holds open. `faults` has by key of a request
    the failure before it (`border.py: is_fault`); `redact` are paths whose contents are left out of rows. `clean` takes secrets
    out of plain data; the session sets it. Whatever may commit rows raises as `commit`."""

    def __init__(
        self,
        header: Header,
        *,
        sink: Sink | None,
        recorded: Iterator[Row] | None = None,
        goes_on: bool = False,
        answers: dict[str, Any] | None = None,
        real_time: Callable[[], float],
        real_wall: Callable[[], float],
        emits: tuple[int, int] = (0, 0),
        close: Callable[[], object] = lambda: None,
        faults: Mapping[str, str] | None = None,
        redact: Sequence[str] = (),
    ) -> None:
        self.header = header
        self.sink = sink
        self.goes_on = goes_on
        self.unknown: dict[str, EffectRow] = {}
        self.answers = answers or {}
        self.real_time = real_time
        self.real_wall = real_wall
        self.clean: Callable[[Any], Any] = lambda plain: plain
        self.is_replaying = recorded is not None
        self.end: EndRow | None = None  # of the recording
        self._rows = recorded if recorded is not None else iter(())
        self._next: EffectRow | PieceRow | DeliveryRow | None = None  # of the recording
        self._ahead: list[Row] = []  # rows of the recording that were read before their turn
        self._waiting: dict[str, Any] = {}  # by key, who waits for the next row of an operation
        self._draft: list[Row] = []
        self._time = 0.0  # milliseconds since the run began
        self._began = real_time()
        self._loop: Any = None
        self._runner: Runner = _NOBODY
        self._hopping = False
        self._steps = 0
        self.begun_before = 0.0  # how many seconds ago the operation whose work is about to be done began in another process
        self._endings: set[str] = set()  # keys of effects that are being stopped
        self._in_flight = 0  # operations and limits of time that something outside will end
        self._renewal: Any = None  # the timer of `_hold_on`
        self.parked: dict[str, Any] = {}  # by key, what operations wait for that somebody has to answer, perhaps days later
        self.suspended: list[Any] = []  # what a suspended run waits for
        self._patient = False  # whether a limit of time may have to run out before the next row can come
        self._told = 0  # emits so far
        self._close = close
        self.faults = dict(faults or {})
        self._redact = [path.split(".") for path in redact]
        self._emits_kept, self._emits_heard = emits
        self._outbox: list[Callable[[], object]] = []
        self.failure: BaseException | None = None  # what ended the run, once
        self._end_run: Callable[[BaseException], object] = lambda error: None
        self._emit_again: Callable[[str, Any], object] = lambda channel, payload: None

    # ------------------------------------------------------------ the session

    def begin(
        self, loop: Any, runner: Runner, end_run: Callable[[BaseException], object], emit: Callable[[str, Any], object]
    ) -> None:
        """Serve a call of the session on this loop. `runner` has the effects that are on their way; `end_run` ends the call with
        an error; `emit` makes an emit of the runtime."""
        self._loop, self._runner, self._end_run, self._emit_again = loop, runner, end_run, emit
        if self.is_replaying and self._next is None:
            self._take()
        if self.sink is not None and self.sink.parks and not hasattr(loop, "hold_clock"):  # a virtual clock does not wait
            self._hold_on()

    def _hold_on(self) -> None:
        """Hold the run while it waits for something that takes long."""
        if self.sink is None or self.failure is not None:
            return
        try:
            self.sink.renew()
        except (Fenced, JournalRefused) as refused:
            self.end_by(refused)
            return
        self._renewal = self._loop.call_later(RENEWAL, self._hold_on)

    def abandon(self, why: BaseException) -> None:
        """Take note that the process ends while the run is not over, and another one may go on with it: nothing more is kept."""
        if self.failure is None:
            self.failure = why

    def now(self) -> float:
        """Return the seconds of the run's clock."""
        return self._time / 1000

    def wall(self) -> float:
        """Return the time of the run's clock in seconds since 1970."""
        return self.header.wall + self._time / 1000

    def _tick(self) -> None:
        """Set the clock: time passes in a run when an outcome comes."""
        self._time = round(max(self._time, (self.real_time() - self._began) * 1000), 3)  # as rows have it

    def _milliseconds(self) -> float:
        return round(max(self._time, (self.real_time() - self._began) * 1000), 3)

    # ------------------------------------------------------------ operations

    def next_key(self, session_scope: Scope, about: str) -> str:
        """Return the key of the next operation of the effect that the code runs for; outside of every effect of
        `session_scope`; "" within another operation, of which it is a part. `about` as in `Scope.next_key`."""
        scope = SCOPE.get() or session_scope
        return "" if type(scope) is Within else scope.next_key(about)

    async def perform(
        self, key: str, kind: str, cls: str, request: Any, work: Callable[[], Awaitable[Any]], how: Form = AS_IT_IS,
        announces: bool = False,
    ) -> Any:  # fmt: skip
        """Return the outcome of an operation, recorded or new. `request` is its plain form, `work` does it, `how` says how its
        outcome is written; with `announces` it is kept that it begins, though it may be done twice. With the key "" it is a part
        of another operation, and just done. Raises what `work` raises, or has raised when it was recorded: CallFailure,
        RecordedPanic; EffectUnknown where it was on its way when a process died and must not happen twice; JournalRefused for a
        recorded outcome that cannot be read. Where the recording has another request, the run ends with Diverged."""
        if not key:
            return await work()
        request = self.clean(request)
        digest = digest_of(request)
        if self.is_replaying:
            row = await self._recorded(key, kind, digest, request)
            if row is not None:
                return self._outcome(row, how)
        return await self._live(key, kind, cls, digest, request, work, how, announces)

    async def _live(
        self, key: str, kind: str, cls: str, digest: str, request: Any, work: Callable[[], Awaitable[Any]], how: Form,
        announces: bool = False,
    ) -> Any:  # fmt: skip
        before = self.unknown.pop(key, None)
        attempt = 1 if before is None else before.attempt + 1
        row = EffectRow(key, kind, cls, digest, request, self.idem_key(key), attempt=attempt)
        row.t_start = self._milliseconds()
        if key in self.answers:
            how.check(self.answers[key])
            row.result, row.attempt = self.answers.pop(key), attempt
            self._settle(row, cls)
            return self._outcome(row, how)
        if before is not None and cls == ONCE:
            row.status = UNKNOWN
            self._settle(row, cls)
            raise EffectUnknown
        self.begun_before = 0.0 if before is None else (row.t_start - before.t_start) / 1000
        if cls == ONCE or (announces and before is None):
            row.status = INTENT
            self.commit(row)
            row = row.anew()
        if cls == OBSERVED:
            self._tick()
        within_it = Within()
        token = SCOPE.set(within_it)
        self._in_flight += 1
        try:
            try:
                value = await work()
            finally:
                self._in_flight -= 1
                SCOPE.reset(token)
                row.emits = [[channel, self.clean(payload)] for channel, payload in within_it.emits] or None
        except CallFailure as failure:
            row.status, row.result = FAILED, failure_form(failure)
            self._settle(row, cls)
            raise
        except Panic as panic:
            row.status = PANICKED
            row.result = {"code": panic.code, "message": panic.message, "placed": bool(panic.trace)}
            self._settle(row, cls)
            raise
        except Exception:
            raise
        except BaseException:  # it was cancelled, by a limit of time or since nobody waits for it any more
            if self.failure is None:
                row.status = DISCARDED
                self._settle(row, OBSERVED)
            raise
        row.status, row.result = DONE, how.lower(value)
        for name, detail in how.details(value).items():
            setattr(row, name, detail)
        self._settle(row, cls)
        return value

    def _settle(self, row: EffectRow, cls: str) -> None:
        self._tick()
        row.t_end = round(self._time, 3)
        row.status = DONE if row.status == INTENT else row.status
        if self._is_ending(row.key):
            row.status, row.result = DISCARDED, None
        self._written(row)
        self._draft.append(row)
        if cls != OBSERVED or len(self._draft) >= DRAFT:
            self.commit()

    @contextmanager
    def ending(self, effects: Sequence[Effect]) -> Iterator[None]:
        """While these effects are stopped, for which no task waits any more: what comes before their work hears of it, some turns
        of the loop later, is discarded. A run that gets the recording stops them here, and never asks for it."""
        keys = [effect.key for effect in effects]
        self._endings.update(keys)
        try:
            yield
        finally:
            self._endings.difference_update(keys)

    def _is_ending(self, key: str) -> bool:
        """Return whether an operation of that key is one of an effect that is being stopped."""
        return bool(self._endings) and key.partition("/")[0] in self._endings

    def _written(self, row: EffectRow) -> None:
        row.result = self.clean(row.result)
        for path in self._redact:
            redacted(row, path)

    def noted(self, channel: str, payload: Any) -> None:
        """Note an emit of the runtime: one that an operation makes comes again with its outcome."""
        scope = SCOPE.get()
        if type(scope) is Within:
            scope.emits.append((channel, payload))

    def _outcome(self, row: EffectRow, how: Form) -> Any:
        how.given()
        try:
            for channel, payload in row.emits or ():
                self._emit_again(channel, payload)
            if row.status == UNKNOWN:
                raise EffectUnknown
            if row.status == FAILED:
                raise failure_of(row.result)
            if row.status == PANICKED:
                raise RecordedPanic(str(row.result["code"]), str(row.result["message"]), bool(row.result.get("placed")))
            return how.read(row.result)
        except JournalRefused as refused:
            raise JournalRefused(f"effect {row.key} ({row.kind}) {refused}; record the run anew") from None
        # Somebody has changed the row.
        except (SnapshotError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            raise JournalRefused(f"effect {row.key} ({row.kind}): what came of it cannot be read; record the run anew") from None

    def idem_key(self, key: str) -> str:
        """Return the idempotency key of an operation, the same for every attempt and process (G-13.3)."""
        return digest_of([self.header.run, key])

    async def stream(
        self, key: str, kind: str, cls: str, request: Any,
        work: Callable[[Callable[[str], Awaitable[None]]], Awaitable[Any]], give: Callable[[str], Awaitable[None]], how: Form,
        broken: Callable[[], Exception],
    ) -> Any:  # fmt: skip
        """As `perform`, for an operation that gives pieces of text before its outcome; `broken` makes the failure of one whose
        process died after the first piece."""
        if not key:
            return await work(give)
        request = self.clean(request)
        digest = digest_of(request)
        pieces = 0
        while self.is_replaying:
            row = await self._recorded(key, kind, digest, request, pieces)
            if row is None:
                break
            if type(row) is EffectRow:
                return self._outcome(row, how)
            assert type(row) is PieceRow
            pieces += 1
            await give(row.text)
        if pieces:
            raise broken()

        async def give_and_record(text: str) -> None:
            self._tick()
            if not self._is_ending(key):
                kept = self.clean(text)
                for path in self._redact:
                    kept = redacted_piece(kept, path)
                self._draft.append(PieceRow(key, kept, round(self._time, 3)))
            if len(self._draft) >= DRAFT:
                self.commit()
            await give(text)

        return await self._live(key, kind, cls, digest, request, lambda: work(give_and_record), how)

    async def within(self, loop: Any, session_scope: Scope, seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Do what `loop.py: within` does: return what the coroutine does within that many seconds, else cancel it and raise
        TimeoutError. That the limit ran out is recorded, and a recorded one runs out when it did then."""
        key = self.next_key(session_scope, "limit")
        if not key:
            return await within(loop, seconds, coroutine)
        if not self.is_replaying:
            self._in_flight += 1
            try:
                return await within(loop, seconds, coroutine)
            except TimeoutError:
                self.expired(key)
                raise
            finally:
                self._in_flight -= 1
        job = loop.create_task(coroutine)
        expiry = loop.create_future()
        self._waiting[key] = (expiry, "limit", "", None, 0)
        self._advance()
        both = loop.create_future()
        for one in (job, expiry):
            one.add_done_callback(lambda _: both.done() or both.set_result(None))
        try:
            await both
            if not job.done() and not self.is_replaying:  # the recording ended meanwhile: from here on the limit runs
                return await within(loop, seconds, _result_of(loop, job))
            if not job.done():
                raise TimeoutError
            return job.result()
        finally:
            if self._waiting.get(key, (None,))[0] is expiry:
                del self._waiting[key]
            expiry.cancel()
            await stop_all(loop, [job])

    def expired(self, key: str) -> None:
        """Record that a limit of time ran out."""
        self._tick()
        now = self._time
        row = EffectRow(key, "limit", OBSERVED, "", None, self.idem_key(key), status=EXPIRED, t_start=now, t_end=now)
        self._draft.append(row)

    def expiry(self, key: str) -> Any:
        """Return a future that is done when the recording has that this limit of time ran out, with None where it ends before.
        `Journal.forget` takes it back."""
        future = self._loop.create_future()
        self._waiting[key] = (future, "limit", "", None, 0)
        self._advance()
        return future

    def forget(self, key: str, future: Any) -> None:
        """Take back a future of `expiry`."""
        if self._waiting.get(key, (None,))[0] is future:
            del self._waiting[key]
        future.cancel()

    # ------------------------------------------------------------ giving a recording again

    async def _recorded(self, key: str, kind: str, digest: str, request: Any, pieces: int = 0) -> Any:
        """Wait for the next row of an operation and return it; None where the recording has none and the run goes on live."""
        row = self._next
        if row is not None and row.key == key and not self._waiting and self._runner.load() == 1:  # nothing stands beside it
            if isinstance(row, EffectRow) and (row.kind != kind or row.digest != digest):
                self.end_by(self._mismatch(row, kind, request))
            elif not isinstance(row, DeliveryRow):
                return self._used(row)
        future = self._loop.create_future()
        self._waiting[key] = (future, kind, digest, request, pieces)
        self._advance()
        try:
            return await future
        finally:
            if self._waiting.get(key, (None,))[0] is future:
                del self._waiting[key]

    def _take(self) -> None:
        """Go to the next row of the recording; at its end, go on live once all that was given has been done."""
        while True:
            try:
                row: Any = self._ahead.pop(0) if self._ahead else next(self._rows, None)
            except JournalRefused as refused:
                self.end_by(Diverged(str(refused)))
                return
            if row is None:
                self._next = None
                if self.goes_on and not self.end:
                    self._advance()
                return
            if isinstance(row, EmitRow):
                continue
            if isinstance(row, EndRow):
                self.end = row
                continue
            if isinstance(row, EffectRow):
                if not row.is_settled:
                    self.unknown[row.key] = row
                    continue
                self.unknown.pop(row.key, None)
                if row.status == DISCARDED:  # what ended it ends it again; that may be a limit of time that has to run out
                    self._patient = True
                    continue
            self._next = row
            return

    def _go_on_live(self) -> None:
        self.is_replaying = False
        elapsed = max(self._time, (self.real_wall() - self.header.wall) * 1000)
        self._began = self.real_time() - elapsed / 1000
        waiting, self._waiting = list(self._waiting.values()), {}
        for future, *_ in waiting:
            if not future.done():
                future.set_result(None)
        self._runner.wake()

    def _advance(self) -> None:
        """Give the next outcome once the loop has nothing else to do."""
        if not self._hopping and self.is_replaying:
            self._hopping = True
            self._hop(HOPS)

    def _hop(self, left: int) -> None:
        if left and self._loop is not None:
            self._loop.call_soon(partial(self._hop, left - 1))
            return
        self._hopping = False
        if not self.is_replaying:
            return
        row = self._next
        if row is None and self.goes_on and not self.end:
            self._go_on_live()
            return
        if row is None or isinstance(row, DeliveryRow):
            if isinstance(row, DeliveryRow) and self._runner.has_finished(row.key):
                self._runner.wake()
            self._watch_standstill()
            return
        waiter = self._waiting.get(row.key)
        if waiter is None:
            self._watch_standstill()
            return
        future, kind, digest, request, pieces = waiter
        if future.done():
            return
        if isinstance(row, EffectRow) and (row.kind != kind or row.digest != digest):
            self.end_by(self._mismatch(row, kind, request))
            return
        del self._waiting[row.key]
        future.set_result(row)  # before what waits for the end of the recording goes on
        self._used(row)
        self._advance()

    def _used(self, row: EffectRow | PieceRow) -> EffectRow | PieceRow:
        """Set the clock to the time of the next row of the recording, go on to the one behind it, and return it."""
        self._gave(row)
        self._take()
        return row

    def _gave(self, row: EffectRow | PieceRow) -> None:
        self._steps += 1
        self._patient = False
        self._time = max(self._time, row.t if isinstance(row, PieceRow) else row.t_end)

    def _mismatch(self, row: EffectRow, kind: str, request: Any) -> Diverged:
        if row.kind != kind:
            return Diverged(f"effect {row.key}: the recording has {row.kind}, the run asks for {kind}")
        place = difference(row.request, request) or "the digests differ"
        return Diverged(f"effect {row.key} ({kind}): the request is another one than in the recording: {place}")

    def _watch_standstill(self) -> None:
        steps = self._steps

        def look(again: bool) -> None:
            if not self.is_replaying or steps != self._steps or self.failure is not None:
                return
            if self._patient:
                return
            if again:
                self._loop.call_later(STANDSTILL / 5, partial(look, False))
            else:
                self._stand_still()

        self._loop.call_later(STANDSTILL, partial(look, True))

    def _stand_still(self) -> None:
        asked = sorted(key for key, waiter in self._waiting.items() if waiter[1] != "limit")
        row = self._next
        if row is None and asked:
            kind, request = self._waiting[asked[0]][1], self._waiting[asked[0]][3]
            self.end_by(Diverged(f"effect {asked[0]} ({kind}) is not in the recording, which has ended: {brief(request)}"))
        elif row is not None and (asked or type(row) is DeliveryRow):
            wanted = f"the run asks for {', '.join(asked)}" if asked else "the run asks for nothing"
            self.end_by(Diverged(f"effect {row.key} comes next in the recording, and {wanted}"))

    def refuse_answer(self, key: str, refused: BaseException) -> None:
        """End the run since the answer that the host has given for an effect is none; another one may be given."""
        if self.sink is not None:
            self.sink.forget_answer(key)
        self.answers.pop(key, None)  # the run has taken it, and says why it is none
        self.end_by(refused)

    def end_by(self, error: BaseException) -> None:
        """End the run with an error, once; nothing more is kept of it."""
        if self.failure is None:
            self.failure = error
            self._end_run(error)

    # ------------------------------------------------------------ operations on stores, which `stores.py` performs

    @property
    def is_bound(self) -> bool:
        """Whether the recording has outcomes that were not given yet, or the run must not go on behind it. Before `is_replaying`
        ends, what the last outcome sets off is done."""
        return self.is_replaying and (self._next is not None or not self.goes_on or self.end is not None)

    def ahead(self, key: str, kind: str) -> EffectRow | None:
        """Return the recorded outcome of an operation that cannot wait for its row, also from behind the rows of operations side
        by side, which stay in their order; None where the run is live, or goes on live with this operation. Raises Diverged."""
        if not self.is_replaying:
            return None
        row = self._next if type(self._next) is EffectRow and self._next.key == key else None
        if row is not None:
            self._used(row)
        else:
            row = self._found_ahead(key)
        if row is None:
            if self.goes_on and not self.end:
                return None
            raise self.diverged(f"effect {key} ({kind}) is not in the recording")
        if row.kind != kind:
            raise self.diverged(self._mismatch(row, kind, None).message)
        self._advance()
        return row

    def _found_ahead(self, key: str) -> EffectRow | None:
        """Take the outcome of an operation out of the rows that come later. Its intents on the way are noted in `unknown`."""
        at = 0
        while True:
            if at == len(self._ahead):
                try:
                    read = next(self._rows, None)
                except JournalRefused as refused:
                    raise self.diverged(str(refused)) from None
                if read is None:
                    return None
                self._ahead.append(read)
            row = self._ahead[at]
            if type(row) is not EffectRow or row.key != key:
                at += 1
                continue
            del self._ahead[at]
            if row.is_settled:
                self.unknown.pop(key, None)
                self._gave(row)
                return row
            self.unknown[key] = row

    async def awaited(self, key: str, kind: str) -> EffectRow | None:
        """Return the recorded outcome of an operation when it is the next one; None where the run is live, or goes on live with
        this operation."""
        return await self._recorded(key, kind, "", None) if self.is_replaying else None

    def begun(self, row: EffectRow) -> float:
        """Note in the row of an operation that it begins now, and return the time of the run's clock in milliseconds."""
        self._tick()
        row.t_start = self._time
        return self._time

    def intend(self, row: EffectRow) -> None:
        """Commit the rows so far, and with them that an operation is about to change a store."""
        self._written(row)
        self.commit(row)

    def on_its_way(self, change: int) -> None:
        """Note that one operation or limit of time more (1) or less (-1) is on its way outside."""
        self._in_flight += change

    def settle(self, row: EffectRow) -> None:
        """Record the outcome of an operation, at once where others must not be without it."""
        self._settle(row, row.cls)

    def diverged(self, message: str) -> Diverged:
        """End the run since it asks for something else than its recording has; return the panic, which the caller raises."""
        error = Diverged(message)
        self.end_by(error)
        return error

    # ------------------------------------------------------------ which result is handed out next

    def chosen(self, finished: Sequence[tuple[int, int, Effect]], jobs: int) -> Effect | None:
        """Return the effect among those that have `finished` whose result comes next, None to wait. `jobs` is how many effects
        are on their way, these included; of a single one the order needs no row."""
        if not finished:
            return None
        if jobs == 1:
            return finished[0][2]
        row = self._next
        if type(row) is DeliveryRow:
            return next((effect for _, _, effect in finished if effect.key == row.key), None)
        self._advance()
        return None

    def delivered(self, effect: Effect, jobs: int) -> None:
        """Note that the result of an effect was handed to its task; `jobs` as in `chosen`."""
        if jobs == 1:
            return
        if self.is_replaying:
            row = self._next
            assert type(row) is DeliveryRow and row.key == effect.key
            self._steps += 1
            self._take()
            self._advance()
        else:
            self._draft.append(DeliveryRow(effect.key))

    # ------------------------------------------------------------ emits

    def emit(self, channel: str | None, value: Any, by_runtime: bool, tell: Callable[[], object]) -> None:
        """Record an emit, or a printed text (`channel` None), of the plain JSON `value`; `tell` delivers it, after the commit
        that has it. An emit that listeners have heard before the run went on is not told again."""
        self._told += 1
        if self.goes_on and self._told <= self._emits_heard:
            return
        if self._told <= self._emits_kept or (self.is_replaying and not self.goes_on):
            tell()
            return
        self._draft.append(EmitRow(channel, value, by_runtime, round(self._time, 3)))
        self._outbox.append(tell)
        if len(self._draft) >= DRAFT:
            self.commit()

    def rest(self) -> None:
        """Deliver the emits that wait, if there are some, once all rows so far are committed: the run is about to wait, or is
        over. One that waits for what only another process can bring is then suspended."""
        if self._outbox:
            self.commit()
        if self.parked and self._loop is not None and not self.is_replaying:
            self._suspend_soon(HOPS)

    async def park(self, key: str, what: dict[str, Any]) -> Any:
        """Wait for what only another process can bring; `what` tells of it, as plain data. The run is suspended when nothing else
        goes on. Never returns."""
        self.parked[key] = {"key": key, **self.clean(what)}
        self._in_flight -= 1
        try:
            self.commit()
            self._suspend_soon(HOPS)
            await self._loop.create_future()
        finally:
            self._in_flight += 1
            del self.parked[key]

    def _suspend_soon(self, left: int) -> None:
        if left:
            self._loop.call_soon(partial(self._suspend_soon, left - 1))
        elif self.parked and not self._in_flight and self._runner.is_waiting() and self.failure is None:
            self.suspended = list(self.parked.values())
            self.end_by(Suspended())

    def commit(self, *rows: Row) -> None:
        """Commit the rows that wait, these last, in one transaction, then deliver emits. Raises as the sink, and what those who
        hear the emits raise; Fenced and JournalRefused end the run."""
        self._draft += rows
        draft, self._draft = self._draft, []
        if self.sink is not None and (draft or self.parked):
            try:
                self.sink.commit(draft, self._told, list(self.parked.values()))
            except (Fenced, JournalRefused) as refused:
                self._outbox.clear()
                self.end_by(refused)
                raise
        outbox, self._outbox = self._outbox, []
        for tell in outbox:
            tell()

    def close(self, end: EndRow | None) -> None:
        """Write the end of the run, None where it is not over, and close the sink."""
        if self._renewal is not None:
            self._renewal.cancel()
        try:
            if self.failure is None:
                if end is not None:
                    end.t = round(self._time, 3)
                self.commit(*(() if end is None else (end,)))
        finally:
            self._close()
            if self.sink is not None:
                self.sink.close()

    def unused(self) -> str | None:
        """Return the text that names an effect of the recording which a run that is over did not ask for, None where there is
        none (G-14.2)."""
        row = self._next
        if not self.is_replaying or row is None or type(row) is DeliveryRow:
            return None
        return f"effect {row.key} is in the recording, and the run did not ask for it"
