"""The steps of a memory whose functions may ask models and wait: `view` and `on` (M-4.30, M-6.37).

Hands on `read_view` and `read_handler`. Must not know: the other steps, when the functions are called.
"""

from __future__ import annotations

from typing import Any

from ...vm.bytecode.memory_steps import EVENTS
from .. import ast
from ..symbols import StepFunction
from ..types import ANY, MESSAGE, NEVER, STRING, Function, Open, Type, array, map_
from .arguments import infer_all
from .context import Checker, Expected, Target
from .memory_words import known_word
from .relations import ERRONEOUS, generic

MESSAGES = array(MESSAGE)
EVENT = map_(STRING, ANY)
VIEW = ".view(with: f)"
HANDLER = ".on(Commit, |e| emit(\"stored\", e))"


def read_view(c: Checker, node: ast.MethodCall) -> StepFunction | None:
    """What gives the shown messages; None after a report."""
    given = node.arguments
    if len(given) != 1 or given[0].name is None or given[0].name.text != "with":
        infer_all(c, given)
        wrong = next((argument for argument in given if argument.name is not None and argument.name.text != "with"), None)
        if wrong is not None and wrong.name is not None:
            c.report("E4502", wrong.name.span, f"the step `view` has no argument `{wrong.name.text}`", help=VIEW)
        else:
            c.report("E2006", node.name.span, "the step `view` takes its function as `with:`", help=VIEW)
        return None
    help = "a function `(Array<Message>) -> Array<Message>`, or one with a Result of it; it may be `async`"
    return _function(c, given[0].value, MESSAGES, _gives_messages, "the view of a memory", help)


def _gives_messages(result: Type) -> bool:
    inner = generic(result, "Result")
    return (inner[0] if inner is not None else result) in (ANY, NEVER, MESSAGES)


def read_handler(c: Checker, node: ast.MethodCall) -> dict[str, Any] | None:
    """The event and its function; None after a report."""
    given = node.arguments
    if len(given) != 2 or any(argument.name is not None for argument in given):
        infer_all(c, given[1:])
        c.report("E2006", node.name.span, "the step `on` takes an event and a function", help=HANDLER)
        return None
    event = known_word(c, "on", tuple(EVENTS), given[0].value)
    help = "a function `(Map<String, Any>)`; it may be `async`, and what it gives is not used"
    made = _function(c, given[1].value, EVENT, lambda result: True, "an event of a memory", help)
    return None if event is None or made is None else {"event": event, "with": made}


def _function(
    c: Checker, value: ast.Expr, parameter: Type, fits: Any, what: str, help: str
) -> StepFunction | None:
    """A closure or the name of a function with that one parameter."""
    c.targets.append(Target("none", result=ERRONEOUS))
    made = c.infer(value, Expected(Function((parameter,), Open()) if isinstance(value, ast.Closure) else None))
    c.targets.pop()
    if made is ERRONEOUS:
        return None
    if not (isinstance(made, Function) and made.parameters == (parameter,) and fits(made.result)):
        c.report("E4529", value.span, f"`{made}` cannot be called for {what}", help=help)
        return None
    return StepFunction(value)
