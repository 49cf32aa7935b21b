"""Tools: descriptions, parameters, state, names on the wire; lists of tools (O-4.1 to O-4.10, O-1.42, O-3.20).

Hands on `check_tool`, `check_wire_names`, `tool_of`, `tools_named`, `with_tools` and, for MCP servers, their parts. Must not
know: how a tool is run.
"""

from __future__ import annotations

from ...vm.builtins import Row
from ...vm.schema import tool_name
from .. import ast
from ..decisions import BuiltinCall
from ..resolver.spelling import did_you_mean, listed
from ..source import Span
from ..symbols import FunctionSymbol, McpSymbol, MemorySymbol, ModelSymbol, StructSymbol, ToolSymbol
from ..types import ANY, KEYED_MEMORY, MCP_REF, NEVER, OPEN, TOOL_REF, Nilable, Nominal, Type
from .arguments import infer_all
from .attaching import refuse_attaching
from .builtins import call_row
from .config import check_value, duplicates, unknown_key
from .context import FREE, Checker, Expected
from .declarations import at_module_level, folded
from .decorators import check_decorators
from .fields import TEXT
from .json_sizes import check_size
from .keyed import without_key
from .relations import ERRONEOUS, generic, is_memory
from .schemas import fold_nested_defaults, without_json

LONGEST_WIRE_NAME = 64

# ---------------------------------------------------------------- declarations


def check_tool(c: Checker, symbol: ToolSymbol) -> None:
    node = symbol.declaration
    owner = f"tool `{symbol.name}`"
    check_decorators(c, node.decorators, "tool")
    duplicates(c, owner, [entry.key for entry in node.entries])
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
    """The field `description`, else the doc comment (O-4.1)."""
    node = symbol.declaration
    for entry in node.entries:
        if entry.key.text != "description":
            unknown_key(c, owner, entry.key, ("description",))
            continue
        found = check_value(c, "description", entry.value, TEXT, constant=True)
        return found if isinstance(found, str) else ""
    if node.doc is None:
        help = 'write `description: "…"`, or a doc comment: the model reads it'
        c.report("E4002", node.name.span, f"{owner} lacks `description`", help=help)
    return node.doc or ""


def _check_method(c: Checker, tool: ToolSymbol, method: FunctionSymbol) -> None:
    node = method.declaration
    own = [decorator for decorator in node.decorators if decorator.name.text != "param"]
    decorators = dict(check_decorators(c, own, "tool method"))
    effect = decorators.get("effect", {}).get("class")
    if isinstance(effect, str):
        tool.effects[method] = effect
    described = decorators.get("describe", {}).get("text") or node.doc
    if not isinstance(described, str):
        help = 'write `@describe("…")` above it, or a doc comment'
        c.report("E4010", node.name.span, f"tool method `{method.path}` has no description", help=help)
        described = ""
    tool.texts[method] = described
    texts = parameter_texts(c, method, required=True)
    tool.arguments[method] = arguments_of(c, tool.name, method, texts)
    check_wire_name(c, tool.wire_name(method), node.name.span)


def arguments_of(c: Checker, owner: str, method: FunctionSymbol, texts: dict[str, str]) -> StructSymbol:
    """The parameters as the fields of a schema."""
    node = method.declaration
    fields: list[ast.Field] = []
    arguments = StructSymbol(f"{owner}.{method.name}", _as_schema(node, fields), Nominal("schema", ""), [])
    for parameter, type_ in zip(node.parameters, method.parameters, strict=True):
        if not parameter.is_self and parameter.type is not None:  # without type it was reported
            fields.append(_as_field(parameter, texts.get(parameter.name.text)))
            arguments.fields.append((parameter.name.text, type_, parameter.default, False))
            _check_parameter(c, arguments, parameter, type_)
    fold_nested_defaults(c, arguments)
    return arguments


def check_wire_name(c: Checker, name: str, span: Span) -> None:
    if len(name) > LONGEST_WIRE_NAME:
        message = f"`{name}` is longer than {LONGEST_WIRE_NAME} characters, which no provider takes"
        c.report("E4013", span, message, help="shorten the name of the tool or of the method")


