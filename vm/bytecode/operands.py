"""The kinds of operands: each says which table of the image or function an operand is an index of, and which rule of the verifier
an operand outside that table breaks (V-2.3).

An operand is one unsigned LEB128 number after the opcode byte (V-3.3), and an opcode of kind NONE has none. Hands on one constant
per kind and `OperandKind` to the readers and writers of code, and `KINDS` to the linker and the reference page. Which opcode
takes which kind is in `opcodes.py`, what a starred name in a stack effect counts in `verify_code.py`.
"""

from __future__ import annotations


class OperandKind:
    """One kind of operand. `name`: of the kind, in the reference and as key of the verifier's rules. `table`: the section of the
    image that it is an index of, or "slots", "cells" or "code" of the function; "" for none. `rule`: the code of the rule that a
    wrong operand breaks (G-4.3). `doc`: its meaning, for the reference page."""

    __slots__ = ("name", "table", "rule", "doc")

    def __init__(self, name: str, table: str, rule: str, doc: str) -> None:
        self.name = name
        self.table = table
        self.rule = rule
        self.doc = doc

    def __repr__(self) -> str:
        return f"<operand {self.name}>"


NONE = OperandKind("none", "", "V102", "no operand")
COUNT = OperandKind("count", "", "V102", "a number of stack values or an immediate number")
CONST = OperandKind("const", "constants", "V103", "a constant that is a value: int, float, string, variant")
VARIANT = OperandKind("variant", "constants", "V103", "a constant of kind variant: an enum type and the number of a variant")
METHOD = OperandKind("method", "constants", "V103", "a constant of kind method: name and argument count")
BUILTIN = OperandKind("builtin", "constants", "V103", "a constant of kind builtin: receiver kind and name")
HOST = OperandKind("host", "constants", "V103", "a constant of kind builtin that the host performs")
ERROR = OperandKind("error", "constants", "V103", "a constant of kind error: family, variant, field names")
NAME = OperandKind("name", "constants", "V103", "a string constant that is an identifier")
CONFIG = OperandKind("config", "constants", "V103", "a constant of kind config: section, entry, field")
LOCAL = OperandKind("local", "slots", "V104", "a local slot of the function")
CELL = OperandKind("cell", "cells", "V105", "a cell of the function: captured ones first, then its own")
FUNCTION = OperandKind("function", "functions", "V106", "a function of the image")
TYPE = OperandKind("type", "types", "V107", "a type of the image")
FIELD = OperandKind("field", "", "V107", "a field position of a declared type")
MODEL = OperandKind("model", "models", "V108", "a model declaration")
AGENT = OperandKind("agent", "agents", "V108", "an agent declaration")
MEMORY = OperandKind("memory", "memories", "V108", "a memory declaration")
HASHMAP = OperandKind("hashmap", "hashmaps", "V108", "a hashmap declaration")
LEDGER = OperandKind("ledger", "ledgers", "V108", "a ledger declaration")
PIPELINE = OperandKind("pipeline", "pipelines", "V108", "a pipeline declaration")
SCHEMA = OperandKind("schema", "schemas", "V108", "a schema declaration")
TOOL = OperandKind("tool", "tools", "V108", "a tool declaration")
MCP = OperandKind("mcp", "mcp", "V108", "an MCP server declaration")
EMBEDDER = OperandKind("embedder", "embedders", "V108", "an embedder declaration")
INDEX = OperandKind("index", "indexes", "V108", "an index declaration")
EXTERN = OperandKind("extern", "externs", "V108", "a declared function of Python")
LABEL = OperandKind("label", "code", "V109", "byte offset of an instruction of the same function")

KINDS = (
    NONE, COUNT, CONST, VARIANT, METHOD, BUILTIN, HOST, ERROR, NAME, CONFIG, LOCAL, CELL, FUNCTION, TYPE, FIELD, MODEL, MEMORY,
    HASHMAP, LEDGER, PIPELINE, SCHEMA, TOOL, AGENT, MCP, EMBEDDER, INDEX, EXTERN, LABEL,
)  # fmt: skip
