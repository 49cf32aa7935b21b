"""Rows by batches of the provider (S-2.4): each row's one request is written into a batch, which is sent, and later, by this or
another process, collected; with its answer the function runs to its end.

Hands on `ProviderJobs` to `batch.py`, which puts it in the place of `RowCalls`. A function runs twice for a row: up to its
request, which is taken down instead of sent, and whole, with the answer. So it has to ask the same both times, and once: a
second request, a stream, and another request than was sent are reasons by which a row fails. What is on its way stands in
the store.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..runtime.calls.usage import Metrics
from ..runtime.errors import CallFailure
from ..runtime.providers.base import Provider
from .calls import Failure, JobsFailure, KeyMissing, Pending, RowCalls
from .provider_wires import UNREADABLE, Wire, wire_of
from .rows import canonical
from .store import Answer, RowStore

MANY = "run such rows with --only-failed and without --provider-batch"
SECOND = f"the function sends a second request for the row, and a batch of the provider holds one; {MANY}"
STREAMS = f"the function reads a stream, and a batch of the provider has none; {MANY}"
CHANGED = f"the function asks something else than was sent for the row, so what it asks depends on more than the row; {MANY}"


class _Row:
    """One run of the function for a row: `count` requests so far, and why it was left at one, `fault`, "" for no fault. `left` is
    done where it was left. `answer` answers the first request."""

    def __init__(self, answer: Callable[[_Row, Any, Any], Awaitable[Any]]) -> None:
        self.answer = answer
        self.count = 0
        self.fault = ""
        self.left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def leave(self, fault: str) -> Any:
        """Let the function be left here, for ever."""
        self.fault = self.fault or fault
        if not self.left.done():
            self.left.set_result(None)
        await asyncio.get_running_loop().create_future()


class _One(Provider):
    """What stands before the provider of a connection in one run for a row."""

    is_batch = True

    def __init__(self, real: Any, row: _Row) -> None:
        self.settings = real.settings
        self.name = real.name
        self._real = real
        self._row = row

    def lower(self, request: Any) -> dict[str, Any]:
        lowered: dict[str, Any] = self._real.lower(request)
        return lowered

    async def send(self, request: Any) -> Any:
        self._row.count += 1
        if self._row.count > 1:
            return await self._row.leave(SECOND)
        return await self._row.answer(self._row, self._real, request)

    async def stream(self, request: Any, give: Any) -> Any:
        return await self._row.leave(STREAMS)

    async def embed(self, request: Any) -> Any:
        return await self._real.embed(request)


class ProviderJobs:
    """Batches of the provider for the rows that `calls` would call; a `run.Caller`. The `store` keeps what is on its way, and
    what it raises, StoreRefused, comes out of the methods; `sent` counts the batches that were sent here."""

    def __init__(self, calls: RowCalls, store: RowStore) -> None:
        self._calls = calls
        self._store = store
        self._wires: dict[str, Wire] = {}
        self._outgoing: dict[str, list[tuple[str, bytes, bytes, Mapping[str, Any]]]] = {}  # by connection
        self._sizes: dict[str, int] = {}
        self._sending = asyncio.Lock()
        self.sent = 0

    # ------------------------------------------------------------ rows

    async def call(self, arguments: Mapping[str, Any], row: tuple[str, bytes]) -> Answer:
        """Return the answer to a row for which a reply has arrived, or which needs none. Raise Pending for any other: its request
        is on its way, or goes with the next batch; JobsFailure for a connection without batches, and for a batch that cannot be
        sent, as `flush`; and what `RowCalls.once` raises."""
        key, digest = row
        if self._store.waits(key, digest):
            raise Pending
        arrived = self._store.reply(key, digest)
        if arrived is None:
            return await self._asked(arguments, key, digest)
        answer = await self._answered(arguments, *arrived)
        self._store.used(key)
        return answer

    async def _asked(self, arguments: Mapping[str, Any], key: str, digest: bytes) -> Answer:
        """Take down the request of a row. Return an answer where the function ends without one, or is refused."""
        taken: list[tuple[str, Mapping[str, Any]]] = []

        async def take(run: _Row, real: Any, request: Any) -> Any:
            taken.append((real.settings.name, real.body(request)))
            return await run.leave("")

        answer = await self._run(arguments, take)
        if answer is not None:
            return answer
        connection, body = taken[0]
        await self._put(connection, key, digest, body)
        raise Pending

    async def _answered(self, arguments: Mapping[str, Any], request_digest: bytes, status: int, body: bytes) -> Answer:
        """Run the function with what has arrived."""
        if status >= 400:
            return Answer(None, Failure.of("Provider", self._calls.clean(_reason(body)), status=status), attempts=1)

        async def give(run: _Row, real: Any, request: Any) -> Any:
            if _digest(real.body(request)) != request_digest:
                return await run.leave(CHANGED)
            if request.progress is not None:
                request.progress.has_left = True
            return await real.answered(request, body)

        answer = await self._run(arguments, give)
        assert answer is not None, "a row with an answer is not left without a reason"
        return answer

    async def _run(self, arguments: Mapping[str, Any], answer: Callable[[_Row, Any, Any], Awaitable[Any]]) -> Answer | None:
        """Run the function for a row. Return how it ended; None where it was left at its request without a fault."""
        row, total = _Row(answer), Metrics()

        def provider(connection: str) -> Any:
            if self._wire(connection) is None:
                raise JobsFailure(f"connection {connection}: its provider has no batches here; openai and anthropic have")
            return _One(self._calls.provider(connection), row)

        run = asyncio.ensure_future(self._calls.once(arguments, total, provider))
        try:
            await asyncio.wait((run, row.left), return_when=asyncio.FIRST_COMPLETED)
            if run.done():
                outcome, text = run.result()
                return self._calls.answer_of(outcome, text, total, 1)
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            if row.fault == "":
                return None
            return self._calls.answer_of(Failure.of("Batch", row.fault), None, total, 1)
        finally:
            run.cancel()
            row.left.cancel()

    def _wire(self, connection: str) -> Wire | None:
        if connection not in self._wires:
            wire = wire_of(self._calls.provider(connection))
            if wire is None:
                return None
            self._wires[connection] = wire
        return self._wires[connection]

    # ------------------------------------------------------------ batches

    async def _put(self, connection: str, key: str, digest: bytes, body: Mapping[str, Any]) -> None:
        """Put a request into the next batch, and send that when it is full."""
        async with self._sending:
            size = len(canonical(body))
            wire = self._wires[connection]
            rows = self._outgoing.setdefault(connection, [])
            if rows and (len(rows) >= wire.most_rows or self._sizes.get(connection, 0) + size > wire.most_bytes):
                await self._send(connection)
                rows = self._outgoing.setdefault(connection, [])
            rows.append((key, digest, _digest(body), body))
            self._sizes[connection] = self._sizes.get(connection, 0) + size

    async def flush(self) -> None:
        """Send the batches that are not full. Raise JobsFailure, and KeyMissing where the provider's key is not there."""
        async with self._sending:
            for connection in list(self._outgoing):
                await self._send(connection)

    async def _send(self, connection: str) -> None:
        rows = self._outgoing.pop(connection, [])
        self._sizes.pop(connection, None)
        if not rows:
            return
        wire, name = self._wires[connection], f"c{os.urandom(6).hex()}"
        entries = [wire.entry(_id(name, key), body) for key, _, _, body in rows]
        # Noted before it is sent: whoever goes on after a kill looks for it before it sends again.
        self._store.intend(name, connection, time.time(), [row[:3] for row in rows])
        try:
            job = await wire.send(name, entries)
        except CallFailure as failure:
            raise self._failed("cannot send the batch", failure) from None
        except UNREADABLE as unreadable:  # whether it was taken, the next run finds out
            text = f"the provider's answer to the batch cannot be read: {type(unreadable).__name__}: {unreadable}"
            raise JobsFailure(self._calls.clean(text)) from None
        self._store.sent(name, job)
        self.sent += 1

    def _failed(self, what: str, failure: CallFailure) -> Exception:
        """Return what ends the batch for a failed request to the provider: KeyMissing where its key is not there (S-2.1)."""
        if failure.variant == "MissingKey":
            return KeyMissing(self._calls.clean(failure.message))
        return JobsFailure(self._calls.clean(f"{what}: {failure.message}"))

    async def collect(self) -> int:
        """Fetch the answers of batches that are over; return how many are still on their way. Raise as `flush`."""
        pending = 0
        for job in self._store.jobs():
            try:
                wire = self._wire(job.connection)
            except KeyError:
                wire = None
            if wire is None:
                raise JobsFailure(f"a batch of the connection {job.connection} is on its way, which the program has no more")
            try:
                id = job.id
                if job.state == "new":
                    known = {other.id for other in self._store.jobs()}
                    found = await wire.find(job.name, job.rows, job.sent, known)
                    if found is None:
                        self._store.over(job)  # the process died before it was sent
                        continue
                    self._store.sent(job.name, found)
                    id = found
                if not await wire.is_over(id):
                    pending += 1
                    continue
                await self._fetch(wire, id, job.name)
            except CallFailure as failure:
                raise self._failed(f"cannot collect the batch {job.id}", failure) from None
            except UNREADABLE as unreadable:
                text = f"the provider's answer about the batch {job.id} cannot be read: {type(unreadable).__name__}: {unreadable}"
                raise JobsFailure(self._calls.clean(text)) from None
            self._store.over(job)
        return pending

    async def _fetch(self, wire: Wire, id: str, name: str) -> None:
        waiting = {_id(name, key): (key, digest, request) for key, digest, request in self._store.waiting_in(name)}
        async for line in wire.lines(id):
            row = waiting.get(line.id)
            if row is not None:
                self._store.arrived(*row, line.status, line.body)

    def stop(self) -> None:
        """As of `RowCalls`."""
        self._calls.stop()

    async def aclose(self) -> None:
        """As of `RowCalls`."""
        await self._calls.aclose()


def _id(name: str, key: str) -> str:
    """Return the id of a row in a batch, which both providers take."""
    return f"{name}-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _digest(body: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(canonical(body).encode("utf-8", "surrogatepass")).digest()


def _reason(body: bytes) -> str:
    """Return what a provider says of a request that it did not answer."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return "the provider gives no reason"
    for _ in range(3):  # an error stands in an error
        inner = data.get("error") if isinstance(data, dict) else None
        if not isinstance(inner, dict):
            break
        data = inner
    message = data.get("message") if isinstance(data, dict) else None
    return str(message or "the provider gives no reason")[:4096]
