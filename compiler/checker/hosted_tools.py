"""Tools that a provider runs itself: the field `hosted` of a model and of `with` (O-1.213).

Hands on `check_hosted`, `check_constants` and `check_carried` to `models`, for declarations and for the method `with`. Which
tools there are and what they take stands in `vm/declaration_fields.py`, which provider carries what in `vm/providers.py`. A value
is tested as far as it is constant. The value is an array of objects, `[{ type: "web_search", … }]`; that a provider carries a
tool means that it runs it. `c` is the state of the check: mistakes are reported to it by a code (E…; W… for a warning), and not
raised. Which models may take a call over, the callers know.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...vm import declaration_fields as rows
from ...vm.providers import PROVIDERS
from ..fields import rule
from ..hints.names import did_you_mean, nearest
from ..source import Span
from ..syntax import ast
from ..types import ANY, array
from .config import UNKNOWN, quiet_fold
from .declarations import at_module_level
from .relations import ERRONEOUS
from .state import Checker, Expected

Tool = dict[str, object]


def check_hosted(c: Checker, value: ast.Expr) -> None:
    """Check the type of the field `hosted`, an array, and what is constant of its tools (E4001, E4004)."""
    errors = c.error_count
    type_ = at_module_level(c, value, Expected(array(ANY), "E4004", "`hosted`"))
    if type_ is not ERRONEOUS and c.error_count == errors:
        check_constants(c, value)


def check_constants(c: Checker, value: ast.Expr) -> None:
    """Report the first thing that is wrong with tools whose type is right, as far as they are constant (E4001, E4004)."""
    tools = known_tools(c, value)
    fault = None if tools is None else rows.hosted_fault([_constants(tool) for tool in tools])
    if tools is None or fault is None:
        return
    at, part, words = fault
    kind = str(tools[at].get("type", "")) if at < len(tools) else ""
    fields = rows.HOSTED.get(kind, {})
    if part is not None and part != "type" and part not in fields:
        help = did_you_mean(part, fields) or "remove it"
        c.report("E4001", place_of(value, at, part, is_value=False), words, help=help)
        return
    help = "keep one of them"
    if part is None or part == "type":
        meant = nearest(kind, [*rows.HOSTED]) or next(iter(rows.HOSTED))
        help = help if part == "type" and kind in rows.HOSTED else f'write `{{ type: "{meant}" }}`'
    elif not fields[part].takes(tools[at][part]):
        help = f"write `{part}: {_example(fields[part], tools[at][part])}`"
    c.report("E4004", place_of(value, at, part), words, help=help)


def _example(field: rows.Field, value: object) -> str:
    if field.kind == rows.TEXTS:
        return '["example.com"]'
    return '{ country: "NO" }' if field.kind == rows.OBJECT else rule(field).example(value)


def check_carried(
    c: Checker, value: ast.Expr, connection: Mapping[str, object], api: str, taker: tuple[str, Span] | None = None
) -> None:
    """Report the first tool, or field of one, that a connection with these fields does not carry (E4006); none for a provider
    that is not in the table, a connection with `unsupported: "drop"`, and tools of which `check_constants` reports something.
    `api` is the API of the connection, as `chat`. `taker` is the name of the model of the connection and the place to report it
    at, where that is not the model of the tools but one that may take its calls over."""
    row = PROVIDERS.get(str(connection.get("provider")))
    tools = known_tools(c, value)
    if row is None or tools is None or connection.get("unsupported") == "drop":
        return
    if rows.hosted_fault([_constants(tool) for tool in tools]) is not None:
        return  # which is reported
    lacking = row.lacks(api, tools)
    if lacking is not None:
        number, part, words, there_is = lacking
        if taker is None:
            c.report("E4006", place_of(value, number, part), words, help=there_is)
        else:
            name, place = taker
            c.report("E4006", place, f"{words}, where model `{name}` may take the call over", help=there_is)


def known_tools(c: Checker, value: ast.Expr) -> list[Tool] | None:
    """Return what is known of the tools, of each a dict of its fields by name with UNKNOWN for a part that only the run knows, an
    empty one for a constant in the array that is no object; None when a tool or its type is not known at all."""
    value = ast.ungrouped(value)
    if not isinstance(value, ast.ArrayExpr):
        known = quiet_fold(c, value)
        return known if isinstance(known, list) and all(isinstance(tool, dict) for tool in known) else None
    tools: list[Tool] = []
    for item in map(ast.ungrouped, value.items):
        if not isinstance(item, ast.MapExpr) or not all(isinstance(entry.key, ast.StringLiteral) for entry in item.entries):
            known = quiet_fold(c, item)
            if known is UNKNOWN:
                return None
            tools.append(known if isinstance(known, dict) else {})
            continue
        tools.append({
            entry.key.value: quiet_fold(c, entry.value) for entry in item.entries if isinstance(entry.key, ast.StringLiteral)
        })  # fmt: skip
    return None if any(tool.get("type") is UNKNOWN for tool in tools) else tools


def _constants(tool: Tool) -> Tool:
    return {name: part for name, part in tool.items() if part is not UNKNOWN}


def place_of(value: ast.Expr, at: int, part: str | None, is_value: bool = True) -> Span:
    """Return where the field `part` of the tool number `at`, from 0, is written: its value, or without `is_value` its name; the
    place of the tool where there is no such field, of the whole where it is not written as a literal."""
    value = ast.ungrouped(value)
    item = ast.ungrouped(value.items[at]) if isinstance(value, ast.ArrayExpr) and at < len(value.items) else value
    for entry in item.entries if isinstance(item, ast.MapExpr) else ():
        if isinstance(entry.key, ast.StringLiteral) and entry.key.value == part:
            return entry.value.span if is_value else entry.key.span
    return item.span
