"""The streams of a server: a child that reads nothing any more, and URLs of other ports (O-4.37, G-8.3)."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp")

import httpx2
from concerto.runtime.access.http_messages import Target
from concerto.runtime.agents.child import ChildEnded
from concerto.runtime.mcp import wire
from concerto.runtime.mcp.carrier import Carrier
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification


class Deaf:
    """A child that has closed its standard input and says one more thing."""

    def __init__(self) -> None:
        self.written = asyncio.Event()

    async def write(self, text: str) -> None:
        self.written.set()
        raise ChildEnded

    async def line(self) -> str:
        await self.written.wait()
        await asyncio.sleep(0)
        return '{"jsonrpc": "2.0", "method": "notifications/message"}'

    async def stop(self) -> None:
        pass


def test_a_child_that_reads_nothing_any_more_has_ended() -> None:
    async def talk() -> None:
        ended = asyncio.Event()
        child: Any = Deaf()
        async with wire.streams_of(child, 1.0, ended.set, []) as (read, write):
            await write.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="x")))
            async with asyncio.timeout(10):
                await ended.wait()
            with pytest.raises(anyio.EndOfStream):
                await read.receive()

    asyncio.run(talk())


@pytest.mark.parametrize(
    ("permitted", "asked", "fits"),
    [
        ("https://a.example:8443/", "https://a.example/", False),
        ("https://a.example:8443/", "https://a.example:8443/x", True),
        ("https://a.example/", "https://a.example/x", True),
        ("https://a.example/", "https://a.example:443/x", True),
        ("https://a.example/", "http://a.example/x", False),
        ("http://a.example/", "http://a.example:81/x", False),
    ],
)
def test_a_url_without_a_port_has_that_of_its_scheme(permitted: str, asked: str, fits: bool) -> None:
    async def ask() -> list[str]:
        reached: list[str] = []

        def answer(request: httpx2.Request) -> httpx2.Response:
            reached.append(str(request.url))
            return httpx2.Response(200, stream=httpx2.ByteStream(b""))

        carrier = Carrier("Wiki", Target(permitted), "192.0.2.1")
        await carrier.inner.aclose()
        carrier.inner = httpx2.MockTransport(answer)  # type: ignore[assignment]
        if fits:
            await carrier.handle_async_request(httpx2.Request("GET", asked))
        else:
            with pytest.raises(httpx2.ConnectError, match="another host"):
                await carrier.handle_async_request(httpx2.Request("GET", asked))
        return reached

    assert len(asyncio.run(ask())) == fits
