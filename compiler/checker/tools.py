"""Tools and what stands for them: descriptions, parameters, lists of tools; hashmaps and ledgers as tools; mocks, tests and
scripted replies (O-4.1 to O-4.10, O-1.42, O-3.20, O-5, O-8).

Hands on to `declaration_checks` `check_tool`, `declare_store`, `check_store` and `check_test`, to `program` `check_wire_names`;
to `control` the statement `mock`; to `models` `tools_named` and `offers_tools`; to `methods` the rules of `with_tools` and of
arguments that take tools (`tools_are_listed`, `tools_fit`); to `calls` and `expressions` `private_tool_method`, `refuse_test` and
`store_help`; INDEX_FORM and `without_stored_form` to `indexes`, whose documents are stored too; `tool_of` to `methods` and the
language server. What a model is told about a tool ends up in `ToolSymbol.texts` and `.arguments`, see `tool_arguments.py`; its
JSON Schema is made by codegen. What a mock takes is a row of AGENT_MOCK or MODEL_MOCK. What is wrong is reported to `c`, the
state of the check, and not raised. Nothing is called, mocked or stored here: that is the matter of the run, by what is set on the
symbols and the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...vm.builtins import Row
from ...vm.memory_steps import TOOL_METHODS
from ...vm.schema import INDEX_METHOD, RESPOND, STORE_METHODS, store_name, tool_name
from ...vm.values.errors import FAULTS
from ..decisions import BuiltinCall
from ..fields import TEXT
from ..hints.names import did_you_mean, listed, patient
from ..resolver.state import ErroneousSymbol
from ..source import Span
from ..symbols import (
    AgentSymbol,
    BuiltinSymbol,
    EnumSymbol,
    FunctionSymbol,
    HashMapSymbol,
    IndexSymbol,
    LedgerSymbol,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    Offering,
    StructSymbol,
    TestInfo,
    ToolSymbol,
)
from ..syntax import ast
from ..types import (
    ANY,
    KEYED_MEMORY,
    LEDGER,
    MCP_REF,
    NEVER,
    OPEN,
    STRING,
    TOOL_REF,
    Function,
    Generic,
    Nilable,
    Nominal,
    Simple,
    Tuple,
    Type,
    array,
    map_,
    of_host,
)
from ..types import result as result_type
from .arguments import call_row, infer_all
from .config import check_value, report_duplicates, report_unknown_key
from .declarations import FAILED, at_module_level, folded
from .decorators import Checked, check_decorators
from .json_shapes import COLLECTIONS, check_size
from .memory import refuse_attaching, store_table, without_key
from .questions import ask_before, is_question, offer_function
from .relations import ERRONEOUS, generic, is_memory
from .schemas import field_without_json, fold_nested_defaults
from .state import FREE, Checker, Expected
from .tool_arguments import arguments_of, check_wire_name, parameter_texts
from .types import parts_in, written_type

# Tools: descriptions, parameters, state, names on the wire; lists of tools (O-4.1 to O-4.10, O-1.42, O-3.20).

def check_tool(c: Checker, symbol: ToolSymbol) -> None:
    """Check a tool, and set its description and, of its public methods, texts, arguments and, where `@effect` says one, effects;
    their bodies are checked as functions. E4002 for a tool without description or state without value, E4010 and E4011 for a
    method or parameter without text; beside these what `check_decorators`, `ask_before` and `tool_arguments` report."""
    node = symbol.declaration
    owner = f"tool `{symbol.name}`"
    check_decorators(c, node.decorators, "tool")
    report_duplicates(c, owner, [entry.key for entry in node.entries])
    symbol.description = _description(c, symbol, owner)
    for field in node.fields:
        if field.default is None:
            help = f"write `{field.name.text}: T = …`: a tool is there when the session begins"
            c.report("E4002", field.name.span, f"the state `{field.name.text}` of {owner} has no value", help=help)
    for method in symbol.impl.methods:
        if method.declaration.public:
            _check_method(c, symbol, method)
        else:
            check_decorators(c, method.declaration.decorators, "private function")


def _description(c: Checker, symbol: ToolSymbol, owner: str) -> str:
    """Return the field `description`, else the doc comment; E4002 without both (O-4.1)."""
    node = symbol.declaration
    for entry in node.entries:
        if entry.key.text != "description":
            report_unknown_key(c, owner, entry.key, ("description",))
            continue
        text = check_value(c, "description", entry.value, TEXT, constant=True)
        return text if isinstance(text, str) else ""
    # A model chooses a tool by its description: without one it is no tool.
    if node.doc is None:
        help = 'write `description: "…"`, or a doc comment: the model reads it'
        c.report("E4002", node.name.span, f"{owner} lacks `description`", help=help)
    return node.doc or ""


def _check_method(c: Checker, tool: ToolSymbol, method: FunctionSymbol) -> None:
    node = method.declaration
    # `@param` may stand several times, which `check_decorators` refuses.
    own = [decorator for decorator in node.decorators if decorator.name.text != "param"]
    decorators = dict(check_decorators(c, own, "tool method"))
    if isinstance(channel := decorators.get("approve", {}).get("channel"), ast.Expr):
        ask_before(c, method, channel)
    effect = decorators.get("effect", {}).get("class")
    if isinstance(effect, str):
        tool.effects[method] = effect
    described = decorators.get("describe", {}).get("text") or node.doc
    if not isinstance(described, str):
        described = ""
        # A text that is wrong was reported.
        if "describe" not in decorators:
            help = 'write `@describe("…")` above it, or a doc comment'
            c.report("E4010", node.name.span, f"tool method `{method.path}` has no description", help=help)
    tool.texts[method] = described
    texts = parameter_texts(c, method, required=True)
    tool.arguments[method] = arguments_of(c, tool.name, method, texts)
    check_wire_name(c, tool.wire_name(method), node.name.span)


def check_wire_names(c: Checker, tools: list[ToolSymbol | McpSymbol]) -> None:
    """Report each method of these tools and servers that has the name of an earlier one for models (E4013, O-4.8)."""
    seen: dict[str, FunctionSymbol] = {}
    for tool in tools:
        for method in tool.arguments:
            first = seen.setdefault(tool.wire_name(method), method)
            if first is not method and first.declaration is not method.declaration:
                c.report(
                    "E4013", method.declaration.name.span, f"two tool methods are `{tool.wire_name(method)}` to a model",
                    help="rename one of the tools or methods", first=first.declaration.name.span,
                )  # fmt: skip


# Names of tools.


def tool_of(node: ast.Expr) -> ToolSymbol | McpSymbol | None:
    """Return the tool or MCP server that an expression names, None for every other expression."""
    node = ast.ungrouped(node)
    binding = node.binding if isinstance(node, ast.PathExpr) else None
    return binding if isinstance(binding, (ToolSymbol, McpSymbol)) else None


def private_tool_method(c: Checker, name: ast.Ident, method: FunctionSymbol) -> Type:
    """Report the use of a private method outside of its tool (E1006) and return ERRONEOUS."""
    assert method.tool is not None
    help = "declare it `pub`, with a description, or call it as `self.…` within the tool"
    return c.report("E1006", name.span, f"`{method.path}` is private in tool `{method.tool.name}`", help=help)


def tools_named(c: Checker, value: ast.Expr, model: ModelSymbol) -> list[ToolSymbol | McpSymbol | MemorySymbol | IndexSymbol]:
    """Return the tools and servers that the field `tools` of a model names (O-1.42), memories (M-10.17) and indexes (O-1.254)
    among them. They are in the order of the source, without what is no tool (E4004) and without keyed memories (E4505); none
    where `value` is no array that is written out (E4004). E4510 for a memory that the model may not attach and E4013 for a name
    that is too long, both of which are returned all the same."""
    tools: list[ToolSymbol | McpSymbol | MemorySymbol | IndexSymbol] = []
    if not isinstance(value, ast.ArrayExpr):
        at_module_level(c, value, Expected())
        c.report("E4004", value.span, "`tools` is an array of names of tools", help="write `tools: [A, B]`")
        return tools
    for item in value.items:
        offer_function(c, item)
        type_ = at_module_level(c, item, Expected())
        tool = tool_of(item)
        if tool is not None:
            tools.append(tool)
        elif type_ == KEYED_MEMORY:
            memory = item.binding if isinstance(item, ast.PathExpr) else None
            keys = memory.keys if isinstance(memory, MemorySymbol) else None
            key = ", ".join(f"{key}: …" for key in keys or ("…",))
            without_key(c, item, f"give it by call: `{model.name}.with_tools([{c.operand(item, '…')}.key({key})])`")
        elif isinstance(item, ast.PathExpr) and isinstance(item.binding, MemorySymbol):
            refuse_attaching(c, item, model, item.binding, writes=False)
            check_wire_name(c, tool_name(item.binding.name, "remember"), item.span)
            tools.append(item.binding)
        elif isinstance(item, ast.PathExpr) and isinstance(item.binding, IndexSymbol):
            check_wire_name(c, tool_name(item.binding.name, INDEX_METHOD), item.span)
            tools.append(item.binding)
        elif type_ is not ERRONEOUS:
            by_call = f"give it by call: `{model.name}.with_tools([{c.operand(item, '…')}])`"
            help = by_call if is_memory(type_) else "write `tools: [Name]`"
            c.report("E4004", item.span, f"`tools` holds names of tools, found `{type_}`", help=help)
    return tools


def with_tools(c: Checker, node: ast.MethodCall, row: Row) -> Type:
    """Return the type of `with_tools([A, B])`, which takes tools, functions that are offered as such, MCP servers, memories and
    indexes only (E4040); ERRONEOUS after a report."""
    tools = next((a.value for a in node.arguments if a.name is None or a.name.text == "ts"), None)
    if tools is not None and not tools_are_listed(c, row.name, tools):
        infer_all(c, node.arguments)
        return ERRONEOUS
    type_, matched = call_row(c, row, None, node.arguments, node.name.span, FREE)
    if matched is None or tools is None or not tools_fit(c, row.name, tools):
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, row.receiver, row.name)
    return type_


def tools_are_listed(c: Checker, place: str, value: ast.Expr) -> bool:
    """Return whether an array that is written out holds only what `with_tools` takes, before it is typed as a whole; E4040 for
    the first item that is nothing of it. Functions by models and channels in it become their tools (`offer_function`). `place` is
    the method or argument that takes the array. Of any other value the answer is True: see `tools_fit`."""
    items = value.items if isinstance(value, ast.ArrayExpr) else []
    for item in items:
        offer_function(c, item)
    return all(_check_offered(c, place, item.span, c.infer(item)) for item in items)


def tools_fit(c: Checker, place: str, value: ast.Expr) -> bool:
    """Return whether a value, by the type that the check has given it, may hold tools; E4040 if not. See `tools_are_listed` for
    arrays that are written out. `place` is the method or argument that takes it."""
    type_ = value.type.inner if isinstance(value.type, Nilable) else value.type
    element = None if isinstance(value, ast.ArrayExpr) else generic(type_, "Array")
    return not element or _check_offered(c, place, value.span, element[0])


def _check_offered(c: Checker, place: str, span: Span, type_: Type) -> bool:
    is_tool = isinstance(type_, Nominal) and type_.kind == "tool"
    if type_ in (TOOL_REF, MCP_REF, ANY, NEVER) or is_tool or is_memory(type_) or type_ == OPEN or generic(type_, "Index"):
        return True
    c.report("E4040", span, f"`{place}` takes tools, found `{type_}`", help="name a declared `tool`")
    return False


# Scripted replies of mocks, as far as they are written out: the tools they call, the errors they name (O-8.21, O-8.22). What is
# computed is known only when the test runs.


def check_script(c: Checker, field: str, value: ast.Expr) -> None:
    """Check one field of a mock of a model: `tool_calls`, `error`, `response` or `responses` (E4003 for a call of a tool that
    nothing offers, W0406); any other field, and what is not written out as a literal, is passed over."""
    value = ast.ungrouped(value)
    if field == "error" and isinstance(value, ast.StringLiteral):
        _check_error(c, value)
    elif field == "tool_calls" and isinstance(value, ast.ArrayExpr):
        for call in value.items:
            for name in _entries(call, "tool"):
                _check_call(c, name)
    elif field == "responses" and isinstance(value, ast.ArrayExpr):
        for reply in value.items:
            check_script(c, "response", reply)
    elif field == "response":
        for part in ("tool_calls", "error"):
            for written in _entries(value, part):
                check_script(c, part, written)


def _entries(value: ast.Expr, key: str) -> Iterator[ast.Expr]:
    """Yield what a map that is written out holds under a key."""
    value = ast.ungrouped(value)
    if isinstance(value, ast.MapExpr):
        for entry in value.entries:
            if isinstance(entry.key, ast.StringLiteral) and entry.key.value == key:
                yield entry.value


def _check_error(c: Checker, value: ast.StringLiteral) -> None:
    """Warn of an `error` that is nearly a kind of error: any text that is none is the message of `AgentError::Failed` (W0406)."""
    near = None if value.value in FAULTS else did_you_mean(value.value, FAULTS)
    if near is not None:
        message = f"`{value.value}` is no kind of error: it is the message of `AgentError::Failed`"
        c.report("W0406", value.span, message, help=near)


def _check_call(c: Checker, name: ast.Expr) -> None:
    """Report a call of a tool that nothing in the program offers (E4003)."""
    if not isinstance(name, ast.StringLiteral) or name.value == RESPOND:
        return
    # Scripts write `Tool.method`, as programs do; the wire has `Tool__method`.
    called = name.value.replace(".", "__")
    if c.offered is None:
        c.offered = Offered(c.tool_sources)
    if c.offered.has(called) or called in c.questions:
        return
    owner, _, method = called.rpartition("__")
    names = c.offered.names
    every = [name for methods in names.values() for name in methods] if patient() else []
    help = did_you_mean(f"{owner}.{method}", every) or listed(f"the tools of `{owner}`", names.get(owner, ()))
    c.report(
        "E4003", name.span, f"nothing of the program offers the tool `{name.value}`",
        help=help or "write `T.method`; a call that nothing offers, on purpose, takes its name from a variable",
    )  # fmt: skip


class Offered:
    """The names by which a model may call what a program offers as tools; all tools and servers must have been checked. A scope
    of a store and a part of a memory begin with its name; of a server without signatures only the run knows the tools. `longest`
    is the length of the longest of `beginnings` and of the names in `stores`."""

    __slots__ = ("names", "exact", "beginnings", "stores", "longest")

    def __init__(self, sources: Sequence[Offering]) -> None:
        # by the name of a tool, server, memory, index or store, the texts `Name.method`, for suggestions
        self.names = {symbol.name: [f"{symbol.name}.{method}" for method in _methods(symbol)] for symbol in sources}
        self.exact: set[str] = set()  # names on the wire, `Tool__method`
        self.beginnings: set[str] = set()  # of names of tools of servers without signatures
        self.stores: dict[str, set[str]] = {}  # the methods of stores and memories by their names
        for symbol in sources:
            if isinstance(symbol, McpSymbol) and not symbol.methods:
                self.beginnings.add(tool_name(symbol.name, ""))
            elif isinstance(symbol, (ToolSymbol, McpSymbol)):
                self.exact.update([tool_name(symbol.name, method) for method in _methods(symbol)])
            else:
                self.stores.setdefault(symbol.name, set()).update(_methods(symbol))
        self.longest = max(map(len, (*self.beginnings, *self.stores)), default=0)

    def has(self, called: str) -> bool:
        """Return whether a model may call something by this name, in which `__` stands between owner and method."""
        owner, _, method = called.rpartition("__")
        owners = [owner, *(owner[:at] for at in range(min(len(owner), self.longest + 1)) if owner[at] == "_")]
        return (
            called in self.exact
            or any(called[:at] in self.beginnings for at in range(min(len(called), self.longest) + 1))
            or any(method in self.stores.get(name, ()) for name in owners)
        )


def _methods(symbol: Offering) -> Sequence[str]:
    if isinstance(symbol, (ToolSymbol, McpSymbol)):
        return [method.name for method in symbol.arguments]
    if isinstance(symbol, IndexSymbol):
        return (INDEX_METHOD,)
    return TOOL_METHODS if isinstance(symbol, MemorySymbol) else STORE_METHODS


# A hashmap, a ledger or a scope of one as the memory of a model: it offers tools (O-1.40, O-4.22).

# Of the methods that a store offers; and the parameters of an entry.
LONGEST_METHOD = max(STORE_METHODS, key=len)
PARTS = ("key", "value")


def offers_tools(c: Checker, model: ModelSymbol, value: ast.Expr) -> bool:
    """Return whether a value names a hashmap or a ledger, or a scope of one by prefixes that are String literals; if so, set the
    store and the scope of the model, and report a name too long for a tool (E4013) or, of a hashmap that has no entry yet, keys
    and values without JSON form (E4020). False leaves the model as it is, and reports nothing."""
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
    or `store` of the symbol is set (E2001, E2006, E2009, E4004, E4020, E4508)."""
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
    if len(call.arguments) != 1 or call.arguments[0].name is not None:
        c.report(
            "E2006", call.name.span, f"`{method}` takes 1 argument, {len(call.arguments)} given",
            help=f'write `.{method}("{example}")`',
        )
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
    if entry[0] == ANY:
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


