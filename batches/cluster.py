"""Rows on a Ray cluster (S-2.3): an actor for each place of the cluster, which has the program and calls rows as this process
would; the batch itself (what is asked, the store, the output) stays here.

Hands on `ClusterCalls`, which stands in the place of `RowCalls`, and `dataset_of` to `batch.py`. The image is put
once into Ray's object store, as bytes; options go with it, in memory. A row whose actor dies is called again by another one,
which counts as no retry; Ray starts such an actor anew where there is room. Ray, the extra `ray`, is imported here alone.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ..api.options import Options, SharedBudget
from ..runtime.calls.budgets import KINDS
from ..runtime.errors import install_advice
from ..vm.interp.link import load_bytes
from .calls import BudgetEnds, ClusterFailure, KeyMissing, RowCalls, Shared
from .leases import Amounts, Leased, Ledger, Left
from .store import Answer

LOST = 120.0  # seconds without any machine after which a batch gives up
CONNECT = 10.0  # seconds for a connection to its address
LOOK = 0.2  # seconds between looks for a machine
ROWS_OF_BLOCK = 1000  # of a Dataset
UNSENT = ("stores", "embedders", "summarizers", "token_counter", "browser", "stdin", "mcp_pins")


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ClusterFailure(f"--on ray needs Ray: {install_advice('ray')}") from None
    return ray


def connect(address: str | None) -> Any:
    """Return Ray, connected: as it is where this process is connected already, whatever `address` says; else to the cluster at
    `address`, of RAY_ADDRESS, of this machine, or a new one here. Raise ClusterFailure where Ray is not installed or the cluster
    cannot be reached."""
    ray = _ray()
    if not ray.is_initialized():
        _require_answer(address)
        try:
            # Nothing of this folder is sent: workers have the package, and get the image.
            ray.init(
                address=address, log_to_driver=False, logging_level="error", include_dashboard=False if address is None else None
            )
        except Exception as error:  # of many kinds, by the way of connecting
            raise ClusterFailure(f"cannot reach the Ray cluster {address or ''}: {str(error)[:500]}") from None
    return ray


def _require_answer(address: str | None) -> None:
    """Raise ClusterFailure where nobody listens at HOST:PORT: Ray would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), CONNECT).close()
    except OSError as error:
        raise ClusterFailure(f"cannot reach the Ray cluster {address}: {error.strerror or error}") from None
    except UnicodeError:
        raise ClusterFailure(f"cannot reach the Ray cluster {address}: {host} is no name of a host") from None


class Worker:
    """What an actor is: the program of an image, and its calls. It returns rows as plain data."""

    def __init__(self, image: bytes, function: str, options: Options, retries: int, ledger: Any, whole: Left) -> None:
        import uuid

        self._name = uuid.uuid4().hex
        self._budget: Leased | None = None
        self._running = 0
        if ledger is not None:

            async def ask(amounts: Amounts) -> tuple[Amounts, bool, Left]:
                given = await ledger.take.remote(self._name, amounts)
                return cast("tuple[Amounts, bool, Left]", given)

            async def give_back(amounts: Amounts) -> None:
                await ledger.give_back.remote(self._name, amounts)

            async def report(amounts: Amounts) -> bool:
                return bool(await ledger.spent.remote(self._name, amounts))

            self._budget = Leased(whole, ask, give_back, report)
        self._calls = RowCalls(load_bytes(image), function, options, None, self._budget, retries)

    async def name(self) -> str:
        """Return the name that the ledger knows it by."""
        return self._name

    async def call(self, arguments: dict[str, Any]) -> tuple[Any, ...]:
        """Call the function; return, behind a word for which of them it is, the parts of the Answer, of BudgetEnds, or of
        KeyMissing."""
        self._running += 1
        try:
            answer = await self._calls.call(arguments)
        except BudgetEnds as ends:
            return ("budget", ends.text, *ends.used)
        except KeyMissing as missing:
            return ("key", str(missing))
        finally:
            self._running -= 1
            if self._budget is not None:
                self._budget.row_ended(not self._running)
        a = answer
        return ("answer", a.result, a.failure, a.tokens, a.cost, a.unpriced, a.attempts, a.requests)

    async def end(self) -> None:
        """Give back what of the budget is not used."""
        if self._budget is not None:
            await self._budget.end()
        await self._calls.aclose()


