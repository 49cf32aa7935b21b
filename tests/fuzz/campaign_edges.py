"""What comes from the network: URLs, headers and grants as texts, HTTP replies as bytes, messages of MCP servers.

Each is taken, or refused by a typed error; nothing else is raised, and a grant reaches no further than its host.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import zlib
from contextlib import asynccontextmanager
from typing import Any

import anyio
from concerto.runtime.access.http_messages import HttpFailure, HttpReply, HttpRequest, Target
from concerto.runtime.access.network import SystemNetwork
from concerto.runtime.access.permissions import Permissions
from concerto.vm.builtins.capabilities import Malformed

from .campaign import Campaign, Figures

URLS = [
    "http://a.example/x?q=1#f", "https://[::1]:8443/a/b", "http://127.0.0.1:80/", "http://münchen.example/ä?ö=%20",
    "http://[::ffff:10.0.0.1%25eth0]/", "//a.example/x", "../x?y", "http://a.example:65535/",
    "http://xn--mnchen-3ya.example.:8080/",
]  # fmt: skip
GRANTS = ["a.example", "*.a.example:80", "[::1]:8443", "::1", "127.0.0.1:80", "münchen.example", "A.Example.:443"]
HEADERS = [("X-Mine", "1"), ("Content-Length", "5"), ("X-Api-Key", "k"), ("Accept", "text/*;q=0.5"), ("proxy-x", "")]
PIECES = [
    "[", "]", ":", "@", "/", "\\", "%", "%00", "%2e", "?", "#", ".", "..", "*", "0x7f", "1", "99999999999", "\u2460", "\uff0e",
    "\u3002", "\u202e", "\x00", "\r\n", "\t", " ", "\ud800", "\U0001f4a9", "xn--", "-", "_", "ß", "é" * 70, "a" * 300, "::",
]  # fmt: skip


def mutated(text: str, rng: random.Random) -> str:
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        at, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        text = text[:at] + rng.choice(PIECES) + text[at if rng.random() < 0.6 else end :]
    return text


def texts(seed: int, cases: int) -> Figures:
    rng = random.Random(seed)
    taken = 0
    for case in range(cases):
        url, location, grant = (mutated(rng.choice(rows), rng) for rows in (URLS, URLS, GRANTS))
        named = rng.sample(HEADERS, rng.choice((0, 0, 0, 1, 2)))
        headers = {mutated(name, rng) if rng.random() < 0.3 else name: mutated(value, rng) for name, value in named}
        shown = f"campaign_edges.texts, seed {seed}, case {case}: {url!a} {location!a} {grant!a} {headers!a}"
        try:
            request = HttpRequest("POST", Target(url), headers, "body")
            taken += 1
            for status in (302, 303, 307):
                onward = request.redirected(status, location)
                assert Target(onward.target.url).url == onward.target.url, shown
            assert request.target.url.isascii() and request.target.url.isprintable(), shown
        except HttpFailure as failure:
            assert failure.message.isprintable(), shown
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(shown) from error
        try:
            permissions = Permissions({"net": (grant,)})
        except Malformed:
            continue
        except Exception as error:
            raise AssertionError(shown) from error
        assert not permissions.allows_host("elsewhere.invalid", 80), shown
    return {"URLs taken": taken}


# ---------------------------------------------------------------- replies as bytes

REPLIES = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A: b\r\n\r\ntext",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\nT: x\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\nSet-Cookie: a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n",
    b"HTTP/1.0 404 Not Found\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"text"),
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nX-A: b\r\n\r\n" + zlib.compress(b"text"),
]  # fmt: skip
BYTES = [
    b"\r\n", b"\n", b"\0", b"\xff", b":", b" ", b"0", b"-1", b"999999999999", b"gzip", b"chunked", b"HTTP/1.1 ", b"\r\n\r\n",
    b"\t",
]  # fmt: skip


def changed(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 4)):
        at, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        data = data[:at] + rng.choice(BYTES) + data[at if rng.random() < 0.6 else min(end, at + 8) :]
    return data[: rng.randrange(len(data) + 1)] if rng.random() < 0.1 else data


def replies(seed: int, cases: int) -> Figures:
    return asyncio.run(_replies(seed, cases))


async def _replies(seed: int, cases: int) -> Figures:
    rng = random.Random(seed)
    answer = b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    request = HttpRequest("GET", Target(f"http://127.0.0.1:{port}/"), {}, None)
    whole = 0
    async with server:
        for case in range(cases):
            answer = changed(rng.choice(REPLIES), rng)
            try:
                async with asyncio.timeout(10):
                    reply = await SystemNetwork().exchange(request, "127.0.0.1")
                assert isinstance(reply, HttpReply) and 100 <= reply.status <= 999
                whole += 1
            except HttpFailure:
                pass
            except Exception as error:
                raise AssertionError(f"campaign_edges.replies, seed {seed}, case {case}: {answer!r}") from error
    return {"replies taken": whole}


# ---------------------------------------------------------------- MCP

MESSAGES: list[dict[str, Any]] = [
    {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
    {"tools": [{"name": "echo", "description": "d", "inputSchema": {"type": "object", "properties": {"t": {"type": "string"}}}}]},
    {"content": [{"type": "text", "text": "t"}], "structuredContent": {"a": [1, None]}, "isError": False},
]
VALUES: list[Any] = [
    None, True, -1, 2**80, 1e400, float("nan"), "", "x" * 3000, "\ud800", chr(0xE0041), [], {}, [[]], {"$ref": "http://a/"},
    [{"name": "echo"}],
]  # fmt: skip


def altered(value: Any, rng: random.Random) -> Any:
    """One place of it is something else, or gone, or doubled."""
    if rng.random() < 0.25 or not isinstance(value, dict | list) or not value:
        return rng.choice(VALUES)
    if isinstance(value, list):
        at = rng.randrange(len(value))
        return [altered(part, rng) if number == at else part for number, part in enumerate(value)] * rng.choice((1, 1, 2))
    key = rng.choice(list(value))
    if rng.random() < 0.2:
        return {name: part for name, part in value.items() if name != key}
    return {**value, (key if rng.random() < 0.8 else "name"): altered(value[key], rng)}


def servers(seed: int, cases: int) -> Figures:
    return asyncio.run(_servers(seed, cases))


async def _servers(seed: int, cases: int) -> Figures:
    from concerto.runtime.mcp.questions import Caller
    from concerto.runtime.mcp.served import McpSettings, ServerFailure, offered_tools
    from concerto.runtime.mcp.wire import connected

    rng = random.Random(seed)
    settings = McpSettings("Wiki", {"transport": "stdio", "command": "x", "timeout": 0.1}, {})
    served = 0
    for case in range(cases):
        said: list[str] = []
        try:
            connection = await connected(settings, _hostile(rng, said))
            try:
                tools = await connection.tools()
                offered_tools("Wiki", [], tools)
                json.dumps([tool.schema for tool in tools], allow_nan=False)
                assert all(tool.digest for tool in tools)
                await connection.call("echo", {"t": "a"}, Caller(None, None, "Wiki", "echo"))  # type: ignore[arg-type]
                served += 1
            finally:
                await connection.aclose()
        except ServerFailure as failure:
            failure.message.encode()
        except Exception as error:
            raise AssertionError(f"campaign_edges.servers, seed {seed}, case {case}: {said!a}") from error
    return {"calls answered": served}


@asynccontextmanager
async def _hostile(rng: random.Random, said: list[str]) -> Any:
    """A server whose answers are altered every second time."""
    from concerto.runtime.mcp.wire import _message

    incoming, read = anyio.create_memory_object_stream[Any](20)
    write, outgoing = anyio.create_memory_object_stream[Any](20)
    of_method = dict(zip(("server/discover", "initialize", "tools/list", "tools/call"), MESSAGES, strict=True))

    async def answering() -> None:
        async for message in outgoing:
            asked = json.loads(message.message.model_dump_json(by_alias=True, exclude_unset=True))
            if "id" not in asked:
                continue
            result = of_method.get(asked["method"], {})
            if asked["method"] != "initialize":
                result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
            reply: Any = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
            if rng.random() < 0.1:
                refused = {"code": rng.choice((-32000, -32022, -32020, 5)), "message": "no"}
                reply = {"jsonrpc": "2.0", "id": asked["id"], "error": refused}
            if rng.random() < 0.4:
                reply = altered(reply, rng)
            said.append(json.dumps(reply))
            await incoming.send(_message(said[-1]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answering)
        try:
            yield read, write
        finally:
            tasks.cancel_scope.cancel()
            for stream in (incoming, read, write, outgoing):
                stream.close()


CAMPAIGNS = [
    Campaign("URLs, headers and grants", "G-8.10", 3_000, 2_000_000, texts, part=20_000),
    Campaign("HTTP replies as bytes", "G-8.10", 150, 40_000, replies, part=2_000),
    Campaign("messages of MCP servers", "G-9.11", 15, 8_000, servers, part=400),
]
