"""Resources, prompts, questions and progress of servers written with the official SDK, of both kinds and over both transports
(O-1.250, O-4.46, O-4.50 to O-4.55)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import concerto
import pytest

from ..command import concerto as command

pytest.importorskip("mcp")

RICH = Path(__file__).with_name("rich.py")
PROGRAM = concerto.compile("""
use std::media::Media;
mcp Wiki { }
pub fn read() -> Result<Array<Any>, Error> {
    let text: String = Wiki.resource("wiki://emma")?;
    let cover: Media = Wiki.resource("wiki://cover.gif")?;
    let other = Wiki.resource("wiki://index.bin")?;
    Ok([text, cover.mime, other, Wiki.resource<String>("wiki://page/Dune")?, Wiki.resource<Bytes>("wiki://emma")?])
}
pub fn listed() -> Result<Array<Any>, Error> {
    Ok([Wiki.resources()?.map(|one| one.uri), Wiki.prompts()?.map(|one| (one.name, one.required))])
}
pub fn asked() -> Result<Array<Any>, Error> {
    let shown = Wiki.prompt("shown")?;
    Ok([Wiki.prompt("review", { code: "x" })?.text, shown.text, shown.media.len(), Wiki.messages("talk")?.map(|one| one.role)])
}
pub fn missing() -> Array<String?> {
    [Wiki.resource("wiki://none").unwrap_err().variant, Wiki.prompt("none").unwrap_err().variant]
}
pub fn call(tool: String, title: String) -> Result<Any, Error> {
    if title == "" { return Ok(Wiki.call(tool)?); }
    Ok(Wiki.call(tool, { title: title })?)
}
""")


@contextmanager
def over(way: str, **options: Any) -> Iterator[concerto.Session]:
    """A session with the server over stdio, as one of the older revisions, or over HTTP."""
    given = {"permissions": concerto.Permissions(run=("python",), net=("127.0.0.1",)), **options}
    if way != "http":
        words = [str(RICH), *(["old"] if way == "old" else [])]
        fields: dict[str, Any] = {"transport": "stdio", "command": "python", "args": words, "timeout": 20}
        env = {"PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"}
        with PROGRAM.session(offline=True, mcp={"Wiki": fields}, env=env, **given) as session:
            yield session
        return
    with serving(RICH) as port, PROGRAM.session(offline=True, mcp={"Wiki": at(port)}, **given) as session:
        yield session


def at(port: int) -> dict[str, Any]:
    return {"transport": "http", "url": f"http://127.0.0.1:{port}/mcp", "timeout": 20}


@contextmanager
def serving(script: Path, *ports: int) -> Iterator[int]:
    """The port of a server that a script runs; `ports` are further words of its command line."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(script), str(port), *map(str, ports)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as asking:
                if asking.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


WAYS = ("newest", "old", "http")
every_way = pytest.mark.parametrize("way", WAYS)


@every_way
def test_resources_and_prompts(way: str) -> None:
    with over(way) as session:
        assert session.call("read") == ["# Emma", "image/gif", b"\x00\x01\xff", "page of Dune", b"# Emma"]
        assert session.call("listed") == [
            ["wiki://emma", "wiki://cover.gif", "wiki://index.bin"],
            [("review", ["code"]), ("talk", []), ("shown", [])],
        ]
        text = "Review this in a kind tone: x"
        assert session.call("asked") == [text, "Look:\n\n# Emma", 1, ["user", "assistant", "user"]]
        assert session.call("missing") == ["ExecutionFailed", "ExecutionFailed"]
        assert session.call("call", "linked", "") == "wiki://emma\n# Emma"


