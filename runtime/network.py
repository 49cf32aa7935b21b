"""The network of `std::http`: the system's resolver, and exchanges over httpx2 with the address that was checked (G-8.3).

Hands on `SystemNetwork`. Proxy variables are ignored, redirects are left to the caller, a body over the limit is refused while it
comes. Must not know: permissions, programs.
"""

from __future__ import annotations

import asyncio
import socket

import httpx2

from .http_requests import MOST_BYTES, HttpFailure, HttpReply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .http_requests import HttpRequest


class SystemNetwork:
    async def resolve(self, host: str, port: int) -> list[str]:
        """Every address of a name, those of the system's preference first."""
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
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
        except httpx2.HTTPError as error:
            raise HttpFailure("Network", f"{target.host}: {_reason(error)}") from None


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


async def _body(reply: httpx2.Response, host: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in reply.aiter_bytes():
        size += len(part)
        if size > MOST_BYTES:
            raise HttpFailure("Network", f"{host}: the body is larger than {MOST_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)


def _reason(error: httpx2.HTTPError) -> str:
    """The kind of failure; texts of libraries do not go on (G-10.3)."""
    kinds = {
        httpx2.ConnectError: "cannot connect", httpx2.RemoteProtocolError: "the reply is no HTTP",
        httpx2.ReadError: "the connection broke", httpx2.WriteError: "the connection broke",
        httpx2.DecodingError: "the body cannot be decoded",
    }  # fmt: skip
    return next((text for kind, text in kinds.items() if isinstance(error, kind)), "the exchange failed")
