"""Streamable HTTP as the pair of streams that the SDK reads and writes, over the one address that was checked (O-4.37, G-8.3).

The SDK follows redirects within the origin only and bounds each event of a stream; other bodies are bounded here (G-9.9).

Must not know: messages, permissions.
"""

from __future__ import annotations

from contextlib import asynccontextmanager

import httpx2
from mcp.client.streamable_http import streamable_http_client

from ..http_requests import MOST_BYTES, MOST_REDIRECTS
from .served import REFUSED_BODY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from typing import Any

    from ..http_requests import Target
    from .settings import McpSettings

LONGEST_SILENCE = 300.0  # of a stream that the server keeps open
EVENTS = "text/event-stream"


class Bounded(httpx2.AsyncByteStream):
    """A body of at most MOST_BYTES. It comes as it is: what is compressed, though nobody asked for that, is refused."""

    def __init__(self, inner: httpx2.AsyncByteStream, coding: str) -> None:
        self.inner = inner
        self.coding = coding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self.coding:
            raise httpx2.StreamError(f"{REFUSED_BODY}it is compressed ({self.coding}), which was not asked for")
        size = 0
        async for piece in self.inner:
            size += len(piece)
            if size > MOST_BYTES:
                raise httpx2.StreamError(f"{REFUSED_BODY}it is larger than {MOST_BYTES} bytes")
            yield piece

    async def aclose(self) -> None:
        await self.inner.aclose()


class Pinned(httpx2.AsyncBaseTransport):
    """Connects to the checked address whatever the name resolves to now, and to no other host."""

    def __init__(self, target: Target, address: str) -> None:
        self.target = target
        self.address = address
        self.inner = httpx2.AsyncHTTPTransport(verify=target.scheme == "https", trust_env=False)  # certificates load slowly

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        target, url = self.target, request.url
        if (url.scheme, url.host, url.port or target.port) != (target.scheme, target.host, target.port):
            raise httpx2.ConnectError("another host than the one that is permitted", request=request)
        extensions = {**request.extensions, "sni_hostname": target.host}
        to = url.copy_with(host=self.address)
        sent = httpx2.Request(request.method, to, headers=request.headers, stream=request.stream, extensions=extensions)
        response = await self.inner.handle_async_request(sent)
        coding = response.headers.pop("content-encoding", "identity").strip().lower()
        compressed = "" if coding in ("", "identity") else coding
        if compressed or not response.headers.get("content-type", "").lower().startswith(EVENTS):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = Bounded(response.stream, compressed)
        return response

    async def aclose(self) -> None:
        await self.inner.aclose()


@asynccontextmanager
async def streams_to(
    settings: McpSettings, target: Target, address: str, headers: Mapping[str, str]
) -> AsyncIterator[tuple[Any, Any]]:
    timeout = httpx2.Timeout(settings.timeout, read=max(LONGEST_SILENCE, settings.timeout))
    own = {"user-agent": "concerto", **headers, "accept-encoding": "identity"}
    carrier = Pinned(target, address)
    async with (
        httpx2.AsyncClient(
            headers=own, timeout=timeout, trust_env=False, max_redirects=MOST_REDIRECTS, transport=carrier
        ) as client,
        streamable_http_client(target.url, http_client=client) as streams,
    ):
        yield streams[0], streams[1]
