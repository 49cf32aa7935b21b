"""What code of libraries may touch, from the command line, the manifest and Python (P-3.2)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import concerto
import pytest
from concerto.runtime.access.permissions import Limited, Permissions
from concerto.runtime.effects.table import FAMILIES, OF_MODELS, OF_SESSION
from concerto.vm.builtins.capabilities import Malformed

from ..command import Ended
from ..command import concerto as command
from .installed import install

READER = {"reader_pkg/mod.conc": """\
pub fn load(path: String) -> String { match std::fs::read_file(path) { Ok(text) => text, Err(error) => error.message } }
pub fn fetch() -> String { match std::http::get("http://127.0.0.1:9/") { Ok(r) => r.body, Err(error) => error.message } }
pub fn fails(xs: Array<Int>) -> Int { xs[9] }
pub fn kept() -> String {
    match std::fs::write_file("out.txt", "x") { Ok(_) => "written", Err(error) => error.message }
}
mcp Tools { transport: "stdio", command: "nothing-such" }
pub fn served() -> String { match Tools.call("x", {}) { Ok(_) => "ok", Err(error) => error.message } }
"""}
MAIN = """\
use lib::reader::{load, fails, served};
fn main(){ println(load("a.txt")); }
pub fn through(path: String) -> String { load(path) }
pub fn own(path: String) -> String { std::fs::read_file(path).unwrap_or("denied") }
pub fn broken() -> Int { fails([1]) }
pub fn connected() -> String { served() }
"""
DENIED = "permission denied: fs:read=a.txt for the library reader"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    install(tmp_path / "site", "concerto-reader", "1.0", "reader = reader_pkg", READER)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "main.conc").write_text(MAIN, encoding="utf-8")
    (folder / "a.txt").write_text("hello", encoding="utf-8")
    return folder


def run(project: Path, *words: str) -> Ended:
    return command(*words, cwd=project, PYTHONPATH=str(project.parent / "site"))


def manifest(project: Path, text: str) -> None:
    (project / "Concerto.toml").write_text(f'[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n{text}', encoding="utf-8")


def test_flags(project: Path) -> None:
    assert run(project, "run", "main.conc", "--allow-fs-read=.").out.startswith(DENIED)
    assert run(project, "run", "main.conc", "--allow-fs-read=.", "--allow-lib=reader:fs:read=a.txt").out == "hello\n"
    assert "permission denied" in run(project, "run", "main.conc", "--allow-lib=reader:fs:read").out  # nothing is widened
    unknown = run(project, "run", "main.conc", "--allow-lib=raeder:fs:read")
    assert unknown.code == 2 and "there is no library raeder" in unknown.err and "the program uses: reader" in unknown.err
    for wrong in ("reader", "reader:files", "reader:net=http://a/b", "1x:net", "reader:fs:read="):
        refused = run(project, "run", "main.conc", f"--allow-lib={wrong}")
        assert refused.code == 2 and "--allow-lib" in refused.err, wrong


VECTORS = {"vectors_pkg/mod.conc": """\
embedder E { provider: offline, base: "e-1" }
pub fn made(text: String) -> String {
    match E.embed(text) { Ok(v) => "made", Err(AgentError::PermissionDenied { message, .. }) => message, Err(e) => "other" }
}
pub fn all(text: String) -> String { match E.embed_all([text]) { Ok(v) => "made", Err(e) => e.message } }
"""}


def test_an_embedder_of_a_library_that_may_call_no_models_gives_an_error(project: Path) -> None:
    install(project.parent / "site", "concerto-vectors", "1.0", "vectors = vectors_pkg", VECTORS)
    text = "use lib::vectors::{made, all};\nfn main() { println(made(\"a\")); println(all(\"a\")); }\n"
    (project / "main.conc").write_text(text, encoding="utf-8")
    assert run(project, "run", "main.conc", "--offline").out == "made\nmade\n"
    refused = run(project, "run", "main.conc", "--offline", "--allow-lib=vectors:no-models")
    assert refused.code == 0 and refused.out.count("permission denied: models=E for the library vectors") == 2


MODULE = "import concerto.importer, main; print(main.through('a.txt'))"
SERVED = """
import sys
from concerto.cli import serve
from concerto.cli.main import parsed
from concerto.cli.verbs import BY_NAME
words, beside = serve.words_of(sys.argv[1:])
arguments = parsed(BY_NAME["serve"], serve, words, "", {**beside, "alone": False})
program = serve.program_of(arguments)
with program.session(**serve.session_options(arguments, program)) as session:
    print(session.call("through", "a.txt"))
