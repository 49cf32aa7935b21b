"""Declarations of hashmaps and ledgers (O-5.1, O-5.12, O-5.14).

Hands on `declare_hashmap` and `check_store`. Must not know: their methods.
"""

from __future__ import annotations

from .. import ast
from ..symbols import BuiltinSymbol, HashMapSymbol, LedgerSymbol
from ..types import ANY, LEDGER, STRING, Function, Generic, Nilable, Nominal, Simple, Tuple, Type
from .context import Checker, Expected
from .declarations import FAILED, at_module_level, folded
from .relations import ERRONEOUS, generic
from .types import written_type

HASHMAP_FORM = "hashmap h: HashMap<String, Int> = HashMap::new();"
LEDGER_FORM = "ledger l: Ledger = Ledger::new();"
FORMS = {"HashMap": HASHMAP_FORM, "HashMapRef": HASHMAP_FORM, "Ledger": LEDGER_FORM, "LedgerRef": LEDGER_FORM}


def store_help(name: str) -> str:
    """For a constructor inside a function."""
    local = "; a Map of this function alone is `let mut m = {};`" if name in ("HashMap", "HashMapRef") else ""
    return f"at the top of the file, outside of functions: `{FORMS[name]}`{local}"


DATA = ("Int", "Float", "String", "Bool", "Nil", "Any", "Range", "Bytes")


def declare_hashmap(c: Checker, symbol: HashMapSymbol) -> None:
    """Its type, before any body uses it."""
    node = symbol.declaration
    declared = written_type(c, node.type)
    if generic(declared, "HashMap") is None:
        if declared is not ERRONEOUS:
            c.report("E2001", node.type.span, f"expected `HashMap`, found `{declared}`", help=HASHMAP_FORM)
        declared = ERRONEOUS
    symbol.type = declared


def check_store(c: Checker, symbol: HashMapSymbol | LedgerSymbol) -> None:
    node = symbol.declaration
    if isinstance(symbol, LedgerSymbol):
        declared = written_type(c, node.type)
        if declared != LEDGER and declared is not ERRONEOUS:
            c.report("E2001", node.type.span, f"expected `Ledger`, found `{declared}`", help=LEDGER_FORM)
        _constructor(c, node.value, "Ledger", LEDGER_FORM)
        return
    value = _inner(node.value)
    if isinstance(value, ast.MethodCall) and value.name.text == "with_persistence":
        _constructor(c, value.receiver, "HashMap", HASHMAP_FORM)
        symbol.path = _path(c, value)
        _storable(c, node, symbol.type)
    else:
        _constructor(c, value, "HashMap", HASHMAP_FORM)


def _inner(node: ast.Expr) -> ast.Expr:
    while isinstance(node, ast.GroupExpr):
        node = node.inner
    return node


def _constructor(c: Checker, node: ast.Expr, owner: str, form: str) -> None:
    node = _inner(node)
    if isinstance(node, ast.Call) and isinstance(node.callee, ast.PathExpr):
        binding = node.callee.binding
        if isinstance(binding, BuiltinSymbol) and binding.name in (f"{owner}::new", f"{owner}Ref::new"):
            if node.arguments:
                c.report(
                    "E2006", node.callee.span, f"`{owner}::new` takes 0 arguments, {len(node.arguments)} given",
                    help="write `()`",
                )
            return
    c.report("E4004", node.span, f"a {owner.lower()} begins with `{owner}::new()`", help=form)


def _path(c: Checker, call: ast.MethodCall) -> str | None:
    """The file: a constant String, so that tools see from outside what a program wants (O-10.21)."""
    if len(call.arguments) != 1 or call.arguments[0].name is not None:
        c.report(
            "E2006", call.name.span, f"`with_persistence` takes 1 argument, {len(call.arguments)} given",
            help='write `.with_persistence("data.json")`',
        )
        return None
    value = call.arguments[0].value
    found = at_module_level(c, value, Expected(STRING, "E2009", "parameter `path`"))
    path = folded(c, value, "E4004") if found == STRING else FAILED
    return path if isinstance(path, str) else None


def _storable(c: Checker, node: ast.Store, type_: Type) -> None:
    """A file holds what JSON can hold (O-5.12)."""
    entry = generic(type_, "HashMap")
    if entry is None:
        return
    if entry[0] == ANY:
        c.report(
            "E4004", node.type.span, "a hashmap with a file needs keys of type String, Int or Bool",
            help="declare it `HashMap<String, …>`, or drop `with_persistence`",
        )
    if not _has_json_form(entry[1]):
        c.report(
            "E4020", node.type.span, f"`{entry[1]}` has no JSON form, so no file can hold it",
            help="store a struct, schema or type that JSON has, or drop `with_persistence`",
        )


def _has_json_form(type_: Type) -> bool:
    match type_:
        case Simple():
            return type_.name in DATA
        case Generic():
            return type_.name not in ("Task", "HashMap") and all(map(_has_json_form, type_.arguments))
        case Tuple():
            return all(map(_has_json_form, type_.items))
        case Nilable():
            return _has_json_form(type_.inner)
        case Nominal():
            return type_.kind != "error"
    return not isinstance(type_, Function)
