"""No request reaches a private address that no grant names: spellings, redirects, names that move (G-2.16, G-8.3).

Connections are counted where they are made; which addresses are private is asked of the standard library.
"""

from __future__ import annotations

import ipaddress
import random
from typing import Any

import pytest
from concerto.runtime.access.http_messages import HttpReply
from concerto.vm.values import Err, Ok

from .test_http import Run
from .test_permissions import PRIVATE

FLIPS = 1000
PUBLIC = ["93.184.215.14", "8.8.8.8", "2606:2800:220:1::1"]
# 33 ways to write an address of this machine or network into a URL.
SPELLINGS = [
    "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "0", "0.0.0.0", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1",
    "017700000001", "00000177.1", "127.000.000.001", "\u2460\u2461\u2466.0.0.1", "\uff11\uff12\uff17.0.0.1",
    "127\u30020\u30020\u30021",
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    "[::127.0.0.1]", "[fe80::1%25eth0]", "[fd00::1]", "169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1",
    "public.example@127.0.0.1", "127.0.0.1%00.public.example",
]  # fmt: skip


def counted(run: Run, answers: Any) -> list[str]:
    """The addresses connected to; `answers` gives each reply."""
    reached: list[str] = []

    async def exchange(request: Any, address: str) -> Any:
        reached.append(address)
        return answers()

    run.host.network.exchange = exchange
    return reached


def is_private(address: str) -> bool:
    found = ipaddress.ip_address(address)
    mapped = getattr(found, "ipv4_mapped", None)
    return not (mapped or found).is_global


def test_there_are_33_spellings() -> None:
    assert len(set(SPELLINGS)) == 33


@pytest.mark.parametrize("spelling", SPELLINGS, ids=ascii)
@pytest.mark.parametrize("grant", ["net", "net=*.example"])
def test_no_spelling_connects(spelling: str, grant: str) -> None:
    run = Run([grant], public=["93.184.215.14"])
    reached = counted(run, lambda: HttpReply(200, [], b"inside"))
    for url in (f"http://{spelling}/", f"https://{spelling}:8443/x"):
        assert type(run.send("GET", url)) is Err
    assert reached == []


@pytest.mark.parametrize("spelling", SPELLINGS, ids=ascii)
def test_no_redirect_connects(spelling: str) -> None:
    run = Run(["net"], public=["93.184.215.14"])
    replies = iter([HttpReply(302, [("Location", f"http://{spelling}/")], b""), HttpReply(200, [], b"inside")])
    reached = counted(run, lambda: next(replies))
    assert type(run.send("GET", "http://public.example/")) is Err
    assert reached == ["93.184.215.14"]


def test_no_flip_of_a_name_connects() -> None:
    """Every look-up gives other addresses, every hop looks up anew: what is connected to is what was checked."""
    chance = random.Random(16)
    private = [address for address in PRIVATE if "%" not in address]
    run = Run(["net=*.example"])
    flips = 0

    async def resolve(host: str, port: int) -> list[str]:
        nonlocal flips
        flips += 1
        return chance.sample(PUBLIC, 1) + chance.sample(private, chance.choice([0, 0, 1]))

    def answer() -> HttpReply:
        hop = f"http://{chance.choice('abc')}.example/"
        return HttpReply(302, [("Location", hop)], b"") if chance.random() < 0.7 else HttpReply(200, [], b"ok")

    run.host.network.resolve = resolve
    reached = counted(run, answer)
    ends = []
    while flips < FLIPS:
        looked_up = flips
        ends.append(type(run.send("GET", "http://a.example/")))
        assert flips > looked_up
    assert [address for address in reached if is_private(address)] == []
    assert len(reached) > 300 and {Ok, Err} == set(ends)
