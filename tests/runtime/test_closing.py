"""The end of a session: what fails to close keeps nothing else open (O-7.13)."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from concerto.runtime.mcp.servers import Servers
from concerto.runtime.session.session import Session

from tests.journal.worlds import World


class Resource:
    def __init__(self, name: str, closed: list[str]) -> None:
        self.name = name
        self.closed = closed

    def close(self) -> None:
        self.closed.append(self.name)
        if self.name == "broken":
            raise OSError("it stays")


class Connection(Resource):
    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.close()


def test_what_cannot_be_closed_keeps_nothing_else_open(tmp_path: Any) -> None:
    world = World("fn main() {}", tmp_path)
    closed: list[str] = []
    session = Session(world.program, world.host(None))
    session.open_stores.close = lambda: Resource("broken", closed).close()  # type: ignore[method-assign]
    session.state |= {"one": Resource("one", closed), "two": Connection("broken", closed), "three": Connection("three", closed)}
    with pytest.raises(OSError, match="it stays"):
        asyncio.run(session.aclose())
    assert closed == ["broken", "one", "broken", "three"]
    assert list(session.state) == ["two"]


def test_a_server_that_does_not_end_leaves_the_others_to_be_ended(tmp_path: Any) -> None:
    names = ("one", "broken", "three")
    source = "".join(f'mcp {name} {{ transport: "stdio", command: "x" }}\n' for name in names)
    world = World(f"{source} fn main() {{}}", tmp_path)
    closed: list[str] = []
    servers = Servers.of(Session(world.program, world.host(None)))
    for name in names:
        servers.servers[name].connection = cast("Any", Connection(name, closed))
    with pytest.raises(OSError, match="it stays"):
        asyncio.run(servers.aclose())
    assert sorted(closed) == sorted(names)
