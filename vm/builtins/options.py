"""Methods of Option and Result (L-6.6), and the function behind `?` on several Results (L-3.12.10).

Hands on its rows only. Bodies panic with P006 where the value that is asked for is not there, with P007 for an argument of
another type, `context` with P103 for a String that gets too long or an error that nests too deep; with large values what ends the
run may come out of `context` and `together`. No body changes its receiver, and what it takes out of one is marked as shared, so
that whoever writes to it writes to a copy. An Err that is made from another keeps its `way`, the places that the error has
passed. Methods that call a function of the program are written in Concerto, at the end. How `?` on one value works stands in
`interp/template.py` (`TRY`).
"""

from __future__ import annotations

from ..panics import Panic
from ..values.containers import Array, share, share_all
from ..values.errors import ErrorValue, make_error
from ..values.limits import concat
from ..values.objects import NONE, Err, Ok, Some
from ..values.text import brief, display
from .registry import array, associated, method, mismatch, prelude, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@method("Option<T>", "is_some() -> Bool", clause="L-6.6.1")
def is_some(o: Any) -> bool:
    """Whether a value is there."""
    return o is not NONE


@method("Option<T>", "is_none() -> Bool", clause="L-6.6.1")
def is_none(o: Any) -> bool:
    """Whether no value is there."""
    return o is NONE


@method("Result<T, E>", "is_ok() -> Bool", clause="L-6.6.1")
def is_ok(r: Any) -> bool:
    """Whether it succeeded."""
    return type(r) is Ok


@method("Result<T, E>", "is_err() -> Bool", clause="L-6.6.1")
def is_err(r: Any) -> bool:
    """Whether it failed."""
    return type(r) is Err


@method("Option<T>", "unwrap() -> T", clause="L-6.6.2")
def option_unwrap(o: Any) -> Any:
    """The value; None panics with P006."""
    if o is NONE:
        raise Panic("P006", "unwrap of None")
    return share(o.value)


@method("Result<T, E>", "unwrap() -> T", clause="L-6.6.2")
def result_unwrap(r: Any) -> Any:
    """The value; Err panics with P006."""
    if type(r) is Err:
        raise Panic("P006", f"unwrap of Err: {brief(r.value)}")
    return share(r.value)


@method("Option<T>", "expect(msg: String) -> T", clause="L-6.6.2")
def option_expect(o: Any, msg: Any) -> Any:
    """The value; None panics with the message."""
    if o is NONE:
        raise Panic("P006", f"{text(msg)}: None")
    return share(o.value)


@method("Result<T, E>", "expect(msg: String) -> T", clause="L-6.6.2")
def result_expect(r: Any, msg: Any) -> Any:
    """The value; Err panics with the message and the error."""
    if type(r) is Err:
        raise Panic("P006", f"{text(msg)}: {brief(r.value)}")
    return share(r.value)


@method("Option<T>", "unwrap_or(v: T) -> T", clause="L-6.6.3")
def option_unwrap_or(o: Any, v: Any) -> Any:
    """The value, or v for None."""
    return v if o is NONE else share(o.value)


@method("Result<T, E>", "unwrap_or(v: T) -> T", clause="L-6.6.3")
def result_unwrap_or(r: Any, v: Any) -> Any:
    """The value, or v for Err."""
    return v if type(r) is Err else share(r.value)


@method("Option<T>", "ok_or<E>(e: E) -> Result<T, E>", clause="L-6.6.5")
def ok_or(o: Any, e: Any) -> Any:
    """Ok of the value, or Err(e) for None."""
    return Err(e) if o is NONE else Ok(share(o.value))


@method("Option<T>", "or(o: Option<T>) -> Option<T>", clause="L-6.6.5")
def option_or(o: Any, other: Any) -> Any:
    """The Option itself if it holds a value, else the other."""
    if other is not NONE and type(other) is not Some:
        mismatch("Option", other)
    return other if o is NONE else share(o)


@method("Result<T, E>", "ok() -> Option<T>", clause="L-6.6.7")
def result_ok(r: Any) -> Any:
    """The value as an Option."""
    return Some(share(r.value)) if type(r) is Ok else NONE


