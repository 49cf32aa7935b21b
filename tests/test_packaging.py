"""The wheel holds every package of the tree, and the repository's folders are no top-level imports."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = PROJECT["tool"]["setuptools"]["package-dir"]
# Tools of the suite's authors: the second evaluator and the maker of programs.
STAY_HERE = ("concerto.conformance.generator", "concerto.conformance.oracle", "concerto.conformance.oracle.library")


def test_every_package_is_listed() -> None:
    found = set()
    for package, folder in FOLDERS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / folder).parts
            found.add(".".join((package, *parts)))
    assert found - set(STAY_HERE) == set(PROJECT["tool"]["setuptools"]["packages"])


def test_versions_agree() -> None:
    from concerto.cli.version import VERSION

    assert PROJECT["project"]["version"] == VERSION
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = next(line for line in changelog.splitlines() if line.startswith("## "))
    assert newest.split()[1] in ("Unreleased", VERSION)


def test_folders_are_not_importable_by_their_own_names(tmp_path: Path) -> None:
    names = {folder.split("/")[0] for folder in FOLDERS.values()}
    assert {"compiler", "vm", "runtime", "cli", "api"} <= names
    program = f"import concerto\nfrom importlib.util import find_spec\nprint([name for name in {names!r} if find_spec(name)])"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_there_is_no_folder_called_concerto() -> None:
    # an editable install would take it for the package
    assert not (ROOT / "concerto").exists()


def test_the_wheel_holds_every_program_of_the_suite() -> None:
    folder = ROOT / "conformance"
    globs = PROJECT["tool"]["setuptools"]["package-data"]["concerto.conformance"]
    shipped = {path for glob in globs for path in folder.glob(glob) if path.is_file()}
    wanted = [path for part in ("tests", "images") for path in (folder / part).rglob("*") if path.is_file()]
    assert len(wanted) > 1000 and set(wanted) <= shipped
    assert {folder / "drivers" / "concerto.py", folder / "drivers" / "asking.py"} <= set(shipped)


def test_without_its_library_the_language_server_names_the_extra() -> None:
    program = "import sys; sys.modules['pygls'] = None\nfrom concerto.cli import main\nsys.exit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", program], input="", capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == (
        "the language server needs the library pygls, which is not installed: pip install 'concerto-lang[lsp]'\n"
    )
    assert "lsp" in PROJECT["project"]["optional-dependencies"]


def test_the_wheel_is_pure_python() -> None:
    """Nothing of it is compiled where it is installed (V-7.6)."""
    assert not {"ext-modules", "cmdclass"} & set(PROJECT["tool"]["setuptools"])
    assert not list(ROOT.glob("setup.*"))
    assert [name.partition(">")[0] for name in PROJECT["build-system"]["requires"]] == ["setuptools"]
    compiled = {".c", ".cc", ".cpp", ".pxd", ".pyd", ".pyx", ".rs", ".so"}
    assert not [path for folder in FOLDERS.values() for path in (ROOT / folder).rglob("*") if path.suffix in compiled]
