"""Which addresses have to be named: every row of the registries, whatever Python runs (G-8.3, G-8.11)."""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from concerto.runtime.access import addresses
from concerto.runtime.access.addresses import CARRIERS, REFUSED_V4, REFUSED_V6, is_public

ROOT = Path(__file__).resolve().parents[2]
# IANA: IPv4 and IPv6 Special-Purpose Address Registry, and the spaces of multicast and of what is not assigned.
REGISTRIES = [
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24",
    "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16", "192.175.48.0/24",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
    "::1/128", "::/128", "::/8", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "100::/8", "200::/7", "400::/6", "800::/5",
    "1000::/4", "2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32",
    "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20",
    "4000::/3", "5f00::/16", "6000::/3", "8000::/3", "a000::/3", "c000::/3", "e000::/4", "f000::/5", "f800::/6", "fc00::/7",
    "fd00::/8", "fe00::/9", "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip
METADATA = [
    "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254",
    "fe80::a9fe:a9fe",
]  # fmt: skip
NEIGHBOURS = [
    "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
    "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.31.195.255", "192.88.98.255",
    "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.255", "203.0.114.0",
    "223.255.255.255", "8.8.8.8", "168.63.129.15", "168.63.129.17",
    "2001:200::1", "2000::1", "2001:db7:ffff::", "2001:db9::", "2606:4700::1111", "2620:4f:7fff::1", "3ffe::1", "3fff:1000::",
    "2002:808:808::1", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8",
]  # fmt: skip


def ends(network: str) -> tuple[str, str]:
    found = ipaddress.ip_network(network)
    return str(found[0]), str(found[-1])


@pytest.mark.parametrize("network", REGISTRIES)
def test_every_row_is_refused(network: str) -> None:
    first, last = ends(network)
    assert (is_public(first), is_public(last)) == (False, False) or network == "::/8"
    if network == "::/8":  # mapped addresses lie in it
        assert not is_public("::2") and not is_public("ff:ffff::1") and not is_public("::8.8.8.8")


@pytest.mark.parametrize("network", REFUSED_V4)
@pytest.mark.parametrize(("carrier", "shift"), CARRIERS)
def test_wrapping_hides_nothing(network: str, carrier: str, shift: int) -> None:
    base = int(ipaddress.ip_network(carrier)[0])
    for inside in ends(network):
        assert not is_public(str(ipaddress.IPv6Address(base | int(ipaddress.ip_address(inside)) << shift)))


@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_refused(address: str) -> None:
    assert not is_public(address) and not is_public(f"{address}%eth0")


@pytest.mark.parametrize("address", NEIGHBOURS)
def test_what_lies_beside_is_of_the_world(address: str) -> None:
    assert is_public(address)


def test_the_table_is_sorted_and_holds_no_row_twice() -> None:
    for rows in (REFUSED_V4, REFUSED_V6):
        networks = [ipaddress.ip_network(row) for row in rows]
        assert networks == sorted(set(networks))  # type: ignore[type-var]


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_another_python_says_the_same(version: str) -> None:
    """Those that this machine has, running the module alone."""
    python = other_python(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    asked = [end for network in REGISTRIES if network != "::/8" for end in ends(network)]
    program = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('addresses', {str(ROOT / 'runtime' / 'access' / 'addresses.py')!r})\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        "print(*(sorted({module.is_public(a) for a in addresses.split()}) for addresses in sys.argv[1:]))"
    )
    done = subprocess.run([python, "-c", program, " ".join(asked), " ".join(NEIGHBOURS)], capture_output=True, text=True)
    assert done.stdout == "[False] [True]\n", done.stderr
    assert addresses.__file__


def other_python(version: str) -> str | None:
    if sys.version.startswith(version + "."):
        return sys.executable
    found = [shutil.which(f"python{version}") or ""]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python"))]
    for python in found:
        if python and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            return python
    return None
