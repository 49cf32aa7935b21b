"""Reaching a host of the network: granted, resolved and checked before anything connects (O-4.15, G-8.3).

Hands on `reached`. Must not know: what is said to the host.
"""

from __future__ import annotations

import asyncio
import socket
import zlib

import httpx2

from ...vm.builtins.capabilities import literal_address
from .addresses import is_public
from .network import MOST_BYTES, HttpFailure, HttpReply
from .permissions import Access, deny, guarded, permissions_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, TypeVar

    from ..running import Running
    from .network import HttpRequest, Network

    T = TypeVar("T")


def permitted_host(host: str, port: int) -> str:
    """A host as permissions name it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def reached(run: Running, network: Network, host: str, port: int, perform: Callable[[str], Awaitable[T]]) -> T:
    """What `perform` gives for an address that was checked; nothing is looked up for a host that is not granted. Raises Denied,
    HttpFailure."""
    permissions = permissions_of(run)
    access = Access("net", permitted_host(host, port), "audit:net_access", {"host": host, "port": port})

    async def found() -> T:
        own = literal_address(host)
        addresses = [own] if own is not None else await network.resolve(host, port)
        named = permissions.names_host(host, port)
        open_ = [a for a in addresses if named or is_public(a) or permissions.names_host(a, port)]
        if not addresses:
            raise HttpFailure("Network", f"{host}: the name has no address")
        if len(open_) < len(addresses):  # one private address among them is a trick or a mistake
            deny(run, access)
        return await perform(open_[0])

    return await guarded(run, access, permissions.allows_host(host, port), found)


# ----------------------------------------------------------------
# The network of `std::http`: the system's resolver, and exchanges over httpx2 with the address that was checked (G-8.3).
#
# Hands on `SystemNetwork`. Proxy variables are ignored, redirects are left to the caller, a body over the limit is refused
# while it
# comes.

WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}  # what zlib calls a content coding
MOST_MEMBERS = 100  # of a gzip body


class SystemNetwork:
    async def resolve(self, host: str, port: int) -> list[str]:
        """Every address of a name, those of the system's preference first."""
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise HttpFailure("Network", f"{host}: the name has no address") from None
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))

    async def exchange(self, request: HttpRequest, address: str) -> HttpReply:
        target = request.target
        host = f"[{address}]" if ":" in address else address
        url = f"{target.scheme}://{host}:{target.port}{target.path}"
        headers = {"accept-encoding": "identity", "user-agent": "concerto", **_lower(request.headers), "host": target.authority}
        content = None if request.body is None else request.body.encode()
        encrypted = target.scheme == "https"  # a store of certificates is slow to load
        try:
            async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=None, verify=encrypted) as client:
                sent = client.build_request(
                    request.method, url, headers=headers, content=content, extensions={"sni_hostname": target.host}
                )
                reply = await client.send(sent, stream=True)
                try:
                    return HttpReply(reply.status_code, reply.headers.multi_items(), await _body(reply, target.host))
                finally:
                    await reply.aclose()
        except HttpFailure:
            raise
        except Exception as error:  # of the libraries below, which have many kinds
            raise HttpFailure("Network", f"{target.host}: {_reason(error)}") from None


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


async def _body(reply: httpx2.Response, host: str) -> bytes:
    """The content, decoded step by step so that neither what comes nor what it unfolds to passes the limit."""
    codings = [coding.strip().lower() for coding in reply.headers.get("content-encoding", "").split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if len(codings) > 1 or not set(codings) <= set(WINDOWS):
        raise HttpFailure("Network", f"{host}: the body comes in an encoding that is not read; gzip and deflate are")
    unfold = _Unfolding(codings[0]) if codings else None
    body = bytearray()
    coming = 0
    async for part in reply.aiter_raw():
        coming += len(part)
        body += part if unfold is None else unfold.more(part, MOST_BYTES + 1 - len(body))
        if max(coming, len(body)) > MOST_BYTES:
            raise HttpFailure("Network", f"{host}: the body is larger than {MOST_BYTES} bytes")
    if unfold is not None and coming and not unfold.is_whole:
        raise HttpFailure("Network", f"{host}: the body ends within its {codings[0]} encoding")
    return bytes(body)


class _Unfolding:
    """A gzip body, of one member or several, or a deflate body, with the header of zlib or without."""

    def __init__(self, coding: str) -> None:
        self.windows = WINDOWS[coding]
        self.waiting = b""
        self.members = 0
        self.stream: Any = None

    @property
    def is_whole(self) -> bool:
        return self.stream is not None and bool(self.stream.eof) and not self.waiting

    def more(self, data: bytes, most: int) -> bytes:
        """What the next bytes unfold to, never more than `most`. Raises zlib.error for what is no such body."""
        self.waiting += data
        made = b""
        while self.waiting and len(made) < most:
            if self.stream is None or self.stream.eof:
                if len(self.waiting) < 2:
                    break
                self.members += 1
                if self.members > MOST_MEMBERS:
                    raise zlib.error("too many members")
                self.stream = zlib.decompressobj(self.windows if self.windows > 15 or _is_zlib(self.waiting) else -15)
            made += self.stream.decompress(self.waiting, most - len(made))
            self.waiting = self.stream.unconsumed_tail or self.stream.unused_data
        return made


def _is_zlib(head: bytes) -> bool:
    return head[0] & 15 == 8 and (head[0] << 8 | head[1]) % 31 == 0


def _reason(error: Exception) -> str:
    """The kind of failure; texts of libraries do not go on (G-10.3)."""
    kinds = {
        httpx2.ConnectError: "cannot connect", httpx2.RemoteProtocolError: "the reply is no HTTP",
        httpx2.ReadError: "the connection broke", httpx2.WriteError: "the connection broke",
        zlib.error: "the body cannot be decoded",
    }  # fmt: skip
    return next((text for kind, text in kinds.items() if isinstance(error, kind)), "the exchange failed")