# Mocks of tools and MCP servers (O-8.13).


def check_mock(c: Checker, node: ast.Mock, tool: ToolSymbol | McpSymbol) -> None:
    """Check a mock of a tool or MCP server: for a method a value, or a closure that is called with the arguments (O-8.13), of its
    type (E4004); E4001 for what is no method. A server without signatures takes an answer for any name; each may have what READ
    names."""
    methods = {method.name: method for method in tool.arguments}
    for entry in node.config:
        method = methods.get(entry.key.text)
        if isinstance(tool, McpSymbol) and method is None and entry.key.text in READ:
            _check_read(c, entry)
        elif isinstance(tool, McpSymbol) and not tool.methods:
            check_free_answer(c, entry.value, map_(STRING, ANY))
        elif method is None:
            known = [*methods, *READ] if isinstance(tool, McpSymbol) else methods
            report_unknown_key(c, f"mock `{tool.name}`", entry.key, known)
            c.infer(entry.value)
        else:
            _check_answer(c, entry.key.text, entry.value, method, method.result)


# What else a mock of a server may hold, with an example of each.
READ = {
    "resources": '`{ "docs://intro": "text" }`, or `|uri| …`',
    "prompts": '`{ "review": "text" }`, or `{ "review": |arguments| … }`',
}


