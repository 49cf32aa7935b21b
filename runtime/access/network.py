"""The network: the permission to reach a host, the check of its addresses, exchanges with a checked one (O-4.15, G-8.3).

Hands on `with_checked_address`, through which `std::http` and MCP servers reach a host, and to these servers `host_permission`;
`SystemNetwork`, the network of a real run, to the command line, the API and MCP servers; and the protocol `Network`, for hosts
that give another one. No exchange ends by a time limit of its own: that is for the caller. The requests and replies are those
of `http_messages.py`.
"""

from __future__ import annotations

import asyncio
import socket
import zlib

from ...vm.builtins.capabilities import literal_address
from .addresses import is_public
from .http_messages import MOST_BYTES, HttpFailure, HttpReply
from .permissions import Access, deny, guarded, permissions_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import ModuleType
    from typing import Any, Protocol, TypeVar

    import httpx2

    from ..running import EffectContext
    from .http_messages import HttpRequest

    T = TypeVar("T")

    class Network(Protocol):
        """What a host gives for the network of a run. Both methods raise HttpFailure."""

        async def resolve(self, host: str, port: int) -> list[str]:
            """Return every address of a name, as texts; an empty list when it has none."""

        async def exchange(self, request: HttpRequest, address: str) -> HttpReply:
            """Send one request to that address, which was checked, and return its reply. It follows no redirect."""


def host_permission(host: str, port: int) -> str:
    """Return host and port as the list `net` of the permissions spells them: `host:port`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def with_checked_address(
    run: EffectContext, network: Network, host: str, port: int, perform: Callable[[str], Awaitable[T]]
) -> T:
    """Resolve a host, check its addresses, and return what `perform` returns for the first of them, which it gets as a text.

    The name of a host that is not granted must not be looked up, since a look-up tells its name server something. Raises Denied
    when the permissions do not allow the host or one of its private addresses, HttpFailure (Network) when the name has no
    address, and ValueError for an address of `network` that is none, unless a grant names the host. What `network.resolve` and
    `perform` raise passes through. Audit records are emitted as by `guarded`."""
    permissions = permissions_of(run)
    access = Access("net", host_permission(host, port), "audit:net_access", {"host": host, "port": port})

    async def resolve_and_perform() -> T:
        literal = literal_address(host)
        addresses = [literal] if literal is not None else await network.resolve(host, port)
        is_named = permissions.names_host(host, port)
        permitted = [a for a in addresses if is_named or is_public(a) or permissions.names_host(a, port)]
        if not addresses:
            raise HttpFailure("Network", f"{host}: the name has no address")
        if len(permitted) < len(addresses):  # one private address among public ones is a trick or a mistake
            deny(run, access)
        return await perform(permitted[0])  # the address, not the name: a second look-up could give another one

    return await guarded(run, access, permissions.allows_host(host, port), resolve_and_perform)


# The network of the system. Proxy variables of the environment are ignored: only a checked address is connected to.

WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}  # zlib.decompressobj's `wbits` for a content coding
MOST_MEMBERS = 100  # of a gzip body


class SystemNetwork:
    """The resolver of the system, and exchanges over httpx2."""

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return every address of a name once, in the order that the system prefers. HttpFailure (Network) when it has none."""
        try:
            entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise HttpFailure("Network", f"{host}: the name has no address") from None
        return list(dict.fromkeys(str(entry[4][0]) for entry in entries))

    async def exchange(self, request: HttpRequest, address: str) -> HttpReply:
        """Send one request to `address` under the name of its target's host, and return the reply with its whole body.

        A redirect is returned like any reply. Raises HttpFailure (Network) for every failure, also when the body has more than
        MOST_BYTES bytes or when httpx2 is not installed."""
        httpx2 = _client_library()
        target = request.target
        host = f"[{address}]" if ":" in address else address
        url = f"{target.scheme}://{host}:{target.port}{target.path}"
        headers = {"accept-encoding": "identity", "user-agent": "concerto", **_lower(request.headers), "host": target.authority}
        content = None if request.body is None else request.body.encode()
        encrypted = target.scheme == "https"  # without it no certificates are loaded, which takes long
        try:
            async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=None, verify=encrypted) as client:
                outgoing = client.build_request(
                    request.method, url, headers=headers, content=content, extensions={"sni_hostname": target.host}
                )
                reply = await client.send(outgoing, stream=True)
                try:
                    return HttpReply(reply.status_code, reply.headers.multi_items(), await _body(reply, target.host))
                finally:
                    await reply.aclose()
        except HttpFailure:
            raise
        except Exception as error:  # of the libraries below, which have many kinds
            raise HttpFailure("Network", f"{target.host}: {_reason(httpx2, error)}") from None


