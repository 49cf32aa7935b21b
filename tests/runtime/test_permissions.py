"""What a grant matches (O-4.13 to O-4.18) and which addresses need to be named (G-8.3)."""

from __future__ import annotations

import concerto
import pytest
from concerto.runtime.access.addresses import is_public
from concerto.runtime.access.http_messages import HttpFailure, Target
from concerto.runtime.access.permissions import Permissions
from concerto.runtime.access.secrets import is_secret_name
from concerto.vm.builtins.capabilities import CAPABILITIES, GROUP_KEYS, GROUPS, Malformed

HOSTS = [
    ("a.org", "a.org", 80, True), ("a.org", "A.ORG", 443, True), ("a.org", "a.org.", 80, True), ("A.org", "a.org", 1, True),
    ("a.org", "b.a.org", 80, False), ("a.org", "xa.org", 80, False), ("*.a.org", "b.a.org", 80, True),
    ("*.a.org", "c.b.a.org", 80, True), ("*.a.org", "a.org", 80, False), ("*.a.org", "xa.org", 80, False),
    ("a.org:80", "a.org", 80, True), ("a.org:80", "a.org", 443, False), ("*.a.org:80", "b.a.org", 81, False),
    ("[0:0:0:0:0:0:0:1]:80", "::1", 80, True), ("FE80:0::1", "fe80::1%eth0", 80, True),
    ("bücher.example", "xn--bcher-kva.example", 80, True),
    ("*.Bücher.example", "a.xn--bcher-kva.example", 80, True), ("2001:db8::", "2001:db8::", 80, True),
    ("::1", "::1", 80, True), ("[::1]:80", "::1", 80, True), ("[::1]:80", "::1", 81, False), ("10.0.0.1", "10.0.0.1", 5, True),
]  # fmt: skip


@pytest.mark.parametrize(("scope", "host", "port", "allowed"), HOSTS)
def test_hosts(scope: str, host: str, port: int, allowed: bool) -> None:
    permissions = Permissions({"net": (scope,)})
    assert permissions.allows_host(host, port) is allowed
    assert permissions.names_host(host, port) is (allowed and not scope.startswith("*."))


MALFORMED = [
    "", ":80", "a.org:", "a.org:0", "a.org:65536", "a.org:" + "9" * 5000, "a.org:x", "http://a.org", "a b", "a@b", "a/b", "a\n",
    "*", "*.", "a.*.org", "*a.org", "*.127.0.0.1", "127.1", "2130706433", "0x7f.1", "a..org", "[::1", "::1]:80", "[a.org]:80",
    "[::1]x",
]  # fmt: skip


@pytest.mark.parametrize("scope", MALFORMED)
def test_scopes_that_match_nothing(scope: str) -> None:
    with pytest.raises(Malformed):
        Permissions({"net": (scope,)})


def test_nothing_is_granted_by_default() -> None:
    nothing = Permissions()
    assert not nothing.allows_host("a.org", 80) and not nothing.allows_variable("HOME")
    assert set(nothing.scopes.values()) == {()}


def test_the_whole_capability_names_no_host() -> None:
    everything = Permissions.of_texts(["net", "env"])
    assert everything.allows_host("a.org", 1) and not everything.names_host("a.org", 1) and everything.allows_variable("X")


NAMED = "net=127.0.0.1:1"


@pytest.mark.parametrize("texts", [["net", NAMED], [NAMED, "net"], [NAMED, "net", "net=a.org"]])
def test_what_is_named_stays_named_beside_the_whole(texts: list[str]) -> None:
    permissions = Permissions.of_texts(texts)
    assert permissions.names_host("127.0.0.1", 1) and not permissions.names_host("127.0.0.1", 2)
    assert permissions.allows_host("any.org", 5) and not permissions.names_host("any.org", 5)


def test_the_grants_of_a_host_add_up() -> None:
    granted = concerto.Permissions(all=True, net=("127.0.0.1:1",)).granted()
    assert granted.names_host("127.0.0.1", 1) and granted.allows_host("a.org", 2) and granted.allows_variable("X")


def test_grants_add_up_and_the_whole_wins() -> None:
    permissions = Permissions.of_texts(["env=A", "env=B"])
    assert [permissions.allows_variable(name) for name in "ABC"] == [True, True, False]
    permissions.grant("env", True)
    permissions.grant("env", ("D",))
    assert permissions.allows_variable("C")
    with pytest.raises(Malformed, match="no capability"):
        Permissions.of_texts(["disk"])


def test_one_table_holds_flags_and_keys() -> None:
    assert [c.flag for c in CAPABILITIES] == ["--allow-" + c.key.replace("_", "-") for c in CAPABILITIES]
    keys = {c.key for c in CAPABILITIES}
    assert all(set(members) <= keys for members in (*GROUPS.values(), *GROUP_KEYS.values()))


PRIVATE = [
    "127.0.0.1", "127.255.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a00:1::1",
    "::127.0.0.1", "::10.0.0.1", "fec0::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_must_be_named(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_addresses_of_the_world(address: str) -> None:
    assert is_public(address)


TARGETS = {
    "http://a.org": ("http", "a.org", 80, "/", "http://a.org/"),
    "HTTPS://A.org:443/x y".replace(" ", "%20"): ("https", "a.org", 443, "/x%20y", "https://a.org/x%20y"),
    "http://a.org.:8080?q=ä#part": ("http", "a.org", 8080, "/?q=%C3%A4", "http://a.org:8080/?q=%C3%A4"),
    "http://[::1]:81/": ("http", "::1", 81, "/", "http://[::1]:81/"),
    "http://münchen.de/": ("http", "xn--mnchen-3ya.de", 80, "/", "http://xn--mnchen-3ya.de/"),
}


@pytest.mark.parametrize("url", TARGETS)
def test_targets(url: str) -> None:
    target = Target(url)
    assert (target.scheme, target.host, target.port, target.path, target.url) == TARGETS[url]


REFUSED = [
    "", "a.org", "//a.org", "ftp://a.org", "file:///etc/passwd", "http://", "http:///x", "http://a.org\n",
    "http://a.org/\r\nX: y",
    "http://a b.org", "http://user@a.org", "http://user:x@127.0.0.1", "http://a.org:99999", "http://a.org:x", "http://0x7f000001/",
    "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.1/", "http://0x7f.0.0.1/", "http://[::1/",
    "http://a..org/", "http://a.org\\@evil.org/", "http://\u2460\u2461\u2466.0.0.1/", "http://a.org\u202e/", "http://a.org\x00/",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED)
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(HttpFailure) as caught:
        Target(url)
    assert caught.value.variant == "InvalidUrl" and caught.value.message.isprintable()


def test_names_of_secrets() -> None:
    assert all(is_secret_name(name) for name in ("API_KEY", "token", "MY_SECRET_1", "DB_PASSWORD", "OPENAI_API_KEY"))
    assert not any(is_secret_name(name) for name in ("HOME", "PATH", "KEYBOARD", "TOKENIZER", "MONKEY", "LANG"))
