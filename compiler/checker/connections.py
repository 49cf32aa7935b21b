"""The connections that models and embedders name by their field `provider` (O-1.17, O-1.35).

Hands on `named_connection` to `models` and `embedders`, and `connection_help` to the check of the manifest. What a connection
itself may hold is checked in `models`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...vm.providers import PREDECLARED
from ..hints.names import by_nearness, did_you_mean
from ..resolver.state import ErroneousSymbol
from ..symbols import ConnectionSymbol
from ..syntax import ast
from .config import is_misspelt
from .state import Checker


def named_connection(
    c: Checker, node: ast.Config, owner: str, known_fields: Sequence[str]
) -> tuple[ConnectionSymbol | str, dict[str, object]] | None:
    """Return the connection that the field `provider` of a declaration names, or the name of a predeclared one, and its fields;
    None after a report (O-1.17, O-1.35). `known_fields`: those of such a declaration; `owner`: what messages call it."""
    entry = next((e for e in node.entries if e.key.text == "provider"), None)
    if entry is None:
        if not is_misspelt("provider", node.entries, known_fields):
            c.report("E4002", node.name.span, f"{owner} lacks `provider`", help="the name of a connection")
        return None
    value = entry.value
    if not isinstance(value, ast.PathExpr) or value.member is not None:
        help = connection_help(c, value.value if isinstance(value, ast.StringLiteral) else "")
        c.report("E4004", value.span, "`provider` is the name of a connection", help=help)
        return None
    name = value.segments[-1].text
    declared = value.binding
    if isinstance(declared, ConnectionSymbol):
        return declared, {**PREDECLARED.get(declared.name, {}), **declared.fields, **c.manifest.get(declared.name, {})}
    if len(value.segments) == 1 and (name in PREDECLARED or name in c.manifest):
        return name, {**PREDECLARED.get(name, {}), **c.manifest.get(name, {})}
    # A name that is bound to something else is unknown as a connection.
    if declared is None or not isinstance(declared, ErroneousSymbol):
        c.report("E4003", value.span, f"unknown connection `{name}`", help=connection_help(c, name))
    return None


MOST_LISTED = 6  # connections in a help


def connection_help(c: Checker, name: str) -> str:
    """Return the help that lists the connections, the nearest names first."""
    if not c.connection_names:
        c.connection_names = sorted({*PREDECLARED, *c.connections, *c.manifest})
    known = by_nearness(name, c.connection_names)
    near = did_you_mean(name, known)
    more = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED else ""
    listed = "connections are: " + ", ".join(f"`{other}`" for other in known[:MOST_LISTED]) + more
    return f"{near + ' ' if near else ''}{listed}; declare it with `connect`"
