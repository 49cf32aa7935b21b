"""What a hostile server may answer where a resource, a prompt or a list is asked for, and how long it may ask (O-4.50 to O-4.55,
G-9.9). Each ends as an Err, and the next request is answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import concerto
import pytest

pytest.importorskip("mcp")

from concerto.runtime.mcp.resources import Part, resource_value

from . import test_revisions as servers

PROGRAM = concerto.compile("""
mcp Wiki { }
pub fn read(uri: String) -> Result<Any, ToolError> { Wiki.resource(uri) }
pub fn ask(name: String) -> Result<String, ToolError> { Ok(Wiki.prompt(name)?.text) }
pub fn resources() -> Result<Int, ToolError> { Ok(Wiki.resources()?.len()) }
pub fn first() -> Result<Any, ToolError> { Ok(Wiki.resources()?[0]) }
pub fn prompts() -> Result<Int, ToolError> { Ok(Wiki.prompts()?.len()) }
pub fn echo(text: String) -> Result<Any, ToolError> { Wiki.call("echo", { text: text }) }
""")


@pytest.fixture
def session(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[concerto.Session]:
    monkeypatch.setattr(servers, "PROGRAM", PROGRAM)
    way, manner = request.param
    opened = servers.http(manner) if way == "http" else servers.stdio("-S", str(servers.RAW), manner)
    with opened as session:
        yield session


def failure(session: concerto.Session, function: str, *words: str) -> str:
    with pytest.raises(concerto.ProgramError) as caught:
        session.call(function, *words)
    error = caught.value.value
    assert isinstance(error, concerto.ErrorValue)
    return f"{error.variant}: {error.message}"


BAD = "ExecutionFailed: mcp Wiki: the answer for the {what} is not what the protocol says"
RESOURCES = {
    "huge": "ExecutionFailed: the resource huge has more than 1000 contents, or 1048576 bytes of text",
    "many": "ExecutionFailed: the resource many has more than 1000 contents, or 1048576 bytes of text",
    "no base64": "ExecutionFailed: the resource no base64 is refused: it is no base64",
    "numbers": BAD.format(what="resource numbers"),
    "no contents": BAD.format(what="resource no contents"),
    "asks on": "ExecutionFailed: mcp Wiki: asks on asks more than 10 times",
    "waits on": "ExecutionFailed: mcp Wiki: the resource waits on asks for input more than 10 times",
    "asks a model": "ExecutionFailed: mcp Wiki: the resource asks a model asks for sampling/createMessage, which a program does "
    "not give",
}
PROMPTS = {
    "huge": "ExecutionFailed: the prompt huge has more than 1000 messages, or 1048576 bytes of text",
    "many": "ExecutionFailed: the prompt many has more than 1000 messages, or 1048576 bytes of text",
    "system": BAD.format(what="prompt system"),
    "no messages": BAD.format(what="prompt no messages"),
    "no picture": "ExecutionFailed: the image in the result of the prompt no picture is refused: it is no PNG, JPEG, GIF or "
    "WebP, which its first bytes would tell",
}


@pytest.mark.parametrize("session", [("http", "newest")], indirect=True)
def test_each_fault_is_an_err(session: concerto.Session) -> None:
    assert session.call("read", "fine") == "fine"
    assert {uri: failure(session, "read", uri) for uri in RESOURCES} == RESOURCES
    assert session.call("ask", "fine") == "a\n\nb"
    assert {name: failure(session, "ask", name) for name in PROMPTS} == PROMPTS
    assert session.call("first").size is None  # it is below 0


@pytest.mark.parametrize("session", [("http", "endless")], indirect=True)
def test_a_list_has_an_end(session: concerto.Session) -> None:
    assert failure(session, "resources") == "ConnectionFailed: mcp Wiki: the list of resources has more than 100 pages"
    assert session.call("read", "fine") == "fine"


@pytest.mark.parametrize("session", [("http", "wide")], indirect=True)
def test_a_list_has_its_size(session: concerto.Session) -> None:
    assert failure(session, "resources") == "ExecutionFailed: the list of resources is larger than 1048576 bytes"


@pytest.mark.parametrize("session", [("http", "bare"), ("stdio", "bare")], indirect=True)
def test_a_server_without_them(session: concerto.Session) -> None:
    assert (session.call("resources"), session.call("prompts")) == (0, 0)
    assert failure(session, "read", "a") == "ExecutionFailed: mcp Wiki does not serve the resource a: no such method"
    assert failure(session, "ask", "a") == "ExecutionFailed: mcp Wiki does not serve the prompt a: no such method"


@pytest.mark.parametrize("session", [("http", "untooled")], indirect=True)
def test_a_server_of_resources_alone(session: concerto.Session) -> None:
    assert session.call("read", "fine") == "fine"
    assert failure(session, "echo", "a") == "ToolNotFound: mcp Wiki offers no tool echo; it offers: "


@pytest.mark.parametrize("session", [("http", "newest"), ("stdio", "newest"), ("stdio", "asking")], indirect=True)
def test_a_form_beyond_all_bounds(session: concerto.Session) -> None:
    session.on_emit("mcp:elicit", lambda payload: {"n": 1})
    assert failure(session, "echo", "wild form").startswith("ExecutionFailed: the form of a question is refused: ")
    assert session.call("echo", "still there") == "still there"


@pytest.mark.parametrize("session", [("stdio", "newest"), ("stdio", "asking")], indirect=True)
def test_what_a_server_is_told(session: concerto.Session) -> None:
    """Of both kinds: one that is answered in a second request, one that asks by a request of its own."""
    answers: list[Any] = [{"text": "she"}, None, {"text": 5}, {"text": "she", "age": 3}]
    session.on_emit("mcp:elicit", lambda payload: answers.pop(0))
    assert concerto_json(session.call("echo", "input")) == {"action": "accept", "content": {"text": "she"}}
    assert concerto_json(session.call("echo", "input"))["action"] == "decline"
    for fault in ("text: expected string", "there is no field age; the fields are: text"):
        message = f"ExecutionFailed: mcp Wiki: the answer on mcp:elicit does not fit: {fault}"
        assert failure(session, "echo", "input") == message
    assert session.call("echo", "still there") == "still there"


def concerto_json(value: Any) -> Any:
    return {key: row for key, row in value.items() if row is not None}


@pytest.mark.parametrize(("uri", "name"), [("urn:logo", "urn:logo"), ("wiki://a/logo.gif", "logo.gif"), ("wiki://a/", "a")])
def test_a_picture_is_called_like_the_end_of_its_uri(uri: str, name: str) -> None:
    gif = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"
    for form in ("Any", "Media"):
        assert resource_value(uri, [Part(None, gif)], form).get("name") == name
