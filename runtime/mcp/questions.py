"""What an MCP server says while one of its requests is on the way: questions to a person, and progress (O-4.54, O-4.55).

Hands on `Question`, and the actions DECLINE and CANCEL, to `wire.py`, which sends a `Reply` to the server, and `Caller`, which
stands behind each request, to `servers.py`, which makes it, and to what passes it on (`served.py`, `wire.py`,
`journal/peers.py`). A question is asked on the channel ELICIT like an awaited emit of the program, so whoever answers those
answers it; which answer fits is decided here. Nothing here talks to a server.
"""

from __future__ import annotations

import json
from math import isfinite

from ...vm.record import record
from ...vm.values import Err, ErrorValue, Map, Struct, to_json
from ..access.secrets import clean_json, clean_text
from ..host import for_model
from .served import ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...vm.interp.effects import Effect
    from ..running import EffectContext

ELICIT, PROGRESS = "mcp:elicit", "mcp:progress"  # channels
MOST_QUESTIONS = 10  # of one request: a server could go on for ever
MOST_PROGRESS = 1_000  # notifications of one request that are emitted
LONGEST_TEXT = 2_000  # code points of a message
ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"


@record
class Question:
    """What a server asks of a person, in `message`: with the `schema` of a form, a flat JSON Schema of an object, or the `url` of
    a page where something is to be done; the other one is None."""

    message: str
    schema: dict[str, Any] | None
    url: str | None = None


@record
class Reply:
    """What the server is told. `action` is ACCEPT, of a form with its `content` by field, else None, DECLINE, or CANCEL where
    nobody has decided."""

    action: str
    content: dict[str, Any] | None = None


class Caller:
    """Whoever made one request to a server: the program or a model, in the task that waits for `effect`, the machine's request.
    `server` is the server's name; `name` is the tool, prompt or URI that was asked for. `questions` and `notes` count what the
    server has asked and reported so far."""

    def __init__(self, run: EffectContext, effect: Effect, server: str, name: str) -> None:
        self.run = run
        self.effect = effect
        self.server = server
        self.name = name
        self.questions = 0
        self.notes = 0

    async def reply(self, question: Question, certain: bool = True) -> Reply:
        """Return the answer of whoever answers ELICIT: where nobody answers it is declined, and cancelled where no answer came in
        time, which the log tells. `certain`: the question belongs to this request and to no other that is on its way. Raises
        ServerFailure for more than MOST_QUESTIONS of them, a handler that fails, and an answer that does not fit, and panic P103
        for one beyond the limits of JSON."""
        self.questions += 1
        if self.questions > MOST_QUESTIONS:
            raise ServerFailure(f"mcp {self.server}: {self.name} asks more than {MOST_QUESTIONS} times", "ExecutionFailed")
        message = clean_text(question.message)[:LONGEST_TEXT]
        payload = {"server": self.server, "tool": self.name if certain else None, "message": message}
        if question.url is not None:
            payload["url"] = clean_text(question.url)
        else:
            payload["schema"] = clean_json(question.schema)
        answer = await self.run.ask(self.effect, ELICIT, payload)
        if type(answer) is Err:
            return self._unanswered(answer.value, message)
        return self._read(question, answer.value)

    def _unanswered(self, error: ErrorValue, message: str) -> Reply:
        if error.variant == "HandlerFailed":
            failure = ServerFailure(f"mcp {self.server}: the answer on {ELICIT}: {error.message}", "ExecutionFailed")
            failure.fields.update(for_model(error))
            raise failure
        action = DECLINE if error.variant == "NoListener" else CANCEL
        word = "declined" if action == DECLINE else "cancelled"
        self._log(f"mcp {self.server} asks `{message}`: {error.message}; it was {word}")
        return Reply(action)

    def _read(self, question: Question, answer: Any) -> Reply:
        """Return the reply that an answer means: nil or false declines, true accepts what has nothing to fill in, a Map or struct
        is the content of a form."""
        if answer is None or answer is False:
            return Reply(DECLINE)
        if question.schema is None:
            if answer is True:
                return Reply(ACCEPT)
            raise self._misfit("expected true or false, as a page was asked to be opened")
        if answer is True:
            content: Any = {}
        elif type(answer) is Map or isinstance(answer, Struct):
            content = json.loads(to_json(answer))
        else:
            raise self._misfit("expected a Map of what was filled in, or nil")
        fault = fault_of(question.schema, content)
        if fault is not None:
            raise self._misfit(fault)
        return Reply(ACCEPT, content)

    def _misfit(self, fault: str) -> ServerFailure:
        return ServerFailure(f"mcp {self.server}: the answer on {ELICIT} does not fit: {fault}", "ExecutionFailed")

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Emit on the channel PROGRESS how far a request is: `done` of `total`, None for an unknown one, in units of the server.
        What is more than MOST_PROGRESS is left out, which the log tells once; so are figures that are infinite or no number."""
        self.notes += 1
        if self.notes == MOST_PROGRESS + 1:
            self._log(f"mcp {self.server}: {self.name} reports more than {MOST_PROGRESS} times; no more of it is emitted")
        if self.notes > MOST_PROGRESS or not isfinite(done) or (total is not None and not isfinite(total)):
            return
        text = None if message is None else clean_text(message)[:LONGEST_TEXT]
        whole = None if total is None else float(total)
        row = {"server": self.server, "tool": self.name, "progress": float(done), "total": whole, "message": text}
        self.run.runtime_emit(PROGRESS, row)

    def _log(self, text: str) -> None:
        self.run.warn(text)


# ----------------------------------------------------------------
# Does an answer fit the form? The protocol allows flat objects of plain values only.

# By type of a schema: the types of Python that its values have; a whole number may be a float too.
TYPES: Mapping[str, Any] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "array": (list,),
}  # fmt: skip


def fault_of(schema: Mapping[str, Any], content: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the content of a form, its values by field, None where it fits. The `format` of a text, and
    keywords that the protocol does not know, are left to the server."""
    properties = _entries(schema.get("properties"))
    for name, value in content.items():
        if name not in properties:
            return f"there is no field {name}; the fields are: {', '.join(properties) or 'none'}"
        fault = _fault_of_value(_entries(properties[name]), value)
        if fault is not None:
            return f"{name}: {fault}"
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    missing = [name for name in names if name not in content]
    return f"missing: {', '.join(missing)}" if missing else None


