"""Programs over the real SDKs: a session whose connections lead to one wire, and what it emitted and sent.

Every request is checked with the SDK's own parameter types.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx2
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session
from concerto.vm.interp.link import load_image
from concerto.vm.values import to_json

from ..oracles import check_request
from ..servers.transports import Recording, Sent

WIRES = ("chat", "responses", "anthropic")
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}
KEY = "key-of-the-tests"


def connection(wire: str, url: str) -> dict[str, str]:
    if wire == "anthropic":
        return {"provider": "anthropic", "base_url": url, "api_key": KEY}
    return {"provider": "openai", "base_url": f"{url}/v1", "api_key": KEY, "api": wire}


class Run:
    """One run of a source; `emits` as (channel, JSON data), `sent` as the bodies on the wire."""

    def __init__(self, source: str, wire: str, transport: Recording, url: str = "http://127.0.0.1:9") -> None:
        self.source = source
        self.wire = wire
        self.transport = transport
        self.emits: list[tuple[str, Any]] = []
        self.slept: list[float] = []
        image = compile_source(source.encode(), "example.conc").image
        assert image is not None
        host = Host(
            emit=self._emit,
            print=lambda text: None,
            env={},
            now=time.monotonic,
            sleep=self._sleep,
            random=lambda: 0.0,
            connections={name: connection(wire, url) for name in ("openai", "anthropic")},
            http_client=httpx2.AsyncClient(transport=transport),
        )
        self.session = Session(load_image(image), host)
        self.outcome = asyncio.run(self.session.run())
        for request in transport.sent:
            assert (request.path, request.key) == (PATHS[wire], f"Bearer {KEY}")
            check_request(wire, request.body)

    def _emit(self, channel: str, value: Any, by_runtime: bool) -> None:
        self.emits.append((channel, json.loads(to_json(value))))

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    @property
    def sent(self) -> list[Sent]:
        return self.transport.sent

    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.transport.sent]

    def memory(self, name: str) -> list[tuple[str, str]]:
        return [(message.role, message.content) for message in self.session.memories[name].messages()]
