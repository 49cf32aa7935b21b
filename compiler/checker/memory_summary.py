"""The step `summary` of a memory (M-9.1, M-9.2): who summarises, when, and how the text is shown.

Hands on `read_summary`, `completed` and `check_summary`. Must not know: the other steps, how a fold is made.
"""

from __future__ import annotations

from typing import Any

from ...vm.bytecode.memory_steps import FROM, HOLE, INJECT, SUMMARY_ROLES
from .. import ast
from ..memory_tables import milliseconds
from ..resolver.memory import is_word
from ..resolver.spelling import did_you_mean, listed
from ..symbols import ModelSymbol, StepFunction
from ..types import ANY, INT, MESSAGE, NEVER, STRING, Function, Open, Type, array
from .context import FREE, Checker, Expected, Target
from .declarations import FAILED, at_module_level, folded
from .memory_words import known_word
from .relations import ERRONEOUS, generic, is_text

EVICT = "Evict"
PARAMETERS = (STRING, array(MESSAGE))
SHAPE = ".summary(MODEL, every: 10)"
KNOWN = ("every", "from", "inject", "role", "max_tokens", "prompt", "text")
WHO = ("model", "function", "host")
EVERY = ("every_turns", "every_ms")
WORDS = {"inject": INJECT, "role": SUMMARY_ROLES, "from": FROM}
WITH_A_ROLE = ("Prefix", "Suffix")
SAID = "said"  # of a step that names nobody: the arguments that stand there, until it is complete


def read_summary(c: Checker, node: ast.MethodCall) -> dict[str, Any] | None:
    """What the image holds, with the model or function still as a symbol; None after a report. Of one that names nobody
    `completed` makes it whole."""
    by = [argument for argument in node.arguments if argument.name is None]
    if len(by) > 1:
        c.report("E2006", node.name.span, f"`summary` takes 1 argument without a name, {len(by)} given", help=SHAPE)
        return None
    found: dict[str, Any] = {}
    legal = not by or _by(c, by[0].value, found)
    for argument in node.arguments:
        if argument.name is not None:
            legal = _named(c, argument.name, argument.value, found) and legal
    if legal and "role" in found and found.get("inject", WITH_A_ROLE[0]) not in WITH_A_ROLE:
        at = next(argument.name.span for argument in node.arguments if argument.name is not None and argument.name.text == "role")
        message = f"with `inject: {found['inject']}` the summary is no message of its own, and has no role"
        c.report("E4504", at, message, help="leave `role` out, or write `inject: Prefix` or `inject: Suffix`")
        return None
    if not by:
        found[SAID] = {argument.name.text for argument in node.arguments if argument.name is not None}
    return found if legal else None


def completed(summary: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """With what it does not say from another one, if it names nobody (M-2.12)."""
    said = summary.get(SAID)
    if said is None or SAID in other:
        return summary
    held = {name: value for name, value in other.items() if not ("every" in said and name in EVERY or name in said)}
    return {**held, **{name: value for name, value in summary.items() if name != SAID}}


def check_summary(c: Checker, node: ast.MethodCall, summary: dict[str, Any]) -> bool:
    """Whether somebody makes it."""
    if SAID not in summary:
        return True
    message = "`summary` takes 1 argument without a name, 0 given"
    c.report("E2006", node.name.span, message, help=f"{SHAPE}, or name one in `summary` of [memory.defaults]")
    return False


def _by(c: Checker, value: ast.Expr, found: dict[str, Any]) -> bool:
    if isinstance(value, ast.PathExpr) and isinstance(value.binding, ModelSymbol):
        found["model"] = value.binding
        return True
    c.targets.append(Target("none", result=ERRONEOUS))
    made = c.infer(value, Expected(Function(PARAMETERS, Open()) if isinstance(value, ast.Closure) else None))
    c.targets.pop()
    if made is ERRONEOUS:
        return False
    if made == STRING:
        held = _constant(c, value, STRING, "the name of a summariser of the host", bool)
        found["host"] = held
        return held is not FAILED
    if not (isinstance(made, Function) and made.parameters == PARAMETERS and _gives_text(made.result)):
        help = "a function `(previous: String, new: Array<Message>) -> String`, a model, or the name of what the host gives"
        c.report("E4508", value.span, f"`{made}` cannot summarise", help=help)
        return False
    found["function"] = StepFunction(value)
    return True


def _gives_text(result: Type) -> bool:
    inner = generic(result, "Result")
    text = inner[0] if inner is not None else result
    return text in (ANY, NEVER) or is_text(text)


def _named(c: Checker, name: ast.Ident, value: ast.Expr, found: dict[str, Any]) -> bool:
    label = name.text
    if label in WORDS:
        held: Any = known_word(c, label, WORDS[label], value) or FAILED
        if held == FROM[0]:
            return True
    elif label == "every":
        return _every(c, value, found)
    elif label == "max_tokens":
        held = _constant(c, value, INT, "a constant Int of at least 1", lambda n: n >= 1)
    elif label == "text":
        held = _text(c, value)
    elif label == "prompt":
        held = _constant(c, value, STRING, "a constant String", bool)
    else:
        help = did_you_mean(label, KNOWN) or listed("arguments", KNOWN, like=label)
        c.report("E4502", name.span, f"the step `summary` has no argument `{label}`", help=help)
        return False
    if held is FAILED:
        return False
    found[label] = held
    return True


def _text(c: Checker, value: ast.Expr) -> Any:
    """What is shown, with one hole for the summary (M-9.22)."""
    held = _constant(c, value, STRING, "a constant String", bool)
    if held is FAILED or held.count(HOLE) == 1:
        return held
    message = f"`text` has {held.count(HOLE)} places for the summary, it takes 1"
    c.report("E4513", value.span, message, help='text: "[Previous conversation summary: {}]"')
    return FAILED


def _every(c: Checker, value: ast.Expr, found: dict[str, Any]) -> bool:
    """`Evict`, a number of turns, or a duration as a String."""
    if is_word(value) and isinstance(value, ast.PathExpr) and value.segments[0].text == EVICT:
        return True
    type_ = at_module_level(c, value, FREE)
    held = folded(c, value, "E4004") if type_ in (INT, STRING) else None
    if type_ is ERRONEOUS or held is FAILED:
        return False
    if isinstance(held, int) and held >= 1:
        found["every_turns"] = held
        return True
    ms = milliseconds(held) if isinstance(held, str) else None
    if ms is None:
        c.report("E4004", value.span, "`every` is `Evict`, a number of turns, or a duration", help='every: 3, every: "1h"')
        return False
    found["every_ms"] = ms
    return True


def _constant(c: Checker, value: ast.Expr, type_: Type, words: str, legal: Any) -> Any:
    found = at_module_level(c, value, FREE)
    held = folded(c, value, "E4004") if found == type_ else None
    if found is ERRONEOUS or held is FAILED:
        return FAILED
    if held is None or not legal(held):
        c.report("E4004", value.span, f"this is {words}", help="write a constant of that kind")
        return FAILED
    return held
