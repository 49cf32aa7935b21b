"""Which addresses of the network a program may reach without a grant that names them (G-8.3, G-8.11).

Hands on `is_public` to `network.py`. The tables below decide alone, and `is_global` of the module `ipaddress` is not asked: its
answer differs between versions of Python. Nothing is looked up in a network here.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

# Every row of IANA's registries of special-purpose addresses (as of 2025-10), multicast and reserved space, and the addresses
# outside of these under which clouds serve metadata.
REFUSED_V4 = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private
    "100.64.0.0/10",  # shared, with metadata of Alibaba Cloud
    "127.0.0.0/8",  # loopback
    "168.63.129.16/32",  # metadata of Azure
    "169.254.0.0/16",  # link-local, with metadata
    "172.16.0.0/12",  # private
    "192.0.0.0/24",  # protocol assignments, with metadata of Oracle Cloud
    "192.0.2.0/24",  # documentation
    "192.31.196.0/24",  # AS112
    "192.52.193.0/24",  # AMT
    "192.88.99.0/24",  # relays of 6to4
    "192.168.0.0/16",  # private
    "192.175.48.0/24",  # AS112
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and broadcast
)
GLOBAL_V6 = "2000::/3"  # all else of IPv6 is loopback, unspecified, private, link-local, multicast, or not assigned
REFUSED_V6 = (
    "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID, DETs, anycast
    "2001:db8::/32",  # documentation
    "2620:4f:8000::/48",  # AS112
    "3fff::/20",  # documentation
)
# Addresses with an IPv4 address inside, which counts: the network, and by how many bits the address stands left of the end.
CARRIERS = (
    ("::ffff:0:0/96", 0),  # mapped
    ("64:ff9b::/96", 0),  # NAT64
    ("2002::/16", 80),  # 6to4
)

_V4 = tuple(map(IPv4Network, REFUSED_V4))
_V6 = tuple(map(IPv6Network, REFUSED_V6))
_GLOBAL_V6 = IPv6Network(GLOBAL_V6)
_CARRIERS = tuple((IPv6Network(network), shift) for network, shift in CARRIERS)


def is_public(text: str) -> bool:
    """Return whether an address is public: not loopback, private, link-local, shared, metadata, multicast, reserved or of another
    special purpose. An IPv4 address inside an IPv6 address counts; a zone behind `%` does not. Raises ValueError for a text that
    is no address."""
    address = _carried_address(ip_address(text.partition("%")[0]))
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _V4)
    return address in _GLOBAL_V6 and not any(address in network for network in _V6)


def _carried_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address of CARRIERS has inside, else the address itself."""
    if isinstance(address, IPv6Address):
        for network, shift in _CARRIERS:
            if address in network:
                return IPv4Address(int(address) >> shift & 0xFFFF_FFFF)
    return address
