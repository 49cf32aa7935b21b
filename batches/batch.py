"""`concerto.batch`: a function of a program over many rows, from Python (S-2.1 to S-2.4).

Hands on `batch`, `Batch`, `RowResult` and `BatchError` to users; `Batch` and `BatchError` to `cli/batch.py`, which runs one by
`Batch.arun`. A batch is set up here: program, rows, store, budget, and what calls the function, in this process, on a cluster or
by batches of the provider. Which rows are asked is for `run.py`; no file but the store is written here.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from types import TracebackType
from typing import Any, Self, Unpack, cast

from ..api.options import Budgets, Options, check_options
from ..api.program import PathLike, Program, program_of
from ..runtime.errors import ConfigFailure
from .binding import Binding, Misfit
from .calls import ClusterFailure, JobsFailure, KeyMissing, RowCalls, Shared
from .rows import Source, Unreadable, open_rows, rows_of
from .run import BatchRun, Caller, Counts, Rule
from .store import Finished, RowStore, StoreRefused

LIMIT, RETRIES = 50, 2
QUEUE = 64  # lists of results that wait for whoever iterates
END = object()


class BatchError(Exception):
    """A batch that cannot go on. `kind` is "rows" for a file of rows that cannot be read, "columns" for a function, columns or
    key that do not fit, "store", "cluster", "provider", or "configuration" of the program, a key that is missing too. The text
    names the place and the way out."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind = kind
        self.text = text

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class RowResult:
    """What a row came to. `number` is that of the row, from 1; `value` is JSON data, that of `Ok(value)` for a Result; `error` is
    None, or the reason: a dict with `kind` ("Row" for a row that does not fit, "Panic", the type of the error, and with batches
    of the provider "Provider" for what it refuses, "Batch" for a function that cannot go that way), `message`, and where there
    are such `variant`, `code`, `place`, `value` and `status`, that of HTTP. `tokens` and `cost` are of all `attempts`, also of an
    earlier run that the answer is from."""

    number: int
    key: str
    ok: bool
    value: Any
    error: dict[str, Any] | None
    tokens: int
    cost: float
    attempts: int


def batch(
    program: Program | PathLike,
    fn: str,
    rows: PathLike | Iterable[Mapping[str, Any]],
    *,
    store: PathLike | None = None,
    key: str | None = None,
    ignore: Iterable[str] = (),
    only_failed: bool = False,
    limit: int = LIMIT,
    retries: int = RETRIES,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    max_model_calls: int | None = None,
    on: str | None = None,
    provider_batch: bool = False,
    wait: float | None = None,
    **options: Unpack[Options],
) -> Batch:
    """Return a batch, whose iteration calls the public function `fn` once for each row and gives a RowResult for each, in the
    order of the rows. `program` is one, or the path of a source or image; `rows` are mappings of columns, or the path of a file
    (.jsonl, .csv, .parquet). At most `limit` calls run at a time, each in a session of its own with these options; one that fails
    is called up to `retries` times more.

    With `store`, a file, what is finished is kept: another batch with it asks only for rows that are new, have changed, or belong
    to another program or function, with `only_failed` only for those that failed. A row is known by its column `key`, without it
    by what it holds. `max_cost`, `max_tokens` and `max_model_calls` are limits of all runs with that store together; when there
    is no room for the next request, no more rows are asked. `on` is "ray" or "ray=ADDRESS": the rows are called on a
    cluster. With `provider_batch` their requests go as batches of the provider (the function sends one for each row), whose
    results another batch with the same store collects; with `wait`, seconds, this one does, and looks that often.

    Raises BatchError ("columns") for a function or key that does not fit; CompileError, ImageError and OSError as `run` for the
    program; TypeError and ValueError for wrong options."""
    linked = program if isinstance(program, Program) else program_of(program)
    return Batch(
        linked, fn, rows, store=store, key=key, ignore=tuple(ignore), only_failed=only_failed, limit=limit, retries=retries,
        budget=(max_tokens, max_cost, max_model_calls), on=on, options=options,
        provider_batch=provider_batch, wait=wait,
    )  # fmt: skip


