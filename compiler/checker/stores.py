"""Hashmaps and ledgers in the checker (O-5.1, O-5.12, O-5.14): their declarations, what can be kept beyond the session, and a
hashmap or ledger as the memory of a model, which offers tools for it (O-1.40, O-4.22).

Hands on `declare_store` and `check_store` to `declaration_checks`, `offers_tools` to `models`, `store_help` to `calls` and
`expressions`; INDEX_FORM and `without_stored_form` to `indexes`, whose documents are stored too. Types and settings end up on the
symbols. What is wrong is reported to `c`, the state of the check, by a code, and not raised; ERRONEOUS is the type of what was
reported. A further way to keep a hashmap is a row of KEEPING and a case of `check_store`. The table of a named store is made by
`memory.store_table`; methods of hashmaps are checked by `methods`, and nothing is stored here: that is for the run.
"""

from __future__ import annotations

from ...vm.schema import STORE_METHODS, store_name, tool_name
from ..symbols import (
    BuiltinSymbol,
    EnumSymbol,
    HashMapSymbol,
    IndexSymbol,
    LedgerSymbol,
    ModelSymbol,
    StructSymbol,
)
from ..syntax import ast
from ..types import (
    ANY,
    LEDGER,
    STRING,
    Function,
    Generic,
    Nilable,
    Nominal,
    Simple,
    Tuple,
    Type,
)
from .declarations import FAILED, at_module_level, folded
from .json_shapes import COLLECTIONS, check_size
from .memory import store_table
from .relations import ERRONEOUS, generic
from .schemas import field_without_json, fold_nested_defaults
from .state import Checker, Expected
from .tool_arguments import check_wire_name
from .types import parts_in, written_type

# A hashmap, a ledger or a scope of one as the memory of a model: it offers tools (O-1.40, O-4.22).

# Of the methods that a store offers; and the parameters of an entry.
LONGEST_METHOD = max(STORE_METHODS, key=len)
PARTS = ("key", "value")


def offers_tools(c: Checker, model: ModelSymbol, value: ast.Expr) -> bool:
    """Return whether a value names a hashmap or a ledger, or a scope of one by prefixes that are String literals; if so, set
    the store and the scope of the model, and report a name too long for a tool (E4013) or, of a hashmap that has no entry yet,
    keys and values without JSON form (E4020) or with too large a one (E0114), and defaults in them that a model cannot be told
    (E4023) or whose evaluation fails (E2033). False leaves the model as it is, and reports nothing."""
    scope: list[str] = []
    at = value
    while isinstance(at, ast.MethodCall) and at.name.text in ("scope", "partition") and len(at.arguments) == 1:
        prefix = at.arguments[0].value
        if not isinstance(prefix, ast.StringLiteral):
            return False
        # The chain is read from its end: the outermost scope comes last.
        scope.insert(0, prefix.value)
        at = at.receiver
    store = at.binding if isinstance(at, ast.PathExpr) else None
    if not isinstance(store, (HashMapSymbol, LedgerSymbol)):
        return False
    model.store, model.scope = store, scope
    # The longest of its methods stands for all.
    check_wire_name(c, tool_name(store_name(store.name, scope), LONGEST_METHOD), value.span)
    if isinstance(store, HashMapSymbol) and store.entry is None and isinstance(store.type, Generic):
        _declare_entry(c, store, value)
    return True


def _declare_entry(c: Checker, store: HashMapSymbol, value: ast.Expr) -> None:
    """Set the entry of a hashmap: key and value as the parameters that a model gives, which need a JSON form (E4020)."""
    assert isinstance(store.type, Generic)
    entry = StructSymbol(store.name, _store_as_schema(store, value), Nominal("schema", ""), [])
    for name, type_ in zip(PARTS, store.type.arguments, strict=True):
        offending = field_without_json(c, type_)
        if offending is not None:
            what = f"`{offending}` has no JSON form: a model cannot use the hashmap `{store.name}`"
            c.report("E4020", value.span, what, help="keep values in it that a schema can hold, or write a tool of your own")
            return
        check_size(c, type_, value.span)
        entry.fields.append((name, type_, None, False))
    fold_nested_defaults(c, entry)
    store.entry = entry


