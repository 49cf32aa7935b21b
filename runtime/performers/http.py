"""`std::http`: each hop is granted, resolved and checked before anything connects (L-7.2, G-8.3, O-4.15).

Must not know: how an exchange with an address is made.
"""

from __future__ import annotations

from ...vm.values import Err, ErrorValue, HttpResponse, Map, Ok
from ..addresses import is_public, literal
from ..guard import Access, Denied, denied_error, deny, guarded, permissions_of
from ..http_requests import MOST_REDIRECTS, REDIRECTS, HttpFailure, HttpRequest, Target
from ..outside_text import whole_text

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
    """One exchange with an address that was checked; nothing is looked up for a host that is not granted."""
    host, port = request.target.host, request.target.port
    permissions = permissions_of(run)
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    access = Access("net", shown, "audit:net_access", {"host": host, "port": port})

    async def exchange() -> HttpReply:
        found = literal(host)
        addresses = [found] if found is not None else await run.host.network.resolve(host, port)
        named = permissions.names_host(host, port)
        open_ = [a for a in addresses if named or is_public(a) or permissions.names_host(a, port)]
        if not addresses:
            raise HttpFailure("Network", f"{host}: the name has no address")
        if len(open_) < len(addresses):  # one private address among them is a trick or a mistake
            deny(run, access)
        reply: HttpReply = await run.host.network.exchange(request, open_[0])
        return reply

    return await guarded(run, access, permissions.allows_host(host, port), exchange)
