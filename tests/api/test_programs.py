"""compile, load, run and what they raise (O-9.39, O-9.40)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import concerto
import pytest

TEXT = """
pub fn twice(n: Int) -> Int { n * 2 }
fn main() -> Result<Nil, Error> {
    emit("out", std::env::args());
    if std::env::args().is_empty() { "x".parse_int()?; }
    Ok(nil)
}
"""


def test_a_source_text_becomes_a_program() -> None:
    program = concerto.compile(TEXT)
    assert (program.name, program.functions, program.wanted) == ("main", ("twice",), ())
    assert concerto.compile(TEXT).content_hash == program.content_hash and len(program.content_hash) == 64


def test_warnings_are_kept() -> None:
    (warning,) = concerto.compile("fn main() { let x = 1; }").warnings
    assert (warning.code, warning.severity, warning.line, warning.column) == ("W0001", "warning", 1, 17)


def test_errors_of_the_source_are_raised_with_their_places() -> None:
    with pytest.raises(concerto.CompileError) as caught:
        concerto.compile("fn main() { x; y; }")
    found = [(d.code, d.file, d.line, d.column, d.end_column) for d in caught.value.diagnostics]
    assert found == [("E1001", "main.conc", 1, 13, 14), ("E1001", "main.conc", 1, 16, 17)]
    assert "main.conc:1:13: error[E1001]" in str(caught.value)


def test_a_file_brings_the_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "main.conc").write_text('mod other; fn main() { emit("out", other::f()); }')
    (tmp_path / "other.conc").write_text("pub fn f() -> Int { 5 }")
    result = concerto.run(tmp_path / "main.conc")
    assert result.emits == [concerto.Emit("out", 5)]


def test_compile_takes_a_text_or_a_path() -> None:
    for arguments in ({}, {"source": "", "path": "x"}):
        with pytest.raises(TypeError):
            concerto.compile(**arguments)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        concerto.compile(path="/nowhere/x.conc")


def test_an_image_is_saved_and_loaded(tmp_path: Path) -> None:
    program = concerto.compile(TEXT)
    program.save(tmp_path / "x.concb")
    for loaded in (concerto.load(tmp_path / "x.concb"), concerto.load(program.to_bytes())):
        assert loaded.content_hash == program.content_hash
    assert concerto.run(tmp_path / "x.concb").exit_code == 1


def test_a_damaged_image_is_refused() -> None:
    data = bytearray(concerto.compile(TEXT).to_bytes())
    data[-1] ^= 1
    with pytest.raises(concerto.ImageError) as caught:
        concerto.load(bytes(data))
    assert caught.value.code == "V004"


def test_the_result_of_main() -> None:
    with concerto.compile(TEXT).session() as session:
        failed, done = session.run(), session.run("a", "b")
    assert not failed.ok and failed.exit_code == 1 and isinstance(failed.error, concerto.ErrorValue)
    assert (failed.error.kind, failed.error.fields) == ("ParseError", {"input": "x"})
    assert (done.ok, done.value, done.error, done.exit_code) == (True, None, None, 0)
    assert done.emits == [concerto.Emit("out", ["a", "b"])] and done.metrics.emit_count == 2


def test_a_panic_is_in_the_result() -> None:
    result = concerto.run(concerto.compile("fn main() {\n  let xs = [1];\n  let i = 3;\n  print(xs[i]);\n}"))
    assert isinstance(result.error, concerto.Panic) and (result.error.code, result.exit_code) == ("P004", 1)
    assert result.error.trace == (concerto.Frame("main", "main.conc", 4, 9),)
    assert str(result.error).endswith("\n  at main (main.conc:4:9)")


def test_a_denied_permission_has_the_exit_code_of_the_command() -> None:
    """L-5.14.3"""
    panicked = concerto.run(concerto.compile('fn main() { let x = env("HOME"); println("${x}"); }'))
    assert isinstance(panicked.error, concerto.Panic) and (panicked.error.code, panicked.exit_code) == ("P407", 77)
    failed = concerto.run(concerto.compile('fn main() -> Result<Nil, Error> { println(std::fs::read_file("x")?); Ok() }'))
    assert isinstance(failed.error, concerto.ErrorValue) and (failed.error.variant, failed.exit_code) == ("PermissionDenied", 77)


def test_arun_runs_within_a_loop() -> None:
    async def both() -> list[concerto.RunResult]:
        program = concerto.compile(TEXT)
        return [await concerto.arun(program), await concerto.arun(program)]

    assert [r.exit_code for r in asyncio.run(both())] == [1, 1]


def test_a_program_without_main() -> None:
    with pytest.raises(ValueError, match="no main"):
        concerto.run(concerto.compile("pub fn f() { }"))


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = concerto.nothing
    assert set(concerto.__all__) <= set(dir(concerto))
    for name in concerto.__all__:
        assert getattr(concerto, name) is not None


HEAVY = ["asyncio", "dataclasses", "typing", "openai", "anthropic", "httpx2", "concerto.compiler", "concerto.vm"]


def test_importing_costs_next_to_nothing() -> None:
    loaded = f"[m for m in {HEAVY!r} if m in sys.modules and m not in before]"
    code = f"import sys; before = set(sys.modules); import concerto; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_loading_an_image_does_not_load_the_compiler(tmp_path: Path) -> None:
    concerto.compile(TEXT).save(tmp_path / "x.concb")
    code = (
        f"import sys, concerto; r = concerto.run({str(tmp_path / 'x.concb')!r}, offline=True);"
        "print(r.exit_code, [m for m in sys.modules if m.startswith(('concerto.compiler', 'openai', 'ply'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1 []"


MANIFEST = """[project]
name = "p"
version = "1"
entry = "main.conc"
[connections.lab]
provider = "offline"
replies = ["%s"]
"""


def test_the_manifest_is_that_of_the_project_or_the_one_given(tmp_path: Path) -> None:
    source = 'model M { provider: lab, base: "m" }\npub fn ask() -> Result<String, AgentError> { Ok(M.execute("q")?.text) }\n'
    (tmp_path / "Concerto.toml").write_text(MANIFEST % "own")
    (tmp_path / "other.toml").write_text(MANIFEST % "other")
    (tmp_path / "main.conc").write_text(source)
    for program, reply in (
        (concerto.compile(path=tmp_path / "main.conc"), "own"),
        (concerto.compile(path=tmp_path / "main.conc", manifest=tmp_path / "other.toml"), "other"),
        (concerto.compile(source, manifest=tmp_path / "other.toml"), "other"),
    ):
        with program.session() as session:
            assert session.call("ask") == reply
    with pytest.raises(concerto.CompileError, match="E4003"):
        concerto.compile(source)
    with pytest.raises(FileNotFoundError):
        concerto.compile(source, manifest=tmp_path / "gone.toml")


def test_budgets_of_the_manifest(tmp_path: Path) -> None:
    """Those that the host leaves out (O-9.7, O-9.40); a program that computes meets the time limit too (G-6.1)."""
    source = "fn down(n: Int) -> Int { if n == 0 { 0 } else { 1 + down(n - 1) } }\npub fn deep() -> Int { down(50) }\n"
    source += "pub fn forever() { loop { } }"
    (tmp_path / "Concerto.toml").write_text(MANIFEST % "p" + "[budgets]\nseconds = 0.02\ndepth = 20\n")
    program = concerto.compile(source, manifest=tmp_path / "Concerto.toml")
    for budgets, code in ((None, "P012"), (concerto.Budgets(depth=100), None)):
        with program.session(budgets=budgets) as session:
            if code is None:
                assert session.call("deep") == 50
                continue
            with pytest.raises(concerto.Panic) as caught:
                session.call("deep")
            assert caught.value.code == code
    with program.session() as session:
        with pytest.raises(concerto.Panic) as caught:
            session.call("forever")
        assert caught.value.code == "P102"


def test_agents_of_a_project_run_where_its_manifest_lies(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("print(input(), flush=True); input()")
    agent = f'[agents.a]\ncommand = "{sys.executable}"\nargs = ["-S", "agent.py"]\n'
    (tmp_path / "Concerto.toml").write_text(MANIFEST % "" + agent)
    source = 'agent A { connector: a }\npub fn ask() -> Result<String, AgentError> { Ok(A.execute("q")?.text) }\n'
    (tmp_path / "main.conc").write_text(source)
    with concerto.compile(path=tmp_path / "main.conc").session(permissions=concerto.Permissions(run=True)) as session:
        assert session.call("ask") == "q"


def test_arms_that_nothing_reaches_leave_values_of_their_own() -> None:
    source = """
