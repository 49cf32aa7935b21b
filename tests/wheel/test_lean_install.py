"""Without the SDKs of providers, and whatever else an extra brings, all runs that needs none of it; the rest says what to
install.

The environment is made of links to what is installed here, so nothing is fetched; `installed.py` does the same with pip.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgpack
import ply
import pytest

from tests.command import environment
from tests.wheel.lean_commands import COMMANDS, KEYS, prepare

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages: Concerto with its metadata, ply and msgpack."""
    site = tmp_path_factory.mktemp("site")
    (site / "concerto").symlink_to(ROOT)
    for package in (msgpack, ply):
        folder = Path(str(package.__file__)).parent
        (site / folder.name).symlink_to(folder)
    info = next(found for folder in sys.path for found in Path(folder).glob("concerto_lang-*.dist-info"))
    (site / info.name).symlink_to(info)
    return site


def test_all_runs_that_needs_no_provider(lean: Path, tmp_path: Path) -> None:
    prepare(tmp_path)
    program = "import sys\nfrom concerto.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    wrong = []
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-S", "-c", program, *command.words.split()], cwd=tmp_path, input="", capture_output=True, text=True,
            env=environment(PYTHONPATH=str(lean), **(KEYS if command.keys else {})), timeout=120,
        )  # fmt: skip
        told = done.stdout + done.stderr
        if done.returncode != command.code or command.says not in told or "internal error" in told:
            wrong.append((command.words, done.returncode, told[-400:]))
    assert wrong == []
    assert len(COMMANDS) > 30
