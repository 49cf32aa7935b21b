"""The MCP servers of a session: connected at their first use, asked by programs and models (O-4.20, O-4.43 to O-4.55, G-9.6).

Hands on `Servers` to the performer of calls in source (`effects/tools.py`), to `tools/bindings.py` for models, and to the command
that pins tools. A connection is made by `opening.py`, with the permission of its transport. `served.py` has the settings and
decides which tools are offered, `resources.py` what else a server gives becomes, `questions.py` what it asks, `pins.py` whether a
tool is the one that was accepted. Needs asyncio, in offline runs too.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from ...vm.interp.effects import ServerRead
from ...vm.panics import Panic
from ...vm.schema import tool_name
from ...vm.values import UNSET, Closure, Err, ErrorValue, Map, Ok, display, from_json, share, unkey
from ..access.permissions import permissions_of
from ..access.rights import declaring
from ..errors import ConfigFailure
from ..host import AUDIT, for_model
from ..loop import LoopLock
from ..media import WithMedia
from ..records import ToolDef
from ..schema.validation import Accepted, validate
from ..tools.tools import MOCKS, denial, fitting_arguments, is_enabled
from .opening import open_connection, target_of
from .pins import pinned, refused_by
from .questions import Caller
from .resources import (
    ServedPrompt,
    ServedResource,
    failed,
    messages_value,
    mocked_messages,
    mocked_parts,
    prompt_value,
    prompts_value,
    resource_value,
    resources_value,
)
from .served import (
    OPEN_SCHEMA,
    OPEN_SHAPE,
    McpSettings,
    OfferedTool,
    ServerFailure,
    Signature,
    declared_tool,
    failure_text,
    mocked_value,
    offered_tools,
    plain_arguments,
    plain_map,
    value_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from ...vm.bytecode.image import Mcp
    from ...vm.interp.effects import Effect, ServerUse
    from ..records import Call
    from ..running import EffectContext
    from ..tools.bindings import ToolBinding
    from .pins import Pin
    from .resources import PromptPart
    from .served import Connection, ServedTool

    Mock = Mapping[str, Any]

RESOURCES, PROMPTS = "resources", "prompts"  # keys of a mock that are no tools


class Servers:
    """The MCP servers of a session, by name. An effect is the machine's request for which a task waits."""

    def __init__(self, run: EffectContext) -> None:
        self.run = run
        self.servers = {entry.name: Server(declaring(run, "mcp", entry.name), entry) for entry in run.program.image.mcp}

    @classmethod
    def of(cls, run: EffectContext) -> Servers:
        """Return the servers of the session; the first use makes them."""
        servers: Servers | None = run.state.get("mcp")
        if servers is None:
            servers = run.state["mcp"] = cls(run)
        return servers

    async def bindings(self, name: str) -> list[ToolBinding]:
        """Return the tools of a server as a model may call them; it is connected for that, if it is permitted. One that cannot be
        connected raises nothing (`Server.tools_for_models`), but what the host's own `server` raises passes through."""
        server = self.servers[name]
        return [ServerBinding(server, tool) for tool in await server.tools_for_models()]

    async def use(self, effect: Effect, use: ServerUse) -> Any:
        """Perform a call in source and return its Result (O-4.45), without media for which the declared type has no place. Raises
        as `Server.answer`, panic P015 when a foreign image leaves out a required argument, and P103 for arguments beyond the
        limits of JSON."""
        server = self.servers[use.server]
        signature = server.signatures.get(use.method)
        if type(use.arguments) is Map:
            arguments = plain_map(use.arguments)
        else:
            assert signature is not None  # only declared tools are called with arguments by position
            arguments = plain_arguments(signature, _complete(signature, use.arguments))
        result = await server.answer(effect, use.method, arguments)
        if type(result) is Ok and type(result.value) is WithMedia:
            text = f"the result of {server.name}.{use.method} has media, which its declared type does not hold: declare it Any"
            self.run.warn(text)
            return Ok(result.value.value)
        return result

    async def read(self, effect: Effect, use: ServerRead) -> Any:
        """Give a resource or a prompt, or the list of them, as a Result (O-4.50 to O-4.53). Raises as `Server.read`."""
        return await self.servers[use.server].read(effect, use)

    async def pins(self, names: Sequence[str]) -> dict[str, dict[str, Pin]]:
        """Return pins of what these servers serve now, by server and tool, whatever was pinned before. Raises ServerFailure for
        one that cannot be connected, and what the host's own `server` raises."""
        return {name: pinned(await self.servers[name].served_tools()) for name in names}

    async def aclose(self) -> None:
        """End all connections, at the end of the session, also where ending one of them raises, which passes through."""
        async with AsyncExitStack() as ending:
            for server in self.servers.values():
                ending.push_async_callback(server.disconnect)


