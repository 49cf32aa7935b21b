"""Declarations of indexes of documents (O-1.241).

Hands on `check_index` to `declaration_checks`. The methods of an index are rows of `vm/builtins/indexes.py` and checked like any
other; a further function that `Index::of` takes is a row of FUNCTIONS there. `c` is the state of the check: mistakes are reported
to it by a code (E…; W… for a warning), and not raised. Nothing is searched or stored here.
"""

from __future__ import annotations

from ...vm.builtins.indexes import FUNCTIONS
from ...vm.memory_steps import INDEX_STORE_KINDS
from ..symbols import BuiltinSymbol, IndexSymbol
from ..syntax import ast
from ..types import STRING, Function, Type
from .config import report_duplicates
from .declarations import FAILED, at_module_level, folded
from .decorators import check_decorators
from .embedders import embedder_table
from .memory import store_table
from .relations import ERRONEOUS, generic
from .state import Checker, Expected
from .stores import INDEX_FORM, without_stored_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_index(c: Checker, symbol: IndexSymbol) -> None:
    """Check the declaration of an index: its constructor with the embedder and the functions of a document, and its store
    (E2006, E2009, E2033, E3012, E4001, E4002, E4004, E4009, E4020, E4508). Set `symbol.embedder` and `symbol.store`, the tables
    that the image holds of them, and `symbol.functions`, the functions by the names of their arguments; what was reported is
    left out of these, None or missing, as is a store that is not written. Of a type that is no Index, which
    `stores.declare_store` has reported, nothing is checked."""
    node = symbol.declaration
    check_decorators(c, node.decorators, "index")
    inside = generic(symbol.type, "Index")
    if inside is None:
        return
    (document,) = inside
    offending = without_stored_form(c, document)
    if offending is not None:
        help = "keep a type that JSON has: `Index<Doc>` with `struct Doc { text: String }`"
        whole = "" if offending == document else f" in `{document}`"
        c.report("E4020", node.type.span, f"`{offending}`{whole} has no JSON form, so no index can hold it", help=help)
    value = ast.ungrouped(node.value)
    if isinstance(value, ast.MethodCall):
        symbol.store = _store(c, value)
        value = ast.ungrouped(value.receiver)
    if not (isinstance(value, ast.Call) and isinstance(value.callee, ast.PathExpr) and _is_constructor(value.callee)):
        c.report("E4004", node.value.span, "an index begins with `Index::of(…)`", help=INDEX_FORM)
        return
    names = " and ".join(f"`{name}` ({what})" for name, what in FUNCTIONS.items())
    report_duplicates(c, "`Index::of`", [argument.name for argument in value.arguments if argument.name is not None])
    for argument in value.arguments:
        if argument.name is None:
            named = f"say what the function gives: `key: {c.text(argument.value)[1:-1]}`"
            named = named if isinstance(ast.ungrouped(argument.value), ast.Closure) else ""
            if argument is value.arguments[0]:
                symbol.embedder = embedder_table(c, argument.value, "the first argument of `Index::of`", named)
            else:
                help = named or f"its embedder stands first, and behind it {names}"
                c.report("E2006", argument.value.span, "`Index::of` takes one argument without a name", help=help)
        elif argument.name.text in FUNCTIONS:
            wanted = Expected(Function((document,), STRING), "E2009", f"parameter `{argument.name.text}`")
            if at_module_level(c, argument.value, wanted) is not ERRONEOUS:
                symbol.functions[argument.name.text] = argument.value
        else:
            message = f"`Index::of` has no argument `{argument.name.text}`"
            c.report("E4004", argument.name.span, message, help=f"there are {names}")
    _require_key(c, symbol, document, value)


def _require_key(c: Checker, symbol: IndexSymbol, document: Type, call: ast.Call) -> None:
    names = [argument.name.text for argument in call.arguments if argument.name is not None]
    given = any(isinstance(ast.ungrouped(argument.value), ast.Closure) for argument in call.arguments if argument.name is None)
    if "key" not in names and not given and document != STRING and document is not ERRONEOUS:
        help = f"say which text of a `{document}` is searched: `key: |d| …`"
        c.report("E4002", call.span, f"index `{symbol.name}` lacks `key`", help=help)


def _is_constructor(callee: ast.PathExpr) -> bool:
    return isinstance(callee.binding, BuiltinSymbol) and callee.binding.name == "Index::of"


def _store(c: Checker, call: ast.MethodCall) -> dict[str, Any] | None:
    """Return the table of the store that `.store("name")` names; None after a report."""
    if call.name.text != "store" or len(call.arguments) != 1 or call.arguments[0].name is not None:
        help = 'behind `Index::of(…)` stands nothing, or `.store("durable")`'
        c.report("E4004", call.name.span, f"an index has no `{call.name.text}` like this", help=help)
        return None
    value = call.arguments[0].value
    type_ = at_module_level(c, value, Expected(STRING, "E2009", "parameter `name`"))
    name = folded(c, value, "E4004") if type_ == STRING else FAILED
    if not isinstance(name, str):
        return None
    table = store_table(c, name, value.span)
    if table is not None and table["kind"] not in INDEX_STORE_KINDS:
        message = f"an index is kept in SQLite or PostgreSQL, and the store {name} is of kind {table['kind']}"
        c.report("E4508", value.span, message, help=f"name a store of kind {' or '.join(INDEX_STORE_KINDS)}")
        return None
    return table
