"""Writes docs/generated/opcodes.md from the opcode table and the rules of the verifier.

`--check` writes nothing and fails if the file is stale.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from concerto.vm.bytecode import operands as k
from concerto.vm.bytecode.opcodes import FLOWS, OPCODE_SET_VERSION, OPCODES, Opcode
from concerto.vm.bytecode.operands import KINDS
from concerto.vm.bytecode.rules import NOT_APPLICABLE, RULES

TARGET = Path(__file__).resolve().parent.parent / "docs" / "generated" / "opcodes.md"

HEAD = f"""\
# Opcodes

Written by `tools/gen_reference.py` from `vm/bytecode/opcodes.py`; `make gen` renews it. Opcode set {OPCODE_SET_VERSION}, \
{len(OPCODES)} opcodes.

A stack picture shows what is popped and what is pushed, the top of the stack last; a starred name stands for as many values as
the operand counts. The operand follows the opcode byte as unsigned LEB128.
"""


def page() -> str:
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
    return f"| {op.number} | `{op.name}` | {operand} | `{op.picture}` | {op.flow} | {op.doc.replace('|', chr(92) + '|')} |"


def _table(title: str, head: str, rows: Iterable[str]) -> str:
    columns = head.count("|") - 1
    return "\n".join([title, "", head, "|---" * columns + "|", *rows]) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the file is stale, write nothing")
    parser.add_argument("--target", type=Path, default=TARGET)
    options = parser.parse_args(arguments)
    if options.check:
        fresh = options.target.exists() and options.target.read_text(encoding="utf-8") == page()
        if not fresh:
            print(f"{options.target} is stale: run make gen", file=sys.stderr)
        return 0 if fresh else 1
    options.target.parent.mkdir(parents=True, exist_ok=True)
    options.target.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
