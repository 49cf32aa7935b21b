"""Which function performs which kind of effect (V-6.3): the one table, by module and function. An effect is what the machine asks
the session to do for a task; its `kind` is the key here.

A performer, `async perform(run, effect)`, returns the value that the task goes on with, or a `PendingCommit` (`runner.py`) when
something has to be stored at that moment. Many run at a time; one is cancelled, where it awaits, when its task is cancelled.
Its module is imported when the first effect of the kind appears, so that a run loads only what it uses. Hands on `performer`
and `limited` to the session, the former also to `summarisers.py`. Effects that no task waits for (plain emits, flushes,
`print`, a cancellation) have no performer: the session does them itself.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..access.permissions import Denied
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


# Kinds whose performers keep the session that they get for later effects. They get the session itself; every other one gets the
# view of it for the code that performs the effect (P-3.2), and asks it for permissions.
OF_SESSION = frozenset((
    "model", "stream", "tool", "mcp", "agent", "memory", "schema", "pipeline", "mock", "mocked", "test_emits", "usage", "budget",
    "call", "embed", "index", "emit",
))  # fmt: skip
OF_MODELS = frozenset(("model", "embed", "index"))  # kinds that call models


_loaded: dict[str, Performer] = {}


def performer(kind: str) -> Performer:
    """Return the function that performs effects of this kind. KeyError for a kind that has no row."""
    function = _loaded.get(kind)
    if function is None:
        module, name = FAMILIES[kind]
        function = _loaded[kind] = getattr(import_module(f".{module}", __package__), name)
    return function


def limited(kind: str) -> Performer:
    """Return the performer of a kind in a program with libraries: the rights of the code that performs the effect count, as
    they are when this performer is called. KeyError as `performer`."""
    perform = performer(kind)
    if kind in OF_SESSION and kind not in OF_MODELS:
        return perform
    from ..access import rights

    if kind not in OF_MODELS:
        return lambda run, effect: perform(rights.acting(run, effect), effect)

    def call_model(run: EffectContext, effect: Effect) -> Coroutine[Any, Any, Any]:
        denied = rights.models_refused(run, effect)
        return perform(run, effect) if denied is None else _refused(run, effect, denied)

    return call_model


async def _refused(run: EffectContext, effect: Effect, denied: Denied) -> Any:
    """Return the Err of a refused call of a model; of an operation without Result this is panic P407."""
    from ...vm.interp.effects import EmbedUse, IndexUse, ModelCall
    from ..access.permissions import denied_error, denied_panic

    payload = effect.payload
    if type(payload) is ModelCall and payload.method != "view":
        return denied_error("AgentError", denied, model=payload.model)
    if type(payload) is IndexUse and payload.method != "len":
        return denied_error("AgentError", denied, model=payload.index)
    if type(payload) is EmbedUse:
        return denied_error("AgentError", denied, model=payload.embedder)
    raise denied_panic(run, effect, denied)
