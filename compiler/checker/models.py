"""Models, agents and their decorators (O-1.35 to O-1.59, O-1.230, O-7).

Hands on `check_model` and `check_agent` to `declaration_checks`, `settings_are_named` and `check_settings` (of the method `with`)
to `methods`, and the rule of `listen` to `program`. Which fields there are, of which type and range, is a row of
`vm/declaration_fields.py`; here stand the fields that need more than that, and what fields demand of each other. Checked values
go to `fields` of the symbols. `c` is the state of the check: mistakes are reported to it by a code (E…; W… for a warning), and
not raised. ERRONEOUS is the type of what was reported, which suits every place. No model is asked here, and no process started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...vm import declaration_fields as rows
from ...vm.builtins import Row
from ..decisions import BuiltinCall
from ..fields import (
    AGENT,
    AGENT_FIELDS,
    EITHER_OBJECTS,
    MODEL,
    MODEL_FIELDS,
    RETRY,
    is_carried,
)
from ..hints.names import EVENT_OF_A_MEMORY, FIELDS, did_you_mean
from ..symbols import AgentSymbol, MemorySymbol, ModelSymbol, StructSymbol
from ..syntax import ast
from ..types import AGENT_BUILDER, AGENT_REF, ANY, KEYED_MEMORY, LEDGER, STRING, Nominal, Type, error, map_, result
from .config import (
    UNKNOWN,
    check_either,
    check_fields,
    check_object,
    check_value,
    quiet_fold,
    report_duplicates,
    report_unknown_key,
    under_own_names,
)
from .connections import api_of, check_extra, check_kept_long, connection_of, named_connection
from .declarations import FAILED, at_module_level, components
from .decorators import check_decorators
from .durations import number_literal
from .functions import task_body
from .hosted_tools import check_carried, check_constants, check_hosted
from .memory_attachments import refuse_attaching
from .memory_calls import without_key
from .patterns import bind_irrefutable
from .relations import ERRONEOUS, generic, is_memory
from .state import Checker, Expected, ExpressionRule, Takers
from .stores import offers_tools
from .tools import tools_named
from .types import written_type

# Models.


def check_model(c: Checker, symbol: ModelSymbol) -> None:
    """Check a model and set its fields (expressions by name), connection, memories, tools, fallback and decorators. Its values
    may be computed at run time, so that they are tested only as far as they are constant. E4001 for a field that is unknown or
    repeated, E4002 for one without another that it needs, E4003 for an unknown connection or fallback, E4004 for a wrong value,
    E4006 for what its connection does not carry, E4007 without the id of a model, E4009 for a misplaced decorator, E4040 for an
    empty list of memories, E4505 and E4510 for a memory that needs a key or does not allow the model, E4043 for models that fall
    back in a circle; W0021 for an agent that is written as a model; of the tools, and of a store that stands as memory, also what
    `tools_named` and `offers_tools` report."""
    node = symbol.declaration
    owner = f"model `{symbol.name}`"
    symbol.decorators = check_decorators(c, node.decorators, "model")
    under_own_names(c, owner, node.entries, rows.MODEL)
    report_duplicates(c, owner, [entry.key for entry in node.entries])
    if node.kind == "agent":
        _warn_written_as_agent(c, node)
    connection = _read_provider(c, symbol, owner)
    for entry in node.entries:
        name = entry.key.text
        # Of a field that stands twice the first counts.
        if name in MODEL_FIELDS and name not in symbol.fields:
            symbol.fields[name] = entry.value
            _check_model_field(c, symbol, entry)
        elif name not in MODEL_FIELDS:
            report_unknown_key(c, owner, entry.key, MODEL_FIELDS)
    if connection is not None:
        _check_model_against(c, symbol, owner, connection)
    if "fallback_on" in symbol.fields and "fallback" not in symbol.fields:
        help = "add `fallback: [Model]`, or remove `fallback_on`"
        c.report("E4002", symbol.fields["fallback_on"].span, f"{owner} has `fallback_on` and lacks `fallback`", help=help)


def _warn_written_as_agent(c: Checker, node: ast.Config) -> None:
    """Warn of a model that is declared as an agent, with the declaration as it should be (W0021, O-1.260)."""
    sources = c.sources[node.span.file].text
    values = [sources[entry.value.span.start : entry.value.span.end] for entry in node.entries]
    if any("\n" in value for value in values):
        help = "write `model` in place of `agent`, and `base` in place of its field `model`"
    else:
        fields = ", ".join(f"{entry.key.text}: {value}" for entry, value in zip(node.entries, values, strict=True))
        help = f"write `model {node.name.text} {{ {fields} }}`"
    c.report("W0021", node.name.span, f"`{node.name.text}` is a model written as an agent", help=help)


def _read_provider(c: Checker, symbol: ModelSymbol, owner: str) -> dict[str, object] | None:
    """Return the fields of the connection that a model names, and set `symbol.connection`; None after a report."""
    named = named_connection(c, symbol.declaration, owner, MODEL_FIELDS)
    if named is None:
        return None
    symbol.connection, fields = named
    return fields


def _check_model_field(c: Checker, symbol: ModelSymbol, entry: ast.ConfigEntry) -> None:
    name, value = entry.key.text, entry.value
    if name == "memory":
        _check_model_memory(c, symbol, value)
    elif name == "tools":
        symbol.tools = tools_named(c, value, symbol)
    elif name == "retry_policy":
        check_object(c, c.text(entry.key), value, RETRY)
    elif name == "knowledge":
        _check_knowledge(c, value)
    elif name == "fallback":
        _check_fallback(c, symbol, value)
    elif name == "hosted":
        check_hosted(c, value)
    elif name in EITHER_OBJECTS:
        known = check_either(c, name, value, MODEL[name], EITHER_OBJECTS[name], constant=False)
        if isinstance(known, (int, float)):  # of a text the seconds that it says
            symbol.fields[name] = number_literal(value, known)
    elif name in MODEL:
        check_value(c, name, value, MODEL[name], constant=False)


def _check_model_memory(c: Checker, symbol: ModelSymbol, value: ast.Expr) -> None:
    """Check the field `memory`: the name of a memory, a list of names as `with_memory` takes it, or a store that offers tools."""
    if not isinstance(value, ast.ArrayExpr):
        _attach_memory(c, symbol, value)
        return
    if not value.items:
        c.report("E4040", value.span, "the list of `memory` is empty", help="name memories: `memory: [plan, recent]`")
    for item in value.items:
        _attach_memory(c, symbol, item, writes=item is value.items[-1], alone=False)


def _attach_memory(c: Checker, symbol: ModelSymbol, value: ast.Expr, *, writes: bool = True, alone: bool = True) -> None:
    type_ = at_module_level(c, value, Expected())
    binding = value.binding if isinstance(value, ast.PathExpr) else None
    if type_ == KEYED_MEMORY:
        keys = binding.keys if isinstance(binding, MemorySymbol) else None
        key = ", ".join(f"{key}: …" for key in keys or ("…",))
        call = f"{symbol.name}.with(memory: {c.operand(value, 'm')}.key({key})).execute(…)"
        without_key(c, value, help=f"a field has no key: call `{call}`")
    elif isinstance(binding, MemorySymbol):
        symbol.memories.append(binding)
        refuse_attaching(c, value, symbol, binding, writes=writes)
    elif type_ is not ERRONEOUS and not (alone and offers_tools(c, symbol, value)):
        what: Type | str = type_ if not is_memory(type_) else "an expression"
        c.report(
            "E4004", value.span, f"`memory` is the name of a memory, or a list of such, found `{what}`",
            help="declare `memory log: Memory = Memory::new();` and write `memory: log`",
        )


def _check_knowledge(c: Checker, value: ast.Expr) -> None:
    """Check the field `knowledge`: an index, a ledger or a scope of one, evaluated with the other fields (O-1.41)."""
    type_ = at_module_level(c, value, Expected())
    if type_ not in (LEDGER, ERRONEOUS) and not generic(type_, "Index"):
        help = "declare `ledger facts: Ledger = Ledger::new();` and write `knowledge: facts`"
        if isinstance(value, ast.ArrayExpr) and len(value.items) == 1:
            help = f"leave out the brackets: `knowledge: {c.text(value.items[0])[1:-1]}`"
        c.report("E4004", value.span, f"`knowledge` is an index, a ledger or a scope of one, found `{type_}`", help=help)


def _check_fallback(c: Checker, symbol: ModelSymbol, value: ast.Expr) -> None:
    """Check the field `fallback` and set it: an array of names of other models, each once (E4003, E4004), none of which leads
    back (E4043). What those models themselves lack is reported at them (O-1.230)."""
    if not isinstance(value, ast.ArrayExpr):
        at_module_level(c, value, Expected())
        help = f"write `fallback: [{c.operand(value, 'A, B')}]`"
        c.report("E4004", value.span, "`fallback` is an array of names of models", help=help)
        return
    if not value.items:
        c.report("E4004", value.span, "`fallback` names no model", help="name models, or remove the field")
    for item in value.items:
        type_ = at_module_level(c, item, Expected())
        if type_ is ERRONEOUS:
            continue
        other = item.binding if isinstance(item, ast.PathExpr) and item.member is None else None
        if isinstance(other, ModelSymbol):
            _add_fallback(c, symbol, item, other)
        elif isinstance(item, ast.PathExpr):
            help = "a declared model takes a call over: `fallback: [Model]`"
            c.report("E4003", item.span, f"no model is called `{item.segments[-1].text}`, it is a value of `{type_}`", help=help)
        else:
            name = item.value if isinstance(item, ast.StringLiteral) else "Model"
            c.report("E4004", item.span, f"`fallback` holds names of models, found `{type_}`", help=f"write `fallback: [{name}]`")


def _add_fallback(c: Checker, symbol: ModelSymbol, item: ast.Expr, other: ModelSymbol) -> None:
    if other in symbol.fallback:
        c.report("E4004", item.span, f"`fallback` names `{other.name}` twice", help="a model takes a call over once: keep one")
        return
    symbol.fallback.append(other)
    if other is symbol:
        help = "a retry asks the same model: `@retry(max: 3)`"
        c.report("E4043", item.span, f"model `{symbol.name}` falls back to itself", help=help)
    elif _ends_circle(c, symbol, other):
        way = _way_back(other, symbol)
        shown = [f"`{each.name}`" for each in (symbol, *way)]
        if len(shown) > CIRCLE_SHOWN:
            shown[CIRCLE_SHOWN // 2 : -CIRCLE_SHOWN // 2] = ["…"]
        names = " to ".join(shown)
        c.report("E4043", item.span, f"models fall back in a circle: {names}", help=f"remove `{other.name}` here")


CIRCLE_SHOWN = 20  # models of a circle that a message names


def _ends_circle(c: Checker, symbol: ModelSymbol, other: ModelSymbol) -> bool:
    """Return whether models that fall back to one another are reported at `symbol`, which names `other`: once, at the last of
    them in the source."""
    if symbol not in c.fallback_circles:
        for group in components([symbol], lambda model: [o for o in _written_fallback(model) if o not in c.fallback_circles]):
            c.fallback_circles.update(dict.fromkeys(group, max(group, key=_place)))
    ends = c.fallback_circles[symbol] is symbol and c.fallback_circles.get(other) is symbol
    if ends:
        c.fallback_circles[symbol] = None
    return ends


def _way_back(model: ModelSymbol, to: ModelSymbol) -> list[ModelSymbol]:
    """Return the models of a shortest way from one to another by `fallback`, both included; there must be one."""
    before: dict[ModelSymbol, ModelSymbol | None] = {model: None}
    for at in (order := [model]):  # which grows
        for other in _written_fallback(at):
            if other not in before:
                before[other] = at
                order.append(other)
    way = [to]
    while (previous := before[way[-1]]) is not None:
        way.append(previous)
    return way[::-1]


def _written_fallback(model: ModelSymbol) -> list[ModelSymbol]:
    """Return what a model names as its fallback, whether it is checked already or not."""
    written = [entry.value for entry in model.declaration.entries if entry.key.text == "fallback"]
    items = [item for value in written[:1] if isinstance(value, ast.ArrayExpr) for item in value.items]
    bindings = [item.binding for item in items if isinstance(item, ast.PathExpr)]
    return [binding for binding in bindings if isinstance(binding, ModelSymbol)]


def _place(model: ModelSymbol) -> tuple[int, int]:
    return model.home.rank if model.home is not None else 0, model.declaration.span.start


def _check_model_against(c: Checker, symbol: ModelSymbol, owner: str, connection: dict[str, object]) -> None:
    """Report a model without the id of a model (E4007), and a field that the connection's API cannot carry (E4006, O-1.93)."""
    node = symbol.declaration
    # `model: "…"` is reported as an unknown field that should be `base`.
    misnamed = any("base" in FIELDS.get(entry.key.text, ()) for entry in node.entries)
    if "base" not in symbol.fields and "default_model" not in connection and not misnamed:
        help = 'add `base: "…"` with the id of a model, or `default_model` to the connection'
        c.report("E4007", node.name.span, f"{owner} has no model id", help=help)
    api = api_of(connection)
    for name, apis in NOT_CARRIED.items():
        value = symbol.fields.get(name)
        if value is not None and api in apis and connection.get("unsupported") != "drop":
            help = f'{apis[api]}, or write `unsupported: "drop"` in the connection'
            name_of = symbol.connection if isinstance(symbol.connection, str) else symbol.connection.name
            c.report("E4006", value.span, f"`{name}` is not carried by the {api} API of `{name_of}`", help=help)
    check_extra(c, owner, symbol.fields.get("extra"), api)
    _check_prompt_cache(c, symbol, connection)
    if "hosted" in symbol.fields:
        check_carried(c, symbol.fields["hosted"], connection, api)
        _check_carried_by_others(c, symbol, symbol.fields["hosted"])


