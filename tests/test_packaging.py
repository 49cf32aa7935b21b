"""The wheel holds every package of the tree, and the repository's folders are no top-level imports."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest
from concerto.runtime import errors
from concerto.runtime.errors import install_advice

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = PROJECT["tool"]["setuptools"]["packages"]
FOLDERS = sorted({name.split(".")[1] for name in PACKAGES if "." in name})
# Tools of the suite's authors: the second evaluator and the maker of programs.
STAY_HERE = ("concerto.conformance.generator", "concerto.conformance.oracle", "concerto.conformance.oracle.library")


def test_every_package_is_listed() -> None:
    assert PROJECT["tool"]["setuptools"]["package-dir"] == {"concerto": "."}
    found = {"concerto"}
    for folder in FOLDERS:
        for init in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join(("concerto", *init.parent.relative_to(ROOT).parts)))
    assert found - set(STAY_HERE) == set(PACKAGES)


def test_versions_agree() -> None:
    from concerto.cli.version import VERSION

    assert PROJECT["project"]["version"] == VERSION
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = next(line for line in changelog.splitlines() if line.startswith("## "))
    assert newest.split()[1] in ("Unreleased", VERSION)


def test_folders_are_not_importable_by_their_own_names(tmp_path: Path) -> None:
    names = set(FOLDERS)
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
    program = "import sys; sys.modules['pygls'] = None\nfrom concerto.cli.main import main\nsys.exit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", program], input="", capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"the language server needs the library pygls, which is not installed: {install_advice('lsp')}\n"
    assert "lsp" in PROJECT["project"]["optional-dependencies"]


EXTRAS = PROJECT["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - {"dev"}))
def test_the_advice_names_what_the_extra_lists(extra: str) -> None:
    """Nothing is published: the libraries are, so the command works from a checkout and with a wheel."""
    if extra not in (metadata(errors.DISTRIBUTION).get_all("Provides-Extra") or ()):
        pytest.skip("this install is older than the extra")
    words = shlex.split(install_advice(extra))
    assert words[:4] == ["python", "-m", "pip", "install"]
    installed = {canonical(word)[0] for word in words[4:]}  # by the metadata, which may be of an earlier install
    assert canonical(EXTRAS[extra][0])[0] in installed and installed <= {canonical(row)[0] for row in EXTRAS[extra]}


def test_the_advice_without_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "DISTRIBUTION", "no-such-distribution")
    assert install_advice("lsp") == "install what the extra `lsp` in pyproject.toml lists"


def test_no_text_tells_of_an_index_that_has_nothing() -> None:
    texts = [path for folder in [*FOLDERS, "docs", "examples"] for path in (ROOT / folder).rglob("*")]
    texts = [path for path in texts if path.suffix in (".py", ".md", ".conc")]
    named = [str(path) for path in texts if re.search(rb"pip install '?concerto-lang", path.read_bytes())]
    assert len(texts) > 300 and named == []


def canonical(requirement: str) -> tuple[str, frozenset[str]]:
    name = re.match(r"[A-Za-z0-9_.\[\]-]+", requirement)
    assert name is not None
    return name[0], frozenset(requirement[name.end() :].split(","))


# A module that is imported, and the distribution that has it.
DISTRIBUTIONS = {
    "genai_prices": "genai-prices", "opentelemetry": "opentelemetry-sdk", "mcp_types": "mcp-types", "google": "google-auth",
    "acp": "agent-client-protocol", "prometheus_client": "prometheus-client",
}  # fmt: skip


def test_every_library_that_is_imported_is_declared() -> None:
    """Under `dependencies`, or in an extra; what another library brings along may be gone in its next version."""
    listed = [*PROJECT["project"]["dependencies"], *(row for extra, rows in EXTRAS.items() if extra != "dev" for row in rows)]
    declared = {canonical(row)[0].partition("[")[0] for row in listed}
    imported: dict[str, str] = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if not {"oracle", "generator", "drivers"} & set(path.relative_to(ROOT).parts):
                imported |= {name: str(path) for name in libraries_of(path)}
    assert {name: path for name, path in imported.items() if DISTRIBUTIONS.get(name, name) not in declared} == {}
    assert {"httpx2", "msgpack", "ply", "mcp", "pygls"} <= set(imported)


def libraries_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module).partition(".")[0])
    own = {"concerto", "conformance"}
    return {name for name in found if name not in sys.stdlib_module_names and name not in own and not name.startswith("_")}


def test_the_metadata_of_the_wheel() -> None:
    project = PROJECT["project"]
    assert project["license"] == "Apache-2.0" and project["license-files"] == ["LICENSE"]
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.split()[:5] == ["Apache", "License", "Version", "2.0,", "January"] and "END OF TERMS AND CONDITIONS" in text
    assert all(url.startswith("https://") for url in project["urls"].values()) and "Repository" in project["urls"]
    pythons = {row.rpartition(" ")[2] for row in project["classifiers"] if re.search(r":: 3\.\d+$", row)}
    assert project["requires-python"] == ">=3.11" and {"3.11", "3.12", "3.13"} <= pythons
    assert not [row for row in project["classifiers"] if row.startswith("License ::")], "the SPDX expression says it"
    assert len(project["keywords"]) > 5 and project["description"]


def test_the_long_description_stands_alone() -> None:
    """A link into the repository leads nowhere from a package index."""
    assert PROJECT["project"]["readme"] == "docs/package.md"
    text = (ROOT / "docs" / "package.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert [link for link in links if not link.startswith("https://")] == []


def test_the_program_of_the_long_description_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "package.md").read_text(encoding="utf-8")
    program = re.findall(r"```\n(.*?)```", text, re.S)[0]
    (tmp_path / "ticket.conc").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "concerto", "run", "ticket.conc", "--offline"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_the_wheel_is_pure_python() -> None:
    """Nothing of it is compiled where it is installed (V-7.6)."""
    assert not {"ext-modules", "cmdclass"} & set(PROJECT["tool"]["setuptools"])
    assert not list(ROOT.glob("setup.*"))
    assert [name.partition(">")[0] for name in PROJECT["build-system"]["requires"]] == ["setuptools"]
    compiled = {".c", ".cc", ".cpp", ".pxd", ".pyd", ".pyx", ".rs", ".so"}
    assert not [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in compiled]
