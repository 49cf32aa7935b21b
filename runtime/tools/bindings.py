"""The tools that one model call offers, whoever has them: declared tools, MCP servers, stores, memories, indexes (O-4.11).

A `ToolBinding` is one tool as a model sees it, bound to what runs it; each owner of tools has a class of its own for that
(`tools.py`, `memory_tools.py`, `mcp/servers.py`). Hands on, to the calls of models (`effects/models.py`), `bind_tools`, which
makes them of the handles of a program, and `BoundTools`, which runs the tool calls of a reply: it is the `ToolRunner` of
`calls/services.py` for one model call. Here nothing is asked of a model: that it is asked again with the results is
`calls/call.py`.
"""

from __future__ import annotations

from ...vm.values import Array, Err, ErrorValue, HashMapRef, IndexRef, LedgerRef, McpRef, Media, MemoryRef, Ok, display, to_json
from ..calls.services import failure_message, unknown_tool_text
from ..host import model_text
from ..media import Unsent, WithMedia, media_in, media_parts, told
from ..records import Msg
from .tools import Hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Protocol

    from ...vm.interp.effects import Effect
    from ...vm.values import ModelRef
    from ..calls.settings import CallSettings
    from ..records import Call, ToolDef
    from ..running import EffectContext
    from .tools import Tools

    class ToolBinding(Protocol):
        """One tool as a model sees it. `definition` is what a request says of it, `owner` names the tool, server or store that it
        belongs to. `changes_state`: a call may change the state of the owner, so that the calls of that run one after another."""

        definition: ToolDef
        owner: str
        changes_state: bool

        def is_enabled(self) -> bool:
            """Whether a model may call it now. Only then it stands in a request (O-4.20)."""

        async def answer(self, effect: Effect, call: Call) -> Any:
            """Return the value that the call gives, an Err of ToolError where it fails (O-4.27)."""


async def bind_tools(run: EffectContext, handles: Iterable[Any], tools: Callable[[], Tools], by: str) -> list[ToolBinding]:
    """Return the tools behind `handles`, values that stand for declarations (of tools, servers, stores, memories and indexes), in
    order, for the model named `by`.

    `tools` gives the declared tools as this model has them: a spawned model has a state of its own for each. Raises CallFailure
    for a memory that the model may not read, and what the host's own `server` raises; an MCP server that cannot be connected
    gives its declared tools, which is logged. Of several tools of one name `BoundTools` takes the first."""
    bindings: list[ToolBinding] = []
    for handle in handles:
        if type(handle) is McpRef:
            from ..mcp.servers import Servers

            served = await Servers.of(run).bindings(handle.name)
            _tell_shadowed(run, bindings, served)
            bindings += served
        elif type(handle) in (HashMapRef, LedgerRef):
            from .memory_tools import store_bindings

            bindings += store_bindings(run, handle)
        elif type(handle) is MemoryRef:
            from .memory_tools import memory_bindings

            bindings += memory_bindings(run, handle, by)
        elif type(handle) is IndexRef:
            from .memory_tools import index_bindings

            bindings += index_bindings(run, handle)
        else:
            bindings += tools().bindings(handle.name)
    return bindings


def _tell_shadowed(run: EffectContext, bindings: list[ToolBinding], served: list[ToolBinding]) -> None:
    """Log the tools of a server whose names another tool has already: the model gets that one (G-9.6)."""
    owners = {binding.definition.name: binding.owner for binding in bindings}
    for binding in served:
        owner = owners.get(binding.definition.name)
        if owner is not None and owner != binding.owner:
            text = f"tool {binding.definition.name} of mcp {binding.owner} is refused: {owner} has a tool of that name"
            run.warn(text)


