"""The wheel holds every package of the tree, and the repository's folders are no top-level imports."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = PROJECT["tool"]["setuptools"]["package-dir"]


def test_every_package_is_listed() -> None:
    found = set()
    for package, folder in FOLDERS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / folder).parts
            found.add(".".join((package, *parts)))
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


def test_versions_agree() -> None:
    from concerto.cli.version import VERSION

    assert PROJECT["project"]["version"] == VERSION
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {VERSION}" in changelog or "## Unreleased" in changelog


def test_folders_are_not_importable_by_their_own_names() -> None:
    import concerto  # noqa: F401

    assert not {"compiler", "vm", "runtime", "cli", "api"} & set(sys.modules)


def test_there_is_no_folder_called_concerto() -> None:
    # an editable install would take it for the package
    assert not (ROOT / "concerto").exists()


def test_the_wheel_is_pure_python() -> None:
    """Nothing of it is compiled where it is installed (V-7.6)."""
    assert not {"ext-modules", "cmdclass"} & set(PROJECT["tool"]["setuptools"])
    assert not list(ROOT.glob("setup.*"))
    assert [name.partition(">")[0] for name in PROJECT["build-system"]["requires"]] == ["setuptools"]
    compiled = {".c", ".cc", ".cpp", ".pxd", ".pyd", ".pyx", ".rs", ".so"}
    assert not [path for folder in FOLDERS.values() for path in (ROOT / folder).rglob("*") if path.suffix in compiled]
