"""Help texts for a value of the wrong type (L-4.4.1).

Hands on `explain`, for a value of one type where another is expected, the helps of single forms (conditions, negations, branches,
numbers, absence, milliseconds), and the words ITERABLE and MILLISECONDS to the checker. The functions are pure and raise nothing.
`explain` and `absent_help` return None when nothing can be said; the others always return a text. Where the value stands is the
caller's knowledge. A new pair of types is a case of `explain`.
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

# What a `for` goes through, in the words of a help.
ITERABLE = "arrays, maps, strings, tuples, ranges, sets, hashmaps, ledgers and streams"
_INT_TEXT = re.compile(r"-?[0-9]{1,18}")
_FLOAT_TEXT = re.compile(r"-?[0-9]{1,18}\.[0-9]{1,18}")


def default_of(type_: Type) -> str:
    """Return what may stand behind `??` for a value of this type; the word `default` for a type without an obvious value."""
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
    """Return the help that takes the value out of a Result, an Option or a `T?`; None for other types."""
    match type_:
        case Generic(name="Result"):
            return "add `?`, or use `match`"
        case Generic(name="Option"):
            return f"add `?`, write `x ?? {default_of(type_.arguments[0])}` for a default, or `match`"
        case Nilable():
            return f"write `x ?? {default_of(type_.inner)}` for a default, or {BIND_AND_ASK}"
    return None


def condition_help(actual: Type) -> str:
    """Return how a Bool is made of a value of another type, for `if x`."""
    match actual:
        case Simple(name="Int"):
            return "compare it: `!= 0`"
        case Simple(name="String"):
            return "compare it: `!= \"\"`"
        case Generic(name="Option"):
            return "ask `is_some()`"
        case Generic(name="Result", arguments=(Simple(name="Bool"), _)):
            return "add `?`, which gives the Bool and passes an Err on"
        case Generic(name="Result"):
            return "ask `is_ok()`"
        case Nilable():
            return "compare it: `!= nil`"
        case Generic(name="Array" | "Map" | "Set" | "Stack" | "Queue"):
            return "ask `!xs.is_empty()`"
    return "compare it, or cast it: `as Bool`"


def negated_help(actual: Type) -> str:
    """Return how a Bool is made of the absence of a value of another type, for `!x`."""
    match actual:
        case Simple(name="Int"):
            return "compare it: `== 0`"
        case Simple(name="String"):
            return "compare it: `== \"\"`"
        case Generic(name="Option"):
            return "ask `is_none()`"
        case Generic(name="Result", arguments=(Simple(name="Bool"), _)):
            return "add `?`, which gives the Bool and passes an Err on"
        case Generic(name="Result"):
            return "ask `is_err()`"
        case Nilable():
            return "compare it: `== nil`"
        case Generic(name="Array" | "Map" | "Set" | "Stack" | "Queue"):
            return "ask `xs.is_empty()`"
    return "compare it, or cast it: `!(x as Bool)`"


# Which of the two kinds of absence is meant, where one stands for the other (L-3.3.5).
ABSENCE_OF_NILABLE = "a `T?` is the value itself or `nil`"

# How a `T?` becomes a T without a default: only an immutable variable is known to hold a value (L-3.3.18).
BIND_AND_ASK = "bind it, `let x = …`, and ask `if x != nil { … }`"


def generic_name(type_: Type) -> str:
    """Return the name of a generic type such as Result, an empty text for other types."""
    return type_.name if isinstance(type_, Generic) else ""


def text_for_error(expected: Type) -> str:
    """Return the help for a text where an error is expected. `throw` makes a RuntimeError of a text, which not every family
    takes."""
    if expected in (error("Error"), error("RuntimeError")):
        return "use `throw`, or make an error: `RuntimeError::new(…)`"
    return f"make an error: `{expected}::new(…)`"


def _is_text_for_error(actual: Type, expected: Type) -> bool:
    return (actual == STRING or isinstance(actual, Union)) and isinstance(expected, Nominal) and expected.kind == "error"


def number_help(text: str | None, expected: Type) -> str:
    """Return the help for a String where `expected`, Int or Float, is required; `text` is what a literal holds, None for other
    expressions."""
    method = "parse_int" if expected == INT else "parse_float"
    # At most 18 digits, so that the number is one of the language.
    form = _INT_TEXT if expected == INT else _FLOAT_TEXT
    if text is not None and form.fullmatch(text):
        return f"write the number without quotes: `{text}`"
    return f"write a number literal, or parse the text: `.{method}()?`"


# Parameters that count milliseconds, where people write seconds.
MILLISECONDS = ("parameter `ms`", "parameter `timeout_ms`")
_MOST_SECONDS = 1e9  # of a literal for which the help counts
_OPERANDS = (ast.FloatLiteral, ast.PathExpr, ast.FieldAccess, ast.TupleAccess, ast.Index, ast.Call, ast.MethodCall, ast.GroupExpr)


def milliseconds_help(node: ast.Expr, text: str) -> str:
    """Return the help for a Float where milliseconds are expected: a cast would make 0 of half a second. `text` is the
    argument as it is written."""
    # `0.5` where seconds were meant is 500, and `0.57`, of which the product is 569.99…, is 570.
    if isinstance(node, ast.FloatLiteral) and node.value < _MOST_SECONDS and round(node.value * 1000) / 1000 == node.value:
        return f"it counts milliseconds: `{round(node.value * 1000)}`"
    operand = text if isinstance(node, _OPERANDS) else f"({text})"
    return f"it counts milliseconds: `({operand} * 1000.0).round()`"


def branches_help(joined: Type, actual: Type, written: str) -> str:
    """Return what makes two branches of different types agree; `written` is the source of the branch of type `actual`. A String
    and a plain value may both become a String."""
    # A text of a list or of an absent value is seldom what was meant.
    simple = not any(isinstance(type_, (Generic, Nilable)) for type_ in (joined, actual))
    if STRING not in (joined, actual) or not simple:
        return "convert one of them, or end each with `;`"
    quotable = joined == STRING and not set(written) & set("\"…{")
    return f"make both a String: `\"${{{written if quotable else '…'}}}\"`, or end each with `;`"


def explain(actual: Type, expected: Type) -> str | None:
    """Return what usually helps when a value of type `actual` stands where `expected` is required, or None. The first case
    that fits wins, so the special ones come first."""
    match actual, expected:
        case Generic(name="Result"), _ if actual.arguments[0] == expected:
            return "use `?`, or `match` on the Result"
        case Generic(name="Result"), _ if actual.arguments[0] == ANY and not isinstance(expected, Generic):
            return "use `?`, or `match` on the Result"
        case Generic(name="Result"), _ if actual.arguments[0] == RESPONSE and expected == STRING:
            return "add `?` and `.text`"
        case _, _ if actual == RESPONSE and expected == STRING:
            return "add `.text`"
        case Generic(name="Option", arguments=(Open(),)), Nilable():
            return f"write `nil` in place of `None`: {ABSENCE_OF_NILABLE}"
        case Generic(name="Result"), Generic(name="Result") if _is_text_for_error(actual.arguments[1], expected.arguments[1]):
            return text_for_error(expected.arguments[1])
        case Generic(name="Result"), Generic(name="Result") if actual.arguments[1] == expected.arguments[1]:
            return explain(actual.arguments[0], expected.arguments[0])
        case _, Nominal(kind="trait"):
            return f"write `impl {expected} for {actual} {{ … }}`"
        case _, Nominal(kind="error") if _is_text_for_error(actual, expected):
            return text_for_error(expected)
        case Generic(name="Option"), Nilable() if actual.arguments[0] == expected.inner:
            return f"write `… ?? nil`: {ABSENCE_OF_NILABLE}"
        case Generic(name="Result"), Nominal() if actual.arguments[0] == RESPONSE and expected.kind == "schema":
            return f"write `.execute<{expected}>(…)?`"
        case Generic(name="Result"), _ if actual.arguments[0] == RESPONSE and generic_name(expected) != "Result":
            return f"write `.execute<{expected}>(…)?` for a schema, `.execute(…)?.text` for its text"
        case _, Generic(name="Array") if expected == array(MESSAGE) and actual == STRING:
            return "write `.execute(…)`, which takes a String"
        case Generic(name="Array" | "Option" | "Result"), Generic(name="Array"):
            return None
        case _, Generic(name="Array") if expected.arguments[0] in (actual, ANY):
            return "write it in brackets: `[…]`"
        case Generic(name="Option"), _ if actual.arguments[0] == expected:
            return f"write `… ?? {default_of(expected)}` for a default, `…?` to hand the absence on, or `match`"
        case Nilable(), _ if actual.inner == expected:
            return f"write `… ?? {default_of(expected)}` for a default, or {BIND_AND_ASK}"
        case _, Generic(name="Result") if expected.arguments[0] == actual:
            return "wrap it: `Ok(…)`"
        case _, Generic(name="Result") if expected.arguments[1] == actual:
            return "wrap it: `Err(…)`, or `throw` it"
        case _, Union():
            return f"cast it: `as {expected}`" if actual == STRING else None
        case Function(), _ if actual.result == expected:
            return "call it: `()`"
    # Behind the cases: what converts a value of any other type.
    if expected == PROMPT:
        return "a prompt is a String or a Prompt: `\"${…}\"`"
    if expected == STRING:
        return "convert it: `.to_string()` or `${…}`"
    if expected == INT and actual == FLOAT:
        return "cast it: `as Int` drops the fraction, `.round()` rounds"
    if expected in (INT, FLOAT) and actual == STRING:
        return number_help(None, expected)
    # What helps for T helps for `T?`.
    if isinstance(expected, Nilable):
        return explain(actual, expected.inner)
    return None