def _check_carried_by_others(c: Checker, symbol: ModelSymbol, hosted: ast.Expr) -> None:
    """Report, where `fallback` names it, a model that may take a call over and whose connection does not carry the hosted tools
    of the call (E4006, O-1.213)."""
    written = next((entry.value for entry in symbol.declaration.entries if entry.key.text == "fallback"), None)
    for item in written.items if isinstance(written, ast.ArrayExpr) else ():
        binding = item.binding if isinstance(item, ast.PathExpr) else None
        errors = c.error_count
        for other, connection in _takers(c, binding) if isinstance(binding, ModelSymbol) else ():
            if other is not symbol and c.error_count == errors:
                check_carried(c, hosted, connection, api_of(connection), (other.name, item.span))


def _takers(c: Checker, model: ModelSymbol) -> Iterable[tuple[ModelSymbol, dict[str, object]]]:
    """Return of a model and those that may take over a call of it, also by way of others, one with its connection for each kind
    of connection that carries other hosted tools."""

    def unknown(model: ModelSymbol) -> list[ModelSymbol]:
        return [other for other in _written_fallback(model) if other not in c.takers]

    for group in components([model] if model not in c.takers else [], unknown):
        kinds: Takers = {}
        for member in group:
            connection = _known_connection(c, member)
            if connection is not None:
                kind: tuple[object, ...] = connection.get("provider"), api_of(connection), connection.get("unsupported")
                kinds.setdefault(kind, (member, connection))
        for member in group:
            for other in _written_fallback(member):
                for kind, taker in c.takers.get(other, kinds).items():
                    kinds.setdefault(kind, taker)
            c.takers[member] = kinds
    return c.takers[model].values()


