"""What the documents say of the tree is there: paths, names in files, the drawing of the rooms and the order of their folders."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from ..test_architecture import ALLOWED, LAYERS, ROOMS

ROOT = Path(__file__).parents[2]
INSIDE = ROOT / "docs" / "guide" / "inside.md"
TOP = (*ROOMS, "benches", "docs", "editors", "examples", "tests", "tools")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PATH = re.compile(rf"(?:{'|'.join(TOP)})/[\w./*-]*")
PAIR = re.compile(r"([\w./-]+\.py): ([\w.]+)")
NEW = re.compile(r"new file `[^`]+`")  # of a recipe
HISTORY = {"CHANGELOG.md"}  # tells of the past


def pages() -> list[Path]:
    top = [path for path in ROOT.glob("*.md") if path.name not in HISTORY]
    folders = [path for name in TOP for path in (ROOT / name).rglob("*.md") if "node_modules" not in path.parts]
    return sorted(top + folders)


def paths_in(text: str) -> list[str]:
    """Words in backticks that look like paths into the tree. What follows a colon or stands for a name to choose is no part."""
    words = [code.partition(": ")[0] for code in CODE.findall(NEW.sub("", text))]
    return [word.rstrip("/.") for word in words if PATH.fullmatch(word)]


def is_there(path: str, page: Path) -> bool:
    """From the root, or from the folder of the page."""
    return any(next(base.glob(path), None) is not None for base in (ROOT, page.parent))


@cache
def names_of(path: Path) -> set[str]:
    """Functions, classes and assigned names at the top of a module, and the functions of its classes as `Class.name`."""
    found: set[str] = set()
    if not path.exists():
        return found
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            functions = (inner for inner in node.body if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef))
            found.update(f"{node.name}.{inner.name}" for inner in functions)
        if isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_paths_of_a_page_exist(page: Path) -> None:
    missing = [path for path in paths_in(page.read_text(encoding="utf-8")) if not is_there(path, page)]
    assert missing == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_names_of_a_page_are_in_their_files(page: Path) -> None:
    pairs = [found.groups() for code in CODE.findall(page.read_text(encoding="utf-8")) if (found := PAIR.fullmatch(code))]
    assert [f"{path}: {name}" for path, name in pairs if name not in names_of(ROOT / path)] == []


MODULE = re.compile(r"`([\w/]+\.py)`")


def test_the_files_that_the_code_speaks_of_exist() -> None:
    """In docstrings and comments: a path from the root, from the room, or the bare name of a neighbour."""
    missing = []
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        room = ROOT / path.relative_to(ROOT).parts[0]
        for name in MODULE.findall(path.read_text(encoding="utf-8")):
            if not any((base / name).exists() for base in (ROOT, room, path.parent)):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert missing == []


def test_what_is_missing_is_found() -> None:
    assert paths_in("see `vm/nothing.py: f` and `vm/values/` and `a/b.py`") == ["vm/nothing.py", "vm/values"]
    assert not is_there("vm/nothing.py", INSIDE) and is_there("vm/values", INSIDE) and is_there("vm/jit/f*.py", INSIDE)
    assert "Session.invoke" in names_of(ROOT / "runtime/session/session.py")
    assert "Session.nothing" not in names_of(ROOT / "runtime/session/session.py")


def test_the_tour_names_a_file_of_every_room_that_it_goes_through() -> None:
    text = INSIDE.read_text(encoding="utf-8")
    assert len(PAIR.findall(text)) > 50
    assert {path.partition("/")[0] for path in paths_in(text)} >= {"api", "cli", "compiler", "vm", "runtime"}


def test_the_drawing_of_the_rooms_is_that_of_the_architecture() -> None:
    (drawing,) = re.findall(r"```mermaid\n(.*?)```", INSIDE.read_text(encoding="utf-8"), re.DOTALL)
    drawn = re.findall(r'^\s*(\w+)(?:\["[^"]*"\])? --> (\w+)$', drawing, re.MULTILINE)
    allowed = {(room or "root", below.partition(".")[0] or "root") for room, targets in ALLOWED.items() for below in targets}
    assert len(drawn) == drawing.count("-->") == len(set(drawn))
    assert set(drawn) == allowed


@pytest.mark.parametrize("room", LAYERS)
def test_the_folders_of_a_room_stand_in_their_order(room: str) -> None:
    (row,) = re.findall(rf"^\| `{room}/` \| (.*) \|$", INSIDE.read_text(encoding="utf-8"), re.MULTILINE)
    folders = [entry for entry in LAYERS[room] if "/" not in entry and (ROOT / room / entry).is_dir()]
    assert row.split(", ") == folders


def test_each_question_has_one_file() -> None:
    section = INSIDE.read_text(encoding="utf-8").partition("## Where would I change")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    assert all(len(cells) == 2 and len(paths_in(cells[1])) == 1 for cells in rows)
