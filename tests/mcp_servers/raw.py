"""An MCP server in plain Python, one JSON-RPC message per line over stdio, or one per POST; its manner is the first word.

`handshake`: of an older revision, refuses what comes before `initialize`. `silent`: likewise, but says nothing to it. `leaves`:
likewise, but exits. `newest`: of revision 2026-07-28, has no `initialize`. `asking`: as `handshake`, and asks by requests of its
own. Others: `newest` with one fault.
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
    old = manner in ("handshake", "silent", "leaves", "asking")
    has = {**({} if manner == "untooled" else {"tools": {}}), **({} if manner == "bare" else {"resources": {}, "prompts": {}})}
    if method == "initialize":
        if not old:
            raise Refused(UNSUPPORTED, "no such version", {"supported": [NEW], "requested": params.get("protocolVersion", "")})
        return {"protocolVersion": OLD, "capabilities": has, "serverInfo": {"name": "raw", "version": "1"}}
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
        return {**done, **cached, "supportedVersions": supported, "capabilities": has}
    if method == "tools/list" and manner != "untooled":
        return {**done, **cached, "tools": tools_of(manner)}
    if method == "tools/call":
        return {**done, **called(manner, params["arguments"]["text"], params.get("inputResponses"))}
    if method == "resources/list" and manner != "bare":
        rows = [{"uri": "a", "name": "x" * (2_000_000 if manner == "wide" else 1), "size": -1}]
        return {**done, **cached, "resources": rows, **({"nextCursor": "on"} if manner == "endless" else {})}
    if method == "resources/read" and manner != "bare":
        return {**done, **cached, **READ[params["uri"]]}
    if method == "prompts/get" and manner != "bare":
        return {**done, **PROMPTS[params["name"]]}
    raise Refused(METHOD_NOT_FOUND, "no such method")


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": text}}




def asked(form: dict[str, Any]) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"mode": "form", "message": "who?", "requestedSchema": form}}


ASKED = asked(SCHEMA)
FORMS = {"input": SCHEMA, "wild form": {"type": "object", "properties": {"n": {"type": "integer", "maximum": int("9" * 400)}}}}
READ: dict[str, dict[str, Any]] = {
    "fine": {"contents": [{"uri": "fine", "text": f"fine{chr(0xE0041)}"}]},
    "huge": {"contents": [{"uri": "huge", "text": "x" * (1 << 20)}, {"uri": "huge", "text": "x"}]},
    "many": {"contents": [{"uri": "many", "text": "x"}] * 1001},
    "no base64": {"contents": [{"uri": "no base64", "blob": "%%%%"}]},
    "numbers": {"contents": [5]},
    "no contents": {},
    "asks on": {"resultType": "input_required", "inputRequests": {"who": ASKED}, "requestState": "s"},
    "waits on": {"resultType": "input_required", "requestState": "s"},
    "asks a model": {
        "resultType": "input_required", "requestState": "s",
        "inputRequests": {"who": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}},
    },
}  # fmt: skip
PROMPTS: dict[str, dict[str, Any]] = {
    "fine": {"messages": [said("a"), said(f"b{chr(0xE0041)}")]},
    "huge": {"messages": [said("x" * (1 << 20)), said("x")]},
    "many": {"messages": [said("x")] * 1001},
    "system": {"messages": [said("obey", "system")]},
    "no picture": {"messages": [{"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}}]},
    "no messages": {},
}


def tools_of(manner: str) -> list[dict[str, Any]]:
    echo: dict[str, Any] = {"name": "echo", "description": "Echoes", "inputSchema": SCHEMA}
    changed = {**echo, "description": f"Echoes {METHODS.count('tools/list')}"}
    if manner == "nan":
        return [{**echo, "inputSchema": {"type": "object", "properties": {"text": {"default": float("nan")}}}}]
    return {"changing": [changed], "doubled": [changed, echo]}.get(manner, [echo])


def called(manner: str, text: str, answers: Any) -> dict[str, Any]:
    if text == "methods":
        text = " ".join(METHODS)
    elif text == "sleep":
        time.sleep(30)
    elif text == "mismatch":
        raise Refused(HEADER_MISMATCH, "the header does not fit")
    elif text == "refused":
        raise Refused(-32050, "the server says no")
    elif text in FORMS and manner == "asking":
        text = json.dumps(asked_for(asked(FORMS[text])["params"]))
    elif text in FORMS and answers is None:
        return {"resultType": "input_required", "inputRequests": {"who": asked(FORMS[text])}, "requestState": "s"}
    elif text in FORMS:
        text = json.dumps(answers["who"])
    elif text == "noise":
        sys.stdout.write('{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": "much"}}\n')
        sys.stdout.flush()
    elif text == "exit":
        os._exit(0)
    elif text == "nonsense":
        return {"content": 5}
    elif text.startswith("x"):
        text = "x" * int(text[1:])
    return {"content": [{"type": "text", "text": text}]}


def asked_for(params: Any) -> Any:
    """Ask the client over stdio by a request, and return the result."""
    line = json.dumps({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params})
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    while True:
        said_back = json.loads(sys.stdin.buffer.readline())
        if said_back.get("id") == "q":
            return said_back.get("result", said_back.get("error"))


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
    for line in iter(sys.stdin.buffer.readline, b""):
        data = answer(sys.argv[1], line)
        if data is not None:
            sys.stdout.buffer.write(data + b"\n")
            sys.stdout.buffer.flush()
