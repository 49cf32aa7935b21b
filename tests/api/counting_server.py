"""A server of models that counts what it does, by counters of its own: nothing here is Concerto's (G-6.4, O-1.132).

It speaks both wires over real sockets. What it has used of a request it notes when the request is over, whoever ended it: a reply
that nobody reads to its end stops where the reader left, one that is asked for without a stream is made to its end.
"""

from __future__ import annotations

import json
import select
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
WORDS = ["one ", "two ", "three ", "four ", "five ", "six ", "seven ", "eight "]


class Counting:
    """`noted`: input and output of every request. What it is asked says what it does: `slow` waits for the reader to leave,
    `long` does after the third piece of a stream, `cut` breaks the connection there, `fails` is a status 500."""

    def __init__(self) -> None:
        self.noted: list[tuple[int, int]] = []
        self.reached = threading.Event()  # a request is where the reader may leave
        counting = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                counting.answer(self, body)

            def log_message(self, *given: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def __enter__(self) -> Counting:
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *given: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    @property
    def tokens(self) -> int:
        return sum(map(sum, self.noted))

    def settled(self, requests: int) -> int:
        """All tokens, once that many requests are over."""
        for _ in range(500):
            if len(self.noted) >= requests:
                break
            time.sleep(0.01)
        assert len(self.noted) == requests, self.noted
        return self.tokens

    # ------------------------------------------------------------ one request

    def answer(self, to: Any, body: Json) -> None:
        said = " ".join(text_of(message) for message in body["messages"])
        if "fails" in said:
            self.reply(to, 500, {"error": {"message": "it broke"}})
            self.noted.append((0, 0))
            return
        tokens_in = 7 if "told" in said else sum(counted(text_of(message)) for message in body["messages"])
        most = body.get("max_tokens") or body.get("max_completion_tokens")
        if not body.get("stream"):
            if "slow" in said:
                self.reached.set()
                self.left(to)
                self.noted.append((tokens_in, most))
                return
            self.noted.append((tokens_in, 11))
            self.reply(to, 200, self.whole(to.path, "fine", (tokens_in, 11)))
            return
        self.stream(to, said, tokens_in)

    def stream(self, to: Any, said: str, tokens_in: int) -> None:
        chat = "messages" not in to.path
        to.send_response(200)
        to.send_header("content-type", "text/event-stream")
        to.send_header("connection", "close")
        to.end_headers()
        sent = 0
        if not chat:
            start = {"id": "m", "model": "m", "content": [], "usage": {"input_tokens": tokens_in, "output_tokens": 1}}
            self.event(to, {"type": "message_start", "message": start})
            self.event(to, {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        for number, word in enumerate(WORDS, 1):
            sent = 2 * number if chat else counted("".join(WORDS[:number]))
            if chat:
                usage = {"prompt_tokens": tokens_in, "completion_tokens": sent, "total_tokens": tokens_in + sent}
                self.event(to, {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": word}}], "usage": usage})
            else:
                delta = {"type": "text_delta", "text": word}
                self.event(to, {"type": "content_block_delta", "index": 0, "delta": delta})
            if number == 3 and "cut" in said:
                break
            if number == 3 and "long" in said:
                self.reached.set()
                self.left(to)
                break
        else:
            if chat:
                usage = {"prompt_tokens": tokens_in, "completion_tokens": sent, "total_tokens": tokens_in + sent}
                self.event(to, {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                                "usage": usage})
                to.wfile.write(b"data: [DONE]\n\n")
            else:
                self.event(to, {"type": "content_block_stop", "index": 0})
                end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": sent}}
                self.event(to, end)
                self.event(to, {"type": "message_stop"})
        self.noted.append((tokens_in, sent))
        to.close_connection = True

    def left(self, to: Any) -> None:
        """Waits until the reader is gone."""
        select.select([to.connection], [], [], 10)

    def event(self, to: Any, data: Json) -> None:
        to.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        to.wfile.flush()

    def whole(self, path: str, text: str, used: tuple[int, int]) -> Json:
        tokens_in, tokens_out = used
        if "messages" in path:
            usage = {"input_tokens": tokens_in, "output_tokens": tokens_out}
            blocks = [{"type": "text", "text": text}]
            return {"id": "m", "type": "message", "model": "m", "content": blocks, "stop_reason": "end_turn", "usage": usage}
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
        message = {"role": "assistant", "content": text}
        return {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}

    def reply(self, to: Any, status: int, data: Json) -> None:
        body = json.dumps(data).encode()
        to.send_response(status)
        to.send_header("content-type", "application/json")
        to.send_header("content-length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)


def text_of(message: Json) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def counted(text: str) -> int:
    """M-11.2, written anew."""
    return 4 + (len(text.encode()) + 3) // 4