class BoundTools:
    """The tools that one model call offers, and the runner of their calls (O-1.81). `hooks` asks the functions that the model has
    around calls of its tools, before a call and when one has failed; `effect` is the one of the task that calls run for."""

    def __init__(self, run: EffectContext, effect: Effect, bindings: Iterable[ToolBinding], model: ModelRef) -> None:
        self.running = run
        self.hooks = Hooks(run, effect, model)
        self.effect = effect
        # By the name that a model calls. It is never split into owner and method, since both may hold the separator (O-4.11).
        self.bindings: dict[str, ToolBinding] = {}
        for binding in bindings:
            self.bindings.setdefault(binding.definition.name, binding)

    def serve(self, effect: Effect) -> None:
        """Run tools from now on for the task that waits for `effect`: each chunk of a stream is another effect."""
        self.effect = self.hooks.effect = effect

    def definitions(self) -> list[ToolDef]:
        """Return what a request says of the tools that are enabled."""
        return [binding.definition for binding in self.bindings.values() if binding.is_enabled()]

    async def run(self, settings: CallSettings, calls: Sequence[Call]) -> list[Msg]:
        """Run the tool calls of one reply and return one message for each, in the order of the calls.

        Calls of methods of one owner run one after another when any of them may change its state, all others side by side
        (O-4.25). A call that fails gives a message that says so (O-4.27). Raises CallFailure when a hook ends the model call
        (O-4.31); a Panic, such as P103 for a result that is too large for JSON, passes through. In both cases the other calls are
        cancelled.
        """
        chains: dict[Any, list[int]] = {}
        changed_owners = {b.owner for call in calls if (b := self.bindings.get(call.name)) is not None and b.changes_state}
        for number, call in enumerate(calls):
            binding = self.bindings.get(call.name)
            is_ordered = binding is not None and binding.owner in changed_owners
            # one chain for each owner whose state may change, one for each other call; a number is the name of no owner
            chains.setdefault(binding.owner if is_ordered and binding is not None else number, []).append(number)
        answers: dict[int, Msg] = {}

        async def chain(numbers: list[int]) -> None:
            for number in numbers:
                answers[number] = await self._told(settings, calls[number])

        await self.running.gather(*(chain(numbers) for numbers in chains.values()))
        return [answers[number] for number in range(len(calls))]

    async def _told(self, settings: CallSettings, call: Call) -> Msg:
        """Answer a call, and tell telemetry of it."""
        telemetry = self.running.services.telemetry
        if telemetry is None:
            return await self._answer(settings, call)
        span = telemetry.tool_begins(call)
        try:
            answer = await self._answer(settings, call)
        except BaseException as failure:
            telemetry.broke(span, failure)
            raise
        telemetry.tool_ends(span, answer)
        return answer

    async def _answer(self, settings: CallSettings, call: Call) -> Msg:
        action, content = await self.hooks.before(call)
        if action == "Deny":
            return failure_message(call, content)
        if action == "Replace":
            return result_message(settings, call, content)
        runs = 0
        while True:
            value = await self._attempt(settings, call)
            if type(value) is not Err:
                return result_message(settings, call, value.value if type(value) is Ok else value)
            if not await self.hooks.again(settings, call, value.value, runs):
                return self._failed(call, value.value)
            runs += 1

    def _failed(self, call: Call, error: Any) -> Msg:
        """Return the message of a failed call. The model gets only what an error says for models; the rest of it goes to the
        log."""
        text = model_text(error)
        if text != display(error):
            run = self.running
            run.warn(f"tool {call.name}: {display(error)} (the model was told: {text})")
        return failure_message(call, text)

    async def _attempt(self, settings: CallSettings, call: Call) -> Any:
        binding = self.bindings.get(call.name)
        if binding is None:
            return Err(ErrorValue("ToolError", "ToolNotFound", unknown_tool_text(settings, call), {"tool": call.name}))
        return await binding.answer(self.effect, call)


def result_message(settings: CallSettings, call: Call, result: Any) -> Msg:
    """Return the message of a result, with the media (pictures, sounds, documents) in it (O-1.201). A Media that cannot be sent,
    such as one without content, makes it the message of a failure. Raises as `result_text`."""
    value, beside = (result.value, result.media) if type(result) is WithMedia else (result, [])
    inside = media_in(value)
    try:
        parts = media_parts([*inside, *beside], settings.connection)
    except Unsent as unsent:
        return failure_message(call, str(unsent))
    only_media = inside and (type(value) is Media or (type(value) is Array and all(type(item) is Media for item in value.items)))
    text = told(inside) if only_media else result_text(value)
    return Msg("tool", "\n".join([*([text] if text else []), *([told(beside)] if beside else [])]), call_id=call.id, media=parts)


def result_text(value: Any) -> str:
    """Return a result as its tool message has it: a String as it is, any other value as JSON (O-4.26). Raises panic P103 for a
    value that is too large or too deep."""
    return value if type(value) is str else to_json(value)
