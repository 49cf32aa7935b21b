"""A peer on a real socket that answers HTTP with whatever bytes a test says, and keeps what it was sent."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

Answer = Callable[[bytes], Iterable[bytes | float]]
"""Takes a request, gives the pieces of the answer; a number is a pause in seconds. The connection is closed at its end."""


class Peer:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[bytes] = []
        self.sent = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def head(status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@contextmanager
def listening(answer: Answer) -> Iterator[Peer]:
    peer = Peer(answer)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            request = self._request()
            if not request:
                return
            peer.requests.append(request)
            try:
                for piece in peer.answer(request):
                    if isinstance(piece, float):
                        time.sleep(piece)
                    else:
                        self.request.sendall(piece)
                        peer.sent += len(piece)
            except OSError:
                pass  # the client has gone

        def _request(self) -> bytes:
            lines = []
            size = 0
            while (line := self.rfile.readline()) not in (b"\r\n", b""):
                lines.append(line)
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            return b"".join(lines) + b"\r\n" + self.rfile.read(size) if lines else b""

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        peer.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield peer
        finally:
            server.shutdown()
            thread.join()
