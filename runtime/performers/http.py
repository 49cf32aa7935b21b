"""`std::http`: each hop is granted, resolved and checked before anything connects (L-7.2, G-8.3, O-4.15).

Must not know: how an exchange with an address is made.
"""

from __future__ import annotations

from ...vm.values import Err, ErrorValue, HttpResponse, Map, Ok
from ..guard import Denied, denied_error
from ..http_requests import MOST_REDIRECTS, REDIRECTS, HttpFailure, HttpRequest, Target
from ..outside_text import whole_text
from ..reaching import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.effects import Effect
    from ..http_requests import HttpReply
    from ..running import Running


async def perform(run: Running, effect: Effect) -> Any:
    method, url, body, headers, timeout_ms = effect.payload
    try:
        request = HttpRequest(method, Target(url), headers, body)
        reply = await _within(run, timeout_ms / 1000, request)
    except Denied as denied:
        return denied_error("HttpError", denied, url=url)
    except HttpFailure as failure:
        return Err(ErrorValue("HttpError", failure.variant, run.redactor.clean(failure.message), {"url": url}))
    return Ok(response(reply))


def response(reply: HttpReply) -> Any:
    headers = {whole_text(name): whole_text(value) for name, value in reply.headers.items()}
    return HttpResponse.of([reply.status, reply.body.decode("utf-8", "replace"), Map(headers)])


async def _within(run: Running, seconds: float, request: HttpRequest) -> HttpReply:
    """The exchange with all its redirects under one time limit."""
    if run.host.network is None:
        raise HttpFailure("Network", f"{request.target.host}: the run is offline")
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            return await _followed(run, request)
    except TimeoutError:
        raise HttpFailure("Timeout", f"{request.target.host}: no reply within {seconds:g} s") from None


async def _followed(run: Running, request: HttpRequest) -> HttpReply:
    for _ in range(MOST_REDIRECTS + 1):
        reply = await _hop(run, request)
        location = reply.headers.get("location")
        if reply.status not in REDIRECTS or location is None:
            return reply
        request = request.redirected(reply.status, location)
    raise HttpFailure("Network", f"{request.target.host}: more than {MOST_REDIRECTS} redirects")


async def _hop(run: Running, request: HttpRequest) -> HttpReply:
    async def exchange(address: str) -> HttpReply:
        reply: HttpReply = await run.host.network.exchange(request, address)
        return reply

    return await reached(run, run.host.network, request.target.host, request.target.port, exchange)