@every_way
def test_a_question_is_answered_by_the_host(way: str) -> None:
    asked = []

    def answer(payload: Any) -> Any:
        asked.append(payload)
        return {"days": 7, "kind": "audio"} if payload["tool"] == "lend" else None

    with over(way) as session:
        session.on_emit("mcp:elicit", answer)
        assert session.call("call", "lend", "Emma") == {"result": "Emma for 7 days on audio"}
        (payload,) = asked
        assert payload["message"] == "How long do you want Emma?" and payload["server"] == "Wiki"
        assert payload["schema"]["properties"]["days"]["maximum"] == 30
        session.on_emit("mcp:elicit", lambda payload: None)
        assert session.call("call", "lend", "Emma") == {"result": "Emma: decline"}
        session.on_emit("mcp:elicit", lambda payload: {"days": 31})
        with pytest.raises(concerto.ProgramError, match="the answer on mcp:elicit does not fit: days: maximum is 30"):
            session.call("call", "lend", "Emma")
        session.off("mcp:elicit")
        assert session.call("call", "lend", "Emma") == {"result": "Emma: decline"}  # nobody answers


@every_way
def test_progress_is_emitted(way: str) -> None:
    heard: list[Any] = []
    with over(way) as session:
        session.on("mcp:progress", heard.append)
        assert session.call("call", "copy", "") == {"result": "done"}
    assert [(row["tool"], row["progress"], row["total"], row["message"]) for row in heard] == [
        ("copy", float(n), 3.0, f"page {n}") for n in (1, 2, 3)
    ]


def test_named_methods_alone_may_be_used() -> None:
    """O-4.20: a resource is closed where tools are named and it is not."""
    grants = concerto.Permissions(run=("python",), tools={"Wiki": ["linked", "resource"]})
    with over("newest", permissions=grants) as session:
        assert session.call("read")[0] == "# Emma"
        with pytest.raises(concerto.ProgramError) as caught:
            session.call("listed")
    assert caught.value.value.variant == "PermissionDenied"


def test_a_method_is_disabled_on_the_command_line(tmp_path: Path) -> None:
    """O-4.20: by a flag, which knows these names of every server."""
    (tmp_path / "main.conc").write_text(
        """mcp Wiki { transport: "stdio", command: "python", fn page() -> String; }
fn main() { println(Wiki.resource("a").unwrap_err().message); }
"""
    )
    done = command("run", "main.conc", "--allow-run", "--disable-tool=Wiki.resource", cwd=tmp_path)
    assert (done.code, done.out) == (0, "permission denied: tool Wiki.resource is disabled\n")
    done = command("run", "main.conc", "--allow-run", "--disable-tool=Wiki.resourc", cwd=tmp_path)
    assert done.code == 2 and "there is no tool Wiki.resourc to disable" in done.err


@pytest.mark.parametrize(("way", "limits"), [("newest", []), ("old", [None])])
def test_no_time_limit_runs_while_a_person_is_asked(way: str, limits: list[Any]) -> None:
    """A server of the newest kind is asked again after the answer, so that no request is on its way meanwhile."""
    found = []

    def answer(payload: Any) -> Any:
        connection = session._session.state["mcp"].servers["Wiki"].connection
        found.append([one.timer.when() for one in connection._on_their_way])
        return {"days": 1}

    with over(way) as session:
        session.on_emit("mcp:elicit", answer)
        assert session.call("call", "lend", "Emma") == {"result": "Emma for 1 days on paper"}
    assert found == [limits]


def test_on_the_command_line_a_script_answers(tmp_path: Path) -> None:
    """O-5.39; without one the log says that nobody did."""
    (tmp_path / "main.conc").write_text(
        f'''// answer: mcp:elicit {{"days": 3}}
mcp Wiki {{ transport: "stdio", command: "python", args: ["{RICH}"] }}
fn main() -> Result<Nil, Error> {{ println(Wiki.call("lend", {{ title: "Emma" }})?); Ok() }}
'''
    )
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    done = command("run", "main.conc", "--allow-run=python", "--offline-script=main.conc", cwd=tmp_path, PATH=path)
    assert (done.out, done.err) == ('{"result": Emma for 3 days on paper}\n', "")
    done = command("run", "main.conc", "--allow-run=python", "--verbose", cwd=tmp_path, PATH=path)
    assert "[emit:mcp:elicit] {" in done.out and done.out.endswith('{"result": Emma: decline}\n')
    said = "[warn] mcp Wiki asks `How long do you want Emma?`: nobody answers emits on mcp:elicit; it was declined\n"
    assert done.err == said
