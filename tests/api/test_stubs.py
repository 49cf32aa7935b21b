"""Stubs, in the hands of mypy and pyright (P-2.3): a right program is clean, each wrong line of another is an error."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.api.declared_classes import classes_of
from concerto.api.stubs import stub_of

HERE = Path(__file__).parent / "stubs"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs, and the stub of the module that they use."""
    made = tmp_path_factory.mktemp("stubs")
    for name in ("nasty.conc", "right.py", "wrong.py"):
        shutil.copy(HERE / name, made)
    program = concerto.compile(path=made / "nasty.conc")
    (made / "nasty.pyi").write_text(stub_of(classes_of(program._linked), "nasty.conc"))
    return made


def checked_by_mypy(folder: Path, *files: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary", *files]
    environment = {"MYPYPATH": f"{folder}:{ROOT / '.types'}", "MYPY_CACHE_DIR": str(folder / "cache"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


def checked_by_pyright(folder: Path, *files: str) -> list[dict[str, Any]]:
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    if subprocess.run([sys.executable, "-m", "pyright", "--version"], capture_output=True).returncode:
        pytest.skip("pyright does not start here: it needs node, and fetches itself once")
    settings = {"extraPaths": [str(ROOT / ".types")], "reportMissingModuleSource": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["generalDiagnostics"]
    return found


def wrong_lines() -> set[int]:
    lines = (HERE / "wrong.py").read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# error")}


def test_mypy(folder: Path) -> None:
    assert checked_by_mypy(folder, "right.py", "nasty.pyi") == (0, "")
    code, text = checked_by_mypy(folder, "wrong.py")
    assert code == 1 and {int(line) for line in re.findall(r"^wrong\.py:(\d+): error", text, re.MULTILINE)} == wrong_lines()


def test_pyright(folder: Path) -> None:
    assert checked_by_pyright(folder, "right.py", "nasty.pyi") == []
    found = checked_by_pyright(folder, "wrong.py")
    assert {row["range"]["start"]["line"] + 1 for row in found if row["severity"] == "error"} == wrong_lines()


def test_the_right_program_runs_and_the_wrong_lines_are_wrong(folder: Path) -> None:
    done = subprocess.run([sys.executable, "right.py"], cwd=folder, capture_output=True, text=True)
    assert done.stderr == "" and done.stdout == "1 x 1\n1 2 1\nShape.Two(1, 'a')\n"
    program = "import concerto.importer, nasty\nliteral = nasty.Literal(int=1, str='a', list=[1], Shape=None, class_=True, "
    program += "items=['a'], type_name_=1)\n"
    lines = (HERE / "wrong.py").read_text().splitlines()
    # What a call of the program would do with each wrong argument: only an annotation knows that of what is not called.
    told = [line.strip().removesuffix("  # error") for line in lines if line.endswith("# error") and "await" not in line]
    for line in told:
        program += f"try:\n    {line}\n    print({line!r})\nexcept (TypeError, ValueError, AttributeError):\n    pass\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert done.stderr == ""
    # Values of a class are checked where it is passed to the program.
    made = ["nasty.Shape.Shape('x')", "nasty.Shape.Two(1, 'c')", "nasty.Shape.Str(int=1, data_='', type_=2)"]
    assert done.stdout.replace('"', "'").splitlines() == [repr(line).replace('"', "'").strip("'") for line in made]


def test_what_a_stub_says_is_what_the_module_has(folder: Path) -> None:
    import ast

    tree = ast.parse((folder / "nasty.pyi").read_text())
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)}
    names |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    program = "import concerto.importer, nasty; print(*nasty.__all__)"
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert {name for name in names if not name.startswith("_")} == set(done.stdout.split())
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef):
            assert node.name == "final"  # the one that is declared async


def test_a_program_without_anything() -> None:
    text = stub_of(classes_of(concerto.compile("fn main() { }")._linked), "a.conc")
    assert text.startswith("# Made by `concerto stubs a.conc`") and "class Session(concerto.Session):" in text
    compile(text, "a.pyi", "exec")
