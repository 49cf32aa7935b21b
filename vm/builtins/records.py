"""The functions of the prelude (L-6.1), constructors and methods of the built-in records (L-6.9, O-1.68, M-6).

Hands on, besides its rows, `AWAITED` and `FUNCTION` to the code generator and to the performer of `mock`
(`runtime/effects/tests.py`). Bodies panic with P007 for an argument of another type, and with what their docstrings say; `len`
with P002 for a Range that is too long, and what compares values or writes them as JSON with P103 beyond the limits. With large
values what ends the run may come out. The fields of the records stand in `values/objects.py`; `f0`, `f1` and so on are those of a
record in the order there, of a Prompt text, model, temperature, max_tokens and media. `print`, `emit` and the other rows without
a body are instructions, and `env`, `parse_schema`, `mock`, `mocked` and `test_emits` only check their arguments here: they return
the payload of an effect, a request to the host, as a tuple, and the host performs it. `text` of a Media makes one where the
document is a PDF.
"""

from __future__ import annotations

from ..interp.tasks import SUSPENDED
from ..panics import Panic
from ..values.access import length
from ..values.casts import check, truth
from ..values.containers import Array, Map, share
from ..values.equality import equal
from ..values.errors import make_error
from ..values.handles import McpRef, SchemaRef, ToolRef
from ..values.limits import limits
from ..values.media import PDF, TEXT
from ..values.metering import works_on
from ..values.objects import Dominant, Err, Learned, Media, Message, Ok, Prompt, Response, Some, ToolCall
from ..values.text import brief, to_json
from ..values.types import typeof
from .registry import (
    array,
    associated,
    associated_effect,
    effect,
    float_of,
    function,
    handle,
    integer,
    method,
    mismatch,
    special,
    text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ..interp.effects import MachineContext
    from ..interp.tasks import Task

BYTE_ORDER_MARK = "\ufeff"


# ----------------------------------------------------------------
# Constructors and methods of the built-in records (L-6.9, O-1.68, M-6).


@associated("Prompt", "new(text: String) -> Prompt", clause="L-6.9.2")
def prompt_new(content: Any) -> Any:
    """A prompt with that text and the model's own settings."""
    return Prompt.of((text(content), None, None, None, Array([])))


@method("Prompt", "with_model(model: String) -> Prompt", clause="L-6.9.2")
def with_model(p: Any, model: Any) -> Any:
    """A copy for another model id."""
    return Prompt.of((p.f0, text(model), p.f2, p.f3, share(p.f4)))


@method("Prompt", "with_temperature(temperature: Float) -> Prompt", clause="L-6.9.2")
def with_temperature(p: Any, temperature: Any) -> Any:
    """A copy with another temperature."""
    return Prompt.of((p.f0, p.f1, float_of(temperature), p.f3, share(p.f4)))


@method("Prompt", "with_max_tokens(max_tokens: Int) -> Prompt", clause="L-6.9.2")
def with_max_tokens(p: Any, max_tokens: Any) -> Any:
    """A copy with another bound on the reply's tokens."""
    return Prompt.of((p.f0, p.f1, p.f2, integer(max_tokens), share(p.f4)))


@method("Prompt", "with(media: Media...) -> Prompt", clause="O-1.201")
def with_media(p: Any, media: Any) -> Any:
    """A copy with these media behind those that it has; they stand before the text."""
    added = [one if type(one) is Media else mismatch("Media", one) for one in array(media)]
    return Prompt.of((*p.values()[:4], Array([share(one) for one in (*p.f4.items, *added)])))


@handle("Media", "text() -> Result<String, MediaError>", clause="O-1.245")
def media_text(machine: MachineContext, task: Task, media: Any) -> Any:
    """The text of a document: of a text in UTF-8, or of the pages of a PDF."""
    content = media.content
    if content is None or content.data is None:
        return _without_text(media, "NoContent", "its content is not here" if content is None else "a link has no content here")
    if content.mime == PDF:
        machine.suspend(task, "document", share(media))
        return SUSPENDED
    if content.mime != TEXT:
        return _without_text(media, "OtherKind", f"it is {content.mime}, which has no text: `text` reads documents")
    works_on(content.size)
    if content.size > limits.string:
        return _without_text(media, "TooLarge", f"its text is longer than a String may be ({limits.string} bytes)")
    return Ok(content.data.decode().removeprefix(BYTE_ORDER_MARK))


def _without_text(media: Any, variant: str, reason: str) -> Err:
    place = "" if media.get("name") is None else f"{media.get('name')}: "
    return Err(make_error("MediaError", variant, {"message": f"{place}{reason}"}))


@method("Response", "run_id() -> String", clause="M-5.22")
def response_run_id(r: Any) -> Any:
    """The id of the run that gave it; empty for a response that no call of this program gave."""
    return r.run[0]


@method("Response", "appended() -> Array<Message>", clause="M-5.22")
def response_appended(r: Any) -> Any:
    """The messages of its run: prompt, tool units, reply."""
    return Array([share(message) for message in r.run[1]])


def message(role: str, content: str, tool_call_id: str | None = None) -> Any:
    """Return a Message without tool calls and media; `tool_call_id` is the id of the call that a message of role `tool` answers,
    None for any other role."""
    return Message.of((role, content, Array([]), tool_call_id, Array([])))


@associated("Message", "system(s: String) -> Message", clause="O-1.68")
def message_system(s: Any) -> Any:
    """A message of role `system`."""
    return message("system", text(s))


@associated("Message", "user(s: String) -> Message", clause="O-1.68")
def message_user(s: Any) -> Any:
    """A message of role `user`."""
    return message("user", text(s))


@associated("Message", "assistant(s: String) -> Message", clause="O-1.68")
def message_assistant(s: Any) -> Any:
    """A message of role `assistant`."""
    return message("assistant", text(s))


@associated("Message", "tool(id: String, s: String) -> Message", clause="M-6")
def message_tool(call_id: Any, s: Any) -> Any:
    """A message of role `tool` that answers the call of that id."""
    return message("tool", text(s), text(call_id))


# ---------------------------------------------------------------- groups of observations


ABSENT = object()


def _field_at(item: Any, name: str) -> Any:
    """Return the field of that name; if there is none, `a.b` is the field `b` of the map in `a`."""
    if name in item.items:
        return item.items[name]
    first, dot, rest = name.partition(".")
    inner = item.items.get(first) if dot else None
    return _field_at(inner, rest) if type(inner) is Map else ABSENT


@method("Observed", "dominant(field: String) -> Dominant", clause="M-10.23")
def observed_dominant(g: Any, field: Any) -> Any:
    """The most frequent value of a field, of equally frequent ones the first seen, and the share of items that have it."""
    name = text(field)
    counts: dict[Any, int] = {}
    values: dict[Any, Any] = {}
    for item in g.f2.items:
        value = _field_at(item, name)
        if value is not ABSENT:
            same = to_json(value)
            values.setdefault(same, value)
            counts[same] = counts.get(same, 0) + 1
    if not counts:
        return Dominant.of((None, 0.0))
    most = max(counts, key=lambda same: counts[same])
    return Dominant.of((share(values[most]), counts[most] / len(g.f2.items)))


@method("Observed", "rate(field: String) -> Float", clause="M-10.23")
def observed_rate(g: Any, field: Any) -> Any:
    """The share of items whose field is true."""
    name = text(field)
    items = g.f2.items
    return sum(_field_at(item, name) is True for item in items) / len(items) if items else 0.0


# ---------------------------------------------------------------- literals


def _checked_record(record: Any, *values: Any) -> Any:
    """Return a record whose fields are checked for their types, since the arguments may come from behind Any: P007 for others."""
    return record.of([check(value, type_) for value, type_ in zip(values, record.decl.types, strict=True)])


@associated(
    "Records",
    "Message(role: String, content: String, tool_calls: Array<ToolCall>, tool_call_id: String?, media: Array<Media>) -> Message",
    clause="L-6.9.6",
)  # fmt: skip
def message_literal(role: Any, content: Any, tool_calls: Any, tool_call_id: Any, media: Any) -> Any:
    """`Message { … }`."""
    return _checked_record(Message, role, content, tool_calls, tool_call_id, media)


@associated(
    "Records", "Prompt(text: String, model: String?, temperature: Float?, max_tokens: Int?, media: Array<Media>) -> Prompt",
    clause="L-6.9.6",
)  # fmt: skip
def prompt_literal(content: Any, model: Any, temperature: Any, max_tokens: Any, media: Any) -> Any:
    """`Prompt { … }`."""
    return _checked_record(Prompt, content, model, temperature, max_tokens, media)


@associated("Records", "ToolCall(id: String, name: String, arguments: Map<String, Any>) -> ToolCall", clause="L-6.9.6")
def tool_call_literal(call_id: Any, name: Any, arguments: Any) -> Any:
    """`ToolCall { … }`."""
    return _checked_record(ToolCall, call_id, name, arguments)


@associated("Records", "Learned(content: Any, confidence: Float, about: Array<String>) -> Learned", clause="M-10.22")
def learned_literal(content: Any, confidence: Any, about: Any) -> Any:
    """`Learned { … }`."""
    return _checked_record(Learned, content, confidence, about)


# ----------------------------------------------------------------
# The global functions (L-6.1); those that are compiled into instructions have rows without a body.


@function("len(x: Any) -> Int", clause="L-6.1.2")
def len_function(x: Any) -> int:
    """As `x.len()`: of a String, Bytes, Array, Map, tuple, Range, collection or store."""
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


# ----------------------------------------------------------------
# What tests ask of their host (O-8.9, O-8.14): effects, since only the host knows what it stands in for and what was emitted.

# The target of a mock of the host that answers awaited emits (O-8.27): no name of a model.
AWAITED = "await emit"
# The target of a mock of a function by a model (O-8.28), whose name is the key of its answer.
FUNCTION = "fn"


@associated_effect("Test", "mock(target: Any, config: Map<String, Any>) -> Nil", effect="mock", clause="O-8.14")
def mock(target: Any, config: Any) -> tuple[Any, Map]:
    """What the statement `mock TARGET { … }` does: from here on, the config answers for a model, tool, MCP server or host."""
    if type(config) is not Map:  # only a foreign image gives anything else
        raise Panic("P007", f"expected Map, found {typeof(config)}")
    return target if type(target) in (ToolRef, McpRef) else text(target), config


@associated_effect("Test", "mocked(name: String, arguments: Array<Any>) -> Option<Any>", effect="mocked", clause="O-8.28")
def mocked(name: Any, arguments: Any) -> tuple[str, Array]:
    """What a function by a model asks first in a program that mocks it: the answer of the mock, None without one."""
    if type(arguments) is not Array:
        raise Panic("P007", f"expected Array, found {typeof(arguments)}")
    return text(name), arguments


@effect("test_emits() -> Array<Emit>", effect="test_emits", clause="L-6.1.10")
def test_emits() -> tuple[()]:
    """The emits of the running test, in order."""
    return ()