def _check_read(c: Checker, entry: ast.ConfigEntry) -> None:
    """Check the resources or prompts of a mock of a server: a Map of them, of resources also a closure of the URI (E4004)."""
    inner = ast.ungrouped(entry.value)
    if isinstance(inner, ast.Closure) and entry.key.text == "resources":
        check_free_answer(c, inner, STRING)
        return
    if isinstance(inner, ast.MapExpr) and entry.key.text == "prompts":
        for row in inner.entries:
            if isinstance(ast.ungrouped(row.value), ast.Closure):
                check_free_answer(c, ast.ungrouped(row.value), map_(STRING, STRING))
    actual = c.infer(entry.value, Expected(map_(STRING, ANY)))
    if actual is not ERRONEOUS and actual != ANY and generic(actual, "Map") is None:
        message = f"`{entry.key.text}` of a mock is a Map, found `{actual}`"
        c.report("E4004", entry.value.span, message, help=f"write {READ[entry.key.text]}")


def check_free_answer(c: Checker, value: ast.Expr, argument: Type) -> None:
    """Check an answer without a signature: a value of any type, or a function of one parameter (E4004), which a closure gets as
    of type `argument`: of a server the arguments as a Map, of an emit the payload."""
    actual = c.infer(value, Expected(Function((argument,), ANY)) if isinstance(value, ast.Closure) else Expected())
    if isinstance(actual, Function) and len(actual.parameters) != 1:
        message = f"what answers takes 1 argument, not {len(actual.parameters)}"
        c.report("E4004", value.span, message, help="write `|given| …`, or `|_| …`")


