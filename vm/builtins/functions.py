"""The global functions (L-6.1); those that are compiled into instructions have rows without a body."""

from __future__ import annotations

from ..panics import Panic
from ..values.access import length
from ..values.casts import truth
from ..values.display import brief
from ..values.equality import equal
from ..values.handles import SchemaRef
from ..values.records import Response
from ..values.results import Err, Ok, Some
from ..values.typeof import typeof
from .guards import text
from .registry import effect, function, special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


@function("len(x: Any) -> Int", clause="L-6.1.2")
def len_function(x: Any) -> int:
    """As `x.len()`: of a String, Array, Map, tuple or Range."""
    return length(x)


@function("typeof(x: Any) -> String", clause="L-6.1.3")
def typeof_function(x: Any) -> str:
    """The name of the value's type."""
    return typeof(x)


@function("panic(msg: String) -> never", clause="L-6.1.4")
def panic(msg: Any) -> NoReturn:
    """Stops the program with P001 and the message."""
    raise Panic("P001", text(msg))


def _failed(message: str) -> NoReturn:
    raise Panic("P011", f"assertion failed: {message}")


@function('assert(c: Any, msg: String = "") -> Nil', clause="L-6.1.5")
def assert_true(c: Any, msg: Any) -> None:
    """Panics with P011 when the condition is false."""
    if not truth(c):
        _failed(text(msg) or "expected true")


def _between(msg: Any) -> str:
    return f"{msg}: " if text(msg) else ""


@function('assert_eq(a: Any, b: Any, msg: String = "") -> Nil', clause="L-6.1.6")
def assert_eq(a: Any, b: Any, msg: Any) -> None:
    """Panics with P011 when the values differ."""
    if not equal(a, b):
        _failed(f"{_between(msg)}{brief(a, 2000)} != {brief(b, 2000)}")


@function('assert_ne(a: Any, b: Any, msg: String = "") -> Nil', clause="L-6.1.6")
def assert_ne(a: Any, b: Any, msg: Any) -> None:
    """Panics with P011 when the values are equal."""
    if equal(a, b):
        _failed(f"{_between(msg)}{brief(a, 2000)} == {brief(b, 2000)}, expected them to differ")


@function("Some<T>(x: T) -> Option<T>", clause="L-6.1.8")
def some(x: Any) -> Some:
    """An Option that holds the value."""
    return Some(x)


@function("Ok<T, E>(x: T = nil) -> Result<T, E>", clause="L-6.1.8")
def ok(x: Any) -> Ok:
    """A Result that succeeded; `Ok()` is `Ok(nil)`."""
    return Ok(x)


@function("Err<T, E>(e: E) -> Result<T, E>", clause="L-6.1.8")
def err(e: Any) -> Err:
    """A Result that failed with the error."""
    return Err(e)


@effect("env(name: String) -> String?", effect="env", permission="env", clause="L-6.1.7")
def env(name: Any) -> tuple[Any, ...]:
    """The environment variable, nil when unset."""
    return ("env", text(name))


@effect("parse_schema<T>(x: Any) -> Result<T, SchemaError>", effect="schema", clause="L-6.1.11", special="schema")
def parse_schema(schema: Any, x: Any) -> tuple[Any, ...]:
    """Validates the JSON in a String or Response against the schema."""
    if type(schema) is not SchemaRef:
        raise Panic("P007", f"expected SchemaRef, found {typeof(schema)}")
    return (schema.name, text(x.get("text") if type(x) is Response else x))


special("None<T>() -> Option<T>", clause="L-6.1.8", doc="The empty Option; written without parentheses.")
special("print(values: Any...) -> Nil", clause="L-6.1.1", doc="Writes the Display texts, joined by a space, to stdout.")
special("println(values: Any...) -> Nil", clause="L-6.1.1", doc="As `print`, with a newline.")
special("emit(channel: String, payload: Any = nil) -> Nil", clause="L-6.1.9", doc="Sends the payload on a channel.")
special("flush_emits() -> Nil", clause="L-6.1.10", doc="Delivers the emits a host has buffered.")
special("race(operands: Any...) -> Any", clause="L-6.1.12", doc="The value of the operand that finishes first.")
