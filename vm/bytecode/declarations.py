"""The kinds of declarations that an image holds, one row each.

Hands on `DECLARATIONS` to the linker and to snapshots, `DECLARED_SECTIONS` to hashing and verification, `OFFERING` (sections
whose entries offer tools to a model) and `CONFIGURED` (sections whose entries CONFIGURE changes) to verification. A new kind is a
row here. Which fields a declaration may have stands in `vm/declaration_fields.py`, the record of an entry in `image.py`.
"""

from __future__ import annotations

from ..values.handles import (
    AgentRef,
    EmbedderRef,
    HashMapRef,
    IndexRef,
    KeyedRef,
    LedgerQuery,
    LedgerRef,
    McpRef,
    MemoryRef,
    ModelRef,
    PipelineRef,
    Ref,
    SchemaRef,
    ToolRef,
)


class DeclarationKind:
    """`section`: where an image holds the entries; `handles`: the classes of values that name one, the usual class first, none
    where no value does; `offers_tools`: an entry can stand in the `tools` of a model; `is_configured`: the opcode CONFIGURE sets
    fields of an entry, which are no constants, when a run begins."""

    __slots__ = ("section", "handles", "offers_tools", "is_configured")

    def __init__(
        self, section: str, *handles: type[Ref], offers_tools: bool = False, is_configured: bool = False
    ) -> None:
        self.section = section
        self.handles = handles
        self.offers_tools = offers_tools
        self.is_configured = is_configured


# The hash of a function counts what it names in this order (V-3.3), so a new kind goes to the end.
DECLARATIONS = (
    DeclarationKind("models", ModelRef, is_configured=True),
    DeclarationKind("agents", AgentRef),
    DeclarationKind("hashmaps", HashMapRef, offers_tools=True),
    DeclarationKind("ledgers", LedgerRef, LedgerQuery, offers_tools=True),
    DeclarationKind("memories", MemoryRef, KeyedRef, offers_tools=True, is_configured=True),
    DeclarationKind("schemas", SchemaRef),
    DeclarationKind("tools", ToolRef, offers_tools=True, is_configured=True),
    DeclarationKind("mcp", McpRef, offers_tools=True),
    DeclarationKind("connections"),
    DeclarationKind("pipelines", PipelineRef),
    DeclarationKind("contexts"),
    DeclarationKind("embedders", EmbedderRef),
    DeclarationKind("indexes", IndexRef, offers_tools=True, is_configured=True),
    DeclarationKind("externs"),
)
DECLARED_SECTIONS = tuple([kind.section for kind in DECLARATIONS])
OFFERING = frozenset([kind.section for kind in DECLARATIONS if kind.offers_tools])
CONFIGURED = frozenset([kind.section for kind in DECLARATIONS if kind.is_configured])
