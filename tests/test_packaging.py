"""The wheel holds every package of the tree, and the repository's folders are no top-level imports."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest
from concerto.runtime import errors
from concerto.runtime.errors import install_advice, package_advice

from conformance import suite

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


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs as the wheel has them."""
    path = tmp_path_factory.mktemp("wheel") / "programs.zip"
    packing().write_archive(path)
    return path


def packing() -> Any:
    spec = importlib.util.spec_from_file_location("packing", ROOT / "tools" / "packing.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_archive_of_the_wheel_has_every_program_of_the_suite(archive: Path, tmp_path: Path) -> None:
    """C-9.5."""
    folder = ROOT / "conformance"
    wanted = {path for part in ("tests", "images") for path in (folder / part).rglob("*") if path.is_file()}
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
    assert len(wanted) > 1000 and {path.relative_to(folder).as_posix() for path in wanted} <= names
    shipped = PROJECT["tool"]["setuptools"]["package-data"]["concerto.conformance"]
    assert set(shipped) == {"programs.zip", "drivers/concerto.py", "drivers/asking.py"}
    from_files, from_archive = suite.load(), suite.load(zipfile.Path(archive))
    assert from_archive[1] == from_files[1] == []
    both = [[(one.ident, one.files, one.emits) for one in programs] for programs, _ in (from_files, from_archive)]
    assert both[0] == both[1]
    packing().write_archive(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_the_command_reads_the_archive(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from concerto.cli.main import main
    from concerto.conformance import suite as installed

    monkeypatch.setattr(installed, "TESTS", tmp_path / "none")
    monkeypatch.setattr(installed, "ARCHIVE", archive)
    assert main(["conformance", "--filter", "L-5.1.21", "--list"]) == 0 and capsys.readouterr().out.startswith("L-5.1.21 ")
    assert main(["conformance", "--filter", "L-5.1.21"]) == 0 and "PASS L-5.1.21\n" in capsys.readouterr().out
    assert installed.known_failures("concerto") == {}
    monkeypatch.setattr(installed, "ARCHIVE", tmp_path / "gone.zip")
    with pytest.raises(FileNotFoundError):
        installed.home()


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
    assert package_advice("openai") == "python -m pip install openai"


@pytest.mark.parametrize("row", PROJECT["project"]["dependencies"])
def test_the_advice_for_a_package_names_its_versions(row: str) -> None:
    name, limits = canonical(row)
    *head, requirement = shlex.split(package_advice(name))
    assert head == ["python", "-m", "pip", "install"] and canonical(requirement) == (name, limits)


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
    "acp": "agent-client-protocol", "IPython": "ipython", "prometheus_client": "prometheus-client",
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
    workflow = (ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    (matrix,) = re.findall(r"python: \[(.*)\]", workflow)
    assert project["requires-python"] == ">=3.11" and pythons == set(re.findall(r"[\d.]+", matrix))
    assert "- run: make check PYTHON=python\n" in workflow and "- run: make check-wheel\n" in workflow
    assert not [row for row in project["classifiers"] if row.startswith("License ::")], "the SPDX expression says it"
    assert len(project["keywords"]) > 5 and project["description"]


def test_what_a_public_forge_looks_for_is_there() -> None:
    named = "SECURITY.md .editorconfig .pre-commit-config.yaml .github/PULL_REQUEST_TEMPLATE.md .github/ISSUE_TEMPLATE/bug.yml"
    assert [name for name in [*named.split(), "LICENSE", "CONTRIBUTING.md"] if not (ROOT / name).is_file()] == []
    named_chapters = re.findall(r"G-(\d+)", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    chapters = re.findall(r"^## (\d+)\.", (ROOT / "docs" / "spec" / "guarantees.md").read_text(encoding="utf-8"), re.M)
    assert named_chapters and set(named_chapters) <= set(chapters)


def test_hooks_for_repositories_of_programs_are_commands() -> None:
    """`make check-wheel` runs them with pre-commit."""
    from concerto.cli.verbs import BY_NAME

    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entries = [line.split() for line in re.findall(r"^  entry: (.*)$", hooks, re.M)]
    assert [entry[:2] for entry in entries] == [["concerto", "check"], ["concerto", "fmt"]] and {"check", "fmt"} <= set(BY_NAME)


def test_the_types_of_the_package_reach_its_users() -> None:
    """PEP 561: the marker lies in the package itself, and the wheel has it."""
    assert (ROOT / "py.typed").is_file() and "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["*"]


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
