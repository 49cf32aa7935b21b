"""The access log: a line of JSON for each request, without its contents (S-1.7).

Hands on `AccessLog`, which stands around the application, and `lines_on`, by which the command, and each of several processes,
sends these lines, and those about panics, to a stream. A line has the route, never the path, its query or a body, and of names
only those that the program declares and those that the host gave its callers.
"""

from __future__ import annotations

import json
import logging
import time
from typing import Any, TextIO
from uuid import uuid4

log = logging.getLogger("concerto.access")


class AccessLog:
    """An ASGI application around another one: it gives each request an id, and writes a line when it is over. The inner one
    adds to `scope["concerto"]` what it knows: `caller`, `route`, `function`."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, ident = time.monotonic(), uuid4().hex
        known: dict[str, Any] = {"request": ident}
        scope["concerto"] = known
        sizes = {"in": 0, "out": 0}
        status = 0

        async def received() -> Any:
            message = await receive()
            sizes["in"] += len(message.get("body", b""))
            return message

        async def sent(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", ident.encode())]
            await send(message)
            sizes["out"] += len(message.get("body", b""))

        try:
            await self.app(scope, received, sent)
        finally:
            line = {
                **known, "method": scope["method"], "status": status, "ms": round((time.monotonic() - began) * 1000, 1),
                "in": sizes["in"], "out": sizes["out"],
            }  # fmt: skip
            log.info("request", extra={"concerto": line})


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z"
        line = {"time": moment, "level": record.levelname.lower(), "what": record.getMessage(), **getattr(record, "concerto", {})}
        if record.exc_info and record.exc_info[2] is not None:
            last = record.exc_info[2]
            while last.tb_next is not None:
                last = last.tb_next
            line["class"] = type(record.exc_info[1]).__name__
            line["at"] = f"{last.tb_frame.f_code.co_filename.rpartition('/')[2]}:{last.tb_lineno}"
        return json.dumps(line, ensure_ascii=False)


def lines_on(stream: TextIO, *, quiet: bool = False) -> None:
    """Send the lines of the logs of the server to a stream; `quiet` leaves out those of requests."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Lines())
    of_requests = logging.WARNING if quiet else logging.INFO
    levels = {"concerto.access": of_requests, "concerto.serve": logging.INFO, "uvicorn": logging.ERROR}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers, logger.propagate = [handler], False
