"""The folder of the suite is laid out as C-2.1 says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SUITE = ROOT / "conformance"
COMMANDS = {"run.py", "coverage.py", "generate.py"}


def said() -> str:
    """The block of the clause."""
    text = (ROOT / "docs/spec/conformance.md").read_text("utf-8")
    found = re.search(r"\*\*C-2\.1\*\*.*?```\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def entries() -> list[str]:
    """What stands at the top of the folder, of what the repository keeps."""
    listed = subprocess.run(["git", "ls-files", "."], cwd=SUITE, capture_output=True, text=True)
    names = listed.stdout.split() or [str(path.relative_to(SUITE)) for path in SUITE.rglob("*") if path.is_file()]
    return sorted({name.partition("/")[0] + "/" * ("/" in name) for name in names if "__pycache__" not in name})


def test_every_folder_and_table_is_named_and_nothing_else() -> None:
    folders = {line.split("/")[0].strip() + "/" for line in said().splitlines()[1:] if "/" in line.split()[0]}
    assert folders == {entry for entry in entries() if entry.endswith("/")}
    tables = {line.split()[0] for line in said().splitlines()[1:] if line.split()[0].endswith((".json", ".jsonl", ".txt"))}
    tables = {name for name in tables if "/" not in name}
    assert tables == {entry for entry in entries() if entry.endswith((".json", ".jsonl", ".txt"))}


def test_commands_drivers_and_documents_are_there() -> None:
    text = said()
    assert {name for name in COMMANDS if name in text} == COMMANDS
    named = set(re.findall(r"\b(\w+\.(?:py|md))\b", text))
    drivers = {path.name for path in (SUITE / "drivers").glob("*.py")}
    assert drivers == named - COMMANDS - {"README.md", "PROTOCOL.md"}
    assert all((SUITE / name).is_file() for name in {*COMMANDS, "README.md", "PROTOCOL.md"})


def test_programs_stand_one_folder_deep_and_images_are_json() -> None:
    assert all(len(path.relative_to(SUITE / "tests").parts) == 2 for path in (SUITE / "tests").rglob("*.conc"))
    assert {path.suffix for path in (SUITE / "images").iterdir()} == {".json"}
    assert {path.suffix for path in (SUITE / "expected-fail").iterdir()} <= {".md", ".txt"}