class Server:
    """One server. `signatures` are its declared tools and, once it is connected, `offered` those that it offers, both by their
    names on the server; `digests` has what each of them was at its first use; `refused` says why its settings allow no
    connection, None when they do."""

    def __init__(self, run: EffectContext, entry: Mcp) -> None:
        self.run = run
        self.name = entry.name
        self.signatures = {row[0]: Signature(row) for row in entry.methods}
        self.connection: Connection | None = None
        self.ended = asyncio.Event()  # set when the connection is of no use any more, as far as that is seen without a request
        self.offered: dict[str, OfferedTool] = {}
        self.digests: dict[str, list[str]] = {}
        self.pins: Mapping[str, Pin] | None = run.host.pins.get(entry.name)  # None: nobody has pinned its tools
        self.reasons: dict[str, str] = {}  # why a served tool is refused, by its name
        self.connecting = LoopLock()  # one call connects, the others wait for it
        try:
            self.settings = McpSettings(entry.name, entry.fields, run.host.mcp.get(entry.name, {}))
            missing = f"mcp {self.name} has no transport: declaration, manifest or host gives it"
            self.refused = None if self.settings.transport else missing
        except ConfigFailure as failure:
            self.settings, self.refused = McpSettings(entry.name, {}, {}), failure.message

    @property
    def mock(self) -> Mapping[str, Any] | None:
        """What stands in for the server, by tool, None without a mock; with one no call connects the server (O-8.13)."""
        mock: Mock | None = self.run.state.get(MOCKS, {}).get(self.name)
        return mock

    def is_enabled(self, tool: str) -> bool:
        """Return whether a tool may be called (O-4.20)."""
        return is_enabled(self.run, self.name, tool, None if self.mock is not None else self.settings.guard)

    # ------------------------------------------------------------ what it offers

    async def tools_for_models(self) -> list[OfferedTool]:
        """Return the tools of the server, or of its mock; without a permission for it, or when it cannot be connected, which is
        logged, the declared ones, whose calls tell the model why (O-4.43). What the host's own `server` raises passes through."""
        if self.mock is not None:
            mocked = [name for name in self.mock if name not in (RESOURCES, PROMPTS)]
            return self._declared_tools() or [self._mock_tool(name) for name in mocked]
        if self.settings.guard is not None and not self._may_connect(self.settings.guard):
            return self._declared_tools()
        try:
            await self.connected()
        except ServerFailure as failure:
            self.run.warn(failure.message)
            return self._declared_tools()
        return list(self.offered.values())

    def _may_connect(self, guard: str) -> bool:
        """Return whether anything of the capability is granted, and not the whole server disabled."""
        permissions = permissions_of(self.run)
        return bool(permissions.scopes.get(guard)) and permissions.allows_some_of(self.name)

    def _declared_tools(self) -> list[OfferedTool]:
        return [declared_tool(signature) for signature in self.signatures.values()]

    def _mock_tool(self, name: str) -> OfferedTool:
        return OfferedTool(name, ToolDef(tool_name(self.name, name), "", OPEN_SCHEMA), None)

    # ------------------------------------------------------------ connecting

    async def connected(self) -> Connection:
        """Return the connection, which is opened at the first use, and again after its child process has ended, a request has
        found it ended, or in another event loop. Raises ServerFailure, and what the host's own `server` raises."""
        async with self.connecting:
            if await self._has_ended():
                await self.disconnect()
            if self.connection is None:
                await self._connect()
            assert self.connection is not None
            return self.connection

    async def _connect(self) -> None:
        if self.refused is not None:
            raise ServerFailure(self.refused)
        connection, ended = await self._open()
        try:
            served = await connection.tools()
            for tool in served if self.pins is not None else ():
                tool.refused = tool.refused or refused_by(self.pins or {}, tool)
            offered, refused = offered_tools(self.name, list(self.signatures.values()), served)
            self._pin([tool for tool in served if not self.signatures or tool.name in self.signatures])
        except BaseException:
            await connection.aclose()
            raise
        for line in refused:
            self.run.warn(line)
        self.reasons = {tool.name: tool.refused for tool in served if tool.refused is not None}
        self.connection, self.ended, self.offered = connection, ended, {tool.name: tool for tool in offered}

    async def _open(self) -> tuple[Connection, asyncio.Event]:
        """Open a connection, with the journal of the run before it, if the run has one."""
        around = self.run.host.around_connection
        if around is None:
            return await open_connection(self.run, self.settings)
        connection: Connection = around(self.settings, lambda: open_connection(self.run, self.settings))
        return connection, asyncio.Event()

    async def _has_ended(self) -> bool:
        """Return whether the connection is of no use any more, as far as that is seen without a request."""
        ask = getattr(self.connection, "ended", None)
        return self.ended.is_set() if ask is None else await ask()

    async def served_tools(self) -> list[ServedTool]:
        """Return all tools that the server serves, refused ones too, over a connection of its own, which is ended then. Raises
        ServerFailure, and what the host's own `server` raises."""
        if self.refused is not None:
            raise ServerFailure(self.refused)
        connection, _ = await open_connection(self.run, self.settings)
        try:
            return await connection.tools()
        finally:
            await connection.aclose()

    def _pin(self, served: list[ServedTool]) -> None:
        """Raise ServerFailure when a tool is not what it was at its first use (G-9.6): a server might change it after it was
        trusted. Of a name that is listed more than once all tools must be what they were."""
        digests: dict[str, list[str]] = {}
        for tool in served:
            digests.setdefault(tool.name, []).append(tool.digest)
        for name, digest in digests.items():
            if self.digests.setdefault(name, digest) != digest:
                raise ServerFailure(f"mcp {self.name}: the tool {name} is another one than at its first use")

    async def disconnect(self) -> None:
        """End the connection; the next use opens a new one."""
        connection, self.connection = self.connection, None
        if connection is not None:
            await connection.aclose()

    # ------------------------------------------------------------ calling

    async def answer(self, effect: Effect, tool: str, arguments: dict[str, Any]) -> Any:
        """Call a tool with plain arguments that fit, by name, and return its Result, whose Ok may hold a WithMedia. A denial and
        every failure of the server are an Err of ToolError; a mock may give any Err. Raises panic P007 for a mock whose arguments
        or value do not fit, P103 as `Caller.reply` and for arguments of a mocked tool without a declaration beyond the limits of
        JSON; what a mock's function panics with and what the host's own `server` raises passes through."""
        signature = self.signatures.get(tool)

        def mocked(mock: Mock) -> Awaitable[Any]:
            return self._mock_answer(effect, mock, tool, signature, arguments)

        async def called(connection: Connection) -> Any:
            if tool not in self.offered:
                raise self._not_offered(tool)
            self._audit(tool, arguments)  # only of a call that is made
            answer = await connection.call(tool, arguments, Caller(self.run, effect, self.name, tool))
            if answer.failed:
                raise ServerFailure(failure_text(answer), "ExecutionFailed")
            return Ok(value_of(answer, signature, self.run.builder))

        return await self._asked(tool, mocked, called)

    async def _asked(
        self, method: str, mocked: Callable[[Mock], Awaitable[Any]], called: Callable[[Connection], Awaitable[Any]]
    ) -> Any:
        """Return what the mock gives, or else the server. A denial and every ServerFailure are an Err."""
        if not self.is_enabled(method):
            return denial(self.run, self.name, method, self.settings.guard, target_of(self.run, self.settings))
        connection: Connection | None = None
        try:
            if self.mock is not None:
                return await mocked(self.mock)
            connection = await self.connected()
            return await called(connection)
        except ServerFailure as failure:
            if failure.gone and connection is self.connection:  # else another call has opened a new one meanwhile
                await self.disconnect()
            return self.failed(method, failure)

    def _not_offered(self, tool: str) -> ServerFailure:
        reason = self.reasons.get(tool)
        why = f"it offers: {', '.join(self.offered)}" if reason is None else f"it is refused: {reason}"
        return ServerFailure(f"mcp {self.name} offers no tool {tool}; {why}", "ToolNotFound")

    async def read(self, effect: Effect, use: ServerRead) -> Any:
        """Give a resource or a prompt, or the list of them, as a Result. A denial and every failure of the server are an Err of
        ToolError, a mock may give any Err. Raises panic P007 for a value of a mock that does not fit, P103 for arguments of a
        prompt beyond the limits of JSON and as `Caller.reply`; what a mock's function panics with and what the host's own
        `server` raises passes through."""

        async def called(connection: Connection) -> Any:
            self._audit(use.method, _named_arguments(use))
            return Ok(await self._reading(connection, use, Caller(self.run, effect, self.name, use.name or use.method)))

        return await self._asked(use.method, lambda mock: self._mock_reading(effect, mock, use), called)

    async def _reading(self, connection: Connection, use: ServerRead, caller: Caller) -> Any:
        if use.method == "resources":
            return resources_value(await connection.resources())
        if use.method == "prompts":
            return prompts_value(await connection.prompts())
        assert use.name is not None
        if use.method == "resource":
            return resource_value(use.name, await connection.read(use.name, caller), use.form)
        return _prompt_form(use, await connection.prompt(use.name, plain_map(use.arguments), caller))

    def failed(self, tool: str, failure: ServerFailure) -> Err:
        """Return a failure as an Err of ToolError that names server and tool; secrets are taken out of its message."""
        fields = {"tool": self.name, "method": tool, **failure.fields}
        return Err(ErrorValue("ToolError", failure.variant, self.run.redactor.clean(failure.message), fields))

    def _audit(self, tool: str, arguments: dict[str, Any]) -> None:
        self.run.runtime_emit(AUDIT, {"tool": self.name, "method": tool, "args": arguments})

    async def _mock_answer(
        self, effect: Effect, mock: Mock, tool: str, signature: Signature | None, arguments: dict[str, Any]
    ) -> Any:
        """Return the answer of a mock: a value for every call, or what a closure gives for the arguments; without a declaration
        they are one Map (O-8.13)."""
        if tool not in mock:
            raise ServerFailure(f"the mock of mcp {self.name} has no tool {tool}", "ToolNotFound")
        self._audit(tool, arguments)
        answer = mock[tool]
        if type(answer) is not Closure:
            value = share(answer)
        elif signature is None:
            value = await self.run.call(effect, answer, [from_json(arguments)])
        else:
            accepted = validate(signature.shape, arguments)
            if not isinstance(accepted, Accepted):
                raise Panic("P007", f"the arguments of {self.name}.{tool} do not fit its signature")
            value = await self.run.call(effect, answer, [self.run.builder.value(node) for _, node in accepted.tree[2]])
        if type(value) is Err:
            return value
        try:
            return Ok(mocked_value(signature, value.value if type(value) is Ok else value, self.run.builder))
        except ValueError as error:
            raise Panic("P007", f"mock {self.name}: the result of {tool}: {error}") from None


    async def _mock_reading(self, effect: Effect, mock: Mock, use: ServerRead) -> Any:
        """Return what a mock gives for a resource or prompt: what stands under the URI or name in the Map of its key, where a
        prompt may be a closure of the arguments; for resources, in place of the Map, a closure of the URI. The list has what the
        Map names (O-8.13)."""
        key = RESOURCES if use.method in ("resource", "resources") else PROMPTS
        self._audit(use.method, _named_arguments(use))
        known = mock.get(key)
        rows = {unkey(name): value for name, value in known.items.items()} if type(known) is Map else {}
        if use.name is None:
            if key == RESOURCES:
                return Ok(resources_value([ServedResource(uri, uri) for uri in rows]))
            return Ok(prompts_value([ServedPrompt(name) for name in rows]))
        answer = known if type(known) is Closure else rows.get(use.name, UNSET)
        if answer is UNSET:
            failed(f"the mock of mcp {self.name} has no {key[:-1]} {use.name}")
        value = share(answer)
        if type(answer) is Closure:
            value = await self.run.call(effect, answer, [use.name if key == RESOURCES else share(use.arguments)])
        if type(value) is Err:
            return value
        value = value.value if type(value) is Ok else value
        try:
            if key == RESOURCES:
                return Ok(resource_value(use.name, mocked_parts(value), use.form))
            return Ok(_prompt_form(use, mocked_messages(value)))
        except ValueError as error:
            raise Panic("P007", f"mock {self.name}: {key}: {use.name}: {error}") from None


