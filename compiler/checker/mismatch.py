"""Help texts for a value of the wrong type (L-4.4.1).

Pure. Must not know: where the value stands.
"""

from __future__ import annotations

import re

from .. import ast
from ..types import ANY, FLOAT, INT, PROMPT, RESPONSE, STRING, Function, Generic, Nilable, Nominal, Open, Simple, Type, Union

ITERABLE = "arrays, maps, strings, tuples, ranges, sets, hashmaps and streams"
_INT_TEXT = re.compile(r"-?[0-9]{1,18}")
_FLOAT_TEXT = re.compile(r"-?[0-9]{1,18}\.[0-9]{1,18}")


def absent_help(type_: Type) -> str | None:
    """What takes the value out of a Result, an Option or a `T?`; None for other types."""
    match type_:
        case Generic(name="Result"):
            return "add `?`, or use `match`"
        case Generic(name="Option"):
            return "add `?`, use `??` with a default, or `match`"
        case Nilable():
            return "use `??` with a default, or `match`"
    return None


def condition_help(found: Type) -> str:
    """What makes a Bool of a value of another type."""
    match found:
        case Simple(name="Int"):
            return "compare it: `!= 0`"
        case Simple(name="String"):
            return "compare it: `!= \"\"`"
        case Generic(name="Option"):
            return "ask `is_some()`"
        case Generic(name="Result"):
            return "ask `is_ok()`"
        case Nilable():
            return "compare it: `!= nil`"
    return "compare it, or cast it: `as Bool`"


TEXT_FOR_ERROR = "use `throw`, or make an error: `RuntimeError::new(…)`"


def _is_text_for_error(found: Type, wanted: Type) -> bool:
    return (found == STRING or isinstance(found, Union)) and isinstance(wanted, Nominal) and wanted.kind == "error"


def number_help(text: str | None, wanted: Type) -> str:
    """For a String where a number is expected; `text` is what a literal holds."""
    method = "parse_int" if wanted == INT else "parse_float"
    form = _INT_TEXT if wanted == INT else _FLOAT_TEXT
    if text is not None and form.fullmatch(text):
        return f"write the number without quotes: `{text}`"
    return f"write a number literal, or parse the text: `.{method}()?`"


# Parameters that count milliseconds, where people write seconds.
MILLISECONDS = ("parameter `ms`", "parameter `timeout_ms`")


def milliseconds_help(node: ast.Expr, text: str) -> str:
    """For a Float where milliseconds are asked for: a cast would make 0 of half a second."""
    if isinstance(node, ast.FloatLiteral) and (node.value * 1000).is_integer():
        return f"it counts milliseconds: `{int(node.value * 1000)}`"
    return f"it counts milliseconds: `({text} * 1000.0) as Int`"


def explain(found: Type, wanted: Type) -> str | None:
    """What usually helps when `found` stands where `wanted` is expected."""
    match found, wanted:
        case Generic(name="Result"), _ if found.arguments[0] == wanted:
            return "use `?`, or `match` on the Result"
        case Generic(name="Result"), _ if found.arguments[0] == ANY and not isinstance(wanted, Generic):
            return "use `?`, or `match` on the Result"
        case Generic(name="Result"), _ if found.arguments[0] == RESPONSE and wanted == STRING:
            return "add `?` and `.text`"
        case _, _ if found == RESPONSE and wanted == STRING:
            return "add `.text`"
        case Generic(name="Option", arguments=(Open(),)), Nilable():
            return "write `nil` in place of `None`"
        case Generic(name="Result"), Generic(name="Result") if _is_text_for_error(found.arguments[1], wanted.arguments[1]):
            return TEXT_FOR_ERROR
        case _, Nominal(kind="trait"):
            return f"write `impl {wanted} for {found} {{ … }}`"
        case _, Nominal(kind="error") if _is_text_for_error(found, wanted):
            return TEXT_FOR_ERROR
        case Generic(name="Option"), Nilable() if found.arguments[0] == wanted.inner:
            return "write `… ?? nil`"
        case Generic(name="Option"), _ if found.arguments[0] == wanted:
            return "use `?`, `??` with a default, or `match`"
        case Nilable(), _ if found.inner == wanted:
            return "use `??` with a default, or `match`"
        case _, Generic(name="Result") if wanted.arguments[0] == found:
            return "wrap it: `Ok(…)`"
        case _, Generic(name="Result") if wanted.arguments[1] == found:
            return "wrap it: `Err(…)`, or `throw` it"
        case _, Union():
            return f"cast it: `as {wanted}`" if found == STRING else None
        case Function(), _ if found.result == wanted:
            return "call it: `()`"
    if wanted == PROMPT:
        return "a prompt is a String or a Prompt: `\"${…}\"`"
    if wanted == STRING:
        return "convert it: `.to_string()` or `${…}`"
    if wanted == INT and found == FLOAT:
        return "cast it: `as Int`"
    if wanted in (INT, FLOAT) and found == STRING:
        return number_help(None, wanted)
    return None
