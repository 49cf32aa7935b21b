"""The second evaluator: small, apart from the machine, and of one opinion with every program it claims (C-12.1 to C-12.3)."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

import pytest

from conformance import suite
from conformance.records import Program
from conformance.runner import Plan, run_all

ROOT = suite.ROOT / "oracle"
LIBRARY = ROOT / "library"
HOST = suite.ROOT / "drivers" / "oracle_host.py"
DRIVER = [sys.executable, str(suite.ROOT / "drivers" / "oracle.py")]
AST_ONLY = {
    "concerto.compiler.syntax": {"ast"},
    "concerto.compiler.diagnostics": {"Diagnostics"},
    "concerto.compiler.syntax.parse": {"decode_source", "parse"},
    "concerto.compiler.source": {"Source"},
}


def lines_of_code(path: Path) -> int:
    """Lines that hold more than blanks, comments and documentation strings."""
    text = path.read_text(encoding="utf-8")
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in blank:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            held -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(held)


def test_lines_of_code_leave_out_what_says_nothing_to_python(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    text = '"""Text\nof two lines."""\n\nA = """\ntext\n"""\n\n\ndef f():\n    """Text."""\n    # comment\n    return A  # 1\n'
    path.write_text(text)
    assert lines_of_code(path) == 5


def test_the_evaluator_is_small() -> None:
    files = [path for path in ROOT.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.suffix for path in files} == {".py"}  # nothing it needs stands where lines are not counted
    assert sum(map(lines_of_code, files)) <= 2_140
    assert lines_of_code(HOST) <= 250
    assert max(len(line) for path in [HOST, *files] for line in path.read_text(encoding="utf-8").splitlines()) <= 120


def test_its_host_imports_values_and_nothing_of_the_implementation() -> None:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(HOST.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules.add(node.module or "")
    assert {name for name in modules if name.split(".")[0] not in sys.stdlib_module_names} == {"conformance.oracle.values"}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: path.name)
def test_only_the_tree_is_imported_from_the_implementation(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            module = node.module or ""
            names = {alias.name for alias in node.names}
            assert module.split(".")[0] in sys.stdlib_module_names or names <= AST_ONLY.get(module, set()), (module, names)
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            inside = path.parent if node.level == 1 else path.parent.parent
            assert inside in (ROOT, LIBRARY)


def runs(program: Program) -> bool:
    """Whether it is of levels 0 to 2 and says what running it, or its tests, shows."""
    return program.level <= 2 and program.image is None and program.operation in ("run", "test") and not program.rejects


def test_it_agrees_with_every_program_of_levels_0_to_2() -> None:
    programs, errors = suite.load()
    assert errors == []
    wanted = list(filter(runs, programs))
    outcomes, complaints = run_all(wanted, Plan(DRIVER), 1)
    assert complaints == [] and len(wanted) > 600
    differing = [(o.program.ident, o.outcome, o.failures) for o in outcomes if o.outcome != "pass"]
    assert not differing, differing[0]
