"""A hashmap, a ledger or a scope of one as the memory of a model: it offers tools (O-1.40, O-4.22).

Hands on `offers_tools`. Must not know: what the tools do.
"""

from __future__ import annotations

from ...vm.schema import STORE_METHODS, store_name, tool_name
from .. import ast
from ..symbols import HashMapSymbol, LedgerSymbol, ModelSymbol, StructSymbol
from ..types import Generic, Nominal
from .context import Checker
from .json_sizes import check_size
from .schemas import fold_nested_defaults, without_json
from .tools import check_wire_name

LONGEST_METHOD = max(STORE_METHODS, key=len)
PARTS = ("key", "value")


def offers_tools(c: Checker, model: ModelSymbol, value: ast.Expr) -> bool:
    """Whether the value names a store, or a scope of one by constant prefixes; the model has its tools then."""
    scope: list[str] = []
    at = value
    while isinstance(at, ast.MethodCall) and at.name.text in ("scope", "partition") and len(at.arguments) == 1:
        prefix = at.arguments[0].value
        if not isinstance(prefix, ast.StringLiteral):
            return False
        scope.insert(0, prefix.value)
        at = at.receiver
    store = at.binding if isinstance(at, ast.PathExpr) else None
    if not isinstance(store, (HashMapSymbol, LedgerSymbol)):
        return False
    model.store, model.scope = store, scope
    check_wire_name(c, tool_name(store_name(store.name, scope), LONGEST_METHOD), value.span)
    if isinstance(store, HashMapSymbol) and store.entry is None and isinstance(store.type, Generic):
        _declare_entry(c, store, value)
    return True


def _declare_entry(c: Checker, store: HashMapSymbol, value: ast.Expr) -> None:
    """Key and value as parameters that a model gives."""
    assert isinstance(store.type, Generic)
    entry = StructSymbol(store.name, _as_schema(store, value), Nominal("schema", ""), [])
    for name, type_ in zip(PARTS, store.type.arguments, strict=True):
        offending = without_json(c, type_)
        if offending is not None:
            what = f"`{offending}` has no JSON form: a model cannot use the hashmap `{store.name}`"
            c.report("E4020", value.span, what, help="keep values in it that a schema can hold, or write a tool of your own")
            return
        check_size(c, type_, value.span)
        entry.fields.append((name, type_, None, False))
    fold_nested_defaults(c, entry)
    store.entry = entry


def _as_schema(store: HashMapSymbol, value: ast.Expr) -> ast.Schema:
    span = value.span
    name = ast.Ident(span=span, text=store.name)
    fields = [
        ast.Field(
            span=span, name=ast.Ident(span=span, text=part), type=ast.NamedType(span=span, path=[name], arguments=None),
            default=None, doc=f"the {part} of an entry",
        )
        for part in PARTS
    ]  # fmt: skip
    return ast.Schema(span=span, name=name, type_parameters=[], fields=fields)