def _check_answer(c: Checker, name: str, value: ast.Expr, method: FunctionSymbol, result: Type) -> None:
    """Check an answer in place of a function: a closure of its parameters, or a value of `result`; of a Result also the value
    itself."""
    parameters = method.parameters[1:] if method.takes_self else method.parameters
    inner = ast.ungrouped(value)
    if isinstance(inner, ast.Closure):
        value = inner
        # In place of a function by a model, or of a channel, a closure gives its Result, as that function would: a value is
        # wrapped in Ok, and `throw` gives an Err.
        wanted = Function(tuple(parameters), result if is_question(method) else ANY)
        actual = c.infer(value, Expected(wanted))
        if actual is not ERRONEOUS and len(value.parameters) == len(parameters):
            c.coerce(value, actual, Expected(wanted, "E4004", f"`{name}`"))
        elif actual is not ERRONEOUS:
            message = f"`{name}` takes {len(parameters)} arguments, the closure {len(value.parameters)}"
            names = [p.name.text for p in method.declaration.parameters[method.takes_self :]]
            c.report("E4004", value.span, message, help=f"write `|{', '.join(names)}| …`")
        return
    # A mock may give the value itself in place of the whole Result.
    sides = generic(result, "Result")
    is_whole = False
    if isinstance(inner, ast.Call) and isinstance(inner.callee, ast.PathExpr):
        is_whole = inner.callee.segments[-1].text in ("Ok", "Err")
    actual = c.infer(value, Expected(sides[0] if sides and not is_whole else result))
    if actual is ERRONEOUS or generic(actual, "Result") or not sides:
        c.coerce(value, actual, Expected(result, "E4004", f"`{name}`"))
    else:
        c.coerce(value, actual, Expected(sides[0], "E4004", f"`{name}`"))