class ClusterCalls:
    """Calls of rows by the workers of a cluster. Made by `start`."""

    def __init__(self, ray: Any, workers: list[Any], ledger: Any, image: Any) -> None:
        self._ray = ray
        self._image = image  # kept as long as workers may start anew
        self._ledger = ledger
        self._loads: dict[Any, int] = dict.fromkeys(workers, 0)
        self._names: dict[Any, str] = {}
        self._resting: dict[Any, float] = {}  # workers that have just failed, and until when they are left alone

    @classmethod
    async def start(
        cls, address: str | None, image: bytes, function: str, options: Options, budget: Shared | None, retries: int, limit: int
    ) -> ClusterCalls:
        """Connect, and start a worker for each CPU of the cluster, at most `limit`; wait until all have a CPU that is free. Raise
        ClusterFailure as `connect`, for an option that cannot be sent, and for workers that do not start."""
        for name in UNSENT:
            if options.get(name):
                raise ClusterFailure(f"the option {name} belongs to this process and cannot be sent to a cluster")
        budgets = options.get("budgets")
        if any(isinstance(one, SharedBudget) for one in (budgets if isinstance(budgets, list | tuple) else [budgets])):
            raise ClusterFailure("a SharedBudget belongs to this process; a batch has max_cost, max_tokens and max_model_calls")
        ray = connect(address)
        count = max(1, min(limit, int(ray.cluster_resources().get("CPU", 1))))
        ledger, whole = None, cast("Left", [None] * len(KINDS))
        if budget is not None:
            whole = [*budget.limits]
            ledger = (
                ray.remote(Ledger).options(num_cpus=0, max_concurrency=1000, **_beside_us(ray)).remote(budget.limits, budget.used)
            )
        shipped = ray.put(image)
        actor = ray.remote(Worker).options(
            num_cpus=1, max_concurrency=limit, max_restarts=-1, max_task_retries=0, scheduling_strategy="SPREAD"
        )
        workers = [actor.remote(shipped, function, options, retries, ledger, whole) for _ in range(count)]
        calls = cls(ray, workers, ledger, shipped)
        try:
            calls._names = dict(zip(workers, await asyncio.gather(*[w.name.remote() for w in workers]), strict=True))
        except Exception as error:
            calls.kill()
            reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            raise ClusterFailure(f"the workers of the cluster do not start: {reason[0][:500]}") from None
        return calls

    async def call(self, arguments: Mapping[str, Any], row: tuple[str, bytes] = ("", b"")) -> Answer:
        """As `RowCalls.call`. Raise ClusterFailure where no machine is left, and for what a machine raises besides."""
        from ray.exceptions import RayActorError, RaySystemError, RayTaskError

        waited = 0.0
        while True:
            worker = self._choose()
            if worker is None:
                if waited > LOST:
                    raise ClusterFailure(f"no machine of the cluster has answered for {LOST:.0f} s; go on when there is one")
                await asyncio.sleep(LOOK)
                waited += LOOK
                continue
            self._loads[worker] += 1
            try:
                kind, *parts = await worker.call.remote(dict(arguments))
            except RayTaskError as error:  # raised by the code of the worker: the same again elsewhere
                raise ClusterFailure(f"a worker failed: {str(error).strip().splitlines()[-1][:500]}") from None
            except (RayActorError, RaySystemError):
                await self._lost(worker)
                continue
            finally:
                self._loads[worker] -= 1
            if kind == "budget":
                text, *used = parts
                raise BudgetEnds(text, cast("tuple[int, float, int]", tuple(used)))
            if kind == "key":
                raise KeyMissing(parts[0])
            return Answer(*parts)

    def _choose(self) -> Any:
        """Return the worker with the fewest rows, None while all are resting."""
        now = asyncio.get_running_loop().time()
        ready = [worker for worker in self._loads if self._resting.get(worker, 0.0) <= now]
        return min(ready, key=self._loads.__getitem__) if ready else None

    async def _lost(self, worker: Any) -> None:
        """Leave a worker alone for a while: Ray starts it anew where there is room, until then each call fails at once. What it
        held of the budget counts as used."""
        self._resting[worker] = asyncio.get_running_loop().time() + 1.0
        name = self._names.pop(worker, None)
        if name is not None and self._ledger is not None:
            await self._ledger.lost.remote(name)

    def stop(self) -> None:
        """Nothing computes here."""

    async def aclose(self) -> None:
        """Let the workers that were never lost give back what they hold, for at most 2 s, and end all."""
        ends = [asyncio.ensure_future(_ended(worker)) for worker in self._names]
        if ends:
            await asyncio.wait(ends, timeout=2.0)
        for end in ends:
            end.cancel()
        self.kill()

    def kill(self) -> None:
        """End the actors."""
        for worker in self._loads:
            self._ray.kill(worker)
        if self._ledger is not None:
            self._ray.kill(self._ledger)


async def _ended(worker: Any) -> None:
    from contextlib import suppress

    with suppress(Exception):
        await worker.end.remote()


def _beside_us(ray: Any) -> dict[str, Any]:
    """Return the options by which an actor stands on the machine of the driver: it is lost with the batch only."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = ray.get_runtime_context().get_node_id()
    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=True)}


def dataset_of(results: Iterator[Any], address: str | None) -> Any:
    """Return a Dataset of results, whose blocks are put into the object store one after another. Raise ClusterFailure as
    `connect` and where `ray[data]` is not installed, and what the iteration raises."""
    ray = connect(address)
    try:
        import pyarrow
        from ray.data import from_arrow_refs
    except ImportError:
        raise ClusterFailure("a Dataset needs Ray Data: pip install 'ray[data]'") from None
    schema = pyarrow.schema(
        [("row", pyarrow.int64()), ("key", pyarrow.string()), ("ok", pyarrow.bool_()), ("value", pyarrow.string()),
         ("error", pyarrow.string())]
    )  # fmt: skip
    blocks: list[Any] = []
    rows: list[dict[str, Any]] = []

    def block() -> None:
        blocks.append(ray.put(pyarrow.Table.from_pylist(rows, schema=schema)))
        rows.clear()

    for row in results:
        value = json.dumps(row.value, ensure_ascii=False) if row.ok else None
        error = None if row.ok else json.dumps(row.error, ensure_ascii=False)
        rows.append({"row": row.number, "key": row.key, "ok": row.ok, "value": value, "error": error})
        if len(rows) == ROWS_OF_BLOCK:
            block()
    if rows or not blocks:
        block()
    return from_arrow_refs(blocks)
