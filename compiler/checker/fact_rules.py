"""Who may read and write which facts of a memory: `.allow(…, facts: [slot, "prefix/*", Tier])` (M-10.35).

Hands on `FactRule`, which a step `allow` is read into, and `check_fact_rules`, once the whole chain was read. Must not know: who
attaches a memory where, how a rule is enforced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...vm.bytecode.memory_steps import TIERS
from .. import ast
from ..resolver.memory import is_bare, is_word
from ..resolver.spelling import did_you_mean, listed
from ..symbols import MemorySymbol
from ..types import STRING
from .context import Checker, Expected
from .declarations import FAILED, at_module_level, folded
from .relations import ERRONEOUS

HELP = '.allow(read: [Planner], write: [Editor], facts: [bugs, "secrets/*"])'


@dataclass(slots=True)
class FactRule:
    """As written; `named`: models and agents by `read` and `write`."""

    node: ast.MethodCall
    patterns: list[ast.Expr] = field(default_factory=list)
    named: dict[str, list[Any]] = field(default_factory=dict)


def is_scoped(node: ast.MethodCall) -> bool:
    return any(argument.name is not None and argument.name.text == "facts" for argument in node.arguments)


def check_fact_rules(c: Checker, symbol: MemorySymbol) -> None:
    """Puts the data of the image in place of each rule: patterns of tier and name, readers, writers."""
    allow = (symbol.steps or {}).get("allow", {})
    if not any(isinstance(rule, FactRule) for rule in allow.get("allow_facts", ())):
        return
    found = []
    for rule in allow["allow_facts"]:
        patterns = _patterns(c, symbol, rule)
        if patterns and _may_attach(c, symbol, rule, allow):
            found.append([patterns, rule.named.get("read", []), rule.named.get("write", [])])
    symbol.steps = {**(symbol.steps or {}), "allow": {**allow, "allow_facts": found}}


def _patterns(c: Checker, symbol: MemorySymbol, rule: FactRule) -> list[list[str]]:
    """Empty after a report."""
    if not rule.named:
        c.report("E4523", rule.node.name.span, "nobody is named whom these facts are open to", help=HELP)
        return []
    if not rule.patterns:
        c.report("E4523", rule.node.name.span, "`facts` names no facts", help=HELP)
    found: list[list[str]] = []
    for item in rule.patterns:
        pattern = _pattern(c, symbol, item)
        if pattern is None:
            return []
        if pattern in found:
            c.report("E4523", item.span, "these facts are named twice", help="remove one of them")
            return []
        found.append(pattern)
    return found


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
    if word.text not in TIERS:
        help = did_you_mean(word.text, TIERS) or listed("tiers", TIERS, like=word.text)
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
    """Whom the memory does not let in, or only lets read, gains nothing by a rule for its facts."""
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