pub fn values() -> Array<Array<Int>> {
    let kept = [1, 2];
    let mut changed = match [5, 6] { _ => kept, all @ [first, ..rest] => [first + rest.len() + all.len()] };
    changed.push(3);
    [kept, changed]
}
pub fn text() -> String {
    match [1, 2] { all @ [a, ..r] => "${all}${a}${r}", _ => "", all @ [a, ..r] => "${all}${a}${r}", _ => "" }
}
"""
    with concerto.compile(source).session() as session:
        assert session.call("values") == [[1, 2], [1, 2, 3]]
        assert session.call("text") == "[1, 2]1[2]"


def test_what_never_gives_a_value_may_be_called_and_have_fields() -> None:
    source = """
pub fn call() -> Result<Int, String> { Ok(1 |> { throw "no"; |a: Int, b: Int| a - b }(2)) }
pub fn panics() -> Int { panic("a")(2) }
pub fn field() -> Int { panic("b").count }
"""
    with concerto.compile(source).session() as session:
        with pytest.raises(concerto.ProgramError, match="no"):
            session.call("call")
        for name, text in {"panics": "a", "field": "b"}.items():
            with pytest.raises(concerto.Panic, match=text):
                session.call(name)


def test_methods_of_a_program_may_be_called_as_those_that_attach_memories() -> None:
    source = """
memory m: Memory = Memory::new();
struct Desk { n: Int }
impl Desk {
    fn with_memory(self) -> Desk { self }
    async fn execute(self) -> Int { m.len() + self.n }
}
pub async fn both() -> (Int, Int) { let d = Desk { n: 1 }; await (d.with_memory().execute(), d.with_memory().execute()) }
"""
    with concerto.compile(source).session() as session:
        assert session.call("both") == (1, 1)
    with pytest.raises(concerto.CompileError, match="E2006"):
        concerto.compile("memory m: Memory = Memory::new(); model M { provider: offline, memory: m }\n"
                         "async fn ask() -> Any { M.with_memory().execute(\"x\") }\nasync fn main() { await (ask(), ask()); }")
