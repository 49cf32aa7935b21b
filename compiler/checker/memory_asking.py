"""The steps of a memory whose functions may ask models and wait, `view` and `on` (M-4.30, M-6.37), and the rules of
`allow` for facts (M-10.35).

Hands on `read_view`, `read_handler`, `FactRule` and `is_scoped` to `memory_steps.Steps`, which reads the steps one by one, and
`check_fact_rules` to `memory`. A further step of this kind is a row of STEPS in `vm/memory_steps.py`, a function here and a case
of `Steps.read`. A step is one method call in the chain that declares a memory. `c` is the state of the check: mistakes are
reported to it by a code (E…; W… for a warning), and not raised. What the functions of other steps may not do is checked in
`memory_effects`; these may ask.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...vm.memory_steps import EVENTS, FACT_TIERS, STEPS
from ..hints.names import did_you_mean, listed
from ..resolver.memories import is_bare, is_word
from ..symbols import MemorySymbol, StepFunction
from ..syntax import ast
from ..types import ANY, MESSAGE, NEVER, STRING, Function, Open, Type, array, map_
from .arguments import infer_all
from .declarations import FAILED, at_module_level, folded
from .memory_bounds import known_word
from .outside import outside_functions
from .relations import ERRONEOUS, generic
from .state import Checker, Expected

MESSAGES = array(MESSAGE)
EVENT = map_(STRING, ANY)
VIEW = STEPS["view"].example
HANDLER = STEPS["on"].example


def read_view(c: Checker, node: ast.MethodCall) -> StepFunction | None:
    """Return the function that the step `view(with: f)` names, which gives the shown messages; None after a report (E2006, E4502,
    E4529)."""
    arguments = node.arguments
    if len(arguments) != 1 or arguments[0].name is None or arguments[0].name.text != "with":
        infer_all(c, arguments)
        wrong = next((argument for argument in arguments if argument.name is not None and argument.name.text != "with"), None)
        if wrong is not None and wrong.name is not None:
            c.report("E4502", wrong.name.span, f"the step `view` has no argument `{wrong.name.text}`", help=VIEW)
        else:
            c.report("E2006", node.name.span, "the step `view` takes its function as `with:`", help=VIEW)
        return None
    help = "a function `(Array<Message>) -> Array<Message>`, or one with a Result of it; it may be `async`"
    return _function(c, arguments[0].value, MESSAGES, _gives_messages, "the view of a memory", help)


def _gives_messages(result: Type) -> bool:
    inner = generic(result, "Result")
    return (inner[0] if inner is not None else result) in (ANY, NEVER, MESSAGES)


def read_handler(c: Checker, node: ast.MethodCall) -> dict[str, Any] | None:
    """Return, of the step `on(Event, f)`, the word of the event and its function as a StepFunction under `event` and `with`, the
    names that the image has for them; None after a report (E2006, E4502, E4529)."""
    arguments = node.arguments
    if len(arguments) != 2 or any(argument.name is not None for argument in arguments):
        infer_all(c, arguments[1:])
        c.report("E2006", node.name.span, "the step `on` takes an event and a function", help=HANDLER)
        return None
    event = known_word(c, "on", tuple(EVENTS), arguments[0].value)
    help = "a function `(Map<String, Any>)`; it may be `async`, and what it gives is not used"
    handler = _function(c, arguments[1].value, EVENT, lambda result: True, "an event of a memory", help)
    return None if event is None or handler is None else {"event": event, "with": handler}


def _function(
    c: Checker, value: ast.Expr, parameter: Type, fits: Any, what: str, help: str
) -> StepFunction | None:
    """Return a closure, or the name of a function, with that one parameter; None after a report."""
    with outside_functions(c, value):
        type_ = c.infer(value, Expected(Function((parameter,), Open()) if isinstance(value, ast.Closure) else None))
    if type_ is ERRONEOUS:
        return None
    if not (isinstance(type_, Function) and type_.parameters == (parameter,) and fits(type_.result)):
        c.report("E4529", value.span, f"`{type_}` cannot be called for {what}", help=help)
        return None
    return StepFunction(value)


# Who may read and write which facts of a memory: `.allow(…, facts: [slot, "prefix/*", Tier])` (M-10.35).

HELP = '.allow(read: [Planner], write: [Editor], facts: [bugs, "secrets/*"])'


@dataclass(slots=True)
class FactRule:
    """A step `allow` with `facts`, as written at `node`. `patterns`: what `facts` lists; `named`: the models and agents, by
    `read` and `write`."""

    node: ast.MethodCall
    patterns: list[ast.Expr] = field(default_factory=list)
    named: dict[str, list[Any]] = field(default_factory=dict)


def is_scoped(node: ast.MethodCall) -> bool:
    """Return whether a step `allow` has the argument `facts`."""
    return any(argument.name is not None and argument.name.text == "facts" for argument in node.arguments)


def check_fact_rules(c: Checker, symbol: MemorySymbol) -> None:
    """Replace each FactRule in `symbol.steps` by the data of the image, `[patterns, readers, writers]`, once the whole chain was
    read; rules that are reported (E4523, E4502, E4004) are left out. A pattern is `[tier, name]`: the tier is empty for any, and
    the name may end in `*`; readers and writers are symbols of models and agents."""
    allow = (symbol.steps or {}).get("allow", {})
    if not any(isinstance(rule, FactRule) for rule in allow.get("allow_facts", ())):
        return
    rules = []
    for rule in allow["allow_facts"]:
        patterns = _patterns(c, symbol, rule)
        if patterns and _may_attach(c, symbol, rule, allow):
            rules.append([patterns, rule.named.get("read", []), rule.named.get("write", [])])
    symbol.steps = {**(symbol.steps or {}), "allow": {**allow, "allow_facts": rules}}


def _patterns(c: Checker, symbol: MemorySymbol, rule: FactRule) -> list[list[str]]:
    """Return the patterns of a rule; empty after a report."""
    if not rule.named:
        c.report("E4523", rule.node.name.span, "nobody is named whom these facts are open to", help=HELP)
        return []
    if not rule.patterns:
        c.report("E4523", rule.node.name.span, "`facts` names no facts", help=HELP)
    patterns: list[list[str]] = []
    for item in rule.patterns:
        pattern = _pattern(c, symbol, item)
        if pattern is None:
            return []
        if pattern in patterns:
            c.report("E4523", item.span, "these facts are named twice", help="remove one of them")
            return []
        patterns.append(pattern)
    return patterns


def _pattern(c: Checker, symbol: MemorySymbol, item: ast.Expr) -> list[str] | None:
    if is_word(item) and isinstance(item, ast.PathExpr):
        return _tier(c, symbol, item.segments[0])
    if is_bare(item) and isinstance(item, ast.PathExpr):
        return _slot(c, symbol, item.segments[0])
    if at_module_level(c, item, Expected(STRING, "E4502", "what `facts` names")) is ERRONEOUS:
        return None
    text = folded(c, item, "E4004")
    if text is FAILED:
        return None
    if not isinstance(text, str) or not text or "*" in text[:-1]:
        message = "`facts` takes the name of a fact, or its beginning and `*`"
        c.report("E4523", item.span, message, help='write "secrets/*" for all facts whose name begins so')
        return None
    return ["", text]


def _tier(c: Checker, symbol: MemorySymbol, word: ast.Ident) -> list[str] | None:
    if word.text not in FACT_TIERS:
        help = did_you_mean(word.text, FACT_TIERS) or listed("tiers", FACT_TIERS, like=word.text)
        c.report("E4502", word.span, f"`facts` has no word `{word.text}`", help=help)
        return None
    if word.text == "Persistent" and "store" not in (symbol.steps or {}):
        message = f"`{symbol.name}` has no persistent facts: it has no store"
        c.report("E4523", word.span, message, help='add `.store("durable")` to the memory')
        return None
    return [word.text.lower(), "*"]


def _slot(c: Checker, symbol: MemorySymbol, name: ast.Ident) -> list[str] | None:
    slots = symbol.context.slots if symbol.context is not None else {}
    slot = slots.get(name.text)
    if slot is not None:
        return [slot.tier, slot.name]
    if symbol.context is None:
        help = f'attach a context with that slot, or name the fact: "{name.text}"'
    else:
        help = did_you_mean(name.text, list(slots)) or listed("slots", list(slots), like=name.text) or "its context has no slots"
    c.report("E4523", name.span, f"`{symbol.name}` has no slot `{name.text}`", help=help)
    return None


def _may_attach(c: Checker, symbol: MemorySymbol, rule: FactRule, allow: dict[str, Any]) -> bool:
    """Check that everybody in the rule may attach the memory: a rule for its facts gives others nothing."""
    if not {"allow_read", "allow_write"} & allow.keys():
        return True
    writers = allow.get("allow_write", [])
    readers = [*writers, *allow.get("allow_read", [])]
    for label, open_to in (("read", readers), ("write", writers)):
        for who in rule.named.get(label, ()):
            if who not in open_to:
                more = "" if label == "read" or who not in readers else " to write"
                what = f"`{symbol.name}` does not allow `{who.name}`{more}"
                c.report("E4523", rule.node.name.span, what, help=f"name it in `.allow({label}: [{who.name}])` of the memory too")
                return False
    return True
