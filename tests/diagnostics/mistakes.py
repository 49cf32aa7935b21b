"""The corpus of mistakes: what people type who come from elsewhere, with what the compiler says, graded by a reader.

One file per habit under `mistakes/`. `main` is the body of `fn main`, with `prelude.conc` before it; `file` is a file as it
stands; `meant` is what was meant, in the same form. The rest is written by `--bless`: the first error (or warning) and, in
`also`, the others. A message that changed loses its grade, until somebody has read it and writes `right`, `vague` or `wrong`.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

from concerto.compiler.diagnostics import Diagnostic
from concerto.compiler.pipeline import check_source

FOLDER = Path(__file__).parent / "mistakes"
HABITS = sorted(path.stem for path in FOLDER.glob("*.toml"))
PRELUDE = (FOLDER / "prelude.conc").read_text(encoding="utf-8")
HEAD = PRELUDE + "\nfn main() {\n"
UNREAD = "unread"
SILENT = "silent"
_ORDER = ("main", "file", "meant", "code", "message", "help", "also", "grade", "why")


@dataclass(frozen=True)
class Found:
    """What the compiler says of one program."""

    code: str
    message: str
    help: str
    also: tuple[str, ...]


@dataclass(frozen=True)
class Mistake:
    habit: str
    name: str
    row: dict[str, object]

    @property
    def id(self) -> str:
        return f"{self.habit}-{self.name}"

    @property
    def grade(self) -> str:
        return str(self.row.get("grade", UNREAD))

    @property
    def golden(self) -> Found:
        also = self.row.get("also", [])
        assert isinstance(also, list)
        return Found(*(str(self.row.get(key, "")) for key in ("code", "message", "help")), tuple(also))

    def program(self, key: str = "") -> str:
        text = self.row[key or ("main" if "main" in self.row else "file")]
        return f"{HEAD}{text}\n}}\n" if "main" in self.row else str(text)

    def blessed(self) -> Mistake:
        now = found(self.program())
        same = now == self.golden
        row: dict[str, object] = {key: self.row[key] for key in ("main", "file", "meant", "why") if key in self.row}
        row |= {"code": now.code, "message": now.message, "grade": self.grade if same else UNREAD}
        row |= {"help": now.help} if now.help else {}
        row |= {"also": list(now.also)} if now.also else {}
        return Mistake(self.habit, self.name, row)


def read(habit: str) -> list[Mistake]:
    rows = tomllib.loads((FOLDER / f"{habit}.toml").read_text(encoding="utf-8"))
    return [Mistake(habit, name, row) for name, row in rows.items()]


def write(habit: str, mistakes: list[Mistake]) -> None:
    parts = []
    for one in mistakes:
        lines = [f"{key} = {_text(one.row[key])}\n" for key in _ORDER if key in one.row]
        parts.append(f"[{one.name}]\n{''.join(lines)}")
    (FOLDER / f"{habit}.toml").write_text("\n".join(parts), encoding="utf-8")


def _text(value: object) -> str:
    """As TOML: literal strings, which need no escapes, where they can hold it."""
    if isinstance(value, list):
        return "[\n" + "".join(f"    {_text(item)},\n" for item in value) + "]"
    text = str(value)
    if "\n" not in text and "'" not in text:
        return f"'{text}'"
    if "'''" not in text and not text.endswith("'"):
        return f"'''\n{text}'''" if "\n" in text else f"'''{text}'''"
    return json.dumps(text, ensure_ascii=False)


def reported(program: str) -> list[Diagnostic]:
    """What is said of the program itself, not of the prelude before it."""
    begin = len(HEAD) if program.startswith(HEAD) else 0
    return [one for one in check_source(program.encode(), "mistake.conc").diagnostics.ordered() if one.span.start >= begin]


def found(program: str) -> Found:
    every = sorted(reported(program), key=lambda one: not one.is_error)
    if not every:
        return Found(SILENT, "", "", ())
    first = every[0]
    return Found(first.code, first.message, first.help or "", tuple(f"{one.code}: {one.message}" for one in every[1:]))