def _known_connection(c: Checker, model: ModelSymbol) -> dict[str, object] | None:
    """Return the fields of the connection that a model names, as `_read_provider` does, without a report."""
    value = next((entry.value for entry in model.declaration.entries if entry.key.text == "provider"), None)
    connection = connection_of(c, value)
    return None if connection is None else connection[1]


def _check_prompt_cache(c: Checker, symbol: ModelSymbol, connection: dict[str, object]) -> None:
    """Report `cache_prompt` of a model whose provider is told nothing of its cache (E4006, O-1.220)."""
    value = symbol.fields.get("cache_prompt")
    wanted = None if value is None else quiet_fold(c, value)
    if value is None or wanted not in (True, rows.KEPT_LONG):
        return
    provider = connection.get("provider")
    if not is_carried("cache_prompt", provider):
        message = f"`cache_prompt` is not carried by provider `{provider}`"
        c.report("E4006", value.span, message, help="remove it: what this provider caches it decides by itself")
    elif wanted == rows.KEPT_LONG:
        check_kept_long(c, value, connection)


# Fields of a model that an API does not carry, and what to do about it (O-1.93, O-1.210).
NOT_CARRIED = {
    "stop_sequences": {"responses": 'use `api: "chat"`'},
    "reasoning_tokens": dict.fromkeys(("responses", "chat"), 'write `reasoning: "high"` or another word'),
}


