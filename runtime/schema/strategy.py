"""How a schema reaches the model (O-2.42 to O-2.48): native field, `respond` tool, or block in the prompt.

Hands on `Plan`: what a request carries and where the reply text is found.
"""

from __future__ import annotations

from ...vm.schema import RESPOND, is_recursive, plain_form, strict_form, wire_name
from ..records import SchemaField, ToolDef
from .lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...vm.schema import Json, SchemaType
    from ..connections import ConnectionSettings
    from ..records import Reply, Strategy, ToolChoice
    from .validation import Violation


RESPOND_DESCRIPTION = "Give the final answer."


class Schema:
    """A schema as the image holds it: its type, both JSON Schemas, which are made here when not given, and what the machine
    calls its validators by."""

    __slots__ = ("name", "shape", "plain", "strict", "validators")

    def __init__(
        self,
        name: str,
        shape: SchemaType,
        plain: Json | None = None,
        strict: Json | None = None,
        validators: Sequence[Any] = (),
    ) -> None:
        self.name = name
        self.validators = validators
        self.shape = shape
        self.plain = plain_form(shape) if plain is None else plain
        self.strict = strict_form(shape) if plain is None else strict


class Plan:
    """`field` goes into the record, `tool` and `choice` only with the strategy `tool`."""

    __slots__ = ("schema", "strategy", "field", "tool")

    def __init__(self, schema: Schema, wanted: str, settings: ConnectionSettings) -> None:
        self.schema = schema
        self.strategy, form = _choose(schema, wanted, settings)
        self.field = SchemaField(wire_name(schema.name), self.strategy, form)
        self.tool = ToolDef(RESPOND, RESPOND_DESCRIPTION, schema.plain) if self.strategy == "tool" else None

    def tools(self, others: Sequence[ToolDef]) -> Sequence[ToolDef]:
        return [*others, self.tool] if self.tool else others

    def choice(self, others: Sequence[ToolDef]) -> ToolChoice:
        if self.tool is None:
            return "auto"
        return "required" if others else {"name": RESPOND}

    def answer(self, reply: Reply) -> str | None:
        """The text of a reply that calls `respond`; None when the reply calls nothing or other tools."""
        if self.tool is None:
            return None
        for call in reply.calls:
            if call.name == RESPOND:
                return call.text if call.arguments is None else compact_json(call.arguments)
        return None

    def block(self) -> str:
        """SCHEMA_BLOCK."""
        head = "\n\nReply with one JSON value that matches this JSON Schema, and nothing else:\n"
        return head + compact_json(self.schema.plain)


def why_block(violations: Sequence[Violation], retry_message: str | None) -> str:
    """WHY_BLOCK."""
    lines = "".join(f"\n- {violation.text}" for violation in violations)
    advice = "" if retry_message is None else f"\n\n{retry_message}"
    return f"\n\nYour previous reply was not accepted:{lines}{advice}"


def _choose(schema: Schema, wanted: str, settings: ConnectionSettings) -> tuple[Strategy, dict[str, Any]]:
    """`auto` is what suits the provider; where it takes native schemas in strict form only, others go by the tool."""
    strategy = settings.row.structured if wanted == "auto" else wanted
    if strategy == "prompt":
        return "prompt", schema.plain
    if strategy == "native":
        refused = settings.row.strict_schemas_only and (schema.strict is None or is_recursive(schema.shape))
        if not refused:
            return "native", schema.plain if schema.strict is None else schema.strict
    return "tool", schema.plain


# The minimal instance of a JSON Schema, which the offline provider answers with (O-1.32).

if TYPE_CHECKING:
    MinimalJson = dict[str, Any]

_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0.0, "boolean": False, "null": None}


def minimal_instance(document: MinimalJson) -> Any:
    return _instance(document, document.get("$defs", {}))


def _instance(form: MinimalJson, known: MinimalJson) -> Any:
    if "$ref" in form:
        return _instance(known[form["$ref"].rpartition("/")[2]], known)
    if "default" in form:
        return form["default"]
    if "anyOf" in form:
        return _alternative(form["anyOf"], known)
    if "enum" in form:
        return form["enum"][0]
    kind = form.get("type")
    if kind == "array":
        return []
    if kind == "object":
        return _object(form, known)
    return _EMPTY[kind] if kind is not None else None


def _alternative(forms: list[MinimalJson], known: MinimalJson) -> Any:
    """Null where it is allowed: that is what absence looks like in strict form."""
    if any(form.get("type") == "null" for form in forms):
        return None
    return _instance(forms[0], known)


def _object(form: MinimalJson, known: MinimalJson) -> MinimalJson:
    """Optional properties stay away; those with a default are given it."""
    required = form.get("required", ())
    properties = form.get("properties", {})
    return {name: _instance(part, known) for name, part in properties.items() if name in required or "default" in part}
