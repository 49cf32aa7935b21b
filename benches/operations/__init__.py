"""The operation rows: what the machine and its runtime do once a call, a message or a line (V-8.3 to V-8.11, V-3.7, V-4.3, M-14,
G-16.10).

`OPERATIONS` names them all, in the order they are shown. Each function takes a `Plan` and gives figures.
"""

from __future__ import annotations

from collections.abc import Callable

from ..figures import Figure
from ..sampling import Plan
from .builders import builder_dispatch
from .calling_python import calling_python
from .committing import commits, overhead
from .compiling import check_after_an_edit, compile_example, compile_speed
from .growing import growth
from .importing import importing
from .loading import image_loading, verifier
from .long_memories import bytes_of_memories, durable_log, long_views
from .memories import memory_append, memory_append_in_program, request_assembly
from .one_by_one import calls_beside_the_sdk
from .recalling import followed_recall, index_of_facts, recall
from .schemas import extraction, retry_growth
from .searching import hybrid_search
from .serving import calls_over_the_wire
from .snapshots import snapshots
from .starting import cold_computing, cold_start
from .typed_streams import typed_stream
from .waiting import concurrent_calls
from .ways import error_ways

OPERATIONS: dict[str, Callable[[Plan], list[Figure]]] = {
    "builder": builder_dispatch,
    "error_ways": error_ways,
    "calling_python": calling_python,
    "growth": growth,
    "append": memory_append,
    "append_in_program": memory_append_in_program,
    "request": request_assembly,
    "long_views": long_views,
    "durable_log": durable_log,
    "commits": commits,
    "store_overhead": overhead,
    "memory_bytes": bytes_of_memories,
    "recall": recall,
    "followed_recall": followed_recall,
    "index_of_facts": index_of_facts,
    "search": hybrid_search,
    "retry": retry_growth,
    "typed_stream": typed_stream,
    "extraction": extraction,
    "compile": compile_speed,
    "compile_example": compile_example,
    "check_edit": check_after_an_edit,
    "import": importing,
    "load": image_loading,
    "verifier": verifier,
    "waiting": concurrent_calls,
    "serving": calls_over_the_wire,
    "one_by_one": calls_beside_the_sdk,
    "snapshots": snapshots,
    "start": cold_start,
    "start_kept_code": cold_computing,
}