# Tests and mocks: where they stand, what they take (O-8.1 to O-8.14).

# What a mock of an agent or a model takes (O-8.11, O-8.12), and what each holds; None: a scripted reply, which the run
# checks (O-8.19 to O-8.22).
ANSWER_FIELDS: dict[str, Type | None] = {"response": None, "responses": array(ANY), "error": STRING}
AGENT_MOCK = {**ANSWER_FIELDS, "messages": array(map_(STRING, ANY))}
MODEL_MOCK = {**ANSWER_FIELDS, "tool_calls": array(ANY)}
# Of these a mock has one at most.
ANSWERS = ("response", "responses", "error", "messages")


def check_test(c: Checker, symbol: FunctionSymbol, decorators: Checked) -> None:
    """Set `symbol.test` to what `@test` and `@expect_fail` among the checked `decorators` say; report a test of another form
    (E4070), cases that do not fit (E4009, E2009), and `@expect_fail` alone (E4071), which makes no test."""
    by_name = dict(decorators)
    node = symbol.declaration
    if "test" not in by_name:
        if "expect_fail" in by_name:
            at = next(d.span for d in node.decorators if d.name.text == "expect_fail")
            c.report("E4071", at, "`@expect_fail` stands without `@test`", help="write `@test` too")
        return
    written = by_name["test"].get("cases")
    if (node.parameters and written is None) or node.result is not None or node.type_parameters:
        what = "a result type" if node.result is not None else "type parameters" if node.type_parameters else "parameters"
        example = ", ".join("…" for _ in node.parameters)
        example = f"({example})" if len(node.parameters) > 1 else example
        with_cases = f"say what they are: `@test(cases: [{example}])`"
        help = with_cases if what == "parameters" else f"write `fn {symbol.name}() {{ … }}`"
        c.report("E4070", node.name.span, f"the test `{symbol.name}` has {what}", help=help)
    description = str(by_name["test"].get("description", symbol.name))
    part = by_name.get("expect_fail", {}).get("part")
    symbol.test = TestInfo(description, "expect_fail" in by_name, None if part is None else str(part))
    if isinstance(written, ast.Expr):
        symbol.test.cases = list(_read_cases(c, symbol, written))