def _store_as_schema(store: HashMapSymbol, value: ast.Expr) -> ast.Schema:
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


# Declarations of hashmaps and ledgers (O-5.1, O-5.12, O-5.14).

HASHMAP_FORM = "hashmap h: HashMap<String, Int> = HashMap::new();"
LEDGER_FORM = "ledger l: Ledger = Ledger::new();"
INDEX_FORM = "index docs: Index<Doc> = Index::of(E, key: |d| d.text);"
FORMS = {
    "HashMap": HASHMAP_FORM, "HashMapRef": HASHMAP_FORM, "Ledger": LEDGER_FORM, "LedgerRef": LEDGER_FORM,
    "Index": INDEX_FORM,
}


def store_help(name: str) -> str:
    """Return the help for a constructor of a store inside a function; `name`, that of the type, is one of FORMS."""
    local = "; a Map of this function alone is `let mut m = {};`" if name in ("HashMap", "HashMapRef") else ""
    return f"at the top of the file, outside of functions: `{FORMS[name]}`{local}"


# What keeps a hashmap beyond the session: methods of its declaration, with their parameter and an example.
KEEPING = {"with_persistence": ("path", "data.json"), "store": ("name", "durable")}
MOST_PARTS = 1_000  # types, behind which fields are not looked at: `struct T<A> { next: T<Array<A>>? }` has ever more
# Simple types that a file of a hashmap can hold.
DATA = ("Int", "Float", "String", "Bool", "Nil", "Any", "Range", "Bytes")


def declare_store(c: Checker, symbol: HashMapSymbol | IndexSymbol) -> None:
    """Set the type of a hashmap or an index, before any body uses it; E2001 for another type, which becomes ERRONEOUS."""
    node = symbol.declaration
    name = "HashMap" if isinstance(symbol, HashMapSymbol) else "Index"
    symbol.type = written_type(c, node.type)
    if generic(symbol.type, name) is None:
        if symbol.type is not ERRONEOUS:
            c.report("E2001", node.type.span, f"expected `{name}`, found `{symbol.type}`", help=FORMS[name])
        symbol.type = ERRONEOUS  # bodies that use it are not reported again


def check_store(c: Checker, symbol: HashMapSymbol | LedgerSymbol) -> None:
    """Check the declaration of a hashmap or ledger: its type, its constructor, and `with_persistence` or `store`, by which `path`
    or `store` of the symbol is set (E2001, E2006, E2007, E2009, E2033, E3012, E4004, E4020, E4508; for a type those of
    `written_type`)."""
    node = symbol.declaration
    if isinstance(symbol, LedgerSymbol):
        declared = written_type(c, node.type)
        if declared != LEDGER and declared is not ERRONEOUS:
            c.report("E2001", node.type.span, f"expected `Ledger`, found `{declared}`", help=LEDGER_FORM)
        _check_constructor(c, node.value, "Ledger", LEDGER_FORM)
        return
    value = ast.ungrouped(node.value)
    if isinstance(value, ast.MethodCall) and value.name.text in KEEPING:
        inner = ast.ungrouped(value.receiver)
        if isinstance(inner, ast.MethodCall) and inner.name.text in KEEPING:
            help = "keep one of the two"
            c.report("E4004", inner.name.span, "a hashmap is kept in one place, a store or a file", help=help)
            return
        _check_constructor(c, value.receiver, "HashMap", HASHMAP_FORM)
        place_name = _name_of_place(c, value)
        if value.name.text == "with_persistence":
            symbol.path = place_name
        elif place_name is not None:
            symbol.store = store_table(c, place_name, value.arguments[0].value.span)
            c.has_stored_hashmaps = True
        _check_storable(c, node, symbol.type, value.name.text)
    elif isinstance(value, ast.MethodCall):
        forms = " and ".join(f'`.{name}("{example}")`' for name, (_, example) in KEEPING.items())
        help = f"behind `HashMap::new()` stands nothing, or one of {forms}"
        c.report("E4004", value.name.span, f"a hashmap has no `{value.name.text}`", help=help)
    else:
        _check_constructor(c, value, "HashMap", HASHMAP_FORM)


