"""The statement `mock` in the checker: what answers in a test in place of a model, an agent, a tool, a function or the host
(O-8.11 to O-8.28).

Hands on `mock` to `control`. What a mock of an agent or of a model takes is a row of AGENT_MOCK or MODEL_MOCK, what one of a
server takes beside answers a row of READ. Replies that are written out are looked into, for tools that nothing offers and names
of errors; what is computed is known only when the test runs. What is wrong is reported to `c`, the state of the check, by a code,
and not raised. In the tree the fields of an answer become one value of its type, and a function by a model is marked as `mocked`,
so that its code asks for the answer (`_mock_question`). Nothing is mocked here: codegen makes code of the statement, the run does
the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...vm.memory_steps import TOOL_METHODS
from ...vm.schema import INDEX_METHOD, RESPOND, STORE_METHODS, tool_name
from ...vm.values.errors import FAULTS
from ..hints.names import did_you_mean, listed, patient
from ..resolver.state import ErroneousSymbol
from ..symbols import (
    AgentSymbol,
    BuiltinSymbol,
    FunctionSymbol,
    IndexSymbol,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    Offering,
    StructSymbol,
    ToolSymbol,
)
from ..syntax import ast
from ..types import (
    ANY,
    STRING,
    Function,
    Generic,
    Type,
    array,
    map_,
    of_host,
)
from ..types import result as result_type
from .arguments import infer_all
from .config import report_duplicates, report_unknown_key
from .questions import is_question
from .relations import ERRONEOUS, generic
from .state import FREE, Checker, Expected

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


# Where a mock may stand, and what it takes (O-8.11 to O-8.14).

# What a mock of an agent or a model takes (O-8.11, O-8.12), and what each holds; None: a scripted reply, which the run
# checks (O-8.19 to O-8.22).
ANSWER_FIELDS: dict[str, Type | None] = {"response": None, "responses": array(ANY), "error": STRING}
AGENT_MOCK = {**ANSWER_FIELDS, "messages": array(map_(STRING, ANY))}
MODEL_MOCK = {**ANSWER_FIELDS, "tool_calls": array(ANY)}
# Of these a mock has one at most.
ANSWERS = ("response", "responses", "error", "messages")


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
    not stand or what it names cannot be mocked, E4001 to E4004 for its fields; W0406 for a scripted error that is nearly a
    known kind."""
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
