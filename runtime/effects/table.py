"""Which function performs which kind of effect (V-6.3): the one table, by module and function. An effect is what the machine asks
the session to do for a task; its `kind` is the key here.

A performer, `async perform(run, effect)`, returns the value that the task goes on with, or a `PendingCommit` (`runner.py`) when
something has to be stored at that moment. Many run at a time; one is cancelled, where it awaits, when its task is cancelled. Its
module is imported when the first effect of the kind appears, so that a run loads only what it uses. Hands on `performer` to the
session and to `summarisers.py`. Effects that no task waits for (plain emits, flushes, `print`, a cancellation) have no performer:
the session does them itself.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..running import EffectContext

    Performer = Callable[[EffectContext, Effect], Coroutine[Any, Any, Any]]

# By kind of effect: the module in this folder, and the function in it.
FAMILIES = {
    "store": ("memories", "perform_stores"),
    "emit": ("world", "perform_emits"),
    "model": ("models", "perform"),
    "stream": ("models", "perform_streams"),
    "tool": ("tools", "perform"),
    "extern": ("externs", "perform"),
    "extern_next": ("externs", "perform_next"),
    "extern_close": ("externs", "perform_close"),
    "mcp": ("tools", "perform_mcp"),
    "command": ("files", "perform_commands"),
    "agent": ("agents", "perform"),
    "memory": ("memories", "perform"),
    "clock": ("world", "perform"),
    "sleep": ("world", "perform_sleep"),
    "random": ("world", "perform_chance"),
    "log": ("world", "perform_log"),
    "env": ("world", "perform_environment"),
    "file": ("files", "perform"),
    "document": ("documents", "perform"),
    "io": ("world", "perform_standard_input"),
    "date": ("world", "perform_dates"),
    "http": ("world", "perform_http"),
    "schema": ("models", "perform_schemas"),
    "pipeline": ("pipelines", "perform"),
    "mock": ("tests", "perform"),
    "mocked": ("tests", "perform_mocked"),
    "test_emits": ("tests", "perform"),
    "usage": ("world", "perform_usage"),
    "budget": ("world", "perform_usage"),
    "call": ("world", "perform_call"),
    "embed": ("search", "perform_embeds"),
    "index": ("search", "perform"),
}


_loaded: dict[str, Performer] = {}


def performer(kind: str) -> Performer:
    """Return the function that performs effects of this kind. KeyError for a kind that has no row."""
    function = _loaded.get(kind)
    if function is None:
        module, name = FAMILIES[kind]
        function = _loaded[kind] = getattr(import_module(f".{module}", __package__), name)
    return function