def _read_cases(c: Checker, symbol: FunctionSymbol, written: ast.Expr) -> Iterator[tuple[str, list[ast.Expr]]]:
    """Yield of each case its text and its arguments; E4009 for what is no list of them, E4070 without parameters (O-8.26)."""
    parameters = symbol.declaration.parameters
    if not isinstance(written, ast.ArrayExpr) or not written.items:
        message = "`cases` is an array literal of at least one case"
        c.report("E4009", written.span, message, help="write `cases: [(1, 2), (3, 4)]`")
        return
    if not parameters:
        help = f"write `fn {symbol.name}(x: Int) {{ … }}`, or drop `cases`"
        c.report("E4070", written.span, f"the test `{symbol.name}` has cases and no parameters", help=help)
        return
    for item in written.items:
        # A test of one parameter takes a tuple as its value.
        arguments = item.items if isinstance(item, ast.TupleExpr) and len(parameters) > 1 else [item]
        if len(arguments) != len(parameters):
            message = f"the case has {_count_of_values(len(arguments))}, the test `{symbol.name}` takes {len(parameters)}"
            help = "write `(" + ", ".join(parameter.name.text for parameter in parameters) + ")`"
            c.report("E4009", item.span, message, help=help)
            continue
        for parameter, type_, argument in zip(parameters, symbol.parameters, arguments, strict=True):
            at_module_level(c, argument, Expected(type_, "E2009", f"`{parameter.name.text}`"))
            # Only to test that it is constant.
            folded(c, argument, "E4009")
        yield _text_of_case(c, item), arguments


