"""The MCP servers of a session: connected at their first use, asked by programs and models (O-4.20, O-4.43 to O-4.47, G-9.6).

Hands on `Servers`.
"""

from __future__ import annotations

import asyncio

from ...vm.panics import Panic
from ...vm.schema import tool_name
from ...vm.values import UNSET, Closure, Err, ErrorValue, Map, Ok, display, from_json, share
from ..access.http_messages import HttpFailure, Target, header_fault
from ..access.network import host_permission, with_checked_address
from ..access.permissions import Denied, permissions_of
from ..access.roots import Unsupported, require_processes
from ..agents.children import Missing, NotStarted, environment, permitted_name, start
from ..errors import ConfigFailure
from ..host import for_model
from ..records import ToolDef
from ..schema.validation import Accepted, validate
from ..tools.tools import MOCKS, denial, fitting_arguments, is_enabled
from .served import (
    OPEN_SCHEMA,
    OPEN_SHAPE,
    McpSettings,
    OfferedTool,
    ServerFailure,
    Signature,
    declared_tool,
    failure_text,
    offered_tools,
    plain_arguments,
    plain_map,
    value_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from ...vm.bytecode.image import Mcp
    from ...vm.interp.effects import Effect, ServerUse
    from ..agents.child import Child
    from ..records import Call
    from ..running import Running
    from ..tools.bindings import ToolBinding
    from .served import Connection


class Servers:
    """Those of the session, by name."""

    def __init__(self, run: Running) -> None:
        self.run = run
        self.servers = {entry.name: Server(run, entry) for entry in run.program.image.mcp}

    @classmethod
    def of(cls, run: Running) -> Servers:
        """Made by the first use."""
        kept: Servers | None = run.state.get("mcp")
        if kept is None:
            kept = run.state["mcp"] = cls(run)
        return kept

    async def bindings(self, name: str) -> list[ToolBinding]:
        """What a model may call of a server."""
        server = self.servers[name]
        return [ServerOffer(server, tool) for tool in await server.tools_for_models()]

    async def use(self, effect: Effect, use: ServerUse) -> Any:
        """The Result of a call from source."""
        server = self.servers[use.server]
        signature = server.signatures.get(use.method)
        if type(use.arguments) is Map:
            arguments = plain_map(use.arguments)
        else:
            assert signature is not None  # the program names declared tools alone so
            arguments = plain_arguments(signature, _complete(signature, use.arguments))
        return await server.answer(effect, use.method, arguments)

    async def aclose(self) -> None:
        for server in self.servers.values():
            await server.disconnect()


class Server:
    """One server. `offered`: its tools by their own names, once it is connected; `digests`: what each of them was at the first
    connection."""

    def __init__(self, run: Running, entry: Mcp) -> None:
        self.run = run
        self.name = entry.name
        self.signatures = {row[0]: Signature(row) for row in entry.methods}
        self.connection: Connection | None = None
        self.offered: dict[str, OfferedTool] = {}
        self.digests: dict[str, str] = {}
        self.turn = asyncio.Lock()  # one connects, the others wait for it
        try:
            self.settings = McpSettings(entry.name, entry.fields, run.host.mcp.get(entry.name, {}))
            missing = f"mcp {self.name} has no transport: declaration, manifest or host gives it"
            self.refused = None if self.settings.transport else missing
        except ConfigFailure as failure:
            self.settings, self.refused = McpSettings(entry.name, {}, {}), failure.message

    @property
    def mocked(self) -> Mapping[str, Any] | None:
        """What stands in for the server: it is not connected then (O-8.13)."""
        found: Mapping[str, Any] | None = self.run.state.get(MOCKS, {}).get(self.name)
        return found

    def is_enabled(self, tool: str) -> bool:
        return is_enabled(self.run, self.name, tool, None if self.mocked is not None else self.settings.guard)

    # ------------------------------------------------------------ what it offers

    async def tools_for_models(self) -> list[OfferedTool]:
        """Of a server that cannot be connected its signatures: a call of them tells the model why (O-4.43)."""
        if self.mocked is not None:
            return self._declared_tools() or [self._mocked_tool(name) for name in self.mocked]
        if self.settings.guard is not None and not self._may_connect(self.settings.guard):
            return self._declared_tools()
        try:
            await self.connected()
        except ServerFailure as failure:
            self.run.host.log("warn", self.run.redactor.clean(failure.message))
            return self._declared_tools()
        return list(self.offered.values())

    def _may_connect(self, guard: str) -> bool:
        """Whether the capability is granted and not all of the server disabled; which of its tools may be called each says."""
        granted = permissions_of(self.run)
        return bool(granted.scopes.get(guard)) and granted.allows_some_of(self.name)

    def _declared_tools(self) -> list[OfferedTool]:
        return [declared_tool(signature) for signature in self.signatures.values()]

    def _mocked_tool(self, name: str) -> OfferedTool:
        return OfferedTool(name, ToolDef(tool_name(self.name, name), "", OPEN_SCHEMA), None)

    # ------------------------------------------------------------ connecting

    async def connected(self) -> Connection:
        """The connection, opened at the first use and at the first after its end. Raises ServerFailure."""
        async with self.turn:
            if self.connection is None:
                await self._connect()
            assert self.connection is not None
            return self.connection

    async def _connect(self) -> None:

        if self.refused is not None:
            raise ServerFailure(self.refused)
        connection = await opened(self.run, self.settings)
        try:
            served = await connection.tools()
            offered, refused = offered_tools(self.name, list(self.signatures.values()), served)
            self._pin({tool.name: tool.digest for tool in served if not self.signatures or tool.name in self.signatures})
        except BaseException:
            await connection.aclose()
            raise
        for line in refused:
            self.run.host.log("warn", self.run.redactor.clean(line))
        self.connection, self.offered = connection, {tool.name: tool for tool in offered}

    def _pin(self, digests: Mapping[str, str]) -> None:
        """A tool stays what it was at the first use (G-9.6)."""
        for name, digest in digests.items():
            if self.digests.setdefault(name, digest) != digest:
                raise ServerFailure(f"mcp {self.name}: the tool {name} is another one than at its first use")

    async def disconnect(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            await connection.aclose()

    # ------------------------------------------------------------ calling

    async def answer(self, effect: Effect, tool: str, arguments: dict[str, Any]) -> Any:
        """The Result of a call with arguments that fit."""
        if not self.is_enabled(tool):

            return denial(self.run, self.name, tool, self.settings.guard, target_of(self.run, self.settings))
        try:
            signature = self.signatures.get(tool)
            if self.mocked is not None:
                return await self._mocked_answer(effect, self.mocked, tool, signature, arguments)
            connection = await self.connected()
            if tool not in self.offered:
                listed = ", ".join(self.offered)
                raise ServerFailure(f"mcp {self.name} offers no tool {tool}; it offers: {listed}", "ToolNotFound")
            self._audit(tool, arguments)
            answer = await connection.call(tool, arguments)
            if answer.failed:
                raise ServerFailure(failure_text(answer), "ExecutionFailed")
            return Ok(value_of(answer, signature, self.run.builder))
        except ServerFailure as failure:
            if failure.gone:
                await self.disconnect()
            return self.failed(tool, failure)

    def failed(self, tool: str, failure: ServerFailure) -> Err:
        fields = {"tool": self.name, "method": tool, **failure.fields}
        return Err(ErrorValue("ToolError", failure.variant, self.run.redactor.clean(failure.message), fields))

    def _audit(self, tool: str, arguments: dict[str, Any]) -> None:
        self.run.runtime_emit("audit:tool_call", {"tool": self.name, "method": tool, "args": arguments})

    async def _mocked_answer(
        self, effect: Effect, mock: Mapping[str, Any], tool: str, signature: Signature | None, arguments: dict[str, Any]
    ) -> Any:
        """A value for every call, or a closure called with the arguments: those of the signature, else the Map (O-8.13)."""
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
        return value if type(value) in (Ok, Err) else Ok(value)


def _complete(signature: Signature, values: list[Any]) -> list[Any]:
    """P015 for a required argument that is left out, which no compiler has seen."""
    for (name, _, optional, has_default, _, _), value in zip(signature.shape[3], values, strict=True):
        if value is UNSET and not (optional or has_default):
            raise Panic("P015", f"{signature.name} expects {name}")
    return values


class ServerOffer:
    """A tool of a server as a model calls it."""

    __slots__ = ("server", "tool", "definition", "owner", "changes_state")

    def __init__(self, server: Server, tool: OfferedTool) -> None:
        self.server = server
        self.tool = tool
        self.definition = tool.definition
        self.owner = server.name
        self.changes_state = False  # calls of a server run side by side

    def is_enabled(self) -> bool:
        return self.server.is_enabled(self.tool.name)

    async def answer(self, effect: Effect, call: Call) -> Any:
        signature = self.tool.signature
        accepted = fitting_arguments(OPEN_SHAPE if signature is None else signature.shape, call)
        if not isinstance(accepted, Accepted):
            return self.server.failed(self.tool.name, ServerFailure(accepted, "InvalidArguments"))
        arguments = call.arguments or {}
        if signature is not None:
            arguments = plain_arguments(signature, [self.server.run.builder.value(node) for _, node in accepted.tree[2]])
        value = await self.server.answer(effect, self.tool.name, arguments)
        if type(value) is Err and getattr(value.value, "family", None) != "ToolError":  # of a mock
            failure = ServerFailure(display(value.value), "ExecutionFailed")
            failure.fields.update(for_model(value.value))
            return self.server.failed(self.tool.name, failure)
        return value


# Opening a connection to an MCP server under the permissions of the program (O-4.15, O-4.17, O-4.41 to O-4.43).


async def opened(run: Running, settings: McpSettings) -> Connection:
    """A connection that is initialised. Raises ServerFailure."""
    where = f"mcp {settings.name}"
    try:
        return await (_over_stdio(run, settings) if settings.transport == "stdio" else _over_http(run, settings))
    except Denied as denied:
        raise ServerFailure(denied.message, "PermissionDenied", capability=denied.capability, flag=denied.flag) from None
    except Unsupported as unsupported:
        raise ServerFailure(f"{where}: {unsupported.message}", "Unsupported") from None
    except (NotStarted, Missing, HttpFailure) as failure:
        raise ServerFailure(f"{where}: {failure.message}") from None


def target_of(run: Running, settings: McpSettings) -> str | None:
    """What a connection would use of its capability; None for a URL that is none."""
    if settings.transport == "stdio":
        return permitted_name(settings.command[0], run.host.project)
    try:
        target = Target(settings.url)
    except HttpFailure:
        return None
    return host_permission(target.host, target.port)


async def _over_stdio(run: Running, settings: McpSettings) -> Connection:
    env = environment(run, settings.env)

    async def begin(arguments: list[str]) -> Connection:
        if run.host.server is not None:
            connection: Connection = await run.host.server(settings)
            return connection
        require_processes("an MCP server over stdio")
        require_sdk()
        from ..agents.child import Child

        return await _to_child(settings, lambda: Child.start(arguments, env, run.host.project))

    return await start(run, settings.command, run.host.project, begin)


async def _to_child(settings: McpSettings, launch: Callable[[], Awaitable[Child]]) -> Connection:
    """A server that ends when it is asked which revision it speaks is started anew and greeted in the old way: some of the older
    ones take anything but a handshake for the end."""
    import asyncio

    from .wire import HANDSHAKE, connected, streams_of

    now = asyncio.get_running_loop().time
    until = now() + settings.timeout
    ended = asyncio.Event()
    try:
        return await connected(settings, streams_of(await launch(), settings.timeout, ended.set))
    except ServerFailure:
        left = until - now()
        if not ended.is_set() or left <= 0:
            raise
    streams = streams_of(await launch(), settings.timeout, ended.set)
    return await connected(settings, streams, mode=HANDSHAKE, seconds=left)


async def _over_http(run: Running, settings: McpSettings) -> Connection:
    """What is offline for models is not for servers (O-1.29): without a network of the host that of the system carries it."""
    target = Target(settings.url)
    network = run.host.network
    if network is None:
        from ..access.network import SystemNetwork

        network = SystemNetwork()

    async def begin(address: str) -> Connection:
        headers = _headers(run, settings)
        if run.host.server is not None:
            connection: Connection = await run.host.server(settings)
            return connection
        require_sdk()
        from .wire import connected, streams_to

        return await connected(settings, streams_to(settings, target, address, headers))

    return await with_checked_address(run, network, target.host, target.port, begin)


def require_sdk() -> None:
    """The SDK comes with an extra of its own."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        from ..errors import install_advice

        raise ServerFailure(f"the MCP SDK is not installed: {install_advice('mcp')}")


def _headers(run: Running, settings: McpSettings) -> dict[str, str]:
    """Those given as `{ env = "N" }` are secrets (O-1.13)."""
    found: dict[str, str] = {}
    for header, value in settings.headers.items():
        text = value if isinstance(value, str) else run.host.env.get(value["env"], "").strip()
        name = header if isinstance(value, str) else value["env"]
        if not text:
            raise Missing(header, name)
        if not (text.isascii() and text.isprintable()):
            raise ServerFailure(f"mcp {settings.name}: the value of {name} holds characters a header cannot carry")
        fault = header_fault(header, text)
        if fault is not None:
            raise ServerFailure(f"mcp {settings.name}: {fault}")
        if not isinstance(value, str):
            run.redactor.add(text, name)
        found[header] = text
    return found
