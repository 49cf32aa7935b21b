"""The documents name every example and every guide, and nothing that is not there; their commands, manifests and prompts are
those of the product. (Their programs are run by `conformance/run.py --spec docs/guide`, the snippets of Python by tests/api.)"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import concerto
import pytest
from concerto.cli.verbs import BY_NAME, Verb
from concerto.compiler.manifest import Manifest
from concerto.vm.values.errors import FAMILIES

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))
PAGES = [ROOT / "README.md", *GUIDES]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(examples/[\w./]+)`")
BLOCK = re.compile(r"```concerto\n(.*?)```", re.S)
LINK = re.compile(r"\]\(([\w./-]+\.md)\)")


def test_every_example_is_named_in_the_readme() -> None:
    there = {f"examples/{path.name}{'/' if path.is_dir() else ''}" for path in EXAMPLES.iterdir() if path.name != "__pycache__"}
    assert there - set(NAMED.findall(README)) == set()


def test_what_is_named_is_there() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        missing = [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
        dead = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
        assert (page.name, missing, dead) == (page.name, [], [])


def test_the_kinds_of_errors_are_those_of_the_table() -> None:
    text = (ROOT / "docs" / "guide" / "larger-programs.md").read_text(encoding="utf-8")
    section = text.partition("## Kinds of errors")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in section.splitlines() if line.startswith("| `")]
    variants = {family.name: ", ".join(f"`{variant}`" for variant in family.variants) for family in FAMILIES.values()}
    parents = {family.name: f"`{family.parent}`" if family.parent else "" for family in FAMILIES.values()}
    assert rows == [[f"`{name}`", parents[name], variants[name] or "none"] for name in FAMILIES]


def test_every_guide_is_linked_from_the_readme() -> None:
    assert {f"docs/guide/{page.name}" for page in GUIDES} <= set(LINK.findall(README))


# ---------------------------------------------------------------- blocks that are neither programs nor Python


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def flags_of(verb: Verb) -> set[str]:
    parser = argparse.ArgumentParser()
    parser.add_argument("-q", "--quiet")
    importlib.import_module(f"concerto.cli.{verb.module}").configure(parser)
    return {flag for action in parser._actions for flag in action.option_strings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_flags_are_there(page: Path) -> None:
    words = [line.partition("#")[0].split() for block in blocks(page, "sh") for line in block.splitlines()]
    for line in words:
        at = next((i for i, word in enumerate(line) if word.endswith("concerto")), None)
        if at is not None and "=" not in line[at + 1]:
            flags = {word.partition("=")[0] for word in line[at + 2 :] if word.startswith("-")}
            assert flags <= flags_of(BY_NAME[line[at + 1]]), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_manifests_are_read(page: Path, tmp_path: Path) -> None:
    head = '[project]\nname = "p"\nversion = "0.1.0"\nentry = "main.conc"\n\n'
    for block in blocks(page, "toml"):
        path = tmp_path / "Concerto.toml"
        path.write_text(block if "[project]" in block else head + block, encoding="utf-8")
        manifest = Manifest(str(path))
        assert [found.message for found in manifest.diagnostics.found] == []


def test_the_prompt_shows_what_the_guide_says() -> None:
    (shown,) = [block for block in blocks(ROOT / "docs" / "guide" / "larger-programs.md", "text") if block.startswith("1> ")]
    typed = [line for line in shown.splitlines() if re.match(r"\d+[>|] ", line)]
    entered = "".join(line.partition(line[re.match(r"\d+", line).end()])[2][1:] + "\n" for line in typed)  # type: ignore[union-attr]
    command = [sys.executable, "-c", "import sys; from concerto.cli.main import main; sys.exit(main(['repl', '--offline']))"]
    ended = subprocess.run(command, input=entered, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [line for line in shown.splitlines() if line not in typed]


def _blocks_of_tests() -> list[tuple[str, str]]:
    """The blocks that hold tests: `conformance/run.py` runs those with a `main`."""
    blocks = [(page.name, block) for page in PAGES for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    return [(name, block) for name, block in blocks if "@test" in block]


@pytest.mark.parametrize(("name", "block"), _blocks_of_tests())
def test_the_tests_of_the_guide_pass(name: str, block: str) -> None:
    report = concerto.compile(block).test()
    assert report.tests and not report.failed, [(one.description, one.failure) for one in report.tests]
