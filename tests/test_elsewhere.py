"""Systems without the functions of Unix: all but files and processes works, and these say what is missing (G-8.12, G-11.4).

Windows is not at hand: `elsewhere.py` takes away what it lacks and runs a program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ELSEWHERE = Path(__file__).with_name("elsewhere.py")


def elsewhere(folder: Path, code: str, **env: str) -> list[str]:
    """The lines that the code prints; it must end well and say nothing on stderr."""
    done = subprocess.run(
        [sys.executable, str(ELSEWHERE), code], cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, **env}
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def test_every_module_is_imported(tmp_path: Path) -> None:
    """All but those of the MCP SDK, which bring what they need of a system themselves."""
    packages = tomllib.loads((ELSEWHERE.parents[1] / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    wanted = [name for name in packages if name not in ("concerto.conformance", "concerto.runtime.mcp")]
    code = f"""
import importlib, pkgutil
count = 0
for package in {wanted!r}:
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
        if not module.ispkg and "__main__" not in module.name and module.name != "concerto.serve.mcp_server":
            importlib.import_module(module.name)
            count += 1
print(count > 300)
"""
    assert elsewhere(tmp_path, code) == ["True"]


def test_the_host_api(tmp_path: Path) -> None:
    """Calls, a durable memory that a second session reads, tasks, tools of the host, time limits, a saved state."""
    code = """
import concerto
SOURCE = '''
memory log: Memory = Memory::new().store("durable");
hashmap seen: HashMap<String, Int> = HashMap::new();
tool Lab { description: "d", @describe("m") @param("n", "n") pub fn m(self, n: Int) -> Result<Int, ToolError> { Ok(n) } }
model M { provider: offline, tools: [Lab] }
pub async fn ask(q: String) -> Result<String, AgentError> { seen.set(q, 1); Ok(M.with_memory(log).execute(q)?.text) }
pub fn kept() -> Int { log.len() }
pub fn measure(n: Int) -> Result<Int, ToolError> { Lab.m(n) }
async fn one(n: Int) -> Int { std::time::sleep(1); n }
pub async fn both() -> Int { let (a, b) = await (one(1), one(2)); a + b }
pub fn forever() -> Int { loop { } }
'''
open("main.conc", "w").write(SOURCE)
program = concerto.compile(path="main.conc")
for turn in (1, 2):
    with program.session(offline=True) as session:
        session.register_tool("Lab", "m", lambda n: n * 2)
        print(session.call("ask", "hi"), session.call("kept"), session.call("measure", 4), session.call("both"))
        state = session.dump()
with program.session(offline=True, budgets=concerto.Budgets(seconds=0.3)) as session:
    session.restore(state)
    try:
        session.call("forever")
    except concerto.Panic as panic:
        print(panic.code)
"""
    assert elsewhere(tmp_path, code) == ["offline: hi 2 8 3", "offline: hi 4 8 3", "P102"]
    assert (tmp_path / ".concerto" / "memory.db").exists()


VERBS = """
import sys
from concerto.cli.main import main
def run(*words):
    sys.stdout.flush()
    try:
        code = main(list(words))
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    print("->", words[0], code)
open("a.conc", "w").write('fn main() {\\n    println("hello");\\n}\\n')
run("check", "a.conc")
run("run", "a.conc", "--offline")
run("run", "a.conc")
run("compile", "a.conc", "-o", "a.concb")
run("run", "a.concb", "--offline")
run("fmt", "--check", "a.conc")
open("t.conc", "w").write('@test("t") fn t() { assert(true); }')
run("test", "t.conc")
run("inspect", "a.concb")
run("disasm", "a.concb")
run("init", "made")
run("repl")
"""


def test_the_verbs(tmp_path: Path) -> None:
    lines = elsewhere(tmp_path, VERBS)
    ended = [line.split()[1:] for line in lines if line.startswith("-> ")]
    assert [code for _, code in ended] == ["0"] * 11, lines
    assert lines.count("hello") == 3


def test_the_suite_runs(tmp_path: Path) -> None:
    code = "from concerto.cli.main import main; print(main(['conformance', '--filter', 'L-5.2.1']))"
    assert elsewhere(tmp_path, code)[-1] == "0"


MERGED = "from concerto.cli.main import main; import sys; sys.stderr = sys.stdout; "
FILES = """
fn main() {
    match std::fs::read_file("a.txt") { Err(e) => println(e.variant, e.message), Ok(_) => println("read") }
    println(std::fs::write_file("b.txt", "b").unwrap_err().variant);
    println(std::fs::list_dir(".").unwrap_err().variant);
    println(std::tools::FileTool.read("a.txt").is_err());
    println(std::fs::exists("a.txt"));
}
"""


def test_files_are_unsupported(tmp_path: Path) -> None:
    (tmp_path / "main.conc").write_text(FILES)
    (tmp_path / "a.txt").write_text("a")
    code = MERGED + "main(['run', 'main.conc', '--offline', '--allow-all'])"
    lines = elsewhere(tmp_path, code)
    assert lines[0].startswith("Unsupported std::fs needs O_NOFOLLOW, O_DIRECTORY, ") and "WSL" in lines[0]
    assert lines[1:4] == ["Unsupported", "Unsupported", "true"]
    assert lines[4].startswith("panic[P013]: std::fs needs ")
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "main.conc"], "nothing was written"


PROCESSES = """
agent Child { connector: "child" }
mcp Wiki { transport: "stdio", command: "python" }
fn main() {
    match Child.execute("hi") { Err(e) => println(e.variant, e.message), Ok(_) => println("answered") }
    match Wiki.call("x") { Err(e) => println(e.variant, e.message), Ok(_) => println("answered") }
    match ShellTool.exec("touch made") { Err(e) => println(e.variant, e.message), Ok(_) => println("ran") }
    println(std::http::get("http://127.0.0.1:9/").unwrap_err().variant);
}
"""


def test_processes_are_unsupported(tmp_path: Path) -> None:
    (tmp_path / "main.conc").write_text("use std::tools::ShellTool;\n" + PROCESSES)
    (tmp_path / "Concerto.toml").write_text(
        '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n[agents.child]\ntransport = "stdio"\ncommand = "python"\n'
    )
    code = MERGED + "main(['run', 'main.conc', '--allow-all'])"
    lines = elsewhere(tmp_path, code)
    for line in lines[:3]:
        assert line.startswith("Unsupported ") and "killpg, setsid, SIGKILL" in line and "WSL" in line, lines
    assert lines[3] == "PermissionDenied" and not (tmp_path / "made").exists()
