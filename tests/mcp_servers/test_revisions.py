"""Servers of the older revisions, which shake hands, and of the newest, which do not; and what goes wrong with either
(O-1.250, O-4.40 to O-4.46)."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import concerto
import pytest

pytest.importorskip("mcp")
import anyio
from concerto.runtime.mcp.served import McpSettings, ServerFailure
from concerto.runtime.mcp.wire import HANDSHAKE, connected

from ..runtime.test_http import Handler as Other

RAW = Path(__file__).with_name("raw.py")
SDK = Path(__file__).with_name("server.py")
PROGRAM = concerto.compile("""
mcp Wiki { }
pub fn echo(text: String) -> Result<Any, ToolError> { Wiki.call("echo", { text: text }) }
pub fn count() -> Result<Any, ToolError> { Wiki.call("count", { words: ["a", "b"] }) }
""")


@contextmanager
def stdio(*words: str, timeout: float = 30) -> Iterator[concerto.Session]:
    """`python` by its name: a path is resolved, and behind the link of a virtual environment is none of its packages."""
    fields = {"transport": "stdio", "command": "python", "args": list(words), "timeout": timeout}
    env = {"PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"}
    grants = concerto.Permissions(run=("python",))
    with PROGRAM.session(offline=True, mcp={"Wiki": fields}, permissions=grants, env=env) as session:
        yield session


@contextmanager
def http(manner: str, timeout: float = 30, **headers: str) -> Iterator[concerto.Session]:
    process = subprocess.Popen([sys.executable, "-S", str(RAW), manner, "http"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        fields = {"transport": "http", "url": f"http://127.0.0.1:{port}/mcp", "timeout": timeout, "headers": headers}
        grants = concerto.Permissions(net=("127.0.0.1",))
        with PROGRAM.session(offline=True, mcp={"Wiki": fields}, permissions=grants) as session:
            yield session
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def failure(session: concerto.Session, text: str) -> concerto.ErrorValue:
    with pytest.raises(concerto.ProgramError) as caught:
        session.call("echo", text)
    assert isinstance(caught.value.value, concerto.ErrorValue)
    return caught.value.value


ASKED = {
    "newest": "server/discover tools/list tools/call",
    "handshake": "server/discover initialize tools/list tools/call",
    "silent": "server/discover initialize tools/list tools/call",
    "leaves": "initialize tools/list tools/call",
}


@pytest.mark.parametrize("manner", ASKED)
def test_over_stdio(manner: str) -> None:
    """A server that does not know the question, ignores it, or ends over it is greeted in the old way."""
    with stdio("-S", str(RAW), manner, timeout=6) as session:
        assert session.call("echo", "methods") == ASKED[manner]
        assert session.call("echo", "again") == "again"


@pytest.mark.parametrize("manner", ["newest", "handshake"])
def test_over_http(manner: str) -> None:
    with http(manner) as session:
        assert session.call("echo", "methods") == ASKED[manner]
        assert session.call("echo", "again") == "again"


def test_a_server_of_the_sdk() -> None:
    with stdio(str(SDK)) as session:
        assert session.call("count") == {"result": 2}


def test_a_server_without_a_revision_in_common() -> None:
    with stdio("-S", str(RAW), "future", timeout=6) as session:
        assert failure(session, "a").message == "mcp Wiki does not answer as an MCP server"


@pytest.mark.parametrize("open_", [lambda: stdio("-S", str(RAW), "newest", timeout=2), lambda: http("newest", timeout=2)])
def test_what_goes_wrong_in_a_call(open_: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with open_() as session:
        found = [(text, failure(session, text)) for text in ("refused", "nonsense", "mismatch")]
        assert [(text, error.variant) for text, error in found] == [(text, "ExecutionFailed") for text, _ in found]
        messages = {text: error.message for text, error in found}
        assert messages["refused"] == "mcp Wiki: the server says no"
        assert messages["nonsense"] == "mcp Wiki: the answer for echo is not what the protocol says"
        assert messages["mismatch"] == "mcp Wiki: echo is not what it was when it was listed"
        assert session.call("echo", "still there") == "still there"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("open_", [lambda: stdio("-S", str(RAW), "newest", timeout=1), lambda: http("newest", timeout=1)])
def test_a_call_has_its_time_limit(open_: Any) -> None:
    with open_() as session:
        began = time.monotonic()
        error = failure(session, "sleep")
        assert (error.variant, time.monotonic() - began < 5) == ("Timeout", True)


@pytest.mark.parametrize("manner", ["newest", "handshake"])
def test_a_call_is_cancelled(manner: str) -> None:
    with stdio("-S", str(RAW), manner) as session:
        session.call("echo", "warm")
        threading.Timer(0.3, session.cancel).start()
        began = time.monotonic()
        with pytest.raises(concerto.ProgramError, match="cancelled"):
            session.call("echo", "sleep")
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("manner", ["changing", "doubled"])
def test_a_tool_that_changed_is_refused(manner: str) -> None:
    """The server lists another description at each connection; one lists a second tool of the name, which stays the same."""
    with http(manner) as session:
        assert session.call("echo", "first") == "first"
        failure(session, "mismatch")  # so that the next use connects anew
        error = failure(session, "second")
        assert error.message == "mcp Wiki: the tool echo is another one than at its first use"
        assert error.variant == "ConnectionFailed"


@pytest.mark.parametrize("open_", [lambda: stdio("-S", str(RAW), "nan"), lambda: http("nan")])
def test_a_schema_is_json(open_: Any) -> None:
    with open_() as session:
        reason = "its schema is no JSON: NaN is not a JSON value"
        assert failure(session, "a").message == f"mcp Wiki offers no tool echo; it is refused: {reason}"


def test_a_result_has_its_limit() -> None:
    """Over stdio no line of more can be read; over HTTP the result is."""
    with stdio("-S", str(RAW), "newest") as session:
        assert failure(session, "x1100000").variant == "ConnectionFailed"
        assert failure(session, "x1100000").message == "mcp Wiki: a line is longer than 1 MiB"
        assert session.call("echo", "back") == "back"
    with http("newest") as session:
        assert failure(session, "x1100000").message == "the result is larger than 1048576 bytes"


def test_a_server_that_ended_is_started_anew() -> None:
    with stdio("-S", str(RAW), "newest") as session:
        assert failure(session, "exit").message == "mcp Wiki has ended before it answered echo"
        assert session.call("echo", "back") == "back"


def test_a_redirect_to_another_origin_is_not_followed(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing goes there: neither the headers nor the question."""
    other = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    other.seen, other.released = [], threading.Event()  # type: ignore[attr-defined]
    threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
    try:
        with http(f"redirect=http://127.0.0.1:{other.server_address[1]}/echo", **{"X-Token": "abcdefgh"}) as session:
            error = failure(session, "a")
        assert (error.variant, error.message) == ("ConnectionFailed", "mcp Wiki does not answer as an MCP server")
        assert other.seen == []  # type: ignore[attr-defined]
    finally:
        other.shutdown()
        other.server_close()
    assert capfd.readouterr().err == ""