def _entries(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _fault_of_value(schema: Mapping[str, Any], value: Any) -> str | None:
    kind = schema.get("type")
    kinds = TYPES.get(kind, ()) if isinstance(kind, str) else ()
    if kinds and (type(value) not in kinds and not (kind == "integer" and type(value) is float and value.is_integer())):
        return f"expected {kind}"
    if type(value) is list:
        return _fault_of_choice(schema, value)
    allowed = _allowed(schema)
    if allowed is not None and value not in allowed:
        return f"expected one of {', '.join(map(str, allowed))}"
    bounds = [("minLength", "maxLength", len(value))] if type(value) is str else []
    if type(value) in (int, float):
        bounds = [("minimum", "maximum", value)]
    return next((fault for low, high, size in bounds if (fault := _out_of(schema, low, high, size)) is not None), None)


def _fault_of_choice(schema: Mapping[str, Any], chosen: list[Any]) -> str | None:
    """Return what is wrong with a choice of several: texts of those that the form offers."""
    allowed = _allowed(_entries(schema.get("items")))
    for item in chosen:
        if type(item) is not str or (allowed is not None and item not in allowed):
            return "expected texts" if allowed is None else f"expected some of {', '.join(map(str, allowed))}"
    return _out_of(schema, "minItems", "maxItems", len(chosen))


def _allowed(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return the values that a field offers, None where it offers none: `enum`, or the `const` of each of `oneOf` or `anyOf`."""
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    rows = schema.get("oneOf", schema.get("anyOf"))
    return [_entries(row).get("const") for row in rows] if isinstance(rows, list) else None


def _out_of(schema: Mapping[str, Any], low: str, high: str, size: float) -> str | None:
    least: Any = schema.get(low)
    most: Any = schema.get(high)
    if type(least) in (int, float) and size < least:
        return f"{low} is {least}"
    return f"{high} is {most}" if type(most) in (int, float) and size > most else None
