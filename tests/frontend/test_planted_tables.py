"""Parser tables planted where Python or PLY might look are never executed, not even when the own ones are stale (G-2.21)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLANTED = ("parsetab.py", "parser_tables.py", "yacctab.py", "lextab.py", "compiler.py", "generated.py", "grammar.py")
CHECK = "import sys; sys.path[:0] = {before}; {stale}; from concerto.cli.main import main; sys.exit(main(['check', 'main.conc']))"
STALE = "from concerto.compiler.generated import parser_tables as t; t._lr_signature = 'stale'; t._lr_action = {}"


def plant(folder: Path, marker: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in PLANTED:
        (folder / name).write_text(f"open({str(marker)!r}, 'w').write({name!r})\n")
    for name in ("parsetab.pickle", "parsetab", "parser_tables.pickle"):
        (folder / name).write_bytes(b"cposix\nsystem\n(Vtouch " + str(marker).encode() + b"\ntR.")


@pytest.mark.parametrize("stale", ["pass", STALE], ids=["fresh", "stale"])
def test_planted_tables_are_never_executed(tmp_path: Path, stale: str) -> None:
    marker = tmp_path / "executed"
    for folder in (tmp_path, tmp_path / "std", tmp_path / "onpath"):
        plant(folder, marker)
    (tmp_path / "Concerto.toml").write_text('[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n')
    (tmp_path / "main.conc").write_text("fn main() { }\n")
    before = ["", str(tmp_path / "onpath")]
    program = CHECK.format(before=before, stale=stale)
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not marker.exists(), marker.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["Concerto.toml", "main.conc", "std", "onpath", "parsetab.pickle", "parsetab", "parser_tables.pickle", *PLANTED]
    )
