"""What the language declares in its own terms: the actions of the hooks of models (O-4.30, O-4.31).

Hands on `declare_library`. Must not know: what hooks are for.
"""

from __future__ import annotations

from .. import ast
from ..diagnostics import Diagnostics
from ..parse import parse
from ..source import Source
from .items import enum_symbol, visit_items
from .state import Resolver

ACTIONS = """\
enum ToolCallAction { Allow, Deny(String), Replace(Any) }
enum ToolErrorAction { ReportToLLM, Retry(Int), Fail }
"""


def declare_library(r: Resolver) -> None:
    """The enums a program names, in the outermost scope."""
    for item in parse(Source("std", ACTIONS), Diagnostics()).items:
        assert isinstance(item, ast.Enum)
        name = item.name.text
        if any(name in source.text for source in r.project.sources.values()):
            with r.inside(r.root, r.outermost):
                item.symbol = r.outermost.names[name] = enum_symbol(r, item, name)
                r.module.add(item.symbol, item.name.span)
                visit_items(r, [item])
