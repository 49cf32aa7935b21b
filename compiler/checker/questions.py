"""Functions that ask: a model by a prompt, `fn sort(mail: String) -> Result<Ticket, AgentError> by Sorter { "…" }` (O-2.67), or
the host by a channel, `channel approve: Decision -> Bool;` (O-5.36).

Hands on `ask_model` to the check of bodies, `check_channel` to the check of declarations, and
`offer_function` and `is_question` to what takes tools and to mocks. In the language both are functions: what is special is how
a body is made, how a test answers in its place (`tools.mock`), and that a model may call it as a tool (O-4.48).
"""

from __future__ import annotations

from typing import TypeGuard

from ..resolver.channels import emit_of
from ..source import Span
from ..symbols import AliasSymbol, FunctionSymbol, ImplSymbol, StructSymbol, ToolSymbol
from ..syntax import ast
from ..types import AGENT_BUILDER, AGENT_REF, ANY, MODEL_BUILDER, MODEL_REF, STRING, Nominal, Type
from .decorators import check_decorators
from .json_shapes import without_shape
from .prompts import check_prompt
from .relations import ERRONEOUS, generic
from .state import Checker
from .tool_arguments import arguments_of, check_wire_name, parameter_texts

# ---------------------------------------------------------------- models

MODELS = (MODEL_REF, MODEL_BUILDER, AGENT_REF, AGENT_BUILDER)


def ask_model(c: Checker, symbol: FunctionSymbol) -> None:
    """Replace the prompt of a function by the body that asks: `M.execute<T>({ prompt })?`, or for a String
    `M.execute({ prompt })?.text`, which is wrapped in Ok as the tail of every function (L-3.3.19). E4034 for a result that is
    no Result: then the body stays as it is."""
    node = symbol.declaration
    assert node.by is not None and node.body is not None
    asked, prompt = node.by, node.body
    node.by = None  # from here on it stands in the body
    sides = generic(symbol.result, "Result")
    model = c.infer(asked)
    is_model = model in MODELS or (isinstance(model, Nominal) and model.kind == "model")
    if sides is None or not is_model:
        if model is not ERRONEOUS and not is_model:
            c.report("E4034", asked.span, f"`by` takes a model or an agent, found `{model}`", help="name a declared `model`")
        elif symbol.result is not ERRONEOUS and sides is None:
            place = node.name if node.result is None else node.result
            help = f"write `-> Result<{'T' if node.result is None else symbol.result}, AgentError>`"
            c.report("E4034", place.span, "what a model answers may fail: a function by a model gives a Result", help=help)
        symbol.result = ERRONEOUS
        return
    span = asked.span.to(prompt.span)
    written = None if sides[0] == STRING else [_type_of_answer(node.result)]
    argument = ast.Argument(prompt.span, None, prompt)
    call = ast.MethodCall(span, asked, ast.Ident(asked.span, "execute"), written, [argument])
    answer: ast.Expr = ast.Propagate(span, call)
    if written is None:
        answer = ast.FieldAccess(span, answer, ast.Ident(Span(span.file, span.end, span.end), "text"))
    node.body = ast.Block(span, [], answer)
    # Here, where a text is nothing but a prompt, a hole that may hold no value is an error.
    if c.infer(prompt) == STRING and prompt.result is not None:
        check_prompt(c, prompt.result, "E4035")


def _type_of_answer(result: ast.TypeExpr | None) -> ast.TypeExpr:
    """Return T of a written `Result<T, E>`, also behind aliases."""
    while isinstance(result, ast.NamedType) and isinstance(result.binding, AliasSymbol):
        result = result.binding.declaration.target
    assert isinstance(result, ast.NamedType) and result.arguments
    return result.arguments[0]


# ---------------------------------------------------------------- channels


def check_channel(c: Checker, symbol: FunctionSymbol, node: ast.Channel) -> None:
    """Check a channel: what it sends and what answers it have JSON shapes (E2044, O-5.31), `@timeout` stands on one that is
    answered (E4009)."""
    decorators = dict(check_decorators(c, node.decorators, "channel"))
    answer = generic(symbol.result, "Result")
    _check_shape(c, symbol.parameters[0], node.payload)
    if node.answer is not None and answer is not None:
        _check_shape(c, answer[0], node.answer)
    seconds = decorators.get("timeout", {}).get("seconds")
    if "timeout" not in decorators:
        return
    at = next(d.span for d in node.decorators if d.name.text == "timeout")
    if node.answer is None:
        c.report("E4009", at, f"nobody waits on `{symbol.name}`, which has no answer", help="say what answers it: `-> Bool`")
    elif isinstance(seconds, (int, float)):
        call = emit_of(symbol.declaration)
        call.arguments.append(ast.Argument(at, ast.Ident(at, "timeout_ms"), ast.IntLiteral(at, round(1000 * seconds))))


def _check_shape(c: Checker, type_: Type, written: ast.TypeExpr) -> None:
    offending = without_shape(c, type_)
    if offending is not None and offending is not ERRONEOUS:
        help = "send plain data: Strings, numbers, Arrays, Maps, structs, schemas, enums"
        c.report("E2044", written.span, f"`{offending}` has no JSON shape", help=help)


# ---------------------------------------------------------------- both, as tools


def is_question(symbol: object) -> TypeGuard[FunctionSymbol]:
    """Return whether a symbol is a function by a model, or a channel that is answered."""
    if not isinstance(symbol, FunctionSymbol):
        return False
    return symbol.by_model or (symbol.channel is not None and symbol.channel.answer is not None)


def offer_function(c: Checker, item: ast.Expr) -> None:
    """Let a name in a list of tools that is one of a function by a model, or of a channel, be that of the tool that models call
    it by (O-4.48). Any other expression stays as it is."""
    item = ast.ungrouped(item)
    if isinstance(item, ast.PathExpr) and is_question(item.binding):
        symbol = item.binding
        if symbol.offer is None:
            symbol.offer = _tool_of_function(c, symbol)
        item.binding = symbol.offer


def _tool_of_function(c: Checker, symbol: FunctionSymbol) -> ToolSymbol:
    """Return a tool without state whose one method is the function. E4010 without a doc comment, E4011 for a parameter without
    one, E4020 for a parameter without JSON form."""
    node, name = symbol.declaration, symbol.name
    struct = ast.Struct(node.span, node.name, [], [])
    module = symbol.home.path if symbol.home is not None else ()
    key = "::".join((*module, name, f"tool{len(c.offers)}"))  # no other type is in a module of a function's name
    state = StructSymbol(name, struct, Nominal("struct", name, key=key), [], home=symbol.home)
    target = ast.NamedType(node.name.span, [node.name], None)
    target.binding = state
    impl = ImplSymbol(name, ast.Impl(node.span, [], None, target, []), state, ANY, home=symbol.home)
    tool = ToolSymbol(name, ast.Tool(node.span, node.name, None, [], [], []), state, impl, function=symbol, home=symbol.home)
    if not node.doc:
        help = "write a doc comment above it: `/// …`, which the model reads"
        c.report("E4010", node.name.span, f"`{name}` is offered as a tool and has no description", help=help)
    tool.texts[symbol] = node.doc or ""
    is_channel = symbol.channel is not None
    texts = parameter_texts(c, symbol, required=not is_channel)
    if is_channel:
        texts[node.parameters[0].name.text] = f"what `{name}` is asked about"
    tool.arguments[symbol] = arguments_of(c, name, symbol, texts)
    check_wire_name(c, tool.wire_name(symbol), node.name.span)
    c.offers.append(tool)
    c.tool_sources.append(tool)
    return tool
