"""The kinds of declarations that become entries of an image, by the class of their symbol; schemas are types and stand apart.

The checker collects the symbols of a kind under the name of its section, codegen numbers them and writes their entries, and the
name of one in an expression becomes its instruction. What an entry holds is said by its record in `vm/bytecode/image.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .symbols import (
    AgentSymbol,
    ConnectionSymbol,
    ContextSymbol,
    HashMapSymbol,
    LedgerSymbol,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    PipelineSymbol,
    Symbol,
    ToolSymbol,
)


@dataclass(frozen=True, slots=True)
class DeclarationKind:
    """`section`: of the image, and the field of a checked program; `opcode`: the instruction that gives the handle of an entry,
    "" where a program cannot name one as a value; `namespace`: the section of the kind with which it shares the names in the
    image, "" for none."""

    section: str
    opcode: str = ""
    namespace: str = ""


KINDS: dict[type[Symbol], DeclarationKind] = {
    ModelSymbol: DeclarationKind("models", "MODEL"),
    AgentSymbol: DeclarationKind("agents", "AGENT", "models"),
    ToolSymbol: DeclarationKind("tools", "TOOL"),
    McpSymbol: DeclarationKind("mcp", "MCP", "tools"),
    ConnectionSymbol: DeclarationKind("connections"),
    MemorySymbol: DeclarationKind("memories", "MEMORY"),
    ContextSymbol: DeclarationKind("contexts"),
    HashMapSymbol: DeclarationKind("hashmaps", "HASHMAP"),
    LedgerSymbol: DeclarationKind("ledgers", "LEDGER"),
    PipelineSymbol: DeclarationKind("pipelines", "PIPELINE"),
}
