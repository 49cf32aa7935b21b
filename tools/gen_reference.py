"""Writes the reference pages under docs/generated: opcodes, built-ins, diagnostics, panics, commands, each from its table.

`--check` writes nothing and fails if a page is stale. PAGES has the functions that make them. What the pages say stands in the
tables; here it is only laid out.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from concerto.cli.verbs import VERBS
from concerto.compiler.diagnostics import CODES
from concerto.vm.builtins import FUNCTIONS, METHODS, STD_MODULES, Row, std_module
from concerto.vm.builtins.hashmaps import MACHINERY
from concerto.vm.builtins.models import READ_OUT
from concerto.vm.bytecode import operands as k
from concerto.vm.bytecode.opcodes import FLOWS, OPCODE_SET_VERSION, OPCODES, Opcode
from concerto.vm.bytecode.operands import KINDS
from concerto.vm.bytecode.rules import LOADING, NOT_APPLICABLE, RULES
from concerto.vm.panics import PANICS

TARGET = Path(__file__).resolve().parent.parent / "docs" / "generated"

HEAD = f"""\
# Opcodes

Written by `tools/gen_reference.py` from `vm/bytecode/opcodes.py`; `make gen` renews it. Opcode set {OPCODE_SET_VERSION}, \
{len(OPCODES)} opcodes.

A stack effect shows what is popped and what is pushed, the top of the stack last; a starred name stands for as many values as
the operand counts. The operand follows the opcode byte as unsigned LEB128.
"""


def opcodes() -> str:
    """Return the page of opcodes, with the rules of the verifier."""
    parts = [HEAD, _table("## Opcodes by number", "| No. | Opcode | Operand | Stack | Flow | What it does |", map(_row, OPCODES))]
    flows = (f"| {flow} | {meaning} |" for flow, meaning in FLOWS.items())
    parts.append(_table("## Flow", "| Flow | Where control goes |", flows))
    used = {op.kind.name for op in OPCODES}
    kinds = (f"| {kind.name} | {kind.table or '-'} | {kind.rule} | {kind.doc} |" for kind in KINDS if kind.name in used)
    parts.append(_table("## Operand kinds", "| Kind | Indexes | Rule | What it is |", kinds))
    rules = (f"| {code} | {text} |" for code, text in RULES.items())
    parts.append(_table("## Rules of the verifier", "| Code | Rule |", rules))
    absent = (f"| {code} | {reason} |" for code, reason in NOT_APPLICABLE.items())
    parts.append(_table("These codes are reserved:", "| Code | Why nothing breaks it |", absent))
    return "\n".join(parts)


def _row(op: Opcode) -> str:
    operand = "" if op.kind is k.NONE else op.kind.name
    return f"| {op.number} | `{op.name}` | {operand} | `{op.stack_effect}` | {op.flow} | {op.doc.replace('|', chr(92) + '|')} |"


def _table(title: str, head: str, rows: Iterable[str]) -> str:
    columns = head.count("|") - 1
    return "\n".join([title, "", head, "|---" * columns + "|", *rows]) + "\n"


def builtins() -> str:
    """Return the page of global functions, then of the methods of each kind of receiver, then of the library."""
    parts = ["# Built-in functions and methods\n\nWritten by `tools/gen_reference.py` from `vm/builtins/`.\n"]
    head = "| Signature | Clause | What it does |"
    parts.append(_table("## Functions", head, map(_builtin, FUNCTIONS.values())))
    for receiver in dict.fromkeys(row.receiver_text for row in METHODS.values() if row.receiver not in (MACHINERY, READ_OUT[0])):
        rows = [row for row in METHODS.values() if row.receiver_text == receiver]
        parts.append(_table(f"## `{receiver}`", head, map(_builtin, rows)))
    for module in STD_MODULES:
        if rows := list(std_module(module).values()):
            parts.append(_table(f"## `std::{module}`", head, map(_builtin, rows)))
    return "\n".join(parts)


def _builtin(row: Row) -> str:
    mark = (" *mut*" if row.mut else "")
    return f"| `{_cell(row.text)}`{mark} | {row.clause} | {_cell(' '.join(row.doc.split()))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def diagnostics() -> str:
    """Return the page of diagnostics, panics and refused images."""
    tables = "`compiler/diagnostics.py`, `vm/panics.py` and `vm/bytecode/rules.py`"
    parts = [f"# Diagnostics and panics\n\nWritten by `tools/gen_reference.py` from {tables}.\n"]
    rows = (f"| {c.code} | {c.stage} | {_cell(c.title)} |" for c in CODES.values())
    parts.append(_table("## Diagnostics", "| Code | Stage | When |", rows))
    panics = (f"| {code} | {_cell(title)} | {clause} |" for code, (title, clause) in PANICS.items())
    parts.append(_table("## Panics", "| Code | When | Clause |", panics))
    refusals = (f"| {code} | {_cell(text)} |" for code, text in LOADING.items())
    parts.append(_table("## Images that are refused\n\nWhile loading", "| Code | When |", refusals))
    rules = (f"| {code} | {_cell(text)} |" for code, text in RULES.items())
    parts.append(_table("By the verifier, which sees that", "| Code | Rule that holds |", rules))
    return "\n".join(parts)


def commands() -> str:
    """Return the page of the commands with their flags, as their own parsers describe them."""
    parts = ["# Commands\n\nWritten by `tools/gen_reference.py` from `cli/`; `concerto COMMAND --help` says the same.\n"]
    for verb in VERBS:
        parser = argparse.ArgumentParser(prog=f"concerto {verb.name}", add_help=False)
        importlib.import_module(f"concerto.cli.{verb.module}").configure(parser)
        flags = [a for a in parser._actions if a.help]
        rows = (f"| `{_cell(_usage(a))}` | {_cell(a.help or '')} |" for a in flags)
        title = f"## `concerto {verb.name}`\n\n{verb.summary}"
        parts.append(_table(title, "| Argument | Meaning |", rows) if flags else f"{title}\n\nNo arguments.\n")
    return "\n".join(parts)


def _usage(action: argparse.Action) -> str:
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    return f"{name} {action.metavar}" if action.option_strings and action.metavar and action.nargs != 0 else name


PAGES = {"opcodes.md": opcodes, "builtins.md": builtins, "diagnostics.md": diagnostics, "commands.md": commands}


def main(arguments: list[str]) -> int:
    """Write the pages that have changed, or with `--check` only name them; return the exit status, 1 for stale pages that are
    checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a page is stale, write nothing")
    parser.add_argument("--target", type=Path, default=TARGET)
    options = parser.parse_args(arguments)
    stale = [name for name, page in PAGES.items() if not _fresh(options.target / name, page())]
    if options.check:
        for name in stale:
            print(f"docs/generated/{name} is stale: run make gen", file=sys.stderr)
        return 1 if stale else 0
    options.target.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (options.target / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote docs/generated/{name}")
    return 0


def _fresh(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
