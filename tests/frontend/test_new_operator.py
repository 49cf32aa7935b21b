"""What a new operator costs: in a copy of compiler and machine `%%` is one row of the operators, and a row and a function of the
opcode that does it. Everything else, from the lexer to the formatter, reads the row.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BESIDE = ("__init__.py", "api", "cli", "runtime")
OPCODE = '    ("REM", k.NONE,'
OPCODE_ROW = '    ("MODULO", k.NONE, "a b -- rest", "next", "generic %%, with the sign of the right side"),\n'
MEANING = """

def MODULO(a: Any, b: Any) -> Any:
    return modulo(a, b)


def modulo(a: Any, b: Any) -> Any:
    return a - b * (a // b)
"""
ROW = '    Operator("**", "POW"'
OPERATOR = '    Operator("%%", "PERCENT2", PRODUCT, generic="MODULO", fold=lambda a, b: a % b),\n'
PROGRAM = """\
const C: Int = 1 + -7 %% 3;

fn of(a: Any, b: Any) -> Any { a %% b }

fn main() {
    let n = -7;
    emit("out", C);
    emit("out", 1 + n %% 3 * 2);
    emit("out", of(7, -3));
    if n %% 2 == 1 { emit("out", "odd"); }
}
"""
WRONG = "fn main() { let t = true %% 2; }\n"
UPDATE = "fn main() { let mut n = 5; n %%= 2; }\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in ("compiler", "vm", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    package = tmp_path / "concerto"
    package.mkdir()
    for folder in ("compiler", "vm"):
        (package / folder).symlink_to(tmp_path / folder)
    for name in BESIDE:
        (package / name).symlink_to(ROOT / name)
    return tmp_path


def python(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=tree, check=False)


def command(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python(tree, "-c", "import sys; from concerto.cli.main import main; sys.exit(main(sys.argv[1:]))", *words)


def insert(file: Path, text: str, before: str) -> None:
    whole = file.read_text(encoding="utf-8")
    assert whole.count(before) == 1
    file.write_text(whole.replace(before, text + before), encoding="utf-8")


def test_an_operator_is_one_row(copy: Path) -> None:
    insert(copy / "vm/bytecode/opcodes.py", OPCODE_ROW, OPCODE)
    with (copy / "vm/interp/ops.py").open("a", encoding="utf-8") as file:
        file.write(MEANING)
    insert(copy / "compiler/operators.py", OPERATOR, ROW)
    for generator in ("tools/gen_tables.py", "tools/gen_loop.py"):
        written = python(copy, generator)
        assert written.returncode == 0, written.stderr
    for name, text in (("main.conc", PROGRAM), ("wrong.conc", WRONG), ("update.conc", UPDATE)):
        (copy / name).write_text(text, encoding="utf-8")
    for tier in ("interp", "both"):
        done = command(copy, "run", "main.conc", "--offline", "--tier", tier)
        assert done.stdout.splitlines() == [f"[emit:out] {value}" for value in ("3", "5", "-2", "odd")], done.stderr
    refused = command(copy, "check", "wrong.conc")
    assert "error[E2002]: `%%` cannot be applied to `Bool` and `Int`" in refused.stdout + refused.stderr
    assert "write `n = n %% 2;`" in (told := command(copy, "check", "update.conc")).stdout + told.stderr, told
    formatted = command(copy, "fmt", "--check", "main.conc")
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr
