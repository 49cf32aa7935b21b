"""Who performs which effect of the machine (V-6.3): the one table, a module of this package per family.

A module offers `async perform(run, effect)`, which gives the value the task continues with, or a `Settled` when something is
written down at that moment. Many run at a time; one is cancelled where it awaits when its task is. It is imported when the first
effect of its family appears, so that a run pays for what it uses. Must not know: the loop that asks.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running

    Performer = Callable[[Running, Effect], Coroutine[Any, Any, Any]]

FAMILIES = {
    "store": "stores",
    "emit": "emits",
    "model": "models",
    "stream": "streams",
    "tool": "tools",
    "mcp": "mcp",
    "command": "commands",
    "agent": "agents",
    "memory": "memories",
    "clock": "clock",
    "sleep": "sleep",
    "random": "chance",
    "log": "log",
    "env": "environment",
    "file": "files",
    "io": "standard_input",
    "date": "dates",
    "http": "http",
    "schema": "schemas",
    "pipeline": "pipelines",
    "mock": "tests",
    "test_emits": "tests",
    "usage": "usage",
    "budget": "usage",
    "call": "call",
}


_loaded: dict[str, Performer] = {}


def performer(kind: str) -> Performer:
    """The function that performs effects of this kind. Raises KeyError for a kind nobody performs."""
    found = _loaded.get(kind)
    if found is None:
        found = _loaded[kind] = import_module(f".{FAMILIES[kind]}", __name__).perform
    return found
