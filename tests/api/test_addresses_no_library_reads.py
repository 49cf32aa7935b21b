"""An address of a connection that passes as one and that the HTTP library cannot read (O-1.7): a failure of the call."""

from __future__ import annotations

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