def _count_of_values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _text_of_case(c: Checker, item: ast.Expr) -> str:
    """Return a case as it is written, on one line."""
    source = c.sources[item.span.file].text
    return " ".join(source[item.span.start : item.span.end].split())


def refuse_test(c: Checker, symbol: FunctionSymbol, span: Span) -> None:
    """Report a use of a test, which only the test runner calls (E4073, O-8.4)."""
    if symbol.is_test:
        c.report("E4073", span, f"`{symbol.name}` is a test; nothing calls it", help="move what is shared into a function")


def answers_emits(node: ast.Mock) -> bool:
    """Return whether a mock stands in for the host that answers awaited emits (O-8.27)."""
    return isinstance(node.target, BuiltinSymbol) and node.target.name == "emit"


MOCKABLE = (ModelSymbol, AgentSymbol, ToolSymbol, McpSymbol)
MOCKS = "a mock stands in for a model, agent, tool, mcp server, channel, function by a model or of Python, or `emit`"


def _mock_question(c: Checker, node: ast.Mock, symbol: FunctionSymbol) -> None:
    """Check what answers in place of a channel or of the model of a function (O-8.28): one value or closure, or the fields of
    the answer, which become a value of its type."""
    sides = generic(symbol.result, "Result") or (symbol.result,)
    owner = f"mock `{symbol.name}`"
    answer = c.declared(sides[0])
    if node.answer is None and isinstance(answer, StructSymbol):
        fields = [ast.FieldInit(entry.span, entry.key, entry.value) for entry in node.config]
        value = ast.StructExpr(node.span, [node.name], None, fields, None)
        value.binding = answer
        node.answer, node.config = value, []
    elif node.answer is None and symbol.result is not ERRONEOUS:
        help = f"write `mock {symbol.name} {{ value }}`, or `mock {symbol.name} {{ |…| value }}`"
        for entry in node.config:
            c.infer(entry.value)
        at = node.config[0].key.span if node.config else node.name.span
        what = f"`{symbol.name}` answers with `{sides[0]}`, which has no fields" if node.config else f"{owner} says nothing"
        c.report("E4004" if node.config else "E4002", at, what, help=help)
    if node.answer is not None:
        # Whatever a handler fails with is a text to the program (O-5.29).
        result = _answer_of(symbol.result) if symbol.channel is None else result_type(sides[0], ANY)
        _check_answer(c, symbol.name, node.answer, symbol, result)
    symbol.mocked = True