# Agents and `listen`: declarations, their connectors, handlers (O-7.1 to O-7.3, O-7.32 to O-7.35).

MESSAGE = map_(STRING, ANY)
# Messages that `listen` itself takes: no handler may have their type.
RESERVED_TYPES = ("result", "error", "init_ack", "response")


def check_agent(c: Checker, symbol: AgentSymbol) -> None:
    """Check an agent and set its fields, values by name, with `process` for what the manifest says of its process, and its
    decorators; report fields that are unknown, repeated or wrong (E4001, E4004), wrong decorators (E4001, E4009), one without
    `connector` (E4002), a connector that the manifest does not have (E4003, W0401 without a manifest), and formats that its
    protocol does not carry (E4006)."""
    node = symbol.declaration
    owner = f"agent `{symbol.name}`"
    symbol.decorators = check_decorators(c, node.decorators, "agent")
    own: dict[str, Callable[[ast.Expr], object]] = {"connector": lambda value: _read_connector(c, symbol, value)}
    check_fields(c, owner, node.entries, symbol.fields, AGENT, AGENT_FIELDS, own)
    if all(entry.key.text != "connector" for entry in node.entries):
        c.report("E4002", node.name.span, f"{owner} lacks `connector`", help="the X of `[agents.X]` in Concerto.toml")
    process = symbol.fields.get("process")
    if isinstance(process, dict) and process.get("protocol") == "acp":
        for entry in node.entries:
            if entry.key.text in ("input_format", "output_format") and symbol.fields.get(entry.key.text) == "json":
                what = f"`{entry.key.text}` of {owner} is not carried by the protocol \"acp\""
                c.report("E4006", entry.key.span, what, help="remove it: ACP has its own messages")


