"""Opening a connection to an MCP server under the permissions of the program (O-4.15, O-4.17, O-4.41 to O-4.43).

Hands on `opened` and `target_of`. Must not know: what a server offers.
"""

from __future__ import annotations

from ..children import Missing, NotStarted, environment, permitted_name, start
from ..guard import Denied
from ..http_requests import HttpFailure, Target, header_fault
from ..reaching import permitted_host, reached
from ..system import Unsupported, require_processes
from .served import ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..agents.child import Child
    from ..running import Running
    from .served import Connection
    from .settings import McpSettings


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
    return permitted_host(target.host, target.port)


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

    from .sdk import HANDSHAKE, connected
    from .stdio import streams_of

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
        from ..network import SystemNetwork

        network = SystemNetwork()

    async def begin(address: str) -> Connection:
        headers = _headers(run, settings)
        if run.host.server is not None:
            connection: Connection = await run.host.server(settings)
            return connection
        require_sdk()
        from .http import streams_to
        from .sdk import connected

        return await connected(settings, streams_to(settings, target, address, headers))

    return await reached(run, network, target.host, target.port, begin)


def require_sdk() -> None:
    """The SDK comes with an extra of its own."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        from ..extras import install_advice

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
