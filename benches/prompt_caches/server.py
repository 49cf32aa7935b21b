"""A server of both providers' wires that answers a fixed conversation and bills each request by the published rules.

Hands on `serving` and `Ledger` to `__main__.py`. OpenAI bills prefixes of at least 1,024 tokens in steps of 128 at a tenth
(https://developers.openai.com/api/docs/guides/prompt-caching, read on 2026-11-27). Anthropic writes what stands up to a break
point at 1.25 times the price, and reads it at a tenth when a later request has it at most 20 blocks before one of its own
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching, as it was quoted on that day). A token is four bytes of the
JSON of a block for everybody, so that nobody's tokenizer counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from os.path import commonprefix
from threading import Thread
from typing import Any

Json = dict[str, Any]
TOKEN_BYTES = 4
READ, WRITE = 0.1, 1.25
LOOKBACK = 20
STEP, LEAST = 128, 1024


class Ledger:
    """What the requests of one conversation came to. `shares` has of each but the first the part of its bytes that equals the
    request before, `tokens` the input tokens, `billed` what they cost in tokens of the full price."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.tokens = 0
        self.billed = 0.0
        self.requests = 0
        self._texts: list[str] = []
        self._kept: set[int] = set()

    def take(self, blocks: list[tuple[str, bool]], marks_count: bool) -> None:
        """Bill a request of these blocks, each its JSON and whether a breakpoint stands behind it."""
        text = "".join(block for block, _ in blocks)
        if self._texts:
            self.shares.append(len(commonprefix([self._texts[-1], text])) / len(text))
        self.requests += 1
        sizes = [max(len(block) // TOKEN_BYTES, 1) for block, _ in blocks]
        total = sum(sizes)
        self.tokens += total
        if marks_count:
            self.billed += self._by_marks(blocks, sizes)
        else:
            shared = max((len(commonprefix([before, text])) for before in self._texts), default=0) // TOKEN_BYTES
            cached = shared // STEP * STEP if shared >= LEAST else 0
            self.billed += total - cached * (1 - READ)
        self._texts.append(text)

    def _by_marks(self, blocks: list[tuple[str, bool]], sizes: list[int]) -> float:
        digest, ends, total = 0, [], 0
        for (text, _), size in zip(blocks, sizes, strict=True):
            digest = hash((digest, text))
            total += size
            ends.append((digest, total))
        marks = [at for at, (_, marked) in enumerate(blocks) if marked]
        known = [ends[at][1] for mark in marks for at in range(max(mark - LOOKBACK, 0), mark + 1) if ends[at][0] in self._kept]
        read = max(known, default=0)
        end = max((ends[mark][1] for mark in marks), default=0)
        if end < LEAST:
            return total
        self._kept.update(ends[mark][0] for mark in marks if ends[mark][1] >= LEAST)
        written = max(end - read, 0)
        return read * READ + written * WRITE + total - read - written


def blocks_of(body: Json) -> list[tuple[str, bool]]:
    """Return the blocks of a request in the order in which they are cached: tools, system, messages."""
    every: list[tuple[str, Any]] = [("tool", tool) for tool in body.get("tools") or ()]
    for name in ("system", "instructions"):
        every += [(name, block) for block in _listed(body.get(name) or [])]
    messages = body.get("messages", body.get("input", []))
    for message in [{"role": "user", "content": messages}] if isinstance(messages, str) else messages:
        content = message.get("content") if isinstance(message, dict) else message
        every += [(message.get("role", ""), block) for block in _listed(content if content is not None else json.dumps(message))]
    return [_block(place, block) for place, block in every]


def _listed(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _block(place: str, block: Json) -> tuple[str, bool]:
    plain = {name: value for name, value in block.items() if name not in ("cache_control", "id", "status", "annotations")}
    return json.dumps([place, plain]), "cache_control" in block


REPLY = "Answer {}: the lamp of that shelf has the number {}, it costs {} euros, and it comes in {} days at the latest. " * 3


class Handler(BaseHTTPRequestHandler):
    ledger: Ledger

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = self.ledger.requests
        self.ledger.take(blocks_of(body), self.path.endswith("/messages"))
        text = REPLY.format(number, number * 7, number % 90, number % 9, *[number] * 8)
        answer = json.dumps(self.answer(body, text)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def answer(self, body: Json, text: str) -> Json:
        usage = {"input_tokens": 1, "output_tokens": 1}
        if self.path.endswith("/messages"):
            return {
                "id": "m", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": "end_turn",
                "stop_sequence": None, "content": [{"type": "text", "text": text}], "usage": usage,
            }  # fmt: skip
        if self.path.endswith("/responses"):
            details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
            part = {"type": "output_text", "text": text, "annotations": []}
            item = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}
            return {
                "id": "r", "object": "response", "created_at": 1, "model": body["model"], "status": "completed", "output": [item],
                "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": {**usage, **details, "total_tokens": 2},
            }  # fmt: skip
        message = {"role": "assistant", "content": text}
        return {
            "id": "c", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }  # fmt: skip

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: the figures are the output."""


@contextmanager
def serving() -> Iterator[tuple[str, Ledger]]:
    """Serve one conversation; yield the address without path, and its ledger."""
    ledger = Ledger()
    handler = type("Bound", (Handler,), {"ledger": ledger, "protocol_version": "HTTP/1.1"})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", ledger
        finally:
            server.shutdown()
