"""An address of a connection that passes as one and that the HTTP library cannot read (O-1.7): a failure of the call."""

from __future__ import annotations

import sys

import concerto
import pytest

PROGRAM = concerto.compile("""
    connect lab { provider: "custom", base_url: "https://a.example/v1" }
    connect claude { provider: "anthropic" }
    model M { provider: lab, base: "x" }
    model A { provider: claude, base: "x" }
    pub fn lab_says() -> String { M.execute("hi").unwrap_err().message }
    pub fn claude_says() -> String { A.execute("hi").unwrap_err().message }
""")


@pytest.mark.parametrize("connection", ["lab", "claude"])
def test_it_is_a_failure_of_the_call(connection: str) -> None:
    settings = {"base_url": "https://a\x01b/", "api_key": "k"}
    with PROGRAM.session(connections={connection: settings}) as session:
        assert f"`base_url` of connection {connection} is no address: " in session.call(f"{connection}_says")


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("SSL_CERT_FILE", "/nonexistent/roots", "the certificates of SSL_CERT_FILE cannot be read: No such file or directory"),
        ("SSL_CERT_FILE", __file__, "the certificates of SSL_CERT_FILE cannot be read: "),
        ("HTTPS_PROXY", "ftp://ada:lovelace@proxy.example", "the proxy of HTTPS_PROXY is no address of a proxy"),
        ("http_proxy", ":::", "the proxy of http_proxy is no address of a proxy"),
    ],
)
def test_so_are_variables_that_it_cannot_use(variable: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv(variable, value)
    for connection in ("lab", "claude"):
        with PROGRAM.session(connections={connection: {"api_key": "k"}}) as session:
            told = session.call(f"{connection}_says")
            assert says in told and "lovelace" not in told


def test_a_proxy_of_socks_names_the_package_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("ALL_PROXY", "socks5://localhost:1080")
    with PROGRAM.session(connections={"lab": {"api_key": "k"}}) as session:
        told = session.call("lab_says")
        assert "ALL_PROXY" in told and "is a SOCKS proxy, which needs the package socksio: python -m pip install socksio" in told
