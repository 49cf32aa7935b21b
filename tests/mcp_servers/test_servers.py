"""Real MCP servers in processes of their own, over both transports (O-4.36 to O-4.46, G-11.1)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from ..command import Ended, concerto

pytest.importorskip("mcp")
SERVER = Path(__file__).with_name("server.py")
BIN = os.path.dirname(sys.executable)

DECLARED = """
    fn page(title: String, deep: Bool = false) -> Result<String, ToolError>;
    fn count(words: Array<String>) -> Int;
    fn about(title: String) -> Page;
    fn environment() -> Array<String>;
    fn leave() -> String;
"""
PROGRAM = """
schema Page { title: String, tags: Array<String> }
mcp Wiki { FIELDS DECLARED }
mcp Open { FIELDS }
fn main() -> Result<Nil, Error> {
    println(Wiki.page("x")?, Wiki.page("y", deep: true)?);
    println(Wiki.count(["a", "b"])?, Wiki.about("T")?.tags);
    println(Open.call("about", { title: "O" })?);
    println(Wiki.page("missing").unwrap_err().message.contains("no such page"));
    println(Open.call("page", { title: 3 }).unwrap_err().variant);
    println(Open.call("pages").unwrap_err().variant);
    REST
    Ok()
}
"""
PRINTED = """text of x text of y with links
2 [a, b]
{"title": O, "tags": [a, b]}
true
ExecutionFailed
ToolNotFound
"""


def stdio_fields() -> str:
    return f'transport: "stdio", command: "python", args: ["{SERVER}"],'


def run(folder: Path, fields: str, *flags: str, rest: str = "", **extra: str) -> Ended:
    text = PROGRAM.replace("DECLARED", DECLARED).replace("FIELDS", fields).replace("REST", rest)
    (folder / "main.conc").write_text(text)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return concerto("run", "main.conc", "--offline", *flags, cwd=folder, PATH=path, **extra)


def test_over_stdio(tmp_path: Path) -> None:
    """The child sees four variables, ends with the session, and one that ended is started anew."""
    rest = """
    println(Wiki.environment()?);
    println(Wiki.leave().unwrap_err().message);
    println(Wiki.count([])?);
    """
    given = {"SHELL": "/bin/sh", "LANG": "C.UTF-8", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = run(tmp_path, stdio_fields(), "--allow-run=python", rest=rest, **given)
    assert done.err == ""
    assert done.out == PRINTED + "[HOME, LANG, PATH, TMPDIR]\nmcp Wiki has ended before it answered leave\n0\n"


def test_one_that_ended_between_two_calls_is_started_anew(tmp_path: Path) -> None:
    rest = """
    for round in 1..=2 {
        println(Open.call("leave_later")?);
        std::time::sleep(1500);
        println("${round} ${Open.call("count", { words: ["a"] })?}");
    }
    """
    done = run(tmp_path, stdio_fields(), "--allow-run=python", rest=rest)
    assert (done.err, done.out) == ("", PRINTED + "".join(f"{{\"result\": soon}}\n{n} {{\"result\": 1}}\n" for n in (1, 2)))


def test_a_notification_that_cannot_be_read_prints_no_traceback_of_the_library(tmp_path: Path) -> None:
    """The client session of the SDK logs it with one, by a logger that stands outside of the library's own."""
    fields = f'transport: "stdio", command: "python", args: ["{SERVER.with_name("raw.py")}", "handshake"],'
    (tmp_path / "main.conc").write_text(f"""
        mcp Raw {{ {fields} }}
        fn main() -> Result<Nil, Error> {{ println(Raw.call("echo", {{ text: "noise" }})?); Ok() }}
    """)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    ended = concerto("run", "main.conc", "--offline", "--allow-run=python", cwd=tmp_path, PATH=path)
    assert (ended.code, ended.out, ended.err) == (0, "noise\n", "")


def test_starting_needs_a_permission(tmp_path: Path) -> None:
    done = run(tmp_path, stdio_fields())
    assert done.code == 77
    assert "--allow-run" in done.err


def test_named_tools_alone_are_offered_of_a_server_without_signatures(tmp_path: Path) -> None:
    """O-4.20: `tools = { Open = ["about"] }` takes the others away, not the server."""
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "Concerto.toml").write_text(
        '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n'
        '[permissions]\nrun = ["python"]\ntools = { Open = ["about"] }\n'
        '[connections.lab]\nprovider = "offline"\nreplies = '
        '[{ tool_calls = [{ tool = "Open.about", arguments = { title = "T" } }] }, "end"]\n'
    )
    (folder / "main.conc").write_text(f"""
mcp Open {{ {stdio_fields()} }}
model M {{ provider: lab, base: "m", tools: [Open], memory: m }}
memory m: Memory = Memory::new().tools();
fn main() -> Result<Nil, Error> {{
    M.execute("hi")?;
    println(m.messages().filter(|one| one.role == "tool").map(|one| one.content));
    Ok()
}}
""")
    done = concerto("run", cwd=folder, PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}")
    assert done.err == ""
    assert '"title":"T"' in done.out


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(SERVER), str(number)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", number)) == 0:
                    break
            time.sleep(0.05)
        yield number
    finally:
        process.kill()
        process.wait()


