"""A model and a bank on 127.0.0.1, which note every request with the moments of its arrival and of its answer.

Hands on `Server`, `Call` and `reply`. The model answers after `latency` seconds, always the same to the same prompt. The bank
charges as often as it is asked to: it knows no idempotency keys.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = 8  # letters of a reply: a prompt holds the reply before it, so that a wrong one shows in all that follow


@dataclass
class Call:
    """`what` is the first word of a prompt, `charge` or `look`; `key` the order that it is about; `found` whether a look found a
    charge. `answered` is None while it is on its way."""

    what: str
    key: str
    came: float
    answered: float | None = None
    found: bool = False


def reply(prompt: str) -> str:
    return sha256(prompt.encode()).hexdigest()[:WORDS]


class Server:
    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.calls: list[Call] = []
        self.changed = threading.Condition()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # headers and body in one packet: the second would wait for the acknowledgement of the first

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path == "/charges":
                    with server.noted("charge", body["order"]):
                        time.sleep(server.latency)
                        self.answer(201, {"charged": True})
                    return
                prompt = str(body["messages"][-1]["content"])
                what, key, *_ = prompt.split()
                with server.noted(what, key):
                    time.sleep(server.latency)
                    self.answer(200, completion(reply(prompt)))

            def do_GET(self) -> None:
                key = self.path.rpartition("/")[2]
                with server.noted("look", key) as call:
                    call.found = server.charges(key) > 0
                    self.answer(200 if call.found else 404, {"charged": call.found})

            def answer(self, status: int, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()

            def log_message(self, *arguments: Any) -> None:
                """Say nothing."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *arguments: Any) -> None:
                """A client that was killed is no fault."""

        self._httpd = Quiet(("127.0.0.1", 0), Handler)
        address = f"http://127.0.0.1:{self._httpd.server_port}"
        self.environment = {"MODEL_URL": f"{address}/v1", "CHARGE_URL": f"{address}/charges"}
        threading.Thread(target=self._httpd.serve_forever, daemon=True).start()

    @contextmanager
    def noted(self, what: str, key: str) -> Iterator[Call]:
        call = Call(what, key, time.monotonic())
        with self.changed:
            self.calls.append(call)
            self.changed.notify_all()
        yield call
        with self.changed:
            call.answered = time.monotonic()
            self.changed.notify_all()

    def of(self, key: str) -> list[Call]:
        with self.changed:
            return [call for call in self.calls if call.key == key]

    def charges(self, key: str) -> int:
        return sum(call.what == "charge" for call in self.of(key))

    def close(self) -> None:
        self._httpd.shutdown()
        self._httpd.server_close()


def completion(text: str) -> dict[str, Any]:
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "small",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }  # fmt: skip
