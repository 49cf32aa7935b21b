"""Memories with `.per(…)`: `key`, `keys`, `erase`, and nothing else (M-7.3, M-7.4).

Hands on `keyed_method` and `without_key`. Must not know: what a memory itself can do.
"""

from __future__ import annotations

from .. import ast
from ..decisions import DynamicCall
from ..resolver.spelling import did_you_mean, listed
from ..symbols import MemorySymbol
from ..types import ANY, INT, MEMORY, STRING, Type, array, error, map_, result
from .arguments import infer_all
from .context import Checker
from .contexts import one_memory
from .relations import ERRONEOUS, is_text

METHODS = ("key", "keys", "erase")
RESULTS: dict[str, Type] = {
    "key": MEMORY, "keys": array(map_(STRING, ANY)), "erase": result(INT, error("MemoryError")),
}  # fmt: skip


def keyed_method(c: Checker, node: ast.MethodCall) -> Type:
    """A method of a keyed memory; its key parts are known where the receiver is the name of the declaration."""
    name = node.name.text
    memory = node.receiver.binding if isinstance(node.receiver, ast.PathExpr) else None
    keys = memory.keys if isinstance(memory, MemorySymbol) else None
    if name not in METHODS:
        infer_all(c, node.arguments)
        return without_key(c, node.receiver, did_you_mean(name, METHODS))
    if not _named(c, node, keys):
        return ERRONEOUS
    names = [argument.name.text for argument in node.arguments if argument.name is not None]
    if name == "key" and keys is not None and set(names) != set(keys):
        missing = listed("missing", [key for key in keys if key not in names])
        return c.report("E4505", node.name.span, f"`key` gives each of {', '.join(keys)}", help=missing)
    values: list[ast.Expr | None] = [argument.value for argument in node.arguments]
    node.target = DynamicCall(values, list(range(len(values))), name, names)
    return one_memory(memory) if name == "key" and isinstance(memory, MemorySymbol) else RESULTS[name]


def _named(c: Checker, node: ast.MethodCall, keys: list[str] | None) -> bool:
    """Whether each argument is named like a key part and holds a String or an Int."""
    legal = True
    seen: set[str] = set()
    for number, argument in enumerate(node.arguments):
        type_ = c.infer(argument.value)
        label = argument.name.text if argument.name is not None else None
        if label is None or node.name.text == "keys" or label in seen or (keys is not None and label not in keys):
            help = listed("key parts", keys) if keys else None
            if label is None and keys is not None and len(keys) > len(seen):
                help = f"write `{[key for key in keys if key not in seen][0]}: {c.text(argument.value)[1:-1]}`"
            what = f"has no key part `{label}`" if label is not None and label not in seen else "names each argument once"
            c.report("E4505", argument.span, f"`{node.name.text}` {what}", help=help)
            infer_all(c, node.arguments[number + 1 :])
            return False
        elif not (type_ in (INT, ANY) or is_text(type_) or type_ is ERRONEOUS):
            what = f"expected `String` or `Int` for the key part `{label}`, found `{type_}`"
            c.report("E2009", argument.value.span, what, help="a text or a number tells one key from another: `.to_string()`")
            legal = False
        seen.add(label or "")
    return legal


def without_key(c: Checker, at: ast.Expr, help: str | None = None) -> Type:
    """E4505: it was used as if it were one log."""
    memory = at.binding if isinstance(at, ast.PathExpr) else None
    keys = memory.keys if isinstance(memory, MemorySymbol) else []
    example = f".key({', '.join(f'{key}: …' for key in keys) or '…'})"
    return c.report("E4505", at.span, "a memory with `.per(…)` is used by its keys", help=help or f"write `{example}`")
