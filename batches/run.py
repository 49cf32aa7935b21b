"""One run over the rows of a batch: which are asked, at most so many at a time, and what came of each, in the order of the input
(S-2.1, S-2.2).

Hands on `BatchRun`, `Rule`, which says which rows are asked, `Counts` and `Caller` to `batch.py`, `Counts` to `cli/batch.py` too.
A row is finished by one commit in the store; memory holds the rows that are asked, and the numbers of those that are finished
before an earlier one. How a row is called, and what it costs, is for its `Caller`.
"""

from __future__ import annotations

import asyncio
import hashlib
import reprlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .binding import Binding
from .calls import BudgetEnds, Failure, Pending
from .rows import Row, Source, canonical, storable, written
from .store import DONE, Answer, Finished, RowStore

WINDOW = 100_000  # rows that are read beyond the first one that is not finished
AT_ONCE = 256  # finished rows that are handed on at a time
BREATH = 64  # rows that are read before other tasks have their turn


class Caller(Protocol):
    """What calls the function: here, on other machines, or by a batch of the provider. `call` takes the arguments by name and the
    row's key and digest; it raises BudgetEnds, Pending for a row whose answer comes later, and what ends the batch. `stop` ends
    calls that compute, `aclose` releases connections."""

    async def call(self, arguments: Mapping[str, Any], row: tuple[str, bytes]) -> Answer: ...
    def stop(self) -> None: ...
    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Rule:
    """Which rows are asked. `code` is what the digest of a row has of the program: an answer holds for the same image and
    function. `key` is the column that names a row, None: what it holds. Columns in `ignored` are no part of a row. With
    `only_failed` rows are asked that have failed, and no others."""

    code: str
    key: str | None = None
    ignored: tuple[str, ...] = ()
    only_failed: bool = False


@dataclass(slots=True)
class Counts:
    """Rows so far: `done` and `failed` ones of the output, of which `kept` were finished before this run; `left` are those that
    were not asked, `pending` those whose answer a batch of the provider will bring; `read` are all. `tokens`, `cost` (in
    dollars), `unpriced` (requests without a price) and `requests` are of this run. `seconds` is how long it has taken."""

    read: int = 0
    done: int = 0
    failed: int = 0
    kept: int = 0
    left: int = 0
    pending: int = 0
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    requests: int = 0
    seconds: float = 0.0

    @property
    def asked(self) -> int:
        """The rows that were finished in this run."""
        return self.done + self.failed - self.kept


def _shown(cells: Mapping[str, Any]) -> str:
    """Return cells that are no JSON as people see them."""
    try:
        return str(cells)
    except RecursionError:
        return reprlib.repr(cells)  # it shows the first levels