def _read_connector(c: Checker, symbol: AgentSymbol, value: ast.Expr) -> object:
    """Return the connector, a bare name or a String by which the manifest or the host knows the process, and set the field
    `process` to what the manifest says of it; FAILED after a report (O-7.1)."""
    if isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None:
        name = value.segments[0].text
    elif isinstance(value, ast.StringLiteral):
        name = value.value
    else:
        c.report(
            "E4004", value.span, "`connector` is a name or a String",
            help="write `connector: name` of [agents.name] of Concerto.toml",
        )
        return FAILED
    if c.agents is None:
        message = f"no Concerto.toml configures the connector `{name}` of agent `{symbol.name}`"
        c.report("W0401", value.span, message, help=f"write [agents.{name}], or give it by the host")
    elif name not in c.agents:
        near = did_you_mean(name, c.agents)
        listed = ", ".join(f"`{other}`" for other in sorted(c.agents)) or "none"
        help = f"{near + ' ' if near else ''}[agents.X] of Concerto.toml: {listed}"
        c.report("E4003", value.span, f"unknown agent connector `{name}`", help=help)
    else:
        symbol.fields["process"] = c.agents[name]
    return name


def settings_are_named(c: Checker, node: ast.MethodCall) -> bool:
    """Return whether all that `with` sets is given by name; report the first that is not (E2007)."""
    unnamed = next((argument for argument in node.arguments if argument.name is None), None)
    if unnamed is not None:
        c.report("E2007", unnamed.span, "`with` takes its settings by name", help="write `with(temperature: 0.2, memory: m)`")
    return unnamed is None


def check_settings(c: Checker, row: Row, values: Sequence[ast.Expr | None], receiver: ast.Expr) -> None:
    """Check the constants among what `with` sets for a call of the receiver (E4001, E4004, E4006, O-3.30)."""
    for parameter, value in zip(row.parameters, values, strict=True):
        if parameter.name == "hosted" and value is not None:
            _check_hosted_of_call(c, value, receiver)
            continue
        rule = MODEL.get(parameter.name)
        known = UNKNOWN if value is None or rule is None else quiet_fold(c, value)
        if value is not None and rule is not None and known not in (UNKNOWN, None) and not rule.legal(known):
            help = f"write `{parameter.name}: {rule.example(known)}`"
            c.report("E4004", value.span, f"`{parameter.name}` is {rule.words}", help=help)


