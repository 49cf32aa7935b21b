"""MCP servers over HTTP that redirect, never end, or compress what nobody asked to be compressed (G-8.6, G-9.9)."""

from __future__ import annotations

import gzip
import itertools
import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from ..command import concerto
from ..servers.peer import Answer, head, listening

pytest.importorskip("mcp")

INITIALISED = {
    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
}  # fmt: skip
TOOLS = {"tools": [{"name": "x", "inputSchema": {"type": "object"}}]}


def serving(call: Answer) -> Answer:
    """A server that is one until its tool is called."""

    def answer(request: bytes) -> object:
        body = request.partition(b"\r\n\r\n")[2]
        said = json.loads(body) if body else {}
        if "id" not in said:
            return [head(202 if body else 405)]
        if said["method"] == "server/discover":  # of the newer revision, which it does not speak (O-1.250)
            unknown = {"jsonrpc": "2.0", "id": said["id"], "error": {"code": -32601, "message": "no such method"}}
            return [head(), json.dumps(unknown).encode()]
        results = {"initialize": INITIALISED, "tools/list": TOOLS}
        if said["method"] not in results:
            return call(request)
        return [head(), json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": results[said["method"]]}).encode()]

    return answer  # type: ignore[return-value]


def test_hostile_servers(tmp_path: Path) -> None:
    """One program calls them all: each call is an error value, and stderr has no traceback."""
    flood = itertools.repeat(b"x" * 65536)
    bomb = gzip.compress(b'{"jsonrpc": "' + b"x" * (64 << 20), 1)
    answers: dict[str, Answer] = {
        "no JSON": lambda request: [head(), b"<html>"],
        "away": lambda request: [head(307, location=f"{other.url}/mcp?to=there")],
        "in circles": lambda request: [head(307, location="/mcp")],
        "without end": lambda request: itertools.chain([head(), b'{"jsonrpc": "'], flood),
        "event without end": lambda request: itertools.chain([head(kind="text/event-stream"), b"data: "], flood),
        "a bomb": lambda request: [head(content_encoding="gzip"), bomb],
    }
    with ExitStack() as stack:
        other = stack.enter_context(listening(lambda request: [head(), b"{}"]))
        servers = {name: stack.enter_context(listening(serving(answer))) for name, answer in answers.items()}
        fields = 'transport: "http", headers: { "X-Token": env("TEAM_TOKEN") }, timeout: 20, url: '
        declared = [f'mcp S{n} {{ {fields}"{server.url}/mcp" }}' for n, server in enumerate(servers.values())]
        calls = [f'println(S{n}.call("x").unwrap_err().message, "end of message");' for n in range(len(servers))]
        (tmp_path / "main.conc").write_text("\n".join([*declared, "fn main() {", *calls, "}"]))
        flags = ("--allow-net=127.0.0.1", "--allow-env=TEAM_TOKEN")
        done = concerto("run", "main.conc", *flags, cwd=tmp_path, TEAM_TOKEN="token-12345")
    assert (done.code, done.err) == (0, "")
    said = dict(zip(servers, done.out.split("end of message\n")[:-1], strict=True))
    assert f"{other.url}/mcp" in said["away"] and "to=there" not in said["away"] and other.requests == []
    assert sum(b"tools/call" in request for request in servers["in circles"].requests) == 6
    assert "it is larger than 8388608 bytes" in said["without end"]
    assert max(server.sent for server in servers.values()) < 20 << 20
    assert "it is compressed (gzip), which was not asked for" in said["a bomb"]