def _client_library() -> ModuleType:
    """Return httpx2, which takes long to load and which no test with answers of its own needs."""
    try:
        import httpx2
    except ImportError:
        from ..errors import package_advice

        raise HttpFailure("Network", f"the package httpx2 is not installed: {package_advice('httpx2')}") from None
    return httpx2


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


async def _body(reply: httpx2.Response, host: str) -> bytes:
    """Return the body, read and decoded part by part, so that little more than MOST_BYTES is ever held. HttpFailure for a longer
    one, for one that ends too early, and for an encoding that is not read; zlib.error for one that is broken."""
    codings = [coding.strip().lower() for coding in reply.headers.get("content-encoding", "").split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if len(codings) > 1 or not set(codings) <= set(WINDOW_BITS):
        raise HttpFailure("Network", f"{host}: the body comes in an encoding that is not read; gzip and deflate are")
    decoder = _Decoder(codings[0]) if codings else None
    body = bytearray()
    received = 0
    async for part in reply.aiter_raw():
        received += len(part)
        # one byte beyond the limit is decoded, which shows that the body is too large
        body += part if decoder is None else decoder.decode(part, MOST_BYTES + 1 - len(body))
        if max(received, len(body)) > MOST_BYTES:
            raise HttpFailure("Network", f"{host}: the body is larger than {MOST_BYTES} bytes")
    if decoder is not None and received and not decoder.is_whole:
        raise HttpFailure("Network", f"{host}: the body ends within its {codings[0]} encoding")
    return bytes(body)


class _Decoder:
    """Decodes a gzip body, of one member or several, or a deflate body, with the header of zlib or without, part by part.
    `pending` are the bytes that are not decoded yet."""

    def __init__(self, coding: str) -> None:
        self.windows = WINDOW_BITS[coding]
        self.pending = b""
        self.members = 0
        self.stream: Any = None

    @property
    def is_whole(self) -> bool:
        """Return whether the body has ended here: its last member is complete and nothing is left over."""
        return self.stream is not None and bool(self.stream.eof) and not self.pending

    def decode(self, data: bytes, most: int) -> bytes:
        """Return what the next bytes decode to, at most `most` bytes; the rest stays for the next call. Raises zlib.error."""
        self.pending += data
        decoded = b""
        while self.pending and len(decoded) < most:
            if self.stream is None or self.stream.eof:
                if len(self.pending) < 2:
                    break
                self.members += 1
                if self.members > MOST_MEMBERS:
                    raise zlib.error("too many members")
                self.stream = zlib.decompressobj(self.windows if self.windows > 15 or _is_zlib(self.pending) else -15)
            decoded += self.stream.decompress(self.pending, most - len(decoded))
            self.pending = self.stream.unconsumed_tail or self.stream.unused_data
        return decoded


def _is_zlib(head: bytes) -> bool:
    """Return whether two bytes or more begin with a header of zlib (RFC 1950, 2.2); some servers send bare deflate data
    instead."""
    return head[0] & 15 == 8 and (head[0] << 8 | head[1]) % 31 == 0


def _reason(httpx2: ModuleType, error: Exception) -> str:
    """Return the kind of a failure in our words: the text of a library might hold a secret (G-10.3)."""
    kinds = {
        httpx2.ConnectError: "cannot connect", httpx2.RemoteProtocolError: "the reply is no HTTP",
        httpx2.ReadError: "the connection broke", httpx2.WriteError: "the connection broke",
        zlib.error: "the body cannot be decoded",
    }  # fmt: skip
    return next((text for kind, text in kinds.items() if isinstance(error, kind)), "the exchange failed")