class Batch:
    """A batch, which runs while it is iterated, once. `counts` are those so far (`run.Counts`). `ended_by` says why rows were
    left: the text of the budget that is spent, else ""; `pending` what is on its way by batches of the provider, as a sentence,
    else "". A batch that is left before its end, or closed, asks no more; with a store another one goes on with it. `budget` are
    the limits of tokens, cost and requests. Making one raises BatchError ("columns"), TypeError and ValueError as `batch`;
    iteration raises BatchError, what iterating `rows` raises, ValueError and OSError as `Program.session` where a session cannot
    be made, and RuntimeError the second time."""

    def __init__(
        self, program: Program, fn: str, rows: Any, *, store: PathLike | None, key: str | None, ignore: tuple[str, ...],
        only_failed: bool, limit: int, retries: int, budget: tuple[int | None, float | None, int | None], on: str | None,
        options: Options, provider_batch: bool = False, wait: float | None = None,
    ) -> None:  # fmt: skip
        check_options(options)
        if type(limit) is not int or limit < 1 or type(retries) is not int or retries < 0:
            raise ValueError(f"limit is {limit!r} and retries {retries!r}; they are ints of at least 1 and 0")
        Budgets(tokens=budget[0], cost=budget[1], model_calls=budget[2])  # what they must be
        if provider_batch and (on is not None or any(amount is not None for amount in budget)):
            raise ValueError(
                "a batch of the provider has no cluster, and no max_cost, max_tokens and max_model_calls: what is sent is paid"
            )
        if wait is not None and not provider_batch:
            raise ValueError("wait is for a batch of the provider")
        if provider_batch and (options.get("offline") or options.get("offline_script") is not None):
            raise ValueError("a batch of the provider is sent to the provider; leave offline out")
        if on is not None and on != "ray" and not (on.startswith("ray=") and on != "ray="):
            raise ValueError(f"on is {on!r}; it is 'ray' or 'ray=ADDRESS'")
        self.program = program
        self.options = options
        self.limit = limit
        self.retries = retries
        self.key = key
        self._fn = fn
        # A batch that waits for the provider reads its rows twice.
        self._rows = rows if wait is None or isinstance(rows, str | os.PathLike) else list(rows)
        self._store_path = None if store is None else os.fspath(store)
        self._budget = budget
        self._on = on
        self.rule = Rule(f"{program.content_hash}\0{fn}", key, ignore, only_failed)
        try:
            self.binding = Binding(program._linked, fn, ignore)
            if key is not None and self.binding.takes(key) is False:
                self.binding = Binding(program._linked, fn, (*ignore, key))
        except Misfit as misfit:
            raise BatchError("columns", str(misfit)) from None
        self._provider_batch = provider_batch
        self._wait = wait
        self.pending = ""
        self._run: BatchRun | None = None
        self._caller_of_run: Caller | None = None
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], object] = lambda: None
        self._is_begun = False

    @property
    def counts(self) -> Counts:
        """The counts so far."""
        return Counts() if self._run is None else self._run.counts

    @property
    def ended_by(self) -> str:
        """Why rows were left."""
        return "" if self._run is None else self._run.ended_by

    def seconds_left(self) -> float | None:
        """Return how many seconds the rest will take if it goes on as it went; None where nobody knows."""
        return None if self._run is None else self._run.seconds_left()

    # ------------------------------------------------------------ running

    async def arun(self, sink: Callable[[list[Finished]], Any], opened: Callable[[], object] = lambda: None) -> Counts:
        """Run the batch within an event loop: `sink` gets the finished rows in order, and what it returns is awaited unless that
        is None; `opened` is called before anything is asked, once the store is this batch's. Return the counts. Raise as
        iteration does, and what the two raise; cancelled, it leaves what is finished in the store."""
        source = store = caller = None
        folder = None
        try:
            source = self.source()
            if self._store_path is None:
                folder = tempfile.TemporaryDirectory(prefix="concerto-batch-")
            store = RowStore(self._store_path or os.path.join(folder.name if folder else "", "rows.db"))
            store.require_same(sha256(self.rule.code.encode()).hexdigest(), self.rule.only_failed)
            opened()
            caller = self._caller_of_run = await self._caller(store)
            if self._provider_batch:
                return await self._by_jobs(source, store, caller, sink)
            self._run = BatchRun(source, self.binding, self.rule, store, caller, self.limit, sink)
            return await self._run.run()
        except Unreadable as refused:
            raise BatchError("rows", str(refused)) from None
        except Misfit as refused:
            raise BatchError("columns", str(refused)) from None
        except StoreRefused as refused:
            raise BatchError("store", str(refused)) from None
        except ClusterFailure as failure:
            raise BatchError("cluster", str(failure)) from None
        except JobsFailure as failure:
            raise BatchError("provider", str(failure)) from None
        except ConfigFailure as failure:
            raise BatchError("configuration", f"{failure.code}: {failure.message}") from None
        except KeyMissing as missing:
            raise BatchError("configuration", f"{missing}; no more rows are asked, and the same batch goes on later") from None
        finally:
            if caller is not None:
                await caller.aclose()
            if store is not None:
                store.close()
            if source is not None:
                source.close()
            if folder is not None:
                folder.cleanup()

    async def _by_jobs(self, source: Source, store: RowStore, caller: Caller, sink: Callable[[list[Finished]], Any]) -> Counts:
        """Collect what is ready, and send what is to be asked. With `wait` nothing is handed on before nothing is on its way any
        more: then the rows are read again."""
        from .provider_jobs import ProviderJobs

        jobs = ProviderJobs(cast("RowCalls", caller), store)
        waiting = await jobs.collect()
        if self._wait is not None:
            await BatchRun(source, self.binding, self.rule, store, jobs, self.limit, lambda rows: None).run()
            await jobs.flush()
            while waiting := await jobs.collect():
                await asyncio.sleep(self._wait)
            store.begin()
            source.close()
            source = self.source()
        try:
            self._run = BatchRun(source, self.binding, self.rule, store, jobs, self.limit, sink)
            counts = await self._run.run()
            await jobs.flush()
        finally:
            source.close()
        if counts.pending:
            self.pending = f"{counts.pending} rows are on their way in {waiting + jobs.sent} batches of the provider"
        return counts

    def stop(self) -> None:
        """End calls that compute; whoever cancels `arun` ends those that wait. Any thread may call it."""
        if self._caller_of_run is not None:
            self._caller_of_run.stop()

    def source(self) -> Source:
        """Return the rows, opened; the caller closes them. Raise Unreadable for a file that is none of rows, and Misfit for
        columns that do not fit."""
        rows = self._rows
        source = open_rows(os.fspath(rows)) if isinstance(rows, str | os.PathLike) else rows_of(rows)
        try:
            self._check(source.columns)
        except Misfit:
            source.close()
            raise
        return source

    def _check(self, columns: tuple[str, ...] | None) -> None:
        if columns is None:
            return
        if self.key is not None and self.key not in columns:
            raise Misfit(f"there is no column {self.key!r} for the key; the columns are {', '.join(columns)}")
        self.binding.check_columns([name for name in columns if name not in self.rule.ignored])

    def shared(self, store: RowStore) -> Shared | None:
        """Return the budget of the batch, of which earlier runs with the store have used some; None for none."""
        if all(limit is None for limit in self._budget):
            return None
        shared = Shared(*self._budget)
        shared.used = list(store.spent())
        return shared

    async def _caller(self, store: RowStore) -> Caller:
        budget = self.shared(store)
        if self._on is None:
            return RowCalls(self.program._linked, self._fn, self.options, self.program._project, budget, self.retries)
        from .cluster import ClusterCalls

        image = self.program.to_bytes()
        return await ClusterCalls.start(self._address, image, self._fn, self.options, budget, self.retries, self.limit)

    @property
    def _address(self) -> str | None:
        return self._on.partition("=")[2] or None if self._on else None

    # ------------------------------------------------------------ iterating

    def __iter__(self) -> Iterator[RowResult]:
        if self._is_begun:
            raise RuntimeError("a batch is iterated once; make another one, which a store lets go on")
        self._is_begun = True
        return self._results()

    def _results(self) -> Iterator[RowResult]:
        results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._in_thread, args=(results,), name="concerto-batch", daemon=True)
        self._thread.start()
        try:
            while True:
                item = results.get()
                if item is END:
                    return
                if isinstance(item, BaseException):
                    raise item
                yield from map(_result, item)
        finally:
            self.close()

    def _in_thread(self, results: queue.SimpleQueue[Any]) -> None:
        async def sink(rows: list[Finished]) -> None:
            # The queue has no bound of its own: the ending has room in it when nobody reads any more.
            while results.qsize() >= QUEUE:
                await asyncio.sleep(0.005)
            results.put(rows)

        async def work() -> None:
            task = asyncio.ensure_future(self.arun(sink))
            loop = asyncio.get_running_loop()
            self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
            await task

        ending: Any = END
        try:
            asyncio.run(work())
        except asyncio.CancelledError:
            pass  # closed, by another thread too while this one's results are waited for
        except BaseException as error:
            ending = error
        results.put(ending)

    def close(self) -> None:
        """Ask no more, cancel the calls that are on their way, and wait until they have ended. Any thread may call it."""
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            self.stop()  # a call that computes lets the loop do nothing
            with suppress(RuntimeError):  # the loop has just ended
                self._stop()
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def dataset(self) -> Any:
        """Run the batch to its end and return its results as a Ray Dataset with the columns `row`, `key`, `ok`, `value` and
        `error`, the last two as JSON texts. Raise what iteration raises, and BatchError ("cluster") where `ray[data]` is not
        installed or the cluster cannot be reached."""
        from .cluster import dataset_of

        try:
            return dataset_of(iter(self), self._address)
        except ClusterFailure as failure:
            raise BatchError("cluster", str(failure)) from None


def _result(row: Finished) -> RowResult:
    answer = row.answer
    value = None if answer.result is None else json.loads(answer.result)
    error = None if answer.failure is None else json.loads(answer.failure)
    return RowResult(row.number, row.key, error is None, value, error, answer.tokens, answer.cost, answer.attempts)
