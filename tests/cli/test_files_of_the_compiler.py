"""What the compiler opens and writes: files of the project, and the named output alone (G-5.3)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

WATCHED = """
import json, os, sys
seen = []
def heard(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        mode, flags = arguments[1:3]
        writes = (isinstance(mode, str) and any(letter in mode for letter in "wax+")) or bool(flags & (os.O_WRONLY | os.O_RDWR))
        seen.append(["write" if writes else "read", os.path.abspath(os.fsdecode(arguments[0]))])
    elif event in ("os.rename", "os.remove", "os.mkdir", "os.link", "os.symlink", "os.truncate"):
        seen.append([event, *[os.path.abspath(os.fsdecode(a)) for a in arguments[:2] if isinstance(a, (str, bytes))]])
sys.addaudithook(heard)
from concerto.cli.main import main
code = main(sys.argv[1:])
print(json.dumps(seen), file=sys.__stderr__)
sys.exit(code)
"""


def watched(folder: Path, *words: str) -> tuple[int, list[list[str]]]:
    """Exit code, and what was done with files that are not Python's or the installation's."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder.parent)}
    ended = subprocess.run(
        [sys.executable, "-c", WATCHED, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    seen = json.loads(ended.stderr.splitlines()[-1])
    outside = (sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[2]), "/proc", "/dev", "/etc", "/sys", "/usr")
    return ended.returncode, [row for row in seen if not row[1].startswith(outside)]


def project(tmp_path: Path, name: str = "") -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "secret.conc").write_text("pub fn one() -> Int { 1 }\n")
    (folder / "Concerto.toml").write_text('[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n')
    (folder / "main.conc").write_text(f'{name}use part::two;\nfn main() {{ emit("x", two()); }}\n')
    (folder / "part.conc").write_text("pub fn two() -> Int { 2 }\n")
    (folder / "other.conc").write_text("never read\n")
    return folder


def test_only_the_named_output_is_written_by_rename(tmp_path: Path) -> None:
    folder = project(tmp_path)
    code, seen = watched(folder, "compile", "main.conc", "-o", "made.concb")
    assert code == 0
    inside = {str(folder / name) for name in ("Concerto.toml", "main.conc", "part.conc")}
    assert {row[1] for row in seen if row[0] == "read" and Path(row[1]).is_file()} <= inside
    renamed = [row for row in seen if row[0] == "os.rename"]
    assert [row[2] for row in renamed] == [str(folder / "made.concb")]
    assert {row[1] for row in seen if row[0] == "write"} == {renamed[0][1]}  # the file that takes its place
    assert os.path.dirname(renamed[0][1]) == str(folder)
    assert sorted(os.listdir(folder)) == ["Concerto.toml", "made.concb", "main.conc", "other.conc", "part.conc"]


def test_a_program_with_errors_writes_nothing_and_reads_nothing_outside(tmp_path: Path) -> None:
    folder = project(tmp_path, "use secret::one;\n")
    (folder / "secret.conc").symlink_to(tmp_path / "secret.conc")
    code, seen = watched(folder, "compile", "main.conc", "-o", "made.concb")
    assert code == 65
    assert not [row for row in seen if row[0] != "read"]
    assert str(tmp_path / "secret.conc") not in {os.path.realpath(row[1]) for row in seen}
    assert not (folder / "made.concb").exists()
