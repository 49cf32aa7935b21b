"""The plugin of pytest (P-2.5): tests of .conc files are those of `concerto test`, with the same verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from concerto.cli.main import main

from tests.command import environment

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "conformance" / "tests"


def run_pytest(folder: Path, *words: str, code: int = 0) -> str:
    """Run pytest in a folder as a user would, with the plugin by its entry point."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment(), timeout=300, check=False)
    assert done.returncode == code and "INTERNALERROR" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.stdout + done.stderr


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".conc")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


TWO = """
fn two() -> Int {
    emit("seen", { "a": 2 });
    println("printed");
    2
}

@test("two is three")
fn is_three() {
    assert_eq(two(), 3);
}

@test("two is two")
fn is_two() { assert_eq(two(), 2); }

@test("nobody reads")
@expect_fail("permission denied")
fn reads() { std::fs::read_file("two.conc")?; }
"""


def test_a_failure_names_its_place_and_shows_what_was_emitted(tmp_path: Path) -> None:
    write(tmp_path, two=TWO)
    told = run_pytest(tmp_path, code=1)
    assert "1 failed, 2 passed" in told
    assert ">       assert_eq(two(), 3);\nE   assertion failed: 2 != 3\n\ntwo.conc:10:5\n" in told
    assert "Captured emits call" in told and "[emit:seen] {'a': 2}" in told and "Captured stdout call" in told
    assert "FAILED two.conc::two is three - assertion failed: 2 != 3" in told


def test_an_error_tells_its_way(tmp_path: Path) -> None:
    write(tmp_path, way='fn read() -> Result<String> { std::fs::read_file("x") }\n\n@test("d")\nfn f() { read()?; }\n')
    told = run_pytest(tmp_path, code=1)
    assert "E   permission denied: fs:read=x (grant it with permissions=Permissions(fs_read=('x',)))" in told
    assert "way.conc:1:31\n  at read (way.conc:1:31)\n  at f (way.conc:4:10)\n" in told


@pytest.mark.parametrize("words", [["-k", "two and not three"], ["-k", "is_two"], ["pair.conc::nobody reads"]])
def test_tests_are_chosen_by_description_and_function(tmp_path: Path, words: list[str]) -> None:
    write(tmp_path, pair=TWO)
    assert "1 passed" in run_pytest(tmp_path, *words)


def test_the_run_is_offline_unless_it_is_said(tmp_path: Path) -> None:
    asks = 'model M { provider: openai, base: "m" }\n@test("a")\nfn a() { assert_eq(M.execute("x")?.text, "offline: x"); }\n'
    write(tmp_path, asks=asks)
    run_pytest(tmp_path)
    assert "OPENAI_API_KEY is not set" in run_pytest(tmp_path, "--concerto-online", code=1)


def test_a_conftest_gives_options_and_the_manifest_permissions(tmp_path: Path) -> None:
    head = '[project]\nname = "p"\nversion = "0.1.0"\nentry = "main.conc"\n'
    (tmp_path / "Concerto.toml").write_text(head + '[permissions]\nfs_read = ["in.txt"]\n')
    (tmp_path / "in.txt").write_text("in")
    write(tmp_path, main=(
        'model M { provider: openai, base: "m" }\n'
        '@test("a") fn a() { assert_eq(M.execute(std::fs::read_file("in.txt")?)?.text, "scripted"); }\n'
        "fn main() {}\n"
    ))  # fmt: skip
    (tmp_path / "conftest.py").write_text('def pytest_concerto_options(path):\n    return {"offline_script": ["scripted"]}\n')
    run_pytest(tmp_path)
    (tmp_path / "conftest.py").write_text('def pytest_concerto_options(path):\n    return {"emit_mode": 5}\n')
    assert "TypeError: tests have no emit_mode" in run_pytest(tmp_path, code=1)


def test_pins_are_those_beside_the_manifest(tmp_path: Path) -> None:
    manifest = '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n'
    source = 'mcp Tools { transport: "stdio", command: "nothing-such" }\nfn main() {}\n@test("it is") fn t() { assert(true); }\n'
    (tmp_path / "Concerto.toml").write_text(manifest)
    (tmp_path / "main.conc").write_text(source)
    assert "1 passed" in run_pytest(tmp_path)
    (tmp_path / "Concerto.pins.json").write_text("[]")
    assert "it is no file of pins" in run_pytest(tmp_path, code=1)