def _named_arguments(use: ServerRead) -> dict[str, Any]:
    """Return what the audit record says of a reading."""
    if use.name is None:
        return {}
    return {"uri": use.name} if use.arguments is None else {"name": use.name, "arguments": plain_map(use.arguments)}


def _prompt_form(use: ServerRead, parts: Sequence[PromptPart]) -> Any:
    assert use.name is not None
    return prompt_value(use.name, parts) if use.method == "prompt" else messages_value(use.name, parts)


def _complete(signature: Signature, values: list[Any]) -> list[Any]:
    """Return the arguments. P015 for a required one that is left out, which only a foreign image does."""
    for (name, _, optional, has_default, _, _), value in zip(signature.shape[3], values, strict=True):
        if value is UNSET and not (optional or has_default):
            raise Panic("P015", f"{signature.name} expects {name}")
    return values


class ServerBinding:
    """A tool of a server as a model calls it: a `ToolBinding` (`tools/bindings.py`). `definition` is what the model is told of
    it, `owner` the name of the server; `changes_state` is False, so that calls of a server run side by side."""

    __slots__ = ("server", "tool", "definition", "owner", "changes_state")

    def __init__(self, server: Server, tool: OfferedTool) -> None:
        self.server = server
        self.tool = tool
        self.definition = tool.definition
        self.owner = server.name
        self.changes_state = False  # calls of a server run side by side

    def is_enabled(self) -> bool:
        """Return whether the tool may be called."""
        return self.server.is_enabled(self.tool.name)

    async def answer(self, effect: Effect, call: Call) -> Any:
        """Call the tool with the arguments that a model gave and return its Result, whose Err is always a ToolError:
        InvalidArguments for arguments that do not fit. Raises as `Server.answer`, and P103 for arguments beyond the limits of
        JSON."""
        signature = self.tool.signature
        accepted = fitting_arguments(OPEN_SHAPE if signature is None else signature.shape, call)
        if not isinstance(accepted, Accepted):
            return self.server.failed(self.tool.name, ServerFailure(accepted, "InvalidArguments"))
        arguments = call.arguments or {}
        if signature is not None:
            arguments = plain_arguments(signature, [self.server.run.builder.value(node) for _, node in accepted.tree[2]])
        value = await self.server.answer(effect, self.tool.name, arguments)
        if type(value) is Err and getattr(value.value, "family", None) != "ToolError":  # a mock may give any error
            failure = ServerFailure(display(value.value), "ExecutionFailed")
            failure.fields.update(for_model(value.value))
            return self.server.failed(self.tool.name, failure)
        return value
