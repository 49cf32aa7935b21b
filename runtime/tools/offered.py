"""The tools that one model call offers, whoever has them: declared tools, MCP servers, stores (O-4.11, O-4.23 to O-4.31).

Hands on `offers_of` handles and `Offered`, the ToolRunner of one model call. Must not know: wires, the
loop around replies, how a tool is run.
"""

from __future__ import annotations

from ...vm.values import Err, ErrorValue, HashMapRef, LedgerRef, McpRef, MemoryRef, Ok, display, to_json
from ..calls.services import failure_message, unknown_tool_text
from ..host import model_text
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
    from ..running import Running
    from .tools import Tools


async def offers_of(run: Running, handles: Iterable[Any], tools: Callable[[], Tools], by: str) -> list[Offer]:
    """What tools, MCP servers, stores and memories offer, in this order; `tools` gives those that the model `by` calls."""
    found: list[Offer] = []
    for handle in handles:
        if type(handle) is McpRef:
            from ..mcp.servers import Servers

            found += await Servers.of(run).offers(handle.name)
        elif type(handle) in (HashMapRef, LedgerRef):
            from .memory_tools import store_offers

            found += store_offers(run, handle)
        elif type(handle) is MemoryRef:
            from .memory_tools import memory_offers

            found += memory_offers(run, handle, by)
        else:
            found += tools().offers(handle.name)
    return found


class Offered:
    """The tools one model call offers, and the runner of their calls (O-1.81)."""

    def __init__(self, run: Running, effect: Effect, offers: Iterable[Offer], model: ModelRef) -> None:
        self.session = run
        self.hooks = Hooks(run, effect, model)
        self.effect = effect
        self.offers: dict[str, Offer] = {}  # by the name a model calls: mapped back by table, never by splitting (O-4.11)
        for offer in offers:
            self.offers.setdefault(offer.definition.name, offer)

    def serve(self, effect: Effect) -> None:
        """From now on tools run for the task that waits for this effect."""
        self.effect = self.hooks.effect = effect

    def definitions(self) -> list[ToolDef]:
        return [offer.definition for offer in self.offers.values() if offer.is_enabled()]

    async def run(self, settings: CallSettings, calls: Sequence[Call]) -> list[Msg]:
        """Calls of one tool run one after another when any of them may change its state, all others side by side (O-4.25)."""
        chains: dict[Any, list[int]] = {}
        changed = {o.owner for call in calls if (o := self.offers.get(call.name)) is not None and o.changes_state}
        for number, call in enumerate(calls):
            offer = self.offers.get(call.name)
            ordered = offer is not None and offer.owner in changed
            chains.setdefault(offer.owner if ordered and offer is not None else number, []).append(number)
        answers: dict[int, Msg] = {}

        async def chain(numbers: list[int]) -> None:
            for number in numbers:
                answers[number] = await self._answer(settings, calls[number])

        await self.session.gather(*(chain(numbers) for numbers in chains.values()))
        return [answers[number] for number in range(len(calls))]

    async def _answer(self, settings: CallSettings, call: Call) -> Msg:
        action, content = await self.hooks.before(call)
        if action == "Deny":
            return failure_message(call, content)
        if action == "Replace":
            return Msg("tool", result_text(content), call_id=call.id)
        runs = 0
        while True:
            value = await self._attempt(settings, call)
            if type(value) is not Err:
                return Msg("tool", result_text(value.value if type(value) is Ok else value), call_id=call.id)
            if not await self.hooks.again(settings, call, value.value, runs):
                return self._failed(call, value.value)
            runs += 1

    def _failed(self, call: Call, error: Any) -> Msg:
        """What a model is not told of a failure is in the log."""
        told = model_text(error)
        if told != display(error):
            run = self.session
            run.host.log("warn", run.redactor.clean(f"tool {call.name}: {display(error)} (the model was told: {told})"))
        return failure_message(call, told)

    async def _attempt(self, settings: CallSettings, call: Call) -> Any:
        offer = self.offers.get(call.name)
        if offer is None:
            return Err(ErrorValue("ToolError", "ToolNotFound", unknown_tool_text(settings, call), {"tool": call.name}))
        return await offer.answer(self.effect, call)


def result_text(value: Any) -> str:
    """O-4.26."""
    return value if type(value) is str else to_json(value)


# ----------------------------------------------------------------
# What one tool is to a model, whoever has it: a declared tool, an MCP server, a store.

if TYPE_CHECKING:
    class Offer(Protocol):
        """One tool as a model sees it. `owner` names the tool, server or store it belongs to."""

        definition: ToolDef
        owner: str
        changes_state: bool

        def is_enabled(self) -> bool:
            """Whether it may be called, and so be in a request (O-4.20)."""

        async def answer(self, effect: Effect, call: Call) -> Any:
            """What the call gives; an Err of ToolError where it fails (O-4.27)."""