def test_bodies_are_bounded_and_come_as_they_are() -> None:
    with http("newest") as session:
        assert "too large" not in session.call("echo", "x1000000")
        assert failure(session, "x9000000").variant == "ExecutionFailed"
        assert session.call("echo", "still there") == "still there"
    with http("packed") as session:
        assert failure(session, "a").variant in ("ExecutionFailed", "ConnectionFailed")


def test_headers_that_frame_are_refused() -> None:
    with http("newest", **{"Content-Length": "5"}) as session:
        assert "'Content-Length'" in failure(session, "a").message


def test_what_is_told_of_a_server_that_is_not_ready_is_the_time_that_was_waited() -> None:
    """A server that was started again has the rest of the time limit."""

    @asynccontextmanager
    async def silence() -> AsyncIterator[tuple[Any, Any]]:
        theirs, read = anyio.create_memory_object_stream[Any](10)
        write, sent = anyio.create_memory_object_stream[Any](10)
        async with theirs, read, write, sent:
            yield read, write

    async def told(**given: Any) -> str:
        with pytest.raises(ServerFailure) as caught:
            await connected(McpSettings("Wiki", {"timeout": 0.3}, {}), silence(), mode=HANDSHAKE, **given)
        return str(caught.value)

    assert asyncio.run(told()) == "mcp Wiki is not ready within 0.3 s"
    assert asyncio.run(told(seconds=0.1)) == "mcp Wiki is not ready within 0.3 s"  # the limit that the user knows
    assert sum(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("mcp").handlers) == 1
