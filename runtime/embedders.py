"""The embedders of a session, by what the image says of them (M-10.16): a connection's model, a host's own, or `offline`.

Hands on `embedding`. Must not know: facts, who needs a vector.
"""

from __future__ import annotations

from .errors import CallFailure
from .memory.embedding import BASELINE, Embedding
from .memory.tokens import count_text
from .metrics import price
from .progress import Came
from .usage import Use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .memory.embedding import Embedder
    from .records import EmbedRequest
    from .running import Running

TIMEOUT_SECONDS = 30.0


def embedding(run: Running, said: dict[str, Any]) -> Embedding:
    """`said`: the step `embed` of an image. A host may replace any but `offline`."""
    name, kind = said["name"], said["kind"]

    def report(text: str) -> None:
        run.host.log("warn", run.redactor.clean(text))

    given = run.host.embedders.get(name) if kind != "offline" else None
    if given is not None:
        return Embedding(name, lambda texts: _asked(given, texts), report, getattr(given, "baseline", BASELINE))
    if kind == "offline":
        return Embedding(name, _offline, report)
    if kind == "host":
        return Embedding(name, _missing, report)
    return Embedding(f"{name}:{said['model']}", lambda texts: _requested(run, said, texts), report)


async def _offline(texts: list[str]) -> list[list[float]]:
    from .memory.offline_vectors import offline_vectors

    return offline_vectors(texts)


async def _missing(texts: list[str]) -> list[list[float]]:
    raise LookupError("the host gives no embedder of this name")


async def _asked(embedder: Embedder, texts: list[str]) -> Sequence[Sequence[float]]:
    """On a thread, since it may wait; where there is no asyncio, at once."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return embedder.embed(texts)
    return await asyncio.to_thread(embedder.embed, texts)


async def _requested(run: Running, said: dict[str, Any], texts: list[str]) -> list[list[float]]:
    from .records import EmbedRequest

    connection = run.connections.get(said["connection"])
    if connection is None:
        raise CallFailure("ConnectionError", "ProviderUnavailable", f"there is no connection {said['connection']}")
    model = connection.models.get(said["model"], said["model"])
    request = EmbedRequest(connection.name, model, texts, connection.timeout or TIMEOUT_SECONDS)
    provider = run.pool[connection.name]
    if provider.unmetered:
        return await provider.embed(request)
    return await _counted(run, provider, request)


async def _counted(run: Running, provider: Any, request: EmbedRequest) -> list[list[float]]:
    """In the budgets of the run and the counters of the session, like a request of a model (O-1.133)."""
    tokens, free, purse = sum(map(count_text, request.texts)), provider.free_and_instant, run.services.purse
    held = None
    if purse is not None and purse.is_limited:
        from .budgets import BudgetSpent

        try:
            held = await purse.reserve_vectors(request, tokens, free)
        except BudgetSpent as spent:  # no Result carries it
            raise spent.panic() from None
    request.came = Came()
    request.came.begun = True
    used = Use(0, tokens, 0, tokens_estimated=tokens)
    try:
        vectors: list[list[float]] = await provider.embed(request)
    except BaseException as failure:
        if not request.came.begun or (isinstance(failure, CallFailure) and "status" in failure.fields):
            used = Use()
        raise
    finally:
        used.priced(0.0 if free or not used.tokens else price(run.services.pricing, request.model, tokens, 0))
        run.metrics.add(request.model, request.connection, used)
        if purse is not None:
            purse.settle(used, held)
    return vectors
