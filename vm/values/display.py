"""Display and debug form of every value (L-5.1, columns Display; L-5.1.19).

Hands on `display`, `debug` and `brief`. The two forms share their composite rows and differ in Strings, Floats, errors.
"""

from __future__ import annotations

from .binary import bytes_text
from .containers import Array, Map, Queue, Set, Stack, elements
from .enums import EnumValue
from .errors import ErrorValue
from .functions import Closure
from .ranges import RangeValue
from .records import Response, Struct
from .rendering import listed, render, render_brief, write
from .results import Err, NoneOption, Ok, Some
from .scalars import float_literal, float_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .rendering import Form

_ESCAPES = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", 0: "\\0"}
_ESCAPES.update({code: f"\\u{{{code:x}}}" for code in (*range(1, 32), 127) if code not in _ESCAPES})


def quote(text: str) -> str:
    """`text` as a basic string literal would write it (L-1.5.6)."""
    return f'"{text.translate(_ESCAPES)}"'


def handle_text(handle: Any) -> str:
    """`<model X>` and its kin (L-5.1.18); every handle class has a `word` and a `name`."""
    return f"<{handle.word} {handle.name}>"


def function_text(value: Any) -> str:
    """`<fn name>` or `<fn>` (L-5.1.15)."""
    name = value.function.name
    return f"<fn {name}>" if name else "<fn>"


def range_text(value: RangeValue) -> str:
    """`1..5`, `1..=5`, `1..` (L-5.1.12)."""
    start = "" if value.start is None else str(value.start)
    end = "" if value.end is None else str(value.end)
    return f"{start}{'..=' if value.inclusive else '..'}{end}"


def debug_error(error: ErrorValue) -> str:
    name = f"{error.family}::{error.variant}" if error.variant else error.family
    return f"{name} {{message: {quote(error.message)}}}"


def _bool_text(value: bool) -> str:
    return "true" if value else "false"


def shown_fields(value: Struct) -> Iterator[tuple[str, Any]]:
    """Name and value of each field in declaration order, without hidden fields at their default (M-6)."""
    hidden = value.decl.hidden
    for name, content in zip(value.decl.fields, value.values(), strict=True):
        if name not in hidden or not (content is None or content == 0 or (type(content) is Array and not content.items)):
            yield name, content


def _array(form: Form) -> Callable[[Array], Any]:
    def pieces(value: Array) -> Iterator[Any]:
        yield "["
        yield from listed(value.items, form)
        yield "]"

    return pieces


def _collection(form: Form, opening: str, closing: str) -> Callable[[Any], Any]:
    def pieces(value: Any) -> Iterator[Any]:
        yield opening
        yield from listed(elements(value), form)
        yield closing

    return pieces


def _tuple(form: Form) -> Callable[[tuple[Any, ...]], Any]:
    def pieces(value: tuple[Any, ...]) -> Iterator[Any]:
        yield "("
        yield from listed(value, form)
        yield ",)" if len(value) == 1 else ")"

    return pieces


def _map(form: Form) -> Callable[[Map], Any]:
    def pieces(value: Map) -> Iterator[Any]:
        separator = "{"
        for key, content in value.entries():
            yield separator + (quote(key) if type(key) is str else display(key)) + ": "
            yield write(content, form)
            separator = ", "
        yield "{}" if not value.items else "}"

    return pieces


def _fields(form: Form, fields: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    separator = " {"
    for name, content in fields:
        yield f"{separator}{name}: "
        yield write(content, form)
        separator = ", "
    yield " {}" if separator == " {" else "}"


def _struct(form: Form) -> Callable[[Struct], Any]:
    def pieces(value: Struct) -> Iterator[Any]:
        yield value.decl.name
        yield from _fields(form, shown_fields(value))

    return pieces


def _enum(form: Form) -> Callable[[EnumValue], Any]:
    def pieces(value: EnumValue) -> Iterator[Any]:
        variant = value.decl.variants[value.variant]
        yield f"{value.decl.name}::{variant.name}"
        if variant.fields:
            yield from _fields(form, zip(variant.fields, value.payload or (), strict=True))
        elif value.payload:
            yield "("
            yield from listed(value.payload, form)
            yield ")"

    return pieces


def _wrapper(form: Form, name: str) -> Callable[[Any], Any]:
    def pieces(value: Any) -> Iterator[Any]:
        yield f"{name}("
        yield write(value.value, form)
        yield ")"

    return pieces


def _add_composites(form: Form) -> Form:
    form.update({Array: _array(form), tuple: _tuple(form), Map: _map(form), Struct: _struct(form)})
    form[EnumValue] = _enum(form)
    form[Set] = _collection(form, "Set {", "}")
    form[Queue] = _collection(form, "Queue [", "]")
    form[Stack] = _collection(form, "Stack [", "]")
    for cls in (Some, Ok, Err):
        form[cls] = _wrapper(form, cls.__name__)
    return form


LEAVES: Form = {
    int: str,
    bool: _bool_text,
    type(None): lambda _: "nil",
    NoneOption: lambda _: "None",
    RangeValue: range_text,
    bytes: bytes_text,
    Closure: function_text,
    object: handle_text,
}



def _form(string: Any, number: Any, error: Any) -> Form:
    form: Form = {str: string, float: number, ErrorValue: error, Response: lambda response: response.f0}
    return _add_composites({**LEAVES, **form})


DISPLAY = _form(str, float_text, lambda error: error.message)
DEBUG = _form(quote, float_literal, debug_error)


def display(value: Any) -> str:
    """The Display text: what `print`, `${}` and `to_string` give."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    return str(value) if kind is int else render(value, DISPLAY)


def debug(value: Any) -> str:
    """The debug form of assertions and traces: Strings quoted, integral Floats with `.0` (L-5.1.19)."""
    return render(value, DEBUG)


def brief(value: Any, cut: int = 200) -> str:
    """The debug form cut to `cut` code points, for panic texts; it never panics itself."""
    return render_brief(value, DEBUG, cut)