def _check_constructor(c: Checker, node: ast.Expr, owner: str, form: str) -> None:
    node = ast.ungrouped(node)
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


def _name_of_place(c: Checker, call: ast.MethodCall) -> str | None:
    """Return the path of `with_persistence` or the name of `store`, a constant String, so that permissions can be told without a
    run (O-10.21); None after a report."""
    method = call.name.text
    parameter, example = KEEPING[method]
    help = f'write `.{method}("{example}")`'
    named = next((argument.name for argument in call.arguments if argument.name is not None), None)
    if named is not None:
        c.report("E2007", named.span, f"`{method}` takes no named argument `{named.text}`", help=help)
        return None
    if len(call.arguments) != 1:
        c.report("E2006", call.name.span, f"`{method}` takes 1 argument, {len(call.arguments)} given", help=help)
        return None
    value = call.arguments[0].value
    type_ = at_module_level(c, value, Expected(STRING, "E2009", f"parameter `{parameter}`"))
    path = folded(c, value, "E4004") if type_ == STRING else FAILED
    return path if isinstance(path, str) else None


def _check_storable(c: Checker, node: ast.Store, type_: Type, method: str) -> None:
    """Report a hashmap with a file or a store whose keys or values JSON cannot hold (E4004, E4020, O-5.12)."""
    what = "a file" if method == "with_persistence" else "a store"
    entry = generic(type_, "HashMap")
    if entry is None:
        return
    if entry[0] == ANY and entry[0] is not ERRONEOUS:
        c.report(
            "E4004", node.type.span, f"a hashmap with {what} needs keys of type String, Int or Bool",
            help=f"declare it `HashMap<String, …>`, or drop `{method}`",
        )
    offending = without_stored_form(c, entry[1])
    if offending is not None:
        c.report(
            "E4020", node.type.span, f"`{offending}` has no JSON form, so no {what[2:]} can hold it",
            help=f"store a struct, schema or type that JSON has, or drop `{method}`",
        )


def _has_json_form(type_: Type) -> bool:
    """Return whether JSON can hold a value of a type, and a typed value be read from it again (O-5.12), as far as the type itself
    tells: fields of structs and payloads of enums are looked at by `without_stored_form`."""
    match type_:
        case Simple():
            return type_.name in DATA
        case Generic():
            return type_.name in COLLECTIONS and all(map(_has_json_form, type_.arguments))
        case Tuple():
            return all(map(_has_json_form, type_.items))
        case Nilable():
            return _has_json_form(type_.inner)
        case Nominal():
            return type_.kind != "error"
    return not isinstance(type_, Function)


def without_stored_form(c: Checker, type_: Type) -> Type | None:
    """Return the part of a type that JSON cannot hold (`_has_json_form`), the fields of its structs and the payloads of its enums
    included, as far as MOST_PARTS types; or None."""
    if type_ not in c.unstored:
        c.unstored[type_] = _without_stored_form(c, type_)
    return c.unstored[type_]


def _without_stored_form(c: Checker, type_: Type) -> Type | None:
    seen: set[Type] = set()
    todo = [type_]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if not _has_json_form(at):
            return at
        match at:
            case Generic():
                todo.extend(at.arguments)
            case Tuple():
                todo.extend(at.items)
            case Nilable():
                todo.append(at.inner)
        symbol = c.declared(at)
        if isinstance(symbol, (StructSymbol, EnumSymbol)) and len(seen) <= MOST_PARTS:
            for owner in symbol.members if isinstance(symbol, EnumSymbol) else [symbol]:
                todo.extend(part for _, part, _, _ in parts_in(c, owner, at))
    return None
