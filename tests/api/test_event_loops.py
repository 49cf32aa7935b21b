"""A session that is called in one event loop after another: processes and connections belong to theirs (O-9.41)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import concerto
import pytest

from ..agents.children import gone

RAW = Path(__file__).parent.parent / "mcp_servers" / "raw.py"
ECHO = "import os\nwhile True: print(os.getpid(), input(), flush=True)"
SAID = ["a", "b"] * 4 + ["a"] + ["a", "b"]  # what `in_each_loop` sends
PROGRAM = concerto.compile("""
    agent Echo { connector: echo }
    mcp Wiki { }
    pub fn told(text: String) -> Result<String> { Echo.execute(text)?.text }
    pub fn said(text: String) -> Result<Any, ToolError> { Wiki.call("echo", { text: text }) }
""")


def session(**mcp: Any) -> concerto.Session:
    return PROGRAM.session(
        agents={"echo": {"command": "python", "args": ["-c", ECHO], "timeout": 20}},
        mcp={"Wiki": {"timeout": 20, **mcp}},
        permissions=concerto.Permissions(run=("python",), net=("127.0.0.1",)),
        env={"PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"},
    )


def in_each_loop(session: concerto.Session, function: str) -> list[Any]:
    """Call a function twice in each of: two loops that end, one of the session's own, and one that stays open; in the last one
    before and behind a call in another."""
    async def twice() -> list[Any]:
        return list(await asyncio.gather(session.acall(function, "a"), session.acall(function, "b")))

    given = [*asyncio.run(twice()), *asyncio.run(twice()), session.call(function, "a"), session.call(function, "b")]
    with asyncio.Runner() as runner:
        given += runner.run(twice())
        given.append(session.call(function, "a"))
        given += runner.run(twice())
        session.close()
    return given


def test_an_agent_is_started_in_each_loop_and_none_is_left() -> None:
    given = in_each_loop(session(), "told")
    assert [text.split()[1] for text in given] == SAID
    processes = [int(text.split()[0]) for text in given]
    assert [len(set(processes[n : n + 2])) for n in (0, 2, 4, 6, 9)] == [1] * 5  # kept between the calls of one loop
    assert len(set(processes)) == 6
    assert all(gone(process) for process in set(processes))


def test_the_end_of_a_loop_ends_its_processes() -> None:
    open_one = session()
    process = int(asyncio.run(open_one.acall("told", "a")).split()[0])
    assert gone(process)
    open_one.close()


def test_an_mcp_server_is_connected_in_each_loop() -> None:
    given = in_each_loop(session(transport="stdio", command="python", args=[str(RAW), "newest"]), "said")
    assert given == SAID


@pytest.mark.parametrize("manner", ["newest", "handshake"])
def test_an_mcp_server_over_http_is_connected_in_each_loop(manner: str) -> None:
    process = subprocess.Popen([sys.executable, "-S", str(RAW), manner, "http"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        given = in_each_loop(session(transport="http", url=url), "said")
        assert given == SAID
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
