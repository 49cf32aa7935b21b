"""Reaching a host of the network: granted, resolved and checked before anything connects (O-4.15, G-8.3).

Hands on `reached`. Must not know: what is said to the host.
"""

from __future__ import annotations

from ..vm.builtins.capabilities import literal_address
from .addresses import is_public
from .guard import Access, deny, guarded, permissions_of
from .http_requests import HttpFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from .http_requests import Network
    from .running import Running

    T = TypeVar("T")


def permitted_host(host: str, port: int) -> str:
    """A host as permissions name it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def reached(run: Running, network: Network, host: str, port: int, perform: Callable[[str], Awaitable[T]]) -> T:
    """What `perform` gives for an address that was checked; nothing is looked up for a host that is not granted. Raises Denied,
    HttpFailure."""
    permissions = permissions_of(run)
    access = Access("net", permitted_host(host, port), "audit:net_access", {"host": host, "port": port})

    async def found() -> T:
        own = literal_address(host)
        addresses = [own] if own is not None else await network.resolve(host, port)
        named = permissions.names_host(host, port)
        open_ = [a for a in addresses if named or is_public(a) or permissions.names_host(a, port)]
        if not addresses:
            raise HttpFailure("Network", f"{host}: the name has no address")
        if len(open_) < len(addresses):  # one private address among them is a trick or a mistake
            deny(run, access)
        return await perform(open_[0])

    return await guarded(run, access, permissions.allows_host(host, port), found)
