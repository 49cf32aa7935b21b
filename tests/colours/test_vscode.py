"""The extension of Visual Studio Code: its own tests, the server it starts among them, and the package it makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from concerto.colours.classes import CLASSES
from concerto.lsp.semantic import SHADES

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "vscode"

pytestmark = pytest.mark.skipif(
    shutil.which("npm") is None or not (FOLDER / "node_modules").is_dir(), reason="needs npm and its packages (make servers)"
)


def npm(*words: str, **more: str) -> str:
    done = subprocess.run(
        ["npm", "--silent", *words], cwd=FOLDER, env={**os.environ, **more}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_tests_pass() -> None:
    pytest.importorskip("pygls")
    command = shutil.which("concerto", path=str(Path(sys.executable).parent))
    assert command is not None
    out = npm("test", CONCERTO=command)
    assert "# fail 0" in out and "# skipped 0" in out and "it answers an editor" in out


def test_the_package_holds_what_it_needs(tmp_path: Path) -> None:
    target = tmp_path / "concerto.vsix"
    npm("run", "package", "--", "--out", str(target))
    with zipfile.ZipFile(target) as packed:
        names = {name.removeprefix("extension/") for name in packed.namelist()}
        manifest = json.loads(packed.read("extension/package.json"))
        assert len(packed.read("extension/dist/extension.js")) < 1_000_000
    gives = manifest["contributes"]
    wanted = [manifest["main"], gives["grammars"][0]["path"], gives["languages"][0]["configuration"]]
    assert {path.removeprefix("./") for path in wanted} <= names
    assert not [name for name in names if "node_modules" in name or name.startswith("src")]


def test_semantic_tokens_have_the_colours_of_the_grammar() -> None:
    """O-9.55: what comes from the server after a moment does not change what the grammar has coloured."""
    contributes = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["contributes"]
    [one] = contributes["semanticTokenScopes"]
    assert one["language"] == "concerto"
    assert one["scopes"] == {f"{CLASSES[name].semantic}.{name}": [f"{CLASSES[name].scope}.concerto"] for name in SHADES}
    assert [row["id"] for row in contributes["semanticTokenModifiers"]] == list(SHADES)
    shared = {row.name for row in CLASSES.values() if row.semantic in ("keyword", "string", "operator")}
    assert shared == {"control", "string", "operator", *SHADES}  # these three are what editors take the types for
