"""The embedders of a session, and who is asked for vectors (O-1.240, M-10.16).

Hands on `embedding_of` to the session, for its memories, and with `vectors_of` to indexes and to the performer of `embed`;
`host_vectors`, which asks the embedder of the host, to `journal/border.py`. An embedder makes vectors of texts: it is a model of
a connection, the host's own, or `offline`; a memory, an index and the program ask it alike. What it gives is kept by
`memory/embedding.py`. A request for vectors to a connection is retried as that says, and its tokens and cost count in budgets and
metrics, unless its provider is unmetered; it is none of the counted model calls.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ..errors import CallFailure
from ..host import message_and_fields
from ..memory.embedding import BASELINE, Embedding
from ..memory.entries import count_text
from .budgets import BudgetSpent
from .retry import RetryPolicy, retry_wait
from .usage import ReplyProgress, Use, price

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from ..connections import ConnectionSettings
    from ..memory.embedding import Embedder
    from ..records import EmbedRequest
    from ..running import EffectContext

TIMEOUT_SECONDS = 30.0  # of a request for vectors whose connection has no timeout
EMBEDDINGS = "embeddings"  # the key in the state of a run: the embeddings that were made, by their tables


def embedding_of(run: EffectContext, table: dict[str, Any]) -> Embedding:
    """Return the embedding of an embedder by its table in the image, always the same one in a session: texts that a memory, an
    index or the program has embedded are known to all. Modules may have embedders of one name, with other tables. That an
    embedder is missing is seen only when it is asked.

    A table has `name` and `kind` ("connection", "host" or "offline"); of the kind "connection" also `connection` and `model`, and
    perhaps `dimensions`, the length of a vector."""
    known: dict[object, Embedding] = run.state.setdefault(EMBEDDINGS, {})
    key = tuple(sorted(table.items()))
    if key not in known:
        known[key] = _embedding(run, table)
    return known[key]


async def vectors_of(run: EffectContext, embedding: Embedding, texts: list[str], task: str | None) -> list[bytes]:
    """Return the stored form of one vector for each text (32-bit floats of length 1); those that are known already are not asked
    for. `task` is the path of the task that waits, None where nobody knows. Raises CallFailure where the embedder fails or gives
    other than one vector for each text; the reason is in it (of a host's for the program alone, G-9.10). Raises the Panic of a
    budget."""
    try:
        return await embedding.vectors(texts, task)
    except (CallFailure, Panic):
        raise
    except Exception as error:
        what = f"the embedder {embedding.label}"
        message, fields = message_and_fields(run.redactor.clean, what, error)
        raise CallFailure("AgentError", "Failed", f"{what} failed: {message}", **fields) from None


# What the image says of an embedder, and who is asked.


def _embedding(run: EffectContext, table: dict[str, Any]) -> Embedding:
    """Return the embedding of an embedder by its table in the image: that of a connection, the host's own, or the offline one.
    Whether it is missing or fails is seen only when it is asked for vectors (`memory/embedding.py`).

    A host may replace any by its name, except `offline` (M-10.16)."""
    name, kind = table["name"], table["kind"]

    def report(text: str) -> None:
        run.warn(text)

    host_embedder = run.host.embedders.get(name) if kind != "offline" else None
    if host_embedder is not None:
        baseline = getattr(host_embedder, "baseline", BASELINE)
        return Embedding(name, lambda texts, task: host_vectors(host_embedder, texts), report, baseline)
    if kind == "offline":
        return Embedding(name, _offline, report)
    if kind == "host":
        return Embedding(name, _missing, report)
    size = f":{table['dimensions']}" if "dimensions" in table else ""
    connection = run.connections.get(table["connection"])
    # What an offline run has stored is no vector of the model, and one of another run finds it nowhere near.
    of = "offline" if connection is not None and run.pool.is_offline(connection) else f"{name}:{table['model']}"
    return Embedding(f"{of}{size}", lambda texts, task: _provider_vectors(run, table, texts, task), report)


async def _offline(texts: list[str], task: str | None) -> list[list[float]]:
    from ..memory.vectors import offline_vectors

    return offline_vectors(texts)


async def _missing(texts: list[str], task: str | None) -> list[list[float]]:
    raise LookupError("the host gives no embedder of this name")


async def host_vectors(embedder: Embedder, texts: list[str]) -> Sequence[Sequence[float]]:
    """Return what the host's embedder gives, asked in a thread, since it may wait; without asyncio at once. One with a journal
    before it has `aembed`. Raises what it raises."""
    import asyncio

    ask = getattr(embedder, "aembed", None)
    if ask is not None:
        vectors: Sequence[Sequence[float]] = await ask(texts)
        return vectors

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return embedder.embed(texts)
    return await asyncio.to_thread(embedder.embed, texts)


async def _provider_vectors(run: EffectContext, table: dict[str, Any], texts: list[str], task: str | None) -> list[list[float]]:
    from ..records import EmbedRequest

    connection = run.connections.get(table["connection"])
    if connection is None:
        raise CallFailure("ConnectionError", "ProviderUnavailable", f"there is no connection {table['connection']}")
    model = connection.models.get(table["model"], table["model"])
    provider = run.pool[connection.name]

    async def ask() -> list[list[float]]:
        request = EmbedRequest(connection.name, model, texts, connection.timeout or TIMEOUT_SECONDS, table.get("dimensions"))
        if provider.unmetered:
            vectors: list[list[float]] = await provider.embed(request)
            return vectors
        return await _metered_vectors(run, provider, request, task)

    return await _with_retries(run, connection, ask)


async def _with_retries(
    run: EffectContext, connection: ConnectionSettings, ask: Callable[[], Awaitable[list[list[float]]]]
) -> list[list[float]]:
    """Ask until there is an answer, or a failure that is not retried, by the field `retry` of the connection (O-1.10), since the
    run retries too much (G-6.5) or since its deadline would pass; that failure is raised."""
    policy = RetryPolicy.from_object(connection.retry or {})
    attempt = 1
    while True:
        try:
            return await ask()
        except CallFailure as failure:
            wait = retry_wait(policy, failure, attempt, run.services)
            if wait is None:
                raise policy.last_failure(failure, attempt) from None
        await run.host.sleep(wait)
        attempt += 1


async def _metered_vectors(run: EffectContext, provider: Any, request: EmbedRequest, task: str | None) -> list[list[float]]:
    """Ask a provider within the budgets of the run, for a task that waits for it, and count what it used, like a request of a
    model (O-1.133)."""
    tokens, free, purse = sum(map(count_text, request.texts)), provider.free_and_instant, run.services.purse
    reservation = None
    if purse is not None and purse.is_limited:
        try:
            reservation = await purse.reserve_vectors(request, tokens, free, task)
        except BudgetSpent as spent:  # there is no Result here to carry it
            raise spent.panic() from None
    request.progress = ReplyProgress()
    request.progress.has_left = True
    use = Use(0, tokens, 0, tokens_estimated=tokens)
    telemetry, broken = run.services.telemetry, None
    span = None if telemetry is None else telemetry.embedding_begins(request, run.connections[request.connection])
    try:
        vectors: list[list[float]] = await provider.embed(request)
    except BaseException as failure:
        broken = failure
        if not request.progress.has_left or (isinstance(failure, CallFailure) and "status" in failure.fields):
            use = Use()
        raise
    finally:
        use.set_price(0.0 if free or not use.tokens else price(run.services.pricing, request.model, tokens, 0))
        run.metrics.add(request.model, request.connection, use)
        if purse is not None:
            purse.settle(use, reservation)
        if telemetry is not None:
            telemetry.embedding_ends(span, use, broken)
    return vectors