@method("Result<T, E>", "err() -> Option<E>", clause="L-6.6.7")
def result_err(r: Any) -> Any:
    """The error as an Option."""
    return Some(share(r.value)) if type(r) is Err else NONE


@method("Result<T, E>", "unwrap_err() -> E", clause="L-6.6.7")
def unwrap_err(r: Any) -> Any:
    """The error; Ok panics with P006."""
    if type(r) is Ok:
        raise Panic("P006", f"unwrap_err of Ok: {brief(r.value)}")
    return share(r.value)


@method("Result<T, E>", "context(msg: String) -> Result<T, E>", clause="L-6.6.8")
def context(r: Any, msg: Any) -> Any:
    """An Err with `msg: ` before its message; an error without one becomes a RuntimeError."""
    prefix = concat(text(msg), ": ")
    if type(r) is Ok:
        return share(r)
    error = r.value
    if type(error) is ErrorValue:
        return Err(ErrorValue(error.family, error.variant, concat(prefix, error.message), error.fields), r.way)
    if type(error) is str:
        return Err(concat(prefix, error), r.way)
    return Err(make_error("RuntimeError", None, (concat(prefix, display(error)),)), r.way)


@associated("Results", "together(all: Any) -> Result<Any, Any>", clause="L-3.12.10")
def together(results: Any) -> Any:
    """The values of an Array or tuple of Results, or its first Err; elements that are no Results stay."""
    elements = results if type(results) is tuple else array(results)
    failed = next((element for element in elements if type(element) is Err), None)
    if failed is not None:
        return share(failed)
    values = share_all([element.value if type(element) is Ok else element for element in elements])
    return Ok(tuple(values) if type(results) is tuple else Array(values))


prelude(
    "Option<T>", "unwrap_or_else(f: fn() -> T) -> T", clause="L-6.6.3", doc="The value, or what f gives for None.",
    source="if self.is_some() { self.unwrap() } else { f() }",
)  # fmt: skip
prelude(
    "Result<T, E>", "unwrap_or_else(f: fn(E) -> T) -> T", clause="L-6.6.3",
    doc="The value, or what f gives for the error.",
    source="if self.is_ok() { self.unwrap() } else { f(self.unwrap_err()) }",
)  # fmt: skip
prelude(
    "Option<T>", "map<U>(f: fn(T) -> U) -> Option<U>", clause="L-6.6.4", doc="Some of what f gives for the value.",
    source="if self.is_some() { Some(f(self.unwrap())) } else { self }",
)  # fmt: skip
prelude(
    "Result<T, E>", "map<U>(f: fn(T) -> U) -> Result<U, E>", clause="L-6.6.4", doc="Ok of what f gives for the value.",
    source="if self.is_ok() { Ok(f(self.unwrap())) } else { self }",
)  # fmt: skip
prelude(
    "Option<T>", "and_then<U>(f: fn(T) -> Option<U>) -> Option<U>", clause="L-6.6.4",
    doc="What f gives for the value, itself an Option.",
    source="if self.is_none() { return self; } let next: Option<Any> = f(self.unwrap()); next",
)  # fmt: skip
prelude(
    "Result<T, E>", "and_then<U>(f: fn(T) -> Result<U, E>) -> Result<U, E>", clause="L-6.6.4",
    doc="What f gives for the value, itself a Result.",
    source="if self.is_err() { return self; } let next: Result<Any, Any> = f(self.unwrap()); next",
)  # fmt: skip
prelude(
    "Option<T>", "filter(f: fn(T) -> Bool) -> Option<T>", clause="L-6.6.5",
    doc="The Option itself if f is true for its value, else None.",
    source="if self.is_none() { return self; } if f(self.unwrap()) { self } else { None }",
)  # fmt: skip
prelude(
    "Result<T, E>", "map_err<A>(f: fn(E) -> A) -> Result<T, A>", clause="L-6.6.6",
    doc="Err of what f gives for the error.",
    source="if self.is_ok() { self } else { Err(f(self.unwrap_err())) }",
)  # fmt: skip
