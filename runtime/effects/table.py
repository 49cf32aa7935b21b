"""Who performs which effect of the machine (V-6.3): the one table, by module and function.

Such a function, `async perform(run, effect)`, gives the value the task continues with, or a `Settled` when something is
written down at that moment. Many run at a time; one is cancelled where it awaits when its task is. It is imported when the first
effect of its family appears, so that a run pays for what it uses. Must not know: the loop that asks.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..running import Running

    Performer = Callable[[Running, Effect], Coroutine[Any, Any, Any]]

FAMILIES = {
    "store": ("memories", "perform_stores"),
    "emit": ("world", "perform_emits"),
    "model": ("models", "perform"),
    "stream": ("models", "perform_streams"),
    "tool": ("tools", "perform"),
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
    "io": ("world", "perform_standard_input"),
    "date": ("world", "perform_dates"),
    "http": ("world", "perform_http"),
    "schema": ("models", "perform_schemas"),
    "pipeline": ("pipelines", "perform"),
    "mock": ("tests", "perform"),
    "test_emits": ("tests", "perform"),
    "usage": ("world", "perform_usage"),
    "budget": ("world", "perform_usage"),
    "call": ("world", "perform_call"),
}


_loaded: dict[str, Performer] = {}


def performer(kind: str) -> Performer:
    """The function that performs effects of this kind. Raises KeyError for a kind nobody performs."""
    found = _loaded.get(kind)
    if found is None:
        module, function = FAMILIES[kind]
        found = _loaded[kind] = getattr(import_module(f".{module}", __package__), function)
    return found
