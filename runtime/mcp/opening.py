"""Opening a connection to an MCP server under the permissions of the program (O-4.15, O-4.17, O-4.41 to O-4.43, O-4.56).

Hands on `open_connection` and `target_of` to `servers.py`. The SDK is loaded with the first connection that the host's own
`server` does not make: the files that import it (`wire.py`, `carrier.py`, `login.py`) are imported from here alone. What is
said over a connection is `wire.py`; when one is opened, and what becomes of a failure, is decided in `servers.py`.
"""

from __future__ import annotations

import asyncio

from ...vm.values.errors import FOR_MODEL
from ..access.http_messages import HttpFailure, Target, header_fault
from ..access.network import host_permission, with_checked_address
from ..access.permissions import Denied, permissions_of
from ..access.roots import Unsupported, require_processes
from ..agents.children import Missing, NotStarted, environment, permitted_name, start
from .served import McpSettings, ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ..access.network import Network
    from ..agents.child import Child
    from ..running import EffectContext
    from .carrier import Reach, Send
    from .served import Connection


class End(asyncio.Event):
    """Set when a connection has ended by itself, and in every event loop but the one in which it was opened: there what carries
    it cannot be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.opened_in = asyncio.get_running_loop()

    def is_set(self) -> bool:
        return super().is_set() or asyncio.get_running_loop() is not self.opened_in


async def open_connection(run: EffectContext, settings: McpSettings) -> tuple[Connection, asyncio.Event]:
    """Return a connection that is ready for calls, and an event that is set when its child process has ended by itself, and in
    another event loop (for a connection of the host's own `server`, never). The caller must `aclose` the connection. `settings`
    must have a transport.

    Raises ServerFailure where there is none: PermissionDenied for a denial, Unsupported on a system where no process could be
    ended safely, else ConnectionFailed; only exceptions that the host's own `server` raises may be others."""
    where = f"mcp {settings.name}"
    try:
        return await (_over_stdio(run, settings) if settings.transport == "stdio" else _over_http(run, settings))
    except Denied as denied:
        raise _denial(denied) from None
    except Unsupported as unsupported:
        raise ServerFailure(f"{where}: {unsupported.message}", "Unsupported") from None
    except (NotStarted, Missing, HttpFailure) as failure:
        raise ServerFailure(f"{where}: {failure.message}") from None


def _denial(denied: Denied) -> ServerFailure:
    return ServerFailure(denied.message, "PermissionDenied", capability=denied.capability, flag=denied.flag)


def target_of(run: EffectContext, settings: McpSettings) -> str | None:
    """Return what a connection would touch, as permissions name it: a command, or a host with its port; None for a `url` that is
    no URL."""
    if settings.transport == "stdio":
        return permitted_name(settings.command[0], run.host.project)
    try:
        target = Target(settings.url)
    except HttpFailure:
        return None
    return host_permission(target.host, target.port)


async def _over_stdio(run: EffectContext, settings: McpSettings) -> tuple[Connection, asyncio.Event]:
    env = environment(run, settings.name, settings.env)

    async def begin(arguments: list[str], known_as: str) -> tuple[Connection, asyncio.Event]:
        if run.host.server is not None:
            return await run.host.server(settings), asyncio.Event()
        require_processes("an MCP server over stdio")
        require_sdk()
        from ..agents.child import Child

        words = [known_as, *arguments[1:]]
        return await _to_child(settings, lambda: Child.start(words, env, run.host.project, arguments[0]))

    return await start(run, settings.command, run.host.project, begin)


async def _to_child(settings: McpSettings, launch: Callable[[], Awaitable[Child]]) -> tuple[Connection, asyncio.Event]:
    """Connect to a child process. One that ends when it is asked which revision of the protocol it speaks is started again and
    greeted with a handshake: some older servers take anything else for the end. Raises ServerFailure, whose message has the exit
    code of one that has ended, and the end of its stderr."""
    from .wire import HANDSHAKE, connected, streams_of

    now = asyncio.get_running_loop().time
    until = now() + settings.timeout
    ended = End()
    child, faults = await launch(), list[str]()
    try:
        return await connected(settings, streams_of(child, settings.timeout, ended.set, faults), faults=faults), ended
    except ServerFailure as failure:
        remaining = until - now()
        if not ended.is_set() or remaining <= 0:
            raise _of_child(failure, child, ended) from None
    ended = End()
    child = await launch()
    streams = streams_of(child, settings.timeout, ended.set, faults)
    try:
        return await connected(settings, streams, mode=HANDSHAKE, seconds=remaining, faults=faults), ended
    except ServerFailure as failure:
        raise _of_child(failure, child, ended) from None


def _of_child(failure: ServerFailure, child: Child, ended: asyncio.Event) -> ServerFailure:
    from ..agents.child import last_words

    code = f": it has ended with exit code {child.exit_code}" if ended.is_set() and child.exit_code is not None else ""
    fields = {**failure.fields, FOR_MODEL: failure.message}  # no model sees the stderr
    return ServerFailure(f"{failure.message}{code}{last_words(child.stderr)}", failure.variant, gone=failure.gone, **fields)


async def _over_http(run: EffectContext, settings: McpSettings) -> tuple[Connection, asyncio.Event]:
    """Connect over HTTP. A run that is offline for models is not so for servers (O-1.29): without a network of the host that of
    the system carries the connection."""
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
        from .carrier import Carrier, streams_to
        from .wire import connected

        logs_in = run.host.browser is not None and not any(name.lower() == "authorization" for name in headers)
        reach = _reach(run, network, settings) if logs_in else None
        carrier = Carrier(settings.name, target, address, _advice(run, logs_in), reach)
        login = None
        if logs_in:
            from .login import login_to

            login = login_to(run, settings, carrier)
        return await connected(settings, streams_to(settings, carrier, headers, login), carrier=carrier)

    connection = await with_checked_address(run, network, target.host, target.port, begin)
    return connection, asyncio.Event() if run.host.server is not None else End()


def _advice(run: EffectContext, logs_in: bool) -> str:
    """Return what to do about a server that wants a login."""
    header = 'give it a token in `headers`, as `{ "Authorization": env("TOKEN") }`'
    if logs_in:
        return "logging in by the browser of the host has given nothing that it takes"
    return f"{header}, or `browser=concerto.Browser(…)`" if permissions_of(run).in_python else header


def _reach(run: EffectContext, network: Network, settings: McpSettings) -> Reach:
    """Return what sends the requests of a login to other hosts than the server's, each with its permission."""

    async def reach(host: str, port: int, send: Send) -> Any:
        try:
            return await with_checked_address(run, network, host, port, send)
        except Denied as denied:
            raise _denial(denied) from None
        except HttpFailure as failure:
            raise ServerFailure(f"mcp {settings.name}: {failure.message}") from None

    return reach


def require_sdk() -> None:
    """Raise ServerFailure when the MCP SDK, which comes with an extra of its own, is not installed."""
    from importlib.util import find_spec

    # A folder `mcp` of a project passes for a package where Python runs beside it: hence its companions.
    if not all(map(find_spec, ("mcp", "mcp_types", "anyio"))):
        from ..errors import install_advice

        raise ServerFailure(f"the MCP SDK is not installed: {install_advice('mcp')}")


def _headers(run: EffectContext, settings: McpSettings) -> dict[str, str]:
    """Return the headers of a server's settings, and which span its own ones stand below; values from `{ env = "N" }` are secrets
    (O-1.13). Raises Missing, ServerFailure."""
    headers: dict[str, str] = {}
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
        headers[header] = text
    if run.services.telemetry is not None and not any(name.lower() == "traceparent" for name in headers):
        headers |= run.services.telemetry.carrier()
    return headers
