"""`protocol = "acp"` of a manifest with real agents and real files behind it (O-7.38, O-7.45, O-7.46, O-7.50)."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
AGENT = HERE / "agents" / "acp_agent.py"
PEER = HERE / "servers" / "acp_agent.mjs"
TYPESCRIPT = HERE / "servers" / "node_modules" / "@agentclientprotocol" / "sdk"
PROJECT = '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n\n[agents.a]\nprotocol = "acp"\n'
PACKAGES = str(Path(find_spec("acp").origin).parent.parent)  # a link to Python, resolved, has lost its environment
SAYS = 'agent A { connector: a }\nfn main() { emit("a", A.execute("%s")?.text); }\n'
ASKS = """agent A { connector: a }
fn main() {
    let done = listen A.execute("%s") {
        "request_permission" => |m| { emit("asked", m.options[0]["name"]); %s },
        "plan" => |p| { emit("plan", p.entries[0]["content"]); },
    }?;
    emit("done", done.text);
}
"""


@pytest.fixture
def project(write):
    def make(source, command=(sys.executable, str(AGENT)), manifest=""):
        words = f"command = {json.dumps(command[0])}\nargs = {json.dumps(list(command[1:]))}\n"
        env = f"[agents.a.env]\nPYTHONPATH = {{ value = {json.dumps(PACKAGES)} }}\n"
        write("Concerto.toml", PROJECT + words + manifest + env)
        write("main.conc", source)

    return make


def test_files_are_under_the_permissions_of_the_run(project, cli, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("of the file")
    (tmp_path / "out").mkdir()
    a, b = tmp_path / "in" / "a.txt", tmp_path / "out" / "b.txt"
    project(SAYS % f"read={a}")
    assert cli("run", "--allow-run", "--allow-fs-read=in", "main.conc").out == "[emit:a] of the file\n"
    told = cli("run", "--allow-run", "--allow-fs-read=out", "--verbose", "main.conc").out
    assert f"[emit:a] -32603 permission denied: fs:read={a}\n" in told
    assert f'[emit:audit:denied] {{"capability":"fs:read={a}","flag":"--allow-fs-read={a}"}}\n' in told
    project(SAYS % f"write={b}")
    told = cli("run", "--allow-run", "--allow-fs-write=out", "--verbose", "main.conc").out
    assert f'[emit:audit:file_access] {{"operation":"write_file","path":"{b}"}}\n' in told and b.read_text() == "written"
    b.unlink()
    (tmp_path / "out" / "link").symlink_to(tmp_path / "in")
    project(SAYS % f"write={tmp_path}/out/link/c.txt")
    assert "permission denied" in cli("run", "--allow-run", "--allow-fs-write=out", "main.conc").out
    assert not (tmp_path / "in" / "c.txt").exists()


@pytest.mark.parametrize(
    ("flags", "offered"),
    [((), "False False"), (("--allow-fs-read=in",), "True False"), (("--allow-fs",), "True True")],
)
def test_what_is_offered(project, cli, tmp_path, flags, offered):
    project(SAYS % "offered")
    assert cli("run", "--allow-run", *flags, "main.conc").out == f"[emit:a] {offered}\n"


def test_in_a_test_files_are_those_of_the_test(project, cli, tmp_path):
    project(
        f'agent A {{ connector: a }}\n@test fn t() {{\n    assert_eq(A.execute("write={tmp_path}/c.txt say=x")?.text, "x");\n'
        f'    assert_eq(A.execute("read={tmp_path}/c.txt")?.text, "written");\n}}\n'
    )
    done = cli("test", "--allow-run", "--allow-fs", "main.conc")
    assert done.code == 0, done.out
    assert not (tmp_path / "c.txt").exists()


def test_whoever_answers_awaited_emits_answers(project, cli, write):
    project(SAYS % "ask=allow_once,reject_once")
    write("answers.conc", "// answer: agent:permission true\n")
    done = cli("run", "--allow-run", "--offline-script=answers.conc", "main.conc")
    assert (done.code, done.out.splitlines()[-1]) == (0, "[emit:a] allow_once")
    done = cli("run", "--allow-run", "main.conc")
    assert done.out == "[emit:a] reject_once\n"
    way = 'a handler "request_permission" of `listen` answers too'
    assert done.err == f"[warn] agent A asks for a permission: nobody answers emits on agent:permission; it was refused: {way}\n"


def test_formats_are_refused_where_the_manifest_says_acp(project, cli):
    project('agent A { connector: a, output_format: "json" }\nfn main() { emit("a", A.execute("x")?.text); }\n')
    code, _, err = cli("check", "main.conc")
    assert code == 65 and 'main.conc:1:25: error[E4006]: `output_format` of agent `A` is not carried by the protocol "acp"' in err
    project('agent A { connector: a, output_format: "text" }\nfn main() { emit("a", A.execute("say=x")?.text); }\n')
    assert cli("run", "--allow-run", "main.conc").out == "[emit:a] x\n"


def test_without_the_sdk_the_error_says_how_to_get_it(project, cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "acp.meta", None)
    emits = 'Err(e) => emit("e", [e.variant, e.message]), _ => nil'
    project(f'agent A {{ connector: a }}\nfn main() {{ match A.execute("x") {{ {emits} }} }}\n')
    told = cli("run", "--allow-run", "main.conc").out
    assert '["Unsupported","A: the protocol \\"acp\\" needs its SDK, which is not installed: ' in told
    assert "agent-client-protocol" in told and "(the extra `acp`)" in told


NEEDS_PEER = pytest.mark.skipif(
    shutil.which("node") is None or not TYPESCRIPT.is_dir(), reason="needs node and npm's packages (make servers)"
)


@NEEDS_PEER
@pytest.mark.parametrize(
    ("answer", "said", "kept"), [("true", "edited", "TEXT"), ("false", "left", "text"), ("nil", "left", "text")]
)
def test_an_agent_by_the_sdk_of_others(project, cli, tmp_path, answer, said, kept):
    """The TypeScript SDK checks all that it is sent by schemas of its own."""
    (tmp_path / "a.txt").write_text("text")
    project(ASKS % (tmp_path / "a.txt", answer), command=("node", str(PEER)))
    done = cli("run", "--allow-run", "--allow-fs", "main.conc")
    assert done.out == f"[emit:plan] edit\n[emit:asked] Do it\n[emit:done] {said}\n", done.err
    assert (tmp_path / "a.txt").read_text() == kept


@NEEDS_PEER
def test_an_agent_by_the_sdk_of_others_is_refused_a_file(project, cli, tmp_path):
    (tmp_path / "a.txt").write_text("text")
    project(ASKS % (tmp_path / "a.txt", "true"), command=("node", str(PEER)))
    done = cli("run", "--allow-run", "--allow-fs-read", "main.conc")
    assert done.out.endswith(f"[emit:done] error -32603: permission denied: fs:write={tmp_path}/a.txt\n")
    assert (tmp_path / "a.txt").read_text() == "text"


def test_a_replay_neither_reads_nor_writes_the_files_of_an_agent(project, cli, tmp_path):
    """What the agent asked its client for is in the recording (G-13.2)."""
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("of the file")
    flags = ("--allow-run", "--allow-fs")
    project(SAYS % f"read={a} write={b} read={tmp_path}/none.txt")
    live = cli("run", *flags, "--verbose", "--record", "r.jsonl", "main.conc")
    assert live.code == 0 and "of the file" in live.out and b.read_text() == "written"
    a.unlink()
    b.write_text("of somebody else")
    again = cli("run", *flags, "--verbose", "--replay", "r.jsonl", "main.conc")
    assert (again.code, again.out) == (0, live.out) and "audit:file_access" in again.out
    assert b.read_text() == "of somebody else" and not a.exists()
