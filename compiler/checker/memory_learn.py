"""The step `learn` of a memory (M-10.22): the name of a rule, what it observes, and its three functions.

Hands on `read_rule`, and `check_topic` for what a program observes. Must not know: the other steps, when a rule runs.
"""

from __future__ import annotations

from typing import Any

from ...vm.bytecode.memory_steps import OBSERVED_PREFIX as PREFIX
from ...vm.bytecode.memory_steps import OBSERVED_TOPICS
from .. import ast
from ..resolver.spelling import did_you_mean, listed
from ..symbols import MemorySymbol, StepFunction
from ..types import ANY, BOOL, LEARNED, OBSERVED, STRING, Function, Nilable, map_
from .arguments import infer_all
from .context import Checker, Expected
from .declarations import FAILED, at_module_level, folded
from .relations import ERRONEOUS

FUNCTIONS = {
    "by": Function((map_(STRING, ANY),), Nilable(STRING)),
    "when": Function((OBSERVED,), BOOL),
    "store": Function((OBSERVED,), LEARNED),
}
KNOWN = ("on", *FUNCTIONS)
SHAPE = '.learn("name", on: "topic", by: |o| o.kind, when: |g| g.count >= 3, store: |g| Learned { content: g.key })'


def read_rule(c: Checker, node: ast.MethodCall) -> dict[str, Any] | None:
    """What the image holds of it, with functions as written; None after a report."""
    named = [argument for argument in node.arguments if argument.name is None]
    if len(named) != 1:
        infer_all(c, node.arguments)
        c.report("E2006", node.name.span, f"`learn` takes 1 argument without a name, {len(named)} given", help=SHAPE)
        return None
    rule: dict[str, Any] = {"on": "turn"}
    legal = _text(c, named[0].value, "the name of a rule", rule, "name")
    written: set[str] = set()
    for argument in node.arguments:
        if argument.name is not None:
            legal = _part(c, argument.name, argument.value, written, rule) and legal
    missing = [label for label in FUNCTIONS if label not in written]
    if legal and missing:
        c.report("E2006", node.name.span, f"the step `learn` lacks `{missing[0]}`", help=SHAPE)
    return rule if legal and not missing else None


def _part(c: Checker, name: ast.Ident, value: ast.Expr, written: set[str], rule: dict[str, Any]) -> bool:
    label = name.text
    if label not in KNOWN or label in written:
        help = did_you_mean(label, KNOWN) or listed("arguments", KNOWN, like=label)
        c.report("E4502", name.span, f"the step `learn` has no argument `{label}`, or it is given twice", help=help)
        return False
    written.add(label)
    if label == "on":
        return _text(c, value, "a topic", rule, label) and _observed_topic(c, value, rule["on"])
    if at_module_level(c, value, Expected(FUNCTIONS[label])) is ERRONEOUS:
        return False
    rule[label] = StepFunction(value)
    c.step_functions.append(rule[label])
    return True


def _text(c: Checker, value: ast.Expr, what: str, rule: dict[str, Any], label: str) -> bool:
    if at_module_level(c, value, Expected(STRING, "E4502", what)) is ERRONEOUS:
        return False
    held = folded(c, value, "E4004")
    if held is FAILED:
        return False
    if held == "":
        c.report("E4004", value.span, f"{what} is not empty", help="write a text")
        return False
    rule[label] = held
    return True


def _observed_topic(c: Checker, value: ast.Expr, topic: str) -> bool:
    """Topics that begin with `turn:` are those the runtime observes (M-10.43)."""
    if not topic.startswith(PREFIX) or topic in OBSERVED_TOPICS:
        return True
    help = did_you_mean(topic, OBSERVED_TOPICS) or listed("topics of the runtime", OBSERVED_TOPICS, like=topic)
    c.report("E4525", value.span, f'the runtime observes no topic "{topic}"', help=help)
    return False


def check_topic(c: Checker, node: ast.MethodCall) -> None:
    """W0455 for an `observe` of a memory, or of a key of one, whose topic no rule of it has."""
    memory = node.receiver
    if isinstance(memory, ast.MethodCall) and memory.name.text == "key":
        memory = memory.receiver
    symbol = memory.binding if isinstance(memory, ast.PathExpr) else None
    given = [argument.value for argument in node.arguments if argument.name is None or argument.name.text == "topic"]
    topic = given[0] if given else None
    if not isinstance(symbol, MemorySymbol) or symbol.of is not None or not isinstance(topic, ast.StringLiteral):
        return
    if topic.value.startswith(PREFIX):
        message = f'"{topic.value}" is a topic that the runtime observes'
        c.report("E4525", topic.span, message, help=f"give it a name that does not begin with `{PREFIX}`")
        return
    topics = list(dict.fromkeys(str(rule["on"]) for rule in (symbol.steps or {}).get("learn", {}).get("learn", ())))
    if topic.value not in topics:
        help = did_you_mean(topic.value, topics) or listed("its topics", topics, like=topic.value)
        message = f'no rule of `{symbol.name}` is on "{topic.value}": nothing is learned from this'
        c.report("W0455", topic.span, message, help=help or f'add `.learn(…, on: "{topic.value}", …)` to the memory')