def _answer_of(result: Type) -> Type:
    """Return the type of what a mock gives: of a Stream the Array of its elements."""
    return array(result.arguments[0]) if isinstance(result, Generic) and of_host(result) else result


def mock(c: Checker, node: ast.Mock) -> None:
    """Check the statement `mock`, which stands in a test for a model, an agent, a tool or the host (O-8.14): E4072 where it may
    not stand or what it names cannot be mocked, E4001 to E4004 for its fields."""
    name = node.name.text
    fields = AGENT_MOCK if isinstance(node.target, AgentSymbol) else MODEL_MOCK
    if not any(target.test for target in c.targets):
        c.report("E4072", node.span, "`mock` stands outside a test", help="mark the function with `@test`")
    elif isinstance(node.target, ErroneousSymbol) and node.path:
        infer_all(c, [ast.Argument(entry.span, None, entry.value) for entry in node.config])
        if node.answer is not None:
            c.infer(node.answer)
        return
    elif not (isinstance(node.target, MOCKABLE) or answers_emits(node) or is_question(node.target)):
        help = did_you_mean(name, [*c.mockable, *c.questions]) or MOCKS
        c.report("E4072", node.name.span, f"`{name}` cannot be mocked", help=help)
        infer_all(c, [ast.Argument(entry.span, None, entry.value) for entry in node.config])
        if node.answer is not None:
            c.infer(node.answer)
        return
    report_duplicates(c, f"mock `{name}`", [entry.key for entry in node.config])
    if is_question(node.target):
        _mock_question(c, node, node.target)
        return
    if node.answer is not None:
        c.infer(node.answer)
        help = 'write what it answers by name: `{ response: "…" }`'
        c.report("E4004", node.answer.span, f"the mock of `{name}` has fields, no single answer", help=help)
        return
    if isinstance(node.target, (ToolSymbol, McpSymbol)):
        check_mock(c, node, node.target)
        return
    if answers_emits(node):
        for entry in node.config:
            check_free_answer(c, entry.value, ANY)
        return
    for entry in node.config:
        _check_entry(c, f"mock `{name}`", entry, fields)
        check_script(c, entry.key.text, entry.value)
    # A scripted model has one answer, or a list of them, or an error.
    answers = {entry.key.text: entry.key for entry in node.config if entry.key.text in ANSWERS}
    if len(answers) > 1:
        one, other = list(answers.values())[:2]
        c.report(
            "E4001", other.span, f"`{other.text}` and `{one.text}` exclude each other", first=one.span,
            help="keep one of the two",
        )
    elif not node.config:
        help = "give one of " + ", ".join(f"`{field}`" for field in fields)
        c.report("E4002", node.name.span, f"mock `{name}` says nothing", help=help)


def _check_entry(c: Checker, owner: str, entry: ast.ConfigEntry, fields: dict[str, Type | None]) -> None:
    key = entry.key.text
    if key not in fields:
        report_unknown_key(c, owner, entry.key, fields)
        c.infer(entry.value)
        return
    wanted = fields[key]
    if wanted is not None:
        c.value(entry.value, Expected(wanted, "E4004", f"`{key}`"))
        return
    actual = c.infer(entry.value, Expected(map_(STRING, ANY)) if isinstance(entry.value, ast.MapExpr) else FREE)
    if actual is not ERRONEOUS and not _may_be_scripted(actual):
        c.report(
            "E4004", entry.value.span, f"`{key}` is a String or a Map, found `{actual}`",
            help="write the text of the reply, or `{ \"text\": \"…\" }`",
        )


def _may_be_scripted(type_: Type) -> bool:
    if isinstance(type_, Generic):
        return type_.name == "Map"
    return type_ in (STRING, ANY)
