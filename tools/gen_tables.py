"""Writes compiler/generated/parser_tables.py, which `compiler/syntax/lr_machine.py` reads, from the grammar; with --check only
tells whether it is up to date.

Both modes fail on any conflict of the grammar (L-11.1.1). Rows that several states share are written once, which makes the module
fast to load. The productions stand in `compiler/syntax/productions_*.py`; what a reduction does is decided there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from concerto.compiler.syntax.grammar import MODULE
from ply import yacc

TARGET = Path(__file__).resolve().parent.parent / "compiler" / "generated" / "parser_tables.py"


class _Log(yacc.NullLogger):  # type: ignore[misc]
    """Keeps PLY's warnings and errors; it reports conflicts only with `debug=True`, and as warnings."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)

    def warning(self, message: str, *arguments: object) -> None:
        self.lines.append(message % arguments if arguments else message)

    error = critical = warning

    def info(self, message: str, *arguments: object) -> None:
        """Ignore the progress."""

    debug = info


def build() -> tuple[Any, list[str]]:
    """Return the parser that PLY builds from the grammar, without any table module, and the complaints it has."""
    log = _Log()
    nothing = ModuleType("no_tables")
    nothing.__dict__.update(__file__=str(TARGET), _tabversion="none")
    parser = yacc.yacc(
        module=MODULE, tabmodule=nothing, write_tables=False, debug=True, debuglog=yacc.NullLogger(), errorlog=log,
        optimize=False,
    )  # fmt: skip
    return parser, [line for line in log.lines if "out of date" not in line]


def signature() -> str:
    """Return what PLY compares at start to find out whether tables fit the grammar."""
    reflected = yacc.ParserReflect({name: getattr(MODULE, name) for name in dir(MODULE)}, log=yacc.NullLogger())
    reflected.get_all()
    return str(reflected.signature())


def text(parser: Any) -> str:
    """Return the text of the module with the tables of a parser."""
    lines = [
        '"""LALR(1) tables of the grammar. Written by tools/gen_tables.py; do not edit."""',
        "",
        f"_tabversion = {yacc.__tabversion__!r}",
        "_lr_method = 'LALR'",
        f"_lr_signature = {signature()!r}",
        *_rows("_lr_action", parser.action),
        *_rows("_lr_goto", parser.goto),
        "_lr_productions = [",
        *(
            f"    ({p.str!r}, {p.name!r}, {p.len}, {p.func!r}, 'grammar.py', {p.line}),"
            for p in parser.productions
        ),
        "]",
    ]
    return "\n".join(lines) + "\n"


def _rows(name: str, table: dict[int, dict[str, int]]) -> list[str]:
    distinct: dict[str, int] = {}
    row_of = {state: distinct.setdefault(repr(dict(sorted(row.items()))), len(distinct)) for state, row in table.items()}
    lines = [f"{name}_rows = [", *(f"    {row}," for row in distinct), "]"]
    lines.append(f"{name} = {{state: {name}_rows[row] for state, row in {sorted(row_of.items())!r}}}")
    return lines


def main() -> int:
    """Write the module, or with `--check` only say whether it is stale; return the exit status, 1 for a stale module that is
    checked and for a grammar with conflicts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="write nothing; exit 1 if the tables are stale")
    check = options.parse_args().check
    parser, complaints = build()
    for line in complaints:
        print(f"grammar: {line}", file=sys.stderr)
    if complaints:
        return 1
    wanted = text(parser)
    if not check:
        TARGET.write_text(wanted, encoding="utf-8")
        return 0
    if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != wanted:
        print(f"{TARGET} is stale: run tools/gen_tables.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
