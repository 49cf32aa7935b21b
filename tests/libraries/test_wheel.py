"""A library as its author makes it: `init --lib`, a wheel, an environment of its own, a program there (P-3.1 to P-3.3)."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import msgpack
import pytest
from concerto.cli.library_project import library_files

from ..command import concerto

ROOT = Path(__file__).resolve().parents[2]
BUILDERS = ("build", "hatchling")


def test_what_init_writes(tmp_path: Path) -> None:
    done = concerto("init", "--lib", "shapes", cwd=tmp_path)
    assert done.code == 0 and "pip install -e ." in done.out
    written = {str(path.relative_to(tmp_path / "shapes")) for path in (tmp_path / "shapes").rglob("*") if path.is_file()}
    assert written == set(library_files("shapes")) >= {"src/concerto_shapes/py.typed", "src/concerto_shapes/greeting.conc"}
    sources = [str(path) for path in (tmp_path / "shapes").rglob("*.conc")]
    assert concerto("fmt", "--check", *sources, cwd=tmp_path).code == 0
    assert "1 passed" in concerto("test", "src", cwd=tmp_path / "shapes").out
    again = concerto("init", "--lib", "shapes", cwd=tmp_path)
    assert again.code == 1 and "pyproject.toml is already there" in again.err


@pytest.mark.parametrize("name", ["My-Lib", "std", "lib", "crate", "match", "class", "concerto", "2x", "é", "a.b", "a b", "_"])
def test_names_that_are_refused(tmp_path: Path, name: str) -> None:
    done = concerto("init", "--lib", name, cwd=tmp_path)
    assert done.code == 2 and "concerto init:" in done.err and not list(tmp_path.iterdir())


def test_other_languages_would_add_it(tmp_path: Path) -> None:
    done = concerto("add", "shapes", cwd=tmp_path)
    assert done.code == 2 and "pip install shapes" in done.err


@pytest.mark.skipif(not all(map(importlib.util.find_spec, BUILDERS)), reason="build and hatchling are not installed")
def test_a_wheel_in_a_clean_environment(tmp_path: Path) -> None:
    """About 8 s: the environment has the wheel and nothing else; the compiler comes from this tree."""
    concerto("init", "--lib", "shapes", cwd=tmp_path)
    project, clean = tmp_path / "shapes", tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--no-isolation"], cwd=project, check=True, capture_output=True)
    (wheel,) = (project / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(clean)], check=True)
    python = clean / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True)
    (tmp_path / "main.conc").write_text(
        'use lib::shapes::greeting::greet;\n\nfn main() {\n    println(greet("Ada"));\n}\n', encoding="utf-8"
    )
    # Behind its own packages stand those that Concerto needs, as an editable installation would have them.
    needed = f"{ROOT / '.types'}{os.pathsep}{Path(msgpack.__file__).resolve().parent.parent}"

    def run(*words: str, where: Path = python) -> subprocess.CompletedProcess[str]:
        command = [str(where), "-m", "concerto", *words]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": needed}
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)

    assert run("run", "main.conc").stdout == "Hello, Ada!\n"
    assert run("check", "main.conc").returncode == 0
    assert "1 passed" in run("test", "shapes/tests").stdout
    assert run("compile", "main.conc", "-o", "main.concb").returncode == 0
    assert "distribution: concerto-shapes\n" in run("inspect", "main.concb").stdout
    elsewhere = Path(sys.executable)
    assert run("run", "main.concb", where=elsewhere).stdout == "Hello, Ada!\n"  # no installation is needed there
    absent = run("run", "main.conc", where=elsewhere)
    assert absent.returncode == 65 and "pip install" in absent.stderr
