"""Every report of the compiler with a fixed code hands on a help (O-9.12): read from the source, so that a new one is seen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

COMPILER = Path(__file__).parents[2] / "compiler"
CODE = re.compile(r"[EW]\d{4}")
# Messages about Concerto.toml have the example of their key where they have no help: test_manifests.py.
SELF_TELLING = ("manifest.py", "process_tables.py", "store_tables.py", "memory_tables.py")
POSITION = 3  # of the help where it is given by position: code, place, message, help


def without_help(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("report", "error")):
            continue
        code = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if not (isinstance(code, str) and CODE.fullmatch(code)):
            continue
        if not any(keyword.arg == "help" for keyword in node.keywords) and len(node.args) <= POSITION:
            yield node.lineno, code


def test_every_report_has_a_help() -> None:
    files = [path for path in COMPILER.rglob("*.py") if path.name not in SELF_TELLING]
    found = [
        f"{path.relative_to(COMPILER)}:{line}: {code}"
        for path in files
        for line, code in without_help(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_report_without_help_is_found() -> None:
    assert list(without_help("c.report('E1001', span, 'x')\nc.report('E1002', span, 'x', help='y')")) == [(1, "E1001")]
