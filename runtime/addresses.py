"""Which addresses of the network a program reaches without being granted them by name (G-8.3).

Hands on `is_public`. Must not know: names, grants.
"""

from __future__ import annotations

import ipaddress

# Addresses that carry an IPv4 address inside (NAT64, 6to4) are judged by it, as mapped ones are.
NAT64 = ipaddress.ip_network("64:ff9b::/96")
SIX_TO_FOUR = ipaddress.ip_network("2002::/16")


def is_public(text: str) -> bool:
    """False for loopback, private, link-local, shared, metadata, multicast and reserved addresses."""
    address = unwrapped(ipaddress.ip_address(text.partition("%")[0]))
    site_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    return address.is_global and not (address.is_multicast or address.is_reserved or site_local)


def unwrapped(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in NAT64 or int(address) >> 32 == 0 and int(address) > 1:  # the last: IPv4-compatible
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in SIX_TO_FOUR:
        return ipaddress.IPv4Address(int(address) >> 80 & 0xFFFF_FFFF)
    return address


def literal(host: str) -> str | None:
    """The address a host is written as, in its usual spelling; None for a name."""
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        return None