def test_a_module_is_tested_once_in_its_program(tmp_path: Path) -> None:
    """A test of the module calls the module's own private function, and what only the program declares is there."""
    write(
        tmp_path,
        main='mod shop;\nfn main() {}\n@test("whole") fn whole() { assert_eq(shop::price(), 3); }\n',
        shop='use crate::TAX;\npub fn price() -> Int { 2 + TAX }\n@test("part") fn part() { assert_eq(price(), 3); }\n',
    )
    (tmp_path / "main.conc").write_text((tmp_path / "main.conc").read_text() + "pub const TAX: Int = 1;\n")
    told = run_pytest(tmp_path, "-v")
    assert "2 passed" in told and "main.conc::whole PASSED" in told and "shop.conc::part PASSED" in told
    assert "1 passed" in run_pytest(tmp_path, "shop.conc")


def test_a_module_of_two_programs_is_tested_in_both(tmp_path: Path) -> None:
    shop = 'pub fn price() -> Int { 2 }\n@test("part") fn part() { assert_eq(price(), 2); }\n'
    write(tmp_path, a="mod shop;\nfn main() { shop::price(); }\n", b="mod shop;\nfn main() { shop::price(); }\n", shop=shop)
    told = run_pytest(tmp_path, "-v")
    assert "2 passed" in told and "shop.conc::part [in a.conc] PASSED" in told and "shop.conc::part [in b.conc] PASSED" in told


def test_a_program_with_errors_is_told_of_and_the_others_run(tmp_path: Path) -> None:
    write(tmp_path, bad='@test("x") fn x() { nmae; }\n', two='@test("y") fn y() {}\n', none="fn main() {}\n")
    told = run_pytest(tmp_path, "--continue-on-collection-errors", code=1)
    assert "bad.conc:1:21: error[E1001]: undefined name `nmae`" in told and "Traceback" not in told
    assert "1 passed, 1 error" in told
    assert "no tests ran" in run_pytest(tmp_path, "none.conc", code=5)


def test_two_tests_of_one_description_have_names_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, same='@test("x") fn a() {}\nmod inner { @test("x") fn b() {} }\n')
    told = run_pytest(tmp_path, "-v")
    assert "same.conc::x PASSED" in told and "same.conc::x [2] PASSED" in told


def test_it_costs_nothing_where_no_program_is(tmp_path: Path) -> None:
    """pytest imports the plugin, and the plugin nothing of the compiler and the runtime."""
    (tmp_path / "test_x.py").write_text(
        "import sys\ndef test_x():\n"
        "    loaded = [name for name in sys.modules if name.startswith('concerto')]\n"
        "    assert sorted(loaded) == ['concerto', 'concerto.api', 'concerto.api.pytest_plugin']\n"
    )
    assert "1 passed" in run_pytest(tmp_path)


def test_the_product_does_not_import_pytest() -> None:
    program = "import sys, concerto\nconcerto.compile('fn main() {}').test()\nassert 'pytest' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def programs_with_tests() -> list[Path]:
    """The programs of the suite that are one file with tests and no error."""
    chosen = []
    for path in sorted(SUITE.rglob("*.conc")):
        text = path.read_bytes()
        if b"\n@test" in text and not any(part in text for part in (b"//=====", b"//-----", b"// error")):
            chosen.append(path)
    return chosen


def test_the_suite_has_the_verdicts_of_concerto_test(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    verdicts: dict[str, list[tuple[str, bool]]] = {}
    for number, path in enumerate(programs_with_tests()):
        copy = tmp_path / f"p{number}.conc"
        copy.write_bytes(path.read_bytes())
        code = main(["test", str(copy), "--offline", "--json", "--quiet"])
        told = capfd.readouterr().out
        if code not in (0, 1):
            copy.unlink()  # an error that no comment on its own line tells of
            continue
        verdicts[copy.name] = [(row["description"], row["passed"]) for row in json.loads(told)]
    assert len(verdicts) > 40 and sum(map(len, verdicts.values())) > 70
    assert {passed for rows in verdicts.values() for _, passed in rows} == {True, False}

    run_pytest(tmp_path, "--junitxml=out.xml", code=1)
    found: dict[str, list[tuple[str, bool]]] = {name: [] for name in verdicts}
    for case in ElementTree.parse(tmp_path / "out.xml").iter("testcase"):
        file = f"{str(case.get('classname')).removesuffix('.conc')}.conc"
        found[file].append((str(case.get("name")), case.find("failure") is None))
    assert {name: names(rows) for name, rows in found.items()} == {name: names(rows) for name, rows in verdicts.items()}


def names(rows: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Descriptions as pytest names them, without its numbers for equal ones."""
    return [(" ".join(text.partition(" [")[0].split()), passed) for text, passed in rows]
