"""The kinds of declarations that become entries of an image, by the class of their symbol; schemas are types and stand apart.

The checker collects the symbols of each kind, codegen numbers them and writes their entries, and the name of one in an expression
becomes its instruction. What an entry holds is said by its record in `vm/bytecode/image.py`. Hands on the table `KINDS` to the
checker and the code generator; nothing is checked or written here. A new kind of declaration is a row of it, one of
`checker/declaration_checks.py` and one of ENTRIES in `codegen/program.py`; `CONTRIBUTING.md` goes through all its places.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import symbols


@dataclass(frozen=True, slots=True)
class DeclarationKind:
    """`section`: of the image; `opcode`: the instruction that gives the handle of an entry, "" where a program cannot name one as
    a value; `namespace`: the section of the kind with which it shares the names in the image, "" for none."""

    section: str
    opcode: str = ""
    namespace: str = ""


KINDS: dict[type[symbols.Symbol], DeclarationKind] = {
    symbols.ModelSymbol: DeclarationKind("models", "MODEL"),
    symbols.AgentSymbol: DeclarationKind("agents", "AGENT", "models"),
    symbols.ToolSymbol: DeclarationKind("tools", "TOOL"),
    symbols.McpSymbol: DeclarationKind("mcp", "MCP", "tools"),
    symbols.ConnectionSymbol: DeclarationKind("connections"),
    symbols.MemorySymbol: DeclarationKind("memories", "MEMORY"),
    symbols.ContextSymbol: DeclarationKind("contexts"),
    symbols.HashMapSymbol: DeclarationKind("hashmaps", "HASHMAP"),
    symbols.LedgerSymbol: DeclarationKind("ledgers", "LEDGER"),
    symbols.PipelineSymbol: DeclarationKind("pipelines", "PIPELINE"),
    symbols.EmbedderSymbol: DeclarationKind("embedders", "EMBEDDER"),
    symbols.IndexSymbol: DeclarationKind("indexes", "DOCUMENTS"),
}
