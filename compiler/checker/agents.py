"""Agents and `listen`: declarations, their connectors, handlers (O-7.1 to O-7.3, O-7.32 to O-7.35).

Hands on `check_agent` and the rule of `listen`. Must not know: processes, lines of the wire.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import ast
from ..resolver.everyday import EVENT_OF_A_MEMORY
from ..resolver.spelling import did_you_mean
from ..symbols import AgentSymbol, StructSymbol
from ..types import AGENT_BUILDER, AGENT_REF, ANY, STRING, Nominal, Type, error, map_, result
from .config import check_fields
from .context import Checker, Expected, ExpressionRule
from .declarations import FAILED
from .decorators import check_decorators
from .fields import AGENT, AGENT_FIELDS
from .patterns import bind_irrefutable
from .relations import ERRONEOUS, is_memory
from .tasks import body
from .types import written_type

MESSAGE = map_(STRING, ANY)
RESERVED_TYPES = ("result", "error", "init_ack", "response")


def check_agent(c: Checker, symbol: AgentSymbol) -> None:
    node = symbol.declaration
    owner = f"agent `{symbol.name}`"
    symbol.decorators = check_decorators(c, node.decorators, "agent")
    own: dict[str, Callable[[ast.Expr], object]] = {"connector": lambda value: _connector(c, symbol, value)}
    check_fields(c, owner, node.entries, symbol.fields, AGENT, AGENT_FIELDS, own)
    if all(entry.key.text != "connector" for entry in node.entries):
        c.report("E4002", node.name.span, f"{owner} lacks `connector`", help="the X of `[agents.X]` in Concerto.toml")


def _connector(c: Checker, symbol: AgentSymbol, value: ast.Expr) -> object:
    """A bare name or a String: what the manifest, or the host, knows the process by (O-7.1)."""
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


# ---------------------------------------------------------------- listen


def listen(c: Checker, node: ast.Listen, expected: Expected) -> Type:
    found = c.infer(node.operand)
    call = _call(node.operand)
    seen: dict[str, ast.ListenHandler] = {}
    for handler in node.handlers:
        _handler(c, handler, seen)
    if found is ERRONEOUS:
        return ERRONEOUS
    if call is None or call.receiver.type not in (AGENT_REF, AGENT_BUILDER) or not call.name.text.startswith("execute"):
        help = EVENT_OF_A_MEMORY if is_memory(found) else "write `listen A.execute(p) { … }`, A an agent"
        return c.report("E4041", node.operand.span, "the operand of `listen` is no call of an agent", help=help)
    return result(MESSAGE, error("AgentError")) if call.name.text == "execute" else found


def _call(operand: ast.Expr) -> ast.MethodCall | None:
    while isinstance(operand, ast.GroupExpr):
        operand = operand.inner
    return operand if isinstance(operand, ast.MethodCall) else None


def _handler(c: Checker, node: ast.ListenHandler, seen: dict[str, ast.ListenHandler]) -> None:
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
        type_ = _parameter(c, node, parameter)
        if parameter.binding is not None:
            parameter.binding.type = type_
        if parameter.pattern is not None:
            bind_irrefutable(c, parameter.pattern, type_)
    body(c, node.task)


def _parameter(c: Checker, node: ast.ListenHandler, parameter: ast.Parameter) -> Type:
    """The fields of the message: a Map, or an instance of the schema that is written (O-7.34)."""
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