"""


def python(project: Path, script: str, *words: str) -> str:
    made = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project.parent / "site"), str(project)])}
    command = [sys.executable, "-c", script, *words]
    ended = subprocess.run(command, cwd=project, env=made, capture_output=True, text=True, timeout=60)
    return ended.stdout.strip() or ended.stderr


def test_a_module_a_test_of_pytest_and_a_server_grant_what_the_manifest_grants(project: Path) -> None:
    tested = '\n@test("it reads") fn reads() { assert_eq(load("a.txt"), "hello"); }\n'
    (project / "main.conc").write_text(MAIN + tested, encoding="utf-8")
    collected = "import sys, pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'main.conc']))"
    manifest(project, "[permissions]\nfs_read = true\n")
    assert python(project, MODULE).startswith(DENIED) and python(project, SERVED, "main.conc").startswith(DENIED)
    assert run(project, "test").code == 1 and "1 failed" in python(project, collected)
    # A table of a library that is not used says nothing.
    more = '[permissions.lib.reader]\nfs_read = ["a.txt"]\n[permissions.lib.other]\nnet = true\n'
    manifest(project, f"[permissions]\nfs_read = true\n{more}")
    assert python(project, MODULE) == "hello"
    assert python(project, SERVED, "main.conc") == "hello"
    assert run(project, "test").code == 0 and "1 passed" in python(project, collected)


def test_flags_of_a_server(project: Path) -> None:
    words = ("main.conc", "--allow-fs-read=.")
    assert python(project, SERVED, *words).startswith(DENIED)
    assert python(project, SERVED, *words, "--allow-lib=reader:fs:read=a.txt") == "hello"
    assert "there is no library other" in python(project, SERVED, *words, "--allow-lib=other:net")


def test_the_manifest(project: Path) -> None:
    manifest(project, "[permissions]\nfs_read = true\n")
    assert run(project, "run").out.startswith(DENIED)
    manifest(project, '[permissions]\nfs_read = true\n[permissions.lib.reader]\nfs_read = ["a.txt"]\nmodels = false\n')
    assert run(project, "run").out == "hello\n"
    manifest(project, "[permissions.lib.reader]\nfs = true\n")
    assert "permission denied" in run(project, "run").out
    for table, part in (
        ("[permissions]\nlib = 3\n", "holds tables"),
        ("[permissions.lib]\nreader = true\n", "is a table with the name of a library"),
        ("[permissions.lib.reader]\nfs_raed = true\n", "has no key `fs_raed`"),
        ("[permissions.lib.reader]\nmodels = 1\n", "true or false"),
        ('[permissions.lib.reader]\nnet = ["http://a/"]\n', "no host"),
    ):
        manifest(project, table)
        refused = run(project, "check", "main.conc")
        assert refused.code == 65 and part in refused.err, refused.err


def test_an_image_needs_no_installation_and_says_what_it_holds(project: Path) -> None:
    assert run(project, "compile", "main.conc", "-o", "p.concb").code == 0
    done = command("run", "p.concb", "--allow-fs-read=.", "--allow-lib=reader:fs:read", cwd=project)
    assert done.out == "hello\n"
    facts = json.loads(command("inspect", "p.concb", "--json", cwd=project).out)
    (library,) = facts["libraries"]
    assert (library["name"], library["version"], library["distribution"]) == ("reader", "1.0", "concerto-reader")
    assert library["wanted_permissions"] == ["fs:read", "fs:write=out.txt", "net=127.0.0.1:9", "run=nothing-such"]
    assert facts["wanted_permissions"] == ["fs:read"] and library["mcp"] == ["Tools"]
    text = command("inspect", "p.concb", cwd=project).out
    assert "libraries:\n  reader:\n    version: 1.0\n" in text
    assert command("run", "main.conc", cwd=project).code == 65  # its source needs the library


def test_positions_of_panics(project: Path) -> None:
    (project / "main.conc").write_text("fn main() { println(lib::reader::fails([1])); }\n", encoding="utf-8")
    done = run(project, "run", "main.conc")
    assert done.code == 1 and "lib/reader/mod.conc:3:" in done.err and "main.conc:1:" in done.err


def program(project: Path, monkeypatch: pytest.MonkeyPatch) -> concerto.Program:
    monkeypatch.syspath_prepend(str(project.parent / "site"))
    monkeypatch.chdir(project)
    return concerto.compile(path=project / "main.conc")


def test_a_host_of_python_grants(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = program(project, monkeypatch)
    grant = concerto.Permissions(fs_read=True)
    with made.session(permissions=grant) as session:
        assert session.call("own", "a.txt") == "hello"
        assert session.call("through", "a.txt") == (
            f"{DENIED} (grant it with permissions=Permissions(fs_read=('a.txt',), "
            "lib={'reader': Permissions(fs_read=('a.txt',))}))"
        )
    with made.session(permissions=concerto.Permissions(fs_read=True, lib={"reader": grant})) as session:
        assert session.call("through", "a.txt") == "hello"


def test_a_host_of_python_hears_of_mistakes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ({"lib": 3}, {"lib": {"a-b": concerto.Permissions()}}, {"lib": {"reader": True}}, {"models": 1}):
        with pytest.raises(ValueError):
            concerto.Permissions(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there is no library raeder"):
        program(project, monkeypatch).session(permissions=concerto.Permissions(lib={"raeder": concerto.Permissions()}))


def test_a_declared_process_has_the_rights_of_its_library(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = program(project, monkeypatch)
    with made.session(permissions=concerto.Permissions(run=True)) as session:
        assert session.call("connected").startswith("permission denied: run=nothing-such for the library reader")
    with made.session(permissions=concerto.Permissions(run=True, lib={"reader": concerto.Permissions(run=True)})) as session:
        assert "permission denied" not in session.call("connected")


def test_links_that_leave_what_a_library_may_read(project: Path) -> None:
    (project / "in").mkdir()
    (project / "in" / "out.txt").symlink_to(project / "a.txt")
    (project / "main.conc").write_text('fn main() { println(lib::reader::load("in/out.txt")); }\n', encoding="utf-8")
    assert "permission denied" in run(project, "run", "main.conc", "--allow-fs-read=.", "--allow-lib=reader:fs:read=in").out
    assert run(project, "run", "main.conc", "--allow-fs-read=.", "--allow-lib=reader:fs:read=.").out == "hello\n"


def test_what_all_of_several_may() -> None:
    texts = ["net=a.org", "net=127.0.0.1:80", "env=A", "env=B", "lib=one:net", "lib=one:env=A", "lib=two:env=A"]
    run = Permissions.of_texts(texts)
    one, two, both = (Limited(run, names) for names in (("one",), ("two",), ("one", "two")))
    assert one.allows_host("a.org", 80) and not one.allows_host("b.org", 80) and not two.allows_host("a.org", 80)
    assert one.names_host("127.0.0.1", 80) and not two.names_host("127.0.0.1", 80)
    assert [p.allows_variable("A") for p in (one, two, both)] == [True] * 3
    assert not any(p.allows_variable("B") for p in (one, two, both)) and not both.allows_host("a.org", 80)
    assert not Limited(run, ("unnamed",)).allows_variable("A") and Limited(run, ("unnamed",)).models
    for wrong in ("lib=one", "lib=one:", "lib=:net", "lib=one:fs", "lib=1:net"):
        with pytest.raises(Malformed):
            Permissions.of_texts([wrong])


def test_the_way_to_models_names_the_library_that_has_none() -> None:
    run = Permissions.of_texts(["lib=two:no-models"])
    assert Limited(run, ("one", "two")).way("models", "", "M") == "models = true under [permissions.lib.two]"
    run.in_python = True
    assert Limited(run, ("one", "two")).way("models", "", "M") == "permissions=Permissions(lib={'two': Permissions(models=True)})"


def test_every_kind_of_effect_is_limited_or_keeps_the_session() -> None:
    assert set(FAMILIES) >= OF_SESSION >= OF_MODELS
    assert set(FAMILIES) - OF_SESSION >= {"env", "file", "http", "command", "store"}
