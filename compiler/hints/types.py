"""Help texts for a value of the wrong type (L-4.4.1).

Pure. Must not know: where the value stands.
"""

from __future__ import annotations

import re

from ..syntax import ast
from ..types import (
    ANY,
    FLOAT,
    INT,
    MESSAGE,
    PROMPT,
    RESPONSE,
    STRING,
    Function,
    Generic,
    Nilable,
    Nominal,
    Open,
    Simple,
    Type,
    Union,
    array,
    error,
)

ITERABLE = "arrays, maps, strings, tuples, ranges, sets, hashmaps and streams"
_INT_TEXT = re.compile(r"-?[0-9]{1,18}")
_FLOAT_TEXT = re.compile(r"-?[0-9]{1,18}\.[0-9]{1,18}")


def default_of(type_: Type) -> str:
    """What may stand behind `??` for a value of the type."""
    match type_:
        case Simple(name="Int"):
            return "0"
        case Simple(name="Float"):
            return "0.0"
        case Simple(name="Bool"):
            return "false"
        case Simple(name="String"):
            return '""'
        case Generic(name="Array"):
            return "[]"
        case Generic(name="Map"):
            return "{}"
    return "default"


def absent_help(type_: Type) -> str | None:
    """What takes the value out of a Result, an Option or a `T?`; None for other types."""
    match type_:
        case Generic(name="Result"):
            return "add `?`, or use `match`"
        case Generic(name="Option"):
            return f"add `?`, write `x ?? {default_of(type_.arguments[0])}` for a default, or `match`"
        case Nilable():
            return f"write `x ?? {default_of(type_.inner)}` for a default, or `match`"
    return None


def nilable_help(method: str) -> str | None:
    """For a method of Options that is called on a `T?`."""
    default = dict.fromkeys(("unwrap", "unwrap_or", "unwrap_or_else", "expect"), "x ?? default")
    what = {"is_some": "x != nil", "is_none": "x == nil", **default}
    return f"write `{what[method]}`: {ABSENCE_OF_NILABLE}" if method in what else None


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
        case Generic(name="Array" | "Map" | "Set" | "Stack" | "Queue"):
            return "ask `!xs.is_empty()`"
    return "compare it, or cast it: `as Bool`"


def negated_help(found: Type) -> str:
    """What makes a Bool of the absence of a value of another type, for `!x`."""
    match found:
        case Simple(name="Int"):
            return "compare it: `== 0`"
        case Simple(name="String"):
            return "compare it: `== \"\"`"
        case Generic(name="Option"):
            return "ask `is_none()`"
        case Generic(name="Result"):
            return "ask `is_err()`"
        case Nilable():
            return "compare it: `== nil`"
        case Generic(name="Array" | "Map" | "Set" | "Stack" | "Queue"):
            return "ask `xs.is_empty()`"
    return "compare it, or cast it: `!(x as Bool)`"


# Which of the two kinds of absence is meant, where one stands for the other (L-3.3.5).
ABSENCE_OF_NILABLE = "a `T?` is the value itself or `nil`"


def generic_name(type_: Type) -> str:
    return type_.name if isinstance(type_, Generic) else ""


def text_for_error(wanted: Type) -> str:
    """For a text where an error is expected: `throw` makes a RuntimeError of it, which not every family takes."""
    if wanted in (error("Error"), error("RuntimeError")):
        return "use `throw`, or make an error: `RuntimeError::new(…)`"
    return f"make an error: `{wanted}::new(…)`"


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


def branches_help(joined: Type, found: Type, written: str) -> str:
    """What makes two branches agree, where one of them is a text; `written` is the one of type `found`."""
    simple = not any(isinstance(type_, (Generic, Nilable)) for type_ in (joined, found))
    if STRING not in (joined, found) or not simple:
        return "convert one of them, or end each with `;`"
    shown = joined == STRING and not set(written) & set("\"…{")
    return f"make both a String: `\"${{{written if shown else '…'}}}\"`, or end each with `;`"


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
            return f"write `nil` in place of `None`: {ABSENCE_OF_NILABLE}"
        case Generic(name="Result"), Generic(name="Result") if _is_text_for_error(found.arguments[1], wanted.arguments[1]):
            return text_for_error(wanted.arguments[1])
        case Generic(name="Result"), Generic(name="Result") if found.arguments[1] == wanted.arguments[1]:
            return explain(found.arguments[0], wanted.arguments[0])
        case _, Nominal(kind="trait"):
            return f"write `impl {wanted} for {found} {{ … }}`"
        case _, Nominal(kind="error") if _is_text_for_error(found, wanted):
            return text_for_error(wanted)
        case Generic(name="Option"), Nilable() if found.arguments[0] == wanted.inner:
            return f"write `… ?? nil`: {ABSENCE_OF_NILABLE}"
        case Generic(name="Result"), Nominal() if found.arguments[0] == RESPONSE and wanted.kind == "schema":
            return f"write `.execute_with_schema<{wanted}>(…)?`"
        case Generic(name="Result"), _ if found.arguments[0] == RESPONSE and generic_name(wanted) != "Result":
            return f"write `.execute_with_schema<{wanted}>(…)?` for a schema, `.execute(…)?.text` for its text"
        case _, Generic(name="Array") if wanted == array(MESSAGE) and found == STRING:
            return "write `.execute(…)`, which takes a String"
        case Generic(name="Array" | "Option" | "Result"), Generic(name="Array"):
            return None
        case _, Generic(name="Array") if wanted.arguments[0] in (found, ANY):
            return "write it in brackets: `[…]`"
        case Generic(name="Option"), _ if found.arguments[0] == wanted:
            return f"write `… ?? {default_of(wanted)}` for a default, `…?` to hand the absence on, or `match`"
        case Nilable(), _ if found.inner == wanted:
            return f"write `… ?? {default_of(wanted)}` for a default, or `match`"
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
        return "cast it: `as Int` drops the fraction, `.round()` rounds"
    if wanted in (INT, FLOAT) and found == STRING:
        return number_help(None, wanted)
    if isinstance(wanted, Nilable):
        return explain(found, wanted.inner)
    return None