def _as_schema(node: ast.Function, fields: list[ast.Field]) -> ast.Schema:
    return ast.Schema(span=node.span, name=node.name, type_parameters=[], fields=fields)


def _as_field(parameter: ast.Parameter, text: str | None) -> ast.Field:
    assert parameter.type is not None
    return ast.Field(span=parameter.span, name=parameter.name, type=parameter.type, default=parameter.default, doc=text)


def _check_parameter(c: Checker, arguments: StructSymbol, parameter: ast.Parameter, type_: Type) -> None:
    """A type with JSON form (O-4.7), and a default the model can be told (O-4.10)."""
    name = parameter.name.text
    offending = without_json(c, type_)
    if offending is not None and type_ is not ERRONEOUS:
        assert parameter.type is not None
        help = "use String, Int, Float, Bool, a string union, Array, Map<String, T>, a schema, or Any"
        if isinstance(offending, Nilable):
            help = f"write `{name}: Option<{offending.inner}>`"
        c.report("E4020", parameter.type.span, f"`{offending}` has no JSON form", help=help)
    elif parameter.type is not None:
        check_size(c, type_, parameter.type.span)
    if parameter.default is None:
        return
    if at_module_level(c, parameter.default, Expected(type_, "E4023", f"the default of `{name}`")) is not ERRONEOUS:
        arguments.constants[name] = folded(c, parameter.default, "E4023")


def parameter_texts(c: Checker, method: FunctionSymbol, *, required: bool) -> dict[str, str]:
    """The text of each parameter: `@param("name", "text")` above the method or `@param("text")` before it (O-4.3)."""
    node = method.declaration
    parameters = {p.name.text: p for p in node.parameters if not p.is_self}
    texts: dict[str, str] = {}
    places: dict[str, Span] = {}
    given = [(decorator, None) for decorator in node.decorators if decorator.name.text == "param"]
    before = [(decorator, p.name.text) for p in parameters.values() for decorator in p.decorators]
    for decorator, name in [*given, *before]:
        if decorator.name.text != "param":
            check_decorators(c, [decorator], "parameter")
            continue
        found = _param(c, decorator, name)
        if found is None:
            continue
        name, text = found
        if name not in parameters:
            c.report(
                "E4011", decorator.span, f"`{method.path}` has no parameter `{name}`",
                help=did_you_mean(name, parameters) or listed("its parameters", [*parameters]) or "remove it: there are none",
            )
        elif name in texts:
            c.report(
                "E4011", decorator.span, f"the parameter `{name}` of `{method.path}` is described twice", first=places[name],
                help="keep one of the two",
            )
        texts.setdefault(name, text)
        places.setdefault(name, decorator.span)
    for name, parameter in parameters.items():
        if required and name not in texts:
            help = f'write `@param("{name}", "…")` above the method'
            c.report("E4011", parameter.name.span, f"the parameter `{name}` of `{method.path}` has no text", help=help)
    return texts


def _param(c: Checker, decorator: ast.Decorator, name: str | None) -> tuple[str, str] | None:
    """Name and text; `name` is that of the parameter the decorator stands before."""
    values = [a.value for a in decorator.arguments if a.name is None]
    if len(values) != len(decorator.arguments) or len(values) != (2 if name is None else 1):
        form = '`@param("name", "text")`' if name is None else '`@param("text")`'
        c.report("E4009", decorator.span, "`@param` has other arguments here", help=f"write {form}")
        return None
    known = [check_value(c, "@param", value, TEXT, constant=True, code="E4009") for value in values]
    texts = [text for text in known if isinstance(text, str)]
    if len(texts) != len(values):
        return None
    return (texts[0], texts[1]) if name is None else (name, texts[0])