def _check_hosted_of_call(c: Checker, value: ast.Expr, receiver: ast.Expr) -> None:
    """Check the hosted tools that `with` sets, and where the model is named there, whether its connection and those of the models
    that may take the call over carry them."""
    check_constants(c, value)
    model = receiver.binding if isinstance(receiver, ast.PathExpr) and receiver.member is None else None
    connection = _known_connection(c, model) if isinstance(model, ModelSymbol) else None
    if connection is None or not isinstance(model, ModelSymbol):
        return
    errors = c.error_count
    check_carried(c, value, connection, api_of(connection))
    for other, connection in _takers(c, model) if c.error_count == errors else ():
        if other is not model:
            check_carried(c, value, connection, api_of(connection), (other.name, value.span))


# `listen`.


def listen(c: Checker, node: ast.Listen, expected: Expected) -> Type:
    """Return the type of `listen A.execute(p) { … }`: a Result of the last message as a Map, of `execute_with_schema` that of the
    call; ERRONEOUS after a report (E4041) for any other operand. E4060 for two handlers of one type of message or one of a
    reserved type, E2006 for a handler that does not take one message, E4022 for a parameter of another type than a schema,
    Map<String, Any> or Any."""
    type_ = c.infer(node.operand)
    call = _called_method(node.operand)
    seen: dict[str, ast.ListenHandler] = {}
    for handler in node.handlers:
        _check_handler(c, handler, seen)
    if type_ is ERRONEOUS:
        return ERRONEOUS
    if call is None or call.receiver.type not in (AGENT_REF, AGENT_BUILDER) or not call.name.text.startswith("execute"):
        help = EVENT_OF_A_MEMORY if is_memory(type_) else "write `listen A.execute(p) { … }`, A an agent"
        return c.report("E4041", node.operand.span, "the operand of `listen` is no call of an agent", help=help)
    is_typed = isinstance(call.target, BuiltinCall) and call.target.schema is not None
    return type_ if is_typed else result(MESSAGE, error("AgentError"))


def _called_method(operand: ast.Expr) -> ast.MethodCall | None:
    operand = ast.ungrouped(operand)
    return operand if isinstance(operand, ast.MethodCall) else None


def _check_handler(c: Checker, node: ast.ListenHandler, seen: dict[str, ast.ListenHandler]) -> None:
    closure, pattern = node.body, node.pattern
    if not isinstance(closure, ast.Closure) or not isinstance(pattern, ast.LiteralPattern):
        return  # the parser has reported it
    kind = str(pattern.value)
    if kind in RESERVED_TYPES:
        c.report("E4060", pattern.span, f'`listen` itself takes messages of type "{kind}"', help="choose another type of message")
    elif kind in seen:
        c.report(
            "E4060", pattern.span, f'"{kind}" has two handlers', first=seen[kind].pattern.span,
            help="join them in one handler",
        )
    seen.setdefault(kind, node)
    if len(closure.parameters) != 1:
        c.report(
            "E2006", closure.span, f"a handler takes one message, {len(closure.parameters)} parameters given",
            help="write `|m| { … }`",
        )
    for parameter in closure.parameters:
        type_ = _handler_parameter_type(c, node, parameter)
        if parameter.binding is not None:
            parameter.binding.type = type_
        if parameter.pattern is not None:
            bind_irrefutable(c, parameter.pattern, type_)
    task_body(c, node.task)


def _handler_parameter_type(c: Checker, node: ast.ListenHandler, parameter: ast.Parameter) -> Type:
    """Return the type of a handler's parameter: the message as a Map, or as an instance of the schema that is written
    (O-7.34)."""
    if parameter.type is None:
        return MESSAGE
    type_ = written_type(c, parameter.type)
    symbol = c.declared(type_)
    if isinstance(symbol, StructSymbol) and isinstance(type_, Nominal) and type_.kind == "schema":
        node.schema = symbol
    elif type_ not in (MESSAGE, ANY, ERRONEOUS):
        c.report("E4022", parameter.type.span, f"`{type_}` is not a schema", help="write a schema or Map<String, Any>")
    return type_


RULES: dict[type[ast.Expr], ExpressionRule] = {ast.Listen: listen}
