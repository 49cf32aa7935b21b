"""How a schema reaches the model: native field, tool `respond`, or block in the prompt (O-2.42 to O-2.48).

Hands on `Schema` to the session, which has one for each schema of the program, and to all that asks it for one. Hands on `Plan`,
what a request carries for the schema, and where the text of the answer stands in a reply, to the call algorithm
(`calls/call.py`), which makes it, and to typed streams (`calls/typed_streams.py`), for which `effects/models.py` does;
`why_block`, what a retry says of the reply before, to the call algorithm; and `minimal_instance`, which the offline provider
answers with (O-1.32). Nothing here judges a reply: that is `acceptance.py`.
"""

from __future__ import annotations

from contextlib import suppress

from ...vm.schema import RESPOND, is_recursive, plain_form, strict_form, wire_name
from ..records import SchemaField, ToolDef
from .lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...vm.interp.linked import Code
    from ...vm.schema import Json, SchemaType
    from ..connections import ConnectionSettings
    from ..records import Reply, Strategy, ToolChoice
    from .validation import Violation


RESPOND_DESCRIPTION = "Give the final answer."


class Schema:
    """A schema of the program: its type `shape`; the JSON Schema in `plain` form, and in `strict` form if it has one, which are
    made here unless the image has them; and the linked code of its `validators`, which `acceptance.py` runs."""

    __slots__ = ("name", "shape", "plain", "strict", "validators")

    def __init__(
        self,
        name: str,
        shape: SchemaType,
        plain: Json | None = None,
        strict: Json | None = None,
        validators: Sequence[Code] = (),
    ) -> None:
        self.name = name
        self.validators = validators
        self.shape = shape
        self.plain = plain_form(shape) if plain is None else plain
        self.strict = strict_form(shape) if plain is None else strict


class Plan:
    """How one call sends its schema. `strategy` is native, tool or prompt; `field` goes into the request's record; `tool` is
    the tool `respond`, None with another strategy. `wanted` is the setting `structured` of the model: `auto`, which is what the
    provider's row says, or a strategy; `tool` stands in for `native` where the provider does not take this schema so."""

    __slots__ = ("schema", "strategy", "field", "tool")

    def __init__(self, schema: Schema, wanted: str, settings: ConnectionSettings) -> None:
        self.schema = schema
        self.strategy, form = _choose(schema, wanted, settings)
        self.field = SchemaField(wire_name(schema.name), self.strategy, form)
        self.tool = ToolDef(RESPOND, RESPOND_DESCRIPTION, schema.plain) if self.strategy == "tool" else None

    def tools(self, others: Sequence[ToolDef]) -> Sequence[ToolDef]:
        """Return the tools of a request: those of the model, then `respond`."""
        return [*others, self.tool] if self.tool else others

    def choice(self, others: Sequence[Any]) -> ToolChoice:
        """Return the tool choice of a request, `others` being its other tools, hosted ones too: with the strategy `tool` the
        model must call one of these or `respond`, without others `respond`; with another strategy it is free."""
        if self.tool is None:
            return "auto"
        return "required" if others else {"name": RESPOND}

    def answer(self, reply: Reply) -> str | None:
        """Return the answer of a reply that calls `respond`, as text; None when it does not."""
        if self.tool is None:
            return None
        for call in reply.calls:
            if call.name == RESPOND:
                return call.text if call.arguments is None else compact_json(call.arguments)
        return None

    def block(self) -> str:
        """Return what the prompt says of the schema: with the strategy `prompt` in every attempt, with the others in retries,
        behind `why_block` (SCHEMA_BLOCK of O-2.48)."""
        head = "\n\nReply with one JSON value that matches this JSON Schema, and nothing else:\n"
        return head + compact_json(self.schema.plain)


def why_block(violations: Sequence[Violation], retry_message: str | None) -> str:
    """Return what the prompt of a retry says of the reply before it (WHY_BLOCK of O-2.48); `retry_message` is the text of the
    program behind it, None for none."""
    lines = "".join(f"\n- {violation.text}" for violation in violations)
    advice = "" if retry_message is None else f"\n\n{retry_message}"
    return f"\n\nYour previous reply was not accepted:{lines}{advice}"


def _choose(schema: Schema, wanted: str, settings: ConnectionSettings) -> tuple[Strategy, dict[str, Any]]:
    """Return the strategy and the JSON Schema for it. `auto` is what the provider's row says. A provider that takes native
    schemas in strict form only gets others by the tool."""
    strategy = settings.row.structured if wanted == "auto" else wanted
    if strategy == "prompt":
        return "prompt", schema.plain
    if strategy == "native":
        is_refused = settings.row.strict_schemas_only and (schema.strict is None or is_recursive(schema.shape))
        if not is_refused:
            return "native", schema.plain if schema.strict is None else schema.strict
    return "tool", schema.plain


if TYPE_CHECKING:
    MinimalJson = dict[str, Any]

_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0.0, "boolean": False, "null": None}


class _Endless(Exception):
    """A form that leads back to itself before it ends."""


def minimal_instance(document: MinimalJson) -> Any:
    """Return the smallest value that fits a JSON Schema in a form of `Schema`: empty, zero, the first member, null where it is
    allowed; a default where there is one (O-1.32). The schema must have a value that ends: `_Endless` is raised for one whose
    alternatives all lead back to itself."""
    return _instance(document, document.get("$defs", {}), ())


def _instance(form: MinimalJson, definitions: MinimalJson, around: tuple[str, ...]) -> Any:
    if "default" in form:  # beside a `$ref` too
        return form["default"]
    if "$ref" in form:
        name = form["$ref"].rpartition("/")[2]
        if name in around:
            raise _Endless
        return _instance(definitions[name], definitions, (*around, name))
    if "anyOf" in form:
        return _alternative(form["anyOf"], definitions, around)
    if "enum" in form:
        return form["enum"][0]
    if "const" in form:
        return form["const"]
    kind = form.get("type")
    if kind == "array":
        return [_instance(part, definitions, around) for part in form.get("prefixItems", ())]
    if kind == "object":
        return _object(form, definitions, around)
    return _EMPTY[kind] if kind is not None else None


def _alternative(forms: list[MinimalJson], definitions: MinimalJson, around: tuple[str, ...]) -> Any:
    """Return null where it is allowed, which is what absence looks like in strict form; else the first alternative that ends."""
    if any(form.get("type") == "null" for form in forms):
        return None
    for form in forms:
        with suppress(_Endless):
            return _instance(form, definitions, around)
    raise _Endless


def _object(form: MinimalJson, definitions: MinimalJson, around: tuple[str, ...]) -> MinimalJson:
    """Return an object without its optional properties, but with those that have a default."""
    required = form.get("required", ())
    properties = form.get("properties", {})
    return {
        name: _instance(part, definitions, around) for name, part in properties.items() if name in required or "default" in part
    }