def check_wire_names(c: Checker, tools: list[ToolSymbol | McpSymbol]) -> None:
    """No two methods of the program have one name for models (O-4.8)."""
    seen: dict[str, FunctionSymbol] = {}
    for tool in tools:
        for method in tool.arguments:
            first = seen.setdefault(tool.wire_name(method), method)
            if first is not method and first.declaration is not method.declaration:
                c.report(
                    "E4013", method.declaration.name.span, f"two tool methods are `{tool.wire_name(method)}` to a model",
                    help="rename one of the tools or methods", first=first.declaration.name.span,
                )  # fmt: skip


# ---------------------------------------------------------------- names of tools


def tool_of(node: ast.Expr) -> ToolSymbol | McpSymbol | None:
    """The tool or MCP server an expression names."""
    while isinstance(node, ast.GroupExpr):
        node = node.inner
    binding = node.binding if isinstance(node, ast.PathExpr) else None
    return binding if isinstance(binding, (ToolSymbol, McpSymbol)) else None


def private_tool_method(c: Checker, name: ast.Ident, method: FunctionSymbol) -> Type:
    assert method.tool is not None
    help = "declare it `pub`, with a description, or call it as `self.…` within the tool"
    return c.report("E1006", name.span, f"`{method.path}` is private in tool `{method.tool.name}`", help=help)


def tools_named(c: Checker, value: ast.Expr, model: ModelSymbol) -> list[ToolSymbol | McpSymbol | MemorySymbol]:
    """The tools of the field `tools` of a model (O-1.42), memories among them (M-10.17)."""
    found: list[ToolSymbol | McpSymbol | MemorySymbol] = []
    if not isinstance(value, ast.ArrayExpr):
        at_module_level(c, value, Expected())
        c.report("E4004", value.span, "`tools` is an array of names of tools", help="write `tools: [A, B]`")
        return found
    for item in value.items:
        type_ = at_module_level(c, item, Expected())
        tool = tool_of(item)
        if tool is not None:
            found.append(tool)
        elif type_ == KEYED_MEMORY:
            memory = item.binding if isinstance(item, ast.PathExpr) else None
            keys = memory.keys if isinstance(memory, MemorySymbol) else None
            key = ", ".join(f"{key}: …" for key in keys or ("…",))
            without_key(c, item, f"give it by call: `{model.name}.with_tools([{c.operand(item, '…')}.key({key})])`")
        elif isinstance(item, ast.PathExpr) and isinstance(item.binding, MemorySymbol):
            refuse_attaching(c, item, model, item.binding, writes=False)
            check_wire_name(c, tool_name(item.binding.name, "remember"), item.span)
            found.append(item.binding)
        elif type_ is not ERRONEOUS:
            by_call = f"give it by call: `{model.name}.with_tools([{c.operand(item, '…')}])`"
            help = by_call if is_memory(type_) else "write `tools: [Name]`"
            c.report("E4004", item.span, f"`tools` holds names of tools, found `{type_}`", help=help)
    return found


def with_tools(c: Checker, node: ast.MethodCall, row: Row) -> Type:
    """`with_tools([A, B])`: tools only (E4040)."""
    first = next((a.value for a in node.arguments if a.name is None or a.name.text == "ts"), None)
    items = first.items if isinstance(first, ast.ArrayExpr) else []
    for item in items:
        if not _check_offered(c, item.span, c.infer(item)):
            infer_all(c, node.arguments)
            return ERRONEOUS
    found, matched = call_row(c, row, None, node.arguments, node.name.span, FREE)
    if matched is None or first is None:
        return ERRONEOUS
    held = generic(first.type, "Array")
    if not items and held and not _check_offered(c, first.span, held[0]):
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, row.receiver, row.name)
    return found


def _check_offered(c: Checker, span: Span, type_: Type) -> bool:
    is_tool = isinstance(type_, Nominal) and type_.kind == "tool"
    if type_ in (TOOL_REF, MCP_REF, ANY, NEVER) or is_tool or is_memory(type_) or type_ == OPEN:
        return True
    c.report("E4040", span, f"`with_tools` takes tools, found `{type_}`", help="name a declared `tool`")
    return False
