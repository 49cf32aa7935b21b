"""Performs the methods of embedders and of indexes of documents (O-1.240, O-1.252, O-1.253).

Hands on the performers to `table.py`. A failure of a store or an embedder is the Err of the method; the panic of a budget ends
the run. Who is asked for vectors stands in `calls/embedders.py`, what an index does in `search/session_indexes.py`.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.values import Array
from ..calls.embedders import embedding_of, vectors_of
from ..errors import CallFailure
from ..memory.embedding import floats_of
from ..records import failed, succeeded
from ..search.session_indexes import Indexes, OpenIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..running import EffectContext


async def perform_embeds(run: EffectContext, effect: Effect) -> Any:
    """Perform `embed` and `embed_all`, whose payload is an `EmbedUse`: return the Ok of a vector, or of an Array of one for each
    text, as Arrays of Floats whose vectors have length 1; an Err where the embedder fails. Raises the panic of a budget."""
    use = effect.payload
    table = next(embedder.table for embedder in run.program.image.embedders if embedder.name == use.embedder)
    try:
        vectors = await vectors_of(run, embedding_of(run, table), use.texts, effect.task.path)
    except CallFailure as failure:
        return failed(failure)
    values = [Array(list(floats_of(vector))) for vector in vectors]
    return succeeded(values[0] if use.is_one else Array(values))


METHODS: dict[str, Callable[..., Coroutine[Any, Any, Any]]] = {
    "put": OpenIndex.put, "hits": OpenIndex.hits, "get": OpenIndex.get, "remove": OpenIndex.remove, "clear": OpenIndex.clear,
    "len": OpenIndex.len,
}  # fmt: skip


async def perform(run: EffectContext, effect: Effect) -> Any:
    """Perform a method of an index, whose payload is an `IndexUse`, and return its Result, an Err where it fails; of `len` the
    number of documents. Panics with P412 where `len`, which has no Result, fails; the panic of a budget passes through."""
    use = effect.payload
    opened = Indexes.of(run).named(use.index)
    try:
        value = await METHODS[use.method](opened, effect, *use.arguments)
    except CallFailure as failure:
        if use.method == "len":
            raise Panic("P412", failure.message) from None
        return failed(failure)
    return value if use.method == "len" else succeeded(value)
