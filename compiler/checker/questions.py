"""Functions that ask: a model by a prompt, `fn sort(mail: String) -> Result<Ticket, AgentError> by Sorter { "…" }` (O-2.67), or
the host by a channel, `channel approve: Decision -> Bool;` (O-5.36).

Hands on `ask_model` to `functions`, which checks bodies, `check_channel` to `declaration_checks`, `check_channel_names` to
`program`, `ask_before` (`@approve`, O-4.49) and `offer_function` to `tools`, `is_question` to `program` and `mocks`. What is
wrong is reported to `c`, the state of the check, and not raised. Nobody is asked here: trees are rewritten, and the run asks. In
the language a function by a model and a channel are both functions: what is special is how a body is made, how a test answers in
its place (`mocks.mock`), and that a model may call it as a tool (O-4.48).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeGuard

from ..resolver.channels import emit_of
from ..resolver.state import ErroneousSymbol
from ..source import Span
from ..symbols import (
    AliasSymbol,
    BuiltinSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    FunctionSymbol,
    ImplSymbol,
    Local,
    StructSymbol,
    ToolSymbol,
)
from ..syntax import ast
from ..types import (
    AGENT_BUILDER,
    AGENT_REF,
    ANY,
    BOOL,
    ERROR,
    MODEL_BUILDER,
    MODEL_REF,
    NIL,
    STRING,
    Generic,
    Nilable,
    Nominal,
    Tuple,
    Type,
    error,
    map_,
)
from .decorators import check_decorators
from .json_shapes import without_shape
from .prompts import check_prompt
from .relations import ERRONEOUS, MISMATCH, convert, generic
from .state import Checker
from .tool_arguments import arguments_of, check_wire_name, parameter_texts
from .types import parts_in

# ---------------------------------------------------------------- models

# Types behind `by`, beside those of declared models.
MODELS = (MODEL_REF, MODEL_BUILDER, AGENT_REF, AGENT_BUILDER)


def ask_model(c: Checker, symbol: FunctionSymbol) -> None:
    """Replace the prompt of a function, which has `by` and a body, by the body that asks: `M.execute<T>({ prompt })?`, or for a
    String `M.execute({ prompt })?.text`, which is wrapped in Ok as the tail of every function (L-3.3.19); the prompt goes to
    `prompt` of the declaration, and its `by` becomes None. E4034 for a result that is no Result, for what is no model or agent,
    and for a body without a value: then, and where one of them was reported before, the body stays as it is, and the result of
    the function is ERRONEOUS. E4035 for a hole that may hold no value."""
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
            if isinstance(symbol.result, Nilable) or generic(symbol.result, "Option"):
                help = "let a schema with an optional field be the answer: `schema Found { value?: T }`, `-> Result<Found>`"
            c.report("E4034", place.span, "what a model answers may fail: a function by a model gives a Result", help=help)
        symbol.result = ERRONEOUS
        return
    if prompt.result is None and c.infer(prompt) == NIL:
        help = "leave out the last `;`" if prompt.statements else 'write it: `{ "Sort this mail: ${mail}" }`'
        c.report("E4034", prompt.span, "the body of a function by a model is its prompt, and this one has none", help=help)
        symbol.result = ERRONEOUS
        return
    span = asked.span.to(prompt.span)
    written: list[ast.TypeExpr] | None = None if sides[0] == STRING else [_type_of_answer(c, node.result, sides[0])]
    argument = ast.Argument(prompt.span, None, prompt)
    call = ast.MethodCall(span, asked, ast.Ident(asked.span, "execute"), written, [argument])
    answer: ast.Expr = ast.Propagate(span, call)
    if written is None:
        answer = ast.FieldAccess(span, answer, ast.Ident(Span(span.file, span.end, span.end), "text"))
    node.body, node.prompt = ast.Block(span, [], answer), prompt
    # Here, where a text is nothing but a prompt, a hole that may hold no value is an error.
    if c.infer(prompt) == STRING:
        for end in _ends(prompt):
            check_prompt(c, end, "E4035")


def _ends(expr: ast.Expr) -> Iterator[ast.Expr]:
    """Yield what an expression may end with: the ends of its branches, arms and blocks."""
    todo: list[ast.Expr | None] = [expr]
    while todo:
        match todo.pop():
            case ast.Block() as block:
                todo.append(block.result)
            case ast.GroupExpr() as group:
                todo.append(group.inner)
            case ast.If() as branches:
                todo += [branches.then, branches.otherwise]
            case ast.Match() as match_:
                todo += [arm.body for arm in match_.arms]
            case ast.Expr() as end:
                yield end


def _type_of_answer(c: Checker, result: ast.TypeExpr | None, answer: Type) -> ast.TypeExpr:
    """Return T of a `Result<T, E>`: as it is written, or where an alias says it a name that stands for it."""
    assert isinstance(result, ast.NamedType)
    if not isinstance(result.binding, AliasSymbol) and result.arguments:
        return result.arguments[0]
    named = ast.NamedType(result.span, [ast.Ident(result.span, str(answer))], None)
    named.binding = AliasSymbol(str(answer), result.binding.declaration, answer)
    c.aliases[named.binding] = answer
    return named


# ---------------------------------------------------------------- channels


def check_channel(c: Checker, symbol: FunctionSymbol, node: ast.Channel) -> None:
    """Check a channel: what it sends and what answers it have JSON shapes (E2044, O-5.31), the answer without a declared type
    that has type arguments (E2044), and `@timeout` stands on one that is answered (E4009). There its seconds become the argument
    `timeout_ms` of the call of `emit` in `symbol`."""
    decorators = dict(check_decorators(c, node.decorators, "channel"))
    answer = generic(symbol.result, "Result")
    _check_shape(c, symbol.parameters[0], node.payload)
    if node.answer is not None and answer is not None:
        _check_shape(c, answer[0], node.answer)
        if (generic_part := _generic_part(c, answer[0])) is not None:
            help = "answer with a struct, schema or enum of its own: type arguments do not exist when the answer is read"
            c.report("E2044", node.answer.span, f"`{generic_part}` cannot be read to any depth", help=help)
    seconds = decorators.get("timeout", {}).get("seconds")
    if "timeout" not in decorators:
        return
    at = next(d.span for d in node.decorators if d.name.text == "timeout")
    if node.answer is None:
        c.report("E4009", at, f"nobody waits on `{symbol.name}`, which has no answer", help="say what answers it: `-> Bool`")
    elif isinstance(seconds, (int, float)):
        call = emit_of(symbol.declaration)
        call.arguments.append(ast.Argument(at, ast.Ident(at, "timeout_ms"), ast.IntLiteral(at, max(1, round(1000 * seconds)))))


def check_channel_names(c: Checker, functions: Iterable[FunctionSymbol]) -> None:
    """Report each channel among all functions of a program that has the name of an earlier one: a host knows channels by their
    names alone (E4036)."""
    seen: dict[str, FunctionSymbol] = {}
    for symbol in functions:
        if symbol.channel is not None and (first := seen.setdefault(symbol.name, symbol)) is not symbol:
            c.report(
                "E4036", symbol.channel.name.span, f"two channels are `{symbol.name}` to the host", help="rename one of them",
                first=first.declaration.name.span,
            )  # fmt: skip


def _generic_part(c: Checker, type_: Type) -> Type | None:
    """Return a declared type with type arguments in a type, which a value from outside cannot be held against (L-3.1.22); None
    without one."""
    todo, seen = [type_], {type_}
    while todo:
        at = todo.pop()
        if isinstance(at, Nominal) and at.arguments:
            return at
        symbol = c.declared(at)
        owners = symbol.members if isinstance(symbol, EnumSymbol) else [symbol] if isinstance(symbol, StructSymbol) else []
        parts = [part for owner in owners for _, part, _, _ in owner.fields]
        if isinstance(at, Generic):
            parts += at.arguments
        elif isinstance(at, Tuple):
            parts += at.items
        elif isinstance(at, Nilable):
            parts.append(at.inner)
        todo += [part for part in parts if part not in seen]
        seen.update(parts)
    return None


def _check_shape(c: Checker, type_: Type, written: ast.TypeExpr) -> None:
    offending = without_shape(c, type_)
    if offending is not None and offending is not ERRONEOUS:
        help = "send plain data: Strings, numbers, Arrays, Maps, structs, schemas, enums"
        c.report("E2044", written.span, f"`{offending}` has no JSON shape", help=help)


# ---------------------------------------------------------------- approval of tool calls


def ask_before(c: Checker, method: FunctionSymbol, written: ast.Expr) -> None:
    """Let a tool method begin with the question of `@approve(channel)` (O-4.49): `match channel(…) { Ok(true) => { } Ok(false) =>
    { return Err(ToolError::PermissionDenied(…)); } Err(e) => { return Err(ToolError::ExecutionFailed("${e}")); } }`. `written` is
    what stands in the brackets. E4009 where the channel, what it is asked about, or the result of the method is none for it: then
    the method stays as it is."""
    node = method.declaration
    channel = written.binding if isinstance(written, ast.PathExpr) else None
    sides = generic(method.result, "Result")
    answer = generic(channel.result, "Result") if isinstance(channel, FunctionSymbol) and is_question(channel) else None
    if isinstance(channel, ErroneousSymbol) or (channel is None and isinstance(written, ast.PathExpr)):
        return  # it was reported
    if method.result is ERRONEOUS:
        return  # so was this
    if not isinstance(channel, FunctionSymbol) or channel.channel is None or answer is None or answer[0] != BOOL:
        message = "`@approve` names a channel that is answered with Bool"
        name = written.segments[-1].text if isinstance(written, ast.PathExpr) and channel is None else "approve"
        c.report("E4009", written.span, message, help=f"declare it: `channel {name}: Map<String, Any> -> Bool;`")
        return
    if sides is None or sides[1] not in (error("ToolError"), ERROR):
        result = "Nil" if sides is None and method.result == NIL else sides[0] if sides else method.result
        message = f"`{method.path}` may be refused, so it gives a Result with ToolError"
        c.report("E4009", (node.result or node.name).span, message, help=f"write `-> Result<{result}, ToolError>`")
        return
    payload = _payload(c, method, channel, written)
    if payload is None or node.body is None:
        return
    at = written.span
    local = Local("e", error("EmitError"), False, node.scope, read=True)
    node.scope.locals.append(local)
    shown = ast.PathExpr(at, [ast.Ident(at, "e")])
    shown.binding = local
    whole = ast.BindPattern(at, ast.Ident(at, "e"), False)
    whole.binding = local
    assert method.tool is not None
    refusal = ast.StringLiteral(at, f"{method.tool.name}.{method.name} was not approved")
    arms = [
        ast.MatchArm(at, _case(at, "Ok", ast.LiteralPattern(at, True)), None, ast.Block(at, [], None)),
        ast.MatchArm(at, _case(at, "Ok", ast.LiteralPattern(at, False)), None, _refused(at, "PermissionDenied", refusal)),
        ast.MatchArm(at, _case(at, "Err", whole), None, _refused(at, "ExecutionFailed", ast.Interpolation(at, [shown]))),
    ]
    question = ast.Call(at, written, [ast.Argument(at, None, payload)])
    node.body.statements.insert(0, ast.ExprStmt(at, ast.Match(at, question, arms), False))


def _case(at: Span, word: str, inside: ast.Pattern) -> ast.Pattern:
    pattern = ast.TupleStructPattern(at, [ast.Ident(at, word)], [inside])
    pattern.binding = BuiltinSymbol(word)
    return pattern


def _refused(at: Span, variant: str, message: ast.Expr) -> ast.Block:
    failure = ast.PathExpr(at, [ast.Ident(at, "ToolError"), ast.Ident(at, variant)])
    failure.binding = ErrorFamilySymbol("ToolError", variant)
    err = ast.PathExpr(at, [ast.Ident(at, "Err")])
    err.binding = BuiltinSymbol("Err")
    error_value = ast.Call(at, failure, [ast.Argument(at, None, message)])
    leave = ast.Return(at, ast.Call(at, err, [ast.Argument(at, None, error_value)]))
    return ast.Block(at, [ast.ExprStmt(at, leave, True)], None)


def _payload(c: Checker, method: FunctionSymbol, channel: FunctionSymbol, written: ast.Expr) -> ast.Expr | None:
    """Return what the channel is asked about: of a struct or schema the fields from the parameters of their names; of Any or
    `Map<String, Any>` tool, method and arguments. None after a report (E4009)."""
    at, node, wanted = written.span, method.declaration, channel.parameters[0]
    values: dict[str, ast.Expr] = {}
    types: dict[str, Type] = {}
    for parameter, type_ in zip(node.parameters, method.parameters, strict=True):
        if not parameter.is_self and parameter.binding is not None:
            value = ast.PathExpr(at, [parameter.name])
            value.binding = parameter.binding
            parameter.binding.read = True
            values[parameter.name.text], types[parameter.name.text] = value, type_
    struct = c.declared(wanted)
    if isinstance(struct, StructSymbol):
        declared = parts_in(c, struct, wanted)
        fields = [name for name, type_, _, _ in declared if name in types and convert(types[name], type_) is not MISMATCH]
        # What a person is asked about must be what the call will use.
        must = [name for name, _, default, optional in declared if name in types or not (default or optional)]
        lacking = [name for name in must if name not in fields]
        if not lacking:
            entries = [ast.FieldInit(at, ast.Ident(at, name), values[name]) for name in fields]
            literal = ast.StructExpr(at, [struct.declaration.name], None, entries, None)
            literal.binding = struct
            return literal
        what = "has another type in" if lacking[0] in types else "is no parameter of"
        message = f"`{channel.name}` is asked about `{struct.name}`, whose `{lacking[0]}` {what} `{method.path}`"
        c.report("E4009", at, message, help="name its fields as parameters, of the same types, or ask about `Map<String, Any>`")
        return None
    if wanted not in (ANY, map_(STRING, ANY)):
        message = f"`{channel.name}` is asked about `{wanted}`, which no call of a tool is"
        c.report("E4009", at, message, help="let it be asked about a struct of parameters, or about `Map<String, Any>`")
        return None
    arguments = ast.MapExpr(at, [ast.MapEntry(at, ast.StringLiteral(at, name), value) for name, value in values.items()])
    assert method.tool is not None
    of_call: list[tuple[str, ast.Expr]] = [("tool", ast.StringLiteral(at, method.tool.name))]
    of_call += [("method", ast.StringLiteral(at, method.name)), ("arguments", arguments)]
    return ast.MapExpr(at, [ast.MapEntry(at, ast.StringLiteral(at, name), value) for name, value in of_call])


# ---------------------------------------------------------------- both, as tools


def is_question(symbol: object) -> TypeGuard[FunctionSymbol]:
    """Return whether a symbol is a function by a model or of Python, or a channel that is answered; False for anything else that
    a name may mean."""
    if not isinstance(symbol, FunctionSymbol):
        return False
    answers = symbol.channel is not None and symbol.channel.answer is not None
    return symbol.by_model or symbol.extern is not None or answers


def offer_function(c: Checker, item: ast.Expr) -> None:
    """Let a name in a list of tools that is one of a function by a model or of Python, or of a channel with an answer, be that
    of the tool that models call it by (O-4.48), which is made once and added to `c.offers`. Any other expression stays as it is.
    Report a function that lacks what a tool has (E4010, E4013, and of its parameters what `parameter_texts` and `arguments_of`
    report), which is offered all the same."""
    item = ast.ungrouped(item)
    if isinstance(item, ast.PathExpr) and is_question(item.binding):
        symbol = item.binding
        if symbol.offer is None:
            symbol.offer = _tool_of_function(c, symbol)
        item.binding = symbol.offer


def _tool_of_function(c: Checker, symbol: FunctionSymbol) -> ToolSymbol:
    """Return a tool without state whose one method is the function, and add it to `c.offers` and `c.tool_sources`. E4010 without
    a doc comment, E4013 for a name that is too long; of the parameters what `parameter_texts` and `arguments_of` report, but a
    channel needs no text."""
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
    effect = next((values.get("class") for name, values in symbol.extern_decorators if name == "effect"), None)
    if isinstance(effect, str):
        tool.effects[symbol] = effect
    texts = parameter_texts(c, symbol, required=not is_channel)
    if is_channel:
        texts[node.parameters[0].name.text] = f"what `{name}` is asked about"
    tool.arguments[symbol] = arguments_of(c, name, symbol, texts)
    check_wire_name(c, tool.wire_name(symbol), node.name.span)
    c.offers.append(tool)
    c.tool_sources.append(tool)
    return tool
