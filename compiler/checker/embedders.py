"""Declarations of embedders (O-1.240), and the embedders that memories and indexes name.

Hands on `check_embedder` to `declaration_checks` and `memory`, `embedder_table` to `indexes`, and `named_embedder` to `memory`,
for the step `embed`. The table of an embedder is what an image holds of it: its `name` and `kind`; of the kind "connection" also
the `connection`, the id of its `model` and perhaps `dimensions`. `c` is the state of the check: mistakes are reported to it by a
code (E…; W… for a warning), and not raised. Fields of a declaration are rows of EMBEDDER in `compiler/fields.py`. Nothing is
embedded here, and no provider asked.
"""

from __future__ import annotations

from ...vm.providers import PROVIDERS
from ..fields import EMBEDDER, EMBEDDER_FIELDS
from ..hints.names import did_you_mean
from ..source import Span
from ..symbols import ConnectionSymbol, EmbedderSymbol
from ..syntax import ast
from ..types import STRING
from .config import check_fields, is_misspelt, report_duplicates
from .connections import named_connection
from .declarations import FAILED, at_module_level, folded
from .decorators import check_decorators
from .relations import ERRONEOUS
from .state import Checker, Expected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_embedder(c: Checker, symbol: EmbedderSymbol) -> None:
    """Check an embedder and set `symbol.table`, once; after a report it may have none. E4001 and E4004 for fields that are
    unknown, repeated or wrong, E4002 for what it lacks, E4003 for an unknown connection, E4006 for a provider without embeddings,
    and what `check_decorators` reports. The table of the manifest wins (O-1.2)."""
    if symbol.is_checked:
        return
    symbol.is_checked = True
    node = symbol.declaration
    owner = f"embedder `{symbol.name}`"
    check_decorators(c, node.decorators, "embedder")
    named = named_connection(c, node, owner, EMBEDDER_FIELDS)
    fields: dict[str, object] = {}
    entries = [entry for entry in node.entries if entry.key.text != "provider"]
    report_duplicates(c, owner, [entry.key for entry in node.entries if entry.key.text == "provider"])
    check_fields(c, owner, entries, fields, EMBEDDER, EMBEDDER_FIELDS, {})
    if named is None:
        return
    connection, known = named
    name = connection.name if isinstance(connection, ConnectionSymbol) else connection
    row = PROVIDERS.get(str(known.get("provider")))
    if row is not None and not row.has_embeddings:
        others = ", ".join(f"`{name}`" for name, other in PROVIDERS.items() if other.embeddings_model is not None)
        message = f"the provider {row.name} has no embeddings, which {owner} asks of it"
        c.report("E4006", node.name.span, message, help=f"name another connection, such as one of {others}")
        return
    base = fields.get("base")
    if base is None and not is_misspelt("base", node.entries, EMBEDDER_FIELDS) and not any(e.key.text == "base" for e in entries):
        if row is not None and not row.wires:
            base = row.default_model
        else:
            known_model = None if row is None else row.embeddings_model
            help = "add `base`, the id of a model for embeddings"
            if known_model is not None:
                help = f'add `base: "{known_model}"`, or another model of the connection for embeddings'
            c.report("E4002", node.name.span, f"{owner} lacks `base`", help=help)
    if symbol.name in c.memory_tables.embedders:  # the manifest wins, as for connections (O-1.2)
        symbol.table = {"name": symbol.name, **c.memory_tables.embedders[symbol.name]}
    elif isinstance(base, str):
        symbol.table = {"name": symbol.name, "kind": "connection", "connection": name, "model": base}
        if isinstance(fields.get("dimensions"), int):
            symbol.table["dimensions"] = fields["dimensions"]


def embedder_table(c: Checker, value: ast.Expr, place: str, help: str = "") -> dict[str, Any] | None:
    """Return the table of the embedder that a value names: a declared one, or a String, which is one of Concerto.toml or built
    in; None after a report: E4508 for an unknown one, E4004 for what is none or not constant, with this `help`, if there is one,
    and what `check_embedder` reports of a declared one. `place` is what messages call the value."""
    value = ast.ungrouped(value)
    symbol = value.binding if isinstance(value, ast.PathExpr) else None
    if isinstance(symbol, EmbedderSymbol):
        check_embedder(c, symbol)
        return symbol.table
    type_ = at_module_level(c, value, Expected(place=place))
    name = folded(c, value, "E4004") if type_ == STRING else FAILED
    if type_ != STRING and type_ is not ERRONEOUS:
        c.report(
            "E4004", value.span, f"{place} is an embedder, found `{type_}`",
            help=help or "declare `embedder E { … }` and name it",
        )  # fmt: skip
    if not isinstance(name, str):
        return None
    return named_embedder(c, name, value.span)


def named_embedder(c: Checker, name: str, at: Span) -> dict[str, Any] | None:
    """Return the table of the embedder of that name in the manifest, or of a built-in one (M-10.16); None for an unknown one,
    after a report at `at` (E4508)."""
    embedders = c.memory_tables.embedders
    if name not in embedders:
        help = did_you_mean(name, embedders) or 'use "offline", or declare it: [embedders.NAME] in Concerto.toml'
        c.report("E4508", at, f'unknown embedder "{name}"', help=help)
        return None
    return {"name": name, **embedders[name]}