class BatchRun:
    """One run, in the event loop that it is made in. At most `limit` rows are asked at a time. `sink` gets the finished rows in
    order, in lists, and what it returns is awaited unless that is None; `ended_by` is why no more rows are asked, "" while they
    are."""

    def __init__(
        self, source: Source, binding: Binding, rule: Rule, store: RowStore, caller: Caller, limit: int,
        sink: Callable[[list[Finished]], Any],
    ) -> None:  # fmt: skip
        self.counts = Counts()
        self.ended_by = ""
        self._source = source
        self._binding = binding
        self._rule = rule
        self._store = store
        self._caller = caller
        self._slots = asyncio.Semaphore(limit)
        self._sink = sink
        self._tasks: set[asyncio.Task[None]] = set()
        self._settled: set[int] = set()  # numbers of rows that wait for earlier ones
        self._written = 0  # the number of the last row that was handed on
        self._changed = asyncio.Event()  # there is something to hand on
        self._moved = asyncio.Event()  # something was handed on
        self._failure: BaseException | None = None
        self._began = time.monotonic()

    def seconds_left(self) -> float | None:
        """Return how many seconds the rest will take if it goes on as it went; None where nobody knows."""
        fraction = self._source.fraction()
        asked = self.counts.asked
        if fraction is None or fraction <= 0 or not asked:
            return None
        rate = asked / max(time.monotonic() - self._began, 1e-9)
        rows = self.counts.read / fraction - self.counts.read + len(self._tasks)
        return max(0.0, rows / rate)

    async def run(self) -> Counts:
        """Ask what is to be asked, and return the counts. Raise what iterating the source raises, StoreRefused, what the caller
        raises, and what the sink raises. Cancelled, it leaves what is finished in the store."""
        writer = asyncio.create_task(self._write())
        writer.add_done_callback(lambda _: self._moved.set())  # of a sink that failed, whoever waits for it goes on
        try:
            for row in self._source:
                self.counts.read += 1
                await self._take(row, writer)
                if row.number % BREATH == 0:
                    self.counts.seconds = time.monotonic() - self._began
                    await asyncio.sleep(0)
                if self._failure is not None or writer.done():
                    break
            while self._tasks and self._failure is None:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            if self._failure is not None:
                raise self._failure
            while self._written < self.counts.read and not writer.done():
                self._moved.clear()
                self._changed.set()
                await asyncio.wait((writer, asyncio.ensure_future(self._moved.wait())), return_when=asyncio.FIRST_COMPLETED)
            if writer.done():
                writer.result()
        finally:
            if self._tasks:
                self._caller.stop()
            for task in (writer, *self._tasks):
                task.cancel()
            await asyncio.gather(writer, *self._tasks, return_exceptions=True)
        self.counts.seconds = time.monotonic() - self._began
        return self.counts

    # ------------------------------------------------------------ reading

    async def _take(self, row: Row, writer: asyncio.Task[None]) -> None:
        while row.number - self._written > WINDOW and self._failure is None and not writer.done():
            self._moved.clear()
            await self._moved.wait()
        if row.cells is None:
            self._refuse(row.number, f"row {row.number}", row.fault, written(row.raw))
            return
        cells = {name: cell for name, cell in row.cells.items() if name not in self._rule.ignored}
        try:
            text = canonical(cells)
        except (ValueError, TypeError, RecursionError) as error:  # TypeError: keys of several types have no order
            self._refuse(row.number, f"row {row.number}", f"it cannot be compared: {error}", written(_shown(row.cells)))
            return
        digest = hashlib.sha256(f"{self._rule.code}\0{text}".encode("utf-8", "surrogatepass")).digest()
        key = self._key(row.cells, text)
        if key is None:
            self._refuse(
                row.number, f"row {row.number}", f"it has nothing in the column {self._rule.key!r} of the key", written(cells)
            )
            return
        earlier = self._store.place(row.number, key, digest)
        if earlier is not None:
            self._refuse(row.number, key, f"the key {key!r} is that of row {earlier} too; a key names one row", written(cells))
            return
        await self._look(row.number, key, digest, cells)

    def _key(self, cells: Mapping[str, Any], text: str) -> str | None:
        """Return the key of a row: what stands in the column of the key, an ignored one too; without one the hash
        of what it holds, and for equal rows behind the first their number among them."""
        if self._rule.key is not None:
            cell = cells.get(self._rule.key)
            return None if cell is None or cell == "" else storable(cell if isinstance(cell, str) else canonical(cell))
        same = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        count = self._store.occurrence(same)
        return same.hex()[:32] if count == 1 else f"{same.hex()[:32]}#{count}"

    async def _look(self, number: int, key: str, digest: bytes, cells: Mapping[str, Any]) -> None:
        """Ask a row, unless it is finished as it is now, or is not to be asked."""
        state = self._store.state(key, digest)
        is_kept = state == DONE or (state is not None and not self._rule.only_failed)
        if is_kept:
            self.counts.kept += 1
            self._count(state == DONE)
            self._settle(number)
            return
        if self.ended_by or (self._rule.only_failed and state is None):
            self._leave(number)
            return
        try:
            arguments = self._binding.arguments(cells, self._source.texts)
        except TypeError as misfit:
            self._refuse(number, key, str(misfit), written(cells))
            return
        await self._slots.acquire()
        if self.ended_by or self._failure is not None:
            self._slots.release()
            self._leave(number)
            return
        task = asyncio.create_task(self._ask(number, key, digest, arguments, cells))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _refuse(self, number: int, key: str, fault: str, cells: str) -> None:
        self._store.refuse(number, key, Failure.of("Row", fault), cells)
        self._count(False)
        self._settle(number)

    def _leave(self, number: int) -> None:
        self.counts.left += 1
        self._settle(number)

    # ------------------------------------------------------------ asking

    async def _ask(self, number: int, key: str, digest: bytes, arguments: Mapping[str, Any], cells: Any) -> None:
        try:
            answer = await self._caller.call(arguments, (key, digest))
        except Pending:
            self.counts.pending += 1
            self._settle(number)
            return
        except BudgetEnds as spent:
            self.ended_by = self.ended_by or spent.text
            self._spend(*spent.used)
            self._leave(number)
            return
        # No turn of other tasks lies between the answer and its commit.
        with self._store.in_one():
            self._store.finish(key, digest, answer, "" if answer.failure is None else written(cells))
            self._spend(answer.tokens, answer.cost, answer.requests)
        self.counts.unpriced += answer.unpriced
        self._count(answer.failure is None)
        self._settle(number)

    def _spend(self, tokens: int, cost: float, requests: int) -> None:
        self._store.spend(tokens, cost, requests)
        self.counts.tokens += tokens
        self.counts.cost += cost
        self.counts.requests += requests

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._slots.release()
        failure = asyncio.CancelledError() if task.cancelled() else task.exception()  # a row that was stopped stops the batch
        if failure is not None:
            self._failure = self._failure or failure
            self._moved.set()

    # ------------------------------------------------------------ writing

    def _count(self, is_done: bool) -> None:
        if is_done:
            self.counts.done += 1
        else:
            self.counts.failed += 1

    def _settle(self, number: int) -> None:
        self._settled.add(number)
        if number == self._written + 1:
            self._changed.set()

    async def _write(self) -> None:
        """Hand on finished rows as soon as all rows before them are settled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._written + 1 in self._settled:
                last = self._written
                while last + 1 in self._settled and last - self._written < AT_ONCE:
                    last += 1
                    self._settled.discard(last)
                finished = list(self._store.finished(self._written + 1, last))
                waiting = self._sink(finished)
                if waiting is not None:
                    await waiting
                self._written = last
                self._moved.set()
                await asyncio.sleep(0)
