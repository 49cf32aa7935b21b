"""The tool that a model gets from an index in its list of tools, `INDEX__search(query)` (O-1.254).

Hands on `index_bindings` to `bindings.py`. How documents are ranked is `runtime/search/`; a failure of store or embedder becomes
an Err for the model, and a Panic, such as that of a budget, passes through.
"""

from __future__ import annotations

from ...vm.schema import INDEX_METHOD, arguments_form, tool_name
from ...vm.values import Array
from ..errors import CallFailure
from ..records import ToolDef
from .memory_tools import StoreBinding, failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.interp.effects import Effect
    from ...vm.values import IndexRef
    from ..running import EffectContext
    from .bindings import ToolBinding

MOST_DOCUMENTS = 5  # that one search gives
QUERY: list[Any] = ["query", ["string"], False, False, None, "what is looked for, in words or as a question"]


def index_bindings(run: EffectContext, ref: IndexRef) -> list[ToolBinding]:
    """Return the tool `search` of an index."""
    shape = ["object", "", [], [QUERY]]
    text = f"Index {ref.name}\n\nGive the documents, at most {MOST_DOCUMENTS}, that fit a query best, the best first"
    definition = ToolDef(tool_name(ref.name, INDEX_METHOD), text, arguments_form(shape))

    async def search(effect: Effect, arguments: list[Any]) -> Any:
        """Return an Array of documents, the best first; or an Err."""
        from ..search.session_indexes import Indexes

        index = Indexes.of(run).named(ref.name)
        try:
            hits = await index.found(effect, arguments[0], MOST_DOCUMENTS)
            return Array([index.value(hit.value) for hit in hits])
        except CallFailure as failure:
            return failed(ref.name, INDEX_METHOD, "ExecutionFailed", failure.message)

    return [StoreBinding(run, ref.name, INDEX_METHOD, definition, shape, search)]