def test_over_streamable_http(tmp_path: Path, port: int) -> None:
    fields = f'transport: "http", url: "http://127.0.0.1:{port}/mcp", headers: {{ "X-Token": env("WIKI_TOKEN") }},'
    done = run(tmp_path, fields, f"--allow-net=127.0.0.1:{port}", WIKI_TOKEN="abcdefgh")
    assert done.err == ""
    assert done.out == PRINTED
    refused = run(tmp_path, fields, "--allow-net=other.example", WIKI_TOKEN="abcdefgh")
    assert refused.code == 77


def test_what_is_no_server(tmp_path: Path) -> None:
    source = """mcp A { transport: "stdio", command: "cat", timeout: 20 }
mcp B { transport: "stdio", command: "true" }
mcp C { transport: "stdio", command: "no-such-command" }
mcp D { transport: "http", url: "http://127.0.0.1:9/mcp" }
mcp E { transport: "stdio", command: "python3 err.py" }
fn main() {
    println(A.call("x").unwrap_err().message);
    println(B.call("x").unwrap_err().message);
    println(C.call("x").unwrap_err().message);
    println(D.call("x").unwrap_err().message);
    println(E.call("x").unwrap_err().message);
}
"""
    (tmp_path / "main.conc").write_text(source)
    (tmp_path / "err.py").write_text("import sys\nprint('set SHELF_DB', file=sys.stderr)\nsys.exit(2)\n")
    done = concerto("run", "main.conc", "--offline", "--allow-run", "--allow-net=127.0.0.1", cwd=tmp_path)
    assert done.out == (
        "mcp A does not answer as an MCP server\n"
        "mcp B does not answer as an MCP server: it has ended with exit code 0\n"
        "mcp C: the command no-such-command does not start: No such file or directory\n"
        "mcp D: connection failed to 127.0.0.1:9 (ConnectError)\n"
        "mcp E does not answer as an MCP server: it has ended with exit code 2; its stderr ends: set SHELF_DB\n"
    )


def test_a_python_of_a_virtual_environment_knows_itself(tmp_path: Path) -> None:
    """Its `python` is a link: what it leads to is executed, as permissions see it, by the name of the link."""
    venv.create(tmp_path / "own", symlinks=True)
    (tmp_path / "who.py").write_text("import sys\nopen('who.txt', 'w').write(sys.prefix)\n")
    (tmp_path / "main.conc").write_text(
        'mcp S { transport: "stdio", command: "own/bin/python who.py" }\nfn main() { let _ = S.call("x"); }'
    )
    done = concerto("run", "main.conc", "--offline", f"--allow-run={os.path.realpath(sys.executable)}", cwd=tmp_path)
    assert done.code == 0 and (tmp_path / "who.txt").read_text() == str(tmp_path / "own")


MEDIA = """
mcp Open { FIELDS }
mcp Wiki { FIELDS fn chart(broken: Bool = false) -> Result<String, ToolError>; }
connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
model M { provider: lab, base: "m-1", tools: [Open, Wiki] }
memory log: Memory = Memory::new(tools: true);
fn main() -> Result<Nil, Error> {
    println(Open.call("chart")?);
    println(Wiki.chart()?);
    println(Open.call("chart", { broken: true }).unwrap_err().message);
    println(M.with_memory(log).execute("draw")?.text);
    for m in log.messages() { println("${m.role}: ${m.content} ${m.media}"); }
    Ok()
}
"""


def test_pictures_and_sounds_of_a_result(tmp_path: Path) -> None:
    """O-1.201, O-4.46: a program gets them beside the text where nothing else is declared, a model always."""
    (tmp_path / "main.conc").write_text(MEDIA.replace("FIELDS", stdio_fields()))
    replies = [{"tool_calls": [{"tool": "Open.chart"}, {"tool": "Wiki.chart"}]}, "done"]
    (tmp_path / "replies.json").write_text(json.dumps(replies))
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    flags = ("--offline", "--offline-script", "replies.json", "--allow-run=python")
    done = concerto("run", "main.conc", *flags, cwd=tmp_path, PATH=path)
    assert done.code == 0, done.err
    shown = "[<image 6 B>, <audio 12 B>]"
    assert done.out.splitlines() == [
        "[sales, <image 6 B>, <audio 12 B>]",
        "sales",
        "the image in the result of chart is refused: it is no PNG, JPEG, GIF or WebP, which its first bytes would tell",
        "done",
        "user: draw []",
        "assistant:  []",
        f'tool: ["sales",{describing("image", "gif", b"GIF89a")},{describing("audio", "mpeg", b"ID3" + bytes(9))}] {shown}',
        "tool: sales",
        "<image 6 B>",
        f"<audio 12 B> {shown}",
        "assistant: done []",
    ]
    assert "the result of Wiki.chart has media" in done.err


def describing(kind: str, form: str, data: bytes) -> str:
    described = {"kind": kind, "mime": f"{kind}/{form}", "bytes": len(data), "hash": sha256(data).hexdigest(), "name": None}
    return json.dumps(described, separators=(",", ":"))
