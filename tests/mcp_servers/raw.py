"""An MCP server in plain Python, one JSON-RPC message per line over stdio, or one per POST; its manner is the first word.

`handshake`: of an older revision, refuses what comes before `initialize`. `silent`: likewise, but says nothing to it. `leaves`:
likewise, but exits. `newest`: of revision 2026-07-28, has no `initialize`. Others: `newest` with one fault.
"""

from __future__ import annotations

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OLD, NEW = "2025-06-18", "2026-07-28"
METHOD_NOT_FOUND, UNSUPPORTED, HEADER_MISMATCH = -32601, -32022, -32020
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
METHODS: list[str] = []  # that were asked for


class Refused(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


def result_of(manner: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Raises Refused."""
    METHODS.append(method)
    old = manner in ("handshake", "silent", "leaves")
    if method == "initialize":
        if not old:
            raise Refused(UNSUPPORTED, "no such version", {"supported": [NEW], "requested": params.get("protocolVersion", "")})
        return {"protocolVersion": OLD, "capabilities": {"tools": {}}, "serverInfo": {"name": "raw", "version": "1"}}
    if old and "initialize" not in METHODS:
        if manner == "silent":
            raise TimeoutError
        if manner == "leaves":
            os._exit(1)
        raise Refused(METHOD_NOT_FOUND, "not initialised")
    done = {} if old else {"resultType": "complete"}
    cached = {} if old else {"ttlMs": 0, "cacheScope": "private"}
    if method == "server/discover" and not old:
        supported = ["2099-01-01"] if manner == "future" else [NEW]
        return {**done, **cached, "supportedVersions": supported, "capabilities": {"tools": {}}}
    if method == "tools/list":
        return {**done, **cached, "tools": tools_of(manner)}
    if method == "tools/call":
        return {**done, **called(manner, params["arguments"]["text"])}
    raise Refused(METHOD_NOT_FOUND, "no such method")


def tools_of(manner: str) -> list[dict[str, Any]]:
    echo: dict[str, Any] = {"name": "echo", "description": "Echoes", "inputSchema": SCHEMA}
    changed = {**echo, "description": f"Echoes {METHODS.count('tools/list')}"}
    if manner == "nan":
        return [{**echo, "inputSchema": {"type": "object", "properties": {"text": {"default": float("nan")}}}}]
    return {"changing": [changed], "doubled": [changed, echo]}.get(manner, [echo])


def called(manner: str, text: str) -> dict[str, Any]:
    if text == "methods":
        text = " ".join(METHODS)
    elif text == "sleep":
        time.sleep(30)
    elif text == "mismatch":
        raise Refused(HEADER_MISMATCH, "the header does not fit")
    elif text == "refused":
        raise Refused(-32050, "the server says no")
    elif text == "input":
        asked = {"method": "elicitation/create", "params": {"mode": "form", "message": "who?", "requestedSchema": SCHEMA}}
        return {"resultType": "input_required", "inputRequests": {"who": asked}, "requestState": "s"}
    elif text == "exit":
        os._exit(0)
    elif text == "nonsense":
        return {"content": 5}
    elif text.startswith("x"):
        text = "x" * int(text[1:])
    return {"content": [{"type": "text", "text": text}]}


def answer(manner: str, line: bytes) -> bytes | None:
    asked = json.loads(line)
    if "id" not in asked:
        return None
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
    try:
        reply["result"] = result_of(manner, asked["method"], asked.get("params") or {})
    except Refused as refused:
        reply["error"] = refused.error
    except TimeoutError:
        return None
    return json.dumps(reply).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        manner = sys.argv[1]
        body = self.rfile.read(int(self.headers["content-length"]))
        if manner.startswith("redirect="):
            return self.reply(307, b"", [("Location", manner.partition("=")[2])])
        extra = [("Mcp-Session-Id", "s1")] if manner == "handshake" and b'"initialize"' in body else []
        data = answer(manner, body)
        if data is None:
            return self.reply(202, b"", [])
        if manner == "packed" and b"tools/call" in body:
            import gzip

            return self.reply(200, gzip.compress(data), [("Content-Type", "application/json"), ("Content-Encoding", "gzip")])
        self.reply(200, data, [("Content-Type", "application/json"), *extra])

    def do_GET(self) -> None:
        self.reply(405, b"", [])

    do_DELETE = do_GET

    def reply(self, status: int, body: bytes, headers: list[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in [("Content-Length", str(len(body))), *headers]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests are silent."""


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
    for line in sys.stdin.buffer:
        data = answer(sys.argv[1], line)
        if data is not None:
            sys.stdout.buffer.write(data + b"\n")
            sys.stdout.buffer.flush()
