"""The recipes of CONTRIBUTING.md work as they are written: their steps are taken in a copy of the tree, and every message that
stands there is compared with what the command says at that moment.

A step names a place, and the block behind it is what is put there. A message stands behind "`COMMAND` now says"; "`COMMAND` now
passes" asks for its exit code.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
COPIED = (
    "__init__.py", "__main__.py", "importer.py", "py.typed", "Makefile", "pyproject.toml", "api", "batches", "cli", "colours",
    "compiler", "conformance", "lsp", "notebook", "runtime", "serve", "tests", "tools", "vm", "docs/spec", "docs/generated",
    "editors",
)  # fmt: skip
EVENT = re.compile(
    r"new file `(?P<new>[^`]+)`"
    r"|at the end of [^`]*`(?P<end>[^`]+)`"
    r"|`(?P<file>[\w/.]+\.py)`, below `(?P<anchor>[^`]+)`"
    r"|replace `(?P<line>[^`]+)` in `(?P<within>[^`]+)`"
    r"|`(?P<command>[^`]+)` now (?:says\s+`(?P<message>[^`]+)`|passes)"
    r"|^ *```\w+\n(?P<block>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
RECIPES = {
    title: body
    for title, body in re.findall(r"^### (Add .*?)\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL)
    if "now says" in body
}
AFTER = {"Add a capability": "Add an effect"}  # whose example it goes on with


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("recipes") / "concerto"  # the root is the package
    for name in COPIED:
        target = made / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy2(ROOT / name, target)
    return made


@pytest.fixture
def tree(copy: Path) -> Iterator[Path]:
    """The copy, which is as it was again behind the test: what differs in time or size is written anew from the original."""
    yield copy
    (copy / "try.conc").unlink(missing_ok=True)
    for name in COPIED:
        paths = [copy / name] if (copy / name).is_file() else (copy / name).rglob("*")
        for path in [path for path in paths if path.is_file() and "__pycache__" not in path.parts]:
            original = ROOT / path.relative_to(copy)
            if not original.exists():
                path.unlink()
            elif stamp(path) != stamp(original):
                shutil.copy2(original, path)


def stamp(path: Path) -> tuple[int, int]:
    return path.stat().st_mtime_ns, path.stat().st_size


def said(tree: Path, command: str) -> tuple[str, int]:
    """What a command of a recipe prints, on either stream, and its exit code."""
    words = shlex.split(command)
    if words[0] == "make":
        (lines,) = re.findall(rf"^{words[1]}:.*\n((?:\t.*\n)+)", (tree / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        runs = [line.split()[1:] for line in lines.splitlines()]
    else:
        runs = [{"concerto": ["-m", "concerto"], "pytest": ["-m", "pytest", "-n0"], "python": []}[words[0]] + words[1:]]
    environment = {
        **os.environ, "PYTHONPATH": str(tree.parent), "TZ": "UTC", "XDG_CACHE_HOME": str(tree.parent / "cache"),
    }  # fmt: skip
    output, code = "", 0
    for arguments in runs:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tree, capture_output=True, text=True, env=environment, check=False, timeout=300
        )
        output += done.stdout + done.stderr
        code = done.returncode
        if code:
            break  # as make does
    return output, code


def put(tree: Path, place: re.Match[str], block: str) -> None:
    if place["new"]:
        path = tree / place["new"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block, encoding="utf-8")
        return
    path = tree / (place["end"] or place["file"] or place["within"])
    text = path.read_text(encoding="utf-8")
    if place["end"]:
        path.write_text(f"{text}\n\n{block}", encoding="utf-8")
        return
    lines = text.splitlines(keepends=True)
    sought = place["anchor"] or place["line"]
    (at,) = [number for number, line in enumerate(lines) if sought in line]
    lines[at if place["line"] else at + 1 : at + 1] = [block]
    path.write_text("".join(lines), encoding="utf-8")


def follow(tree: Path, recipe: str, *, compare: bool = True) -> int:
    """Takes the steps; how many messages were compared."""
    place: re.Match[str] | None = None
    compared = 0
    for event in EVENT.finditer(recipe):
        if event["block"] is not None:
            assert place is not None, "a block without a place"
            put(tree, place, re.sub(r"^   ", "", event["block"], flags=re.MULTILINE))  # the indent of the list
            place = None
        elif event["command"] is None:
            assert place is None, "a place without a block"
            place = event
        elif compare:
            output, code = said(tree, event["command"])
            came = event["message"] in output if event["message"] else code == 0
            assert came, f"{event['command']} says, with exit code {code}:\n{output[-3000:]}"
            compared += 1
    assert place is None
    return compared


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_works_as_it_is_written(title: str, tree: Path) -> None:
    if title in AFTER:
        follow(tree, RECIPES[AFTER[title]], compare=False)
    assert follow(tree, RECIPES[title]) > 1


def test_the_recipes_are_read() -> None:
    kinds = {
        "opcode", "built-in method", "method of a handle", "effect", "capability", "diagnostic", "command", "operator",
        "memory step", "eviction policy", "kind of declaration",
    }  # fmt: skip
    assert {f"Add {'an' if kind[0] in 'aeiou' else 'a'} {kind}" for kind in kinds} <= set(RECIPES)


def test_a_message_that_does_not_come_is_noticed(tree: Path) -> None:
    recipe = "new file `try.conc`:\n\n```concerto\nfn main() { println(1); }\n```\n\n`concerto run try.conc` now says `2`."
    with pytest.raises(AssertionError, match=r"says, with exit code 0:\s+1"):
        follow(tree, recipe)


def test_a_place_that_is_not_there_is_noticed(tree: Path) -> None:
    with pytest.raises(ValueError, match="unpack"):
        follow(tree, "`cli/verbs.py`, below `no such line`:\n\n```python\nx = 1\n```\n")


OPERATOR = re.compile(r'PERCENT|"%"')


def test_no_other_file_of_the_compiler_names_an_operator() -> None:
    """They read the rows of `compiler/operators.py`."""
    files = [path for path in (ROOT / "compiler").rglob("*.py") if OPERATOR.search(path.read_text(encoding="utf-8"))]
    found = {str(path.relative_to(ROOT)) for path in files}
    assert found == {"compiler/operators.py", "compiler/generated/parser_tables.py", "compiler/checker/operators.py"}
