"""Tools in the checker (O-4.1 to O-4.10, O-1.42, O-3.20): descriptions, parameters, names for models, and lists of tools.

Hands on `check_tool` to `declaration_checks`, `check_wire_names` to `program`, `tools_named` to `models`; to `methods`
`with_tools` and the rules of other arguments that take tools, `tools_are_listed` and `tools_fit`; to `calls` and `expressions`
`private_tool_method`; `tool_of` to `methods` and the language server. What a model is told about a tool ends up in the
`ToolSymbol`: its `description`, `texts` and `arguments`, which are read from parameters in `tool_arguments`; the JSON Schema is
made by codegen. What is wrong is reported to `c`, the state of the check, by a code, and not raised. Hashmaps and ledgers as
tools belong to `stores`, what answers in a test in place of a tool to `mocks`; nothing is called here.
"""

from __future__ import annotations

from ...vm.builtins import Row
from ...vm.schema import INDEX_METHOD, tool_name
from ..decisions import BuiltinCall
from ..fields import TEXT
from ..source import Span
from ..symbols import (
    FunctionSymbol,
    IndexSymbol,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    ToolSymbol,
)
from ..syntax import ast
from ..types import (
    ANY,
    KEYED_MEMORY,
    MCP_REF,
    NEVER,
    OPEN,
    TOOL_REF,
    Nilable,
    Nominal,
    Type,
)
from .arguments import call_row, infer_all
from .config import check_value, report_duplicates, report_unknown_key
from .declarations import at_module_level
from .decorators import check_decorators
from .memory_attachments import refuse_attaching
from .memory_calls import without_key
from .questions import ask_before, offer_function
from .relations import ERRONEOUS, generic, is_memory
from .state import FREE, Checker, Expected
from .tool_arguments import arguments_of, check_wire_name, parameter_texts

# Declarations of tools: descriptions, parameters, state, names for models (O-4.1 to O-4.10).

def check_tool(c: Checker, symbol: ToolSymbol) -> None:
    """Check a tool, and set its description and, of its public methods, texts, arguments and, where `@effect` says one, effects;
    their bodies are checked as functions. E4001 for another entry than `description` or a second one, E4002 for a tool without
    description or state without value, E4010 and E4011 for a method or parameter without text; beside these what
    `check_decorators`, `ask_before` and `tool_arguments` report."""
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


# Uses of tools: by name, and in lists (O-1.42, O-3.20).


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
    where `value` is no array that is written out (E4004). E4510 for a memory that the model may not attach, E4013 for a name
    that is too long, and what `offer_function` reports; these are returned all the same."""
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
    the first item that is nothing of it. Functions by models or of Python, and channels, in it become their tools
    (`offer_function`). `place` is the method or argument that takes the array. Of any other value the answer is True: see
    `tools_fit`."""
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
