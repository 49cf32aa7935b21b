"""The minimal instance of a JSON Schema, which the offline provider answers with (O-1.32).

Hands on plain data that satisfies the schema. Must not know: schema types, requests.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0.0, "boolean": False, "null": None}


def minimal_instance(document: Json) -> Any:
    return _instance(document, document.get("$defs", {}))


def _instance(form: Json, known: Json) -> Any:
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


def _alternative(forms: list[Json], known: Json) -> Any:
    """Null where it is allowed: that is what absence looks like in strict form."""
    if any(form.get("type") == "null" for form in forms):
        return None
    return _instance(forms[0], known)


def _object(form: Json, known: Json) -> Json:
    """Optional properties stay away; those with a default are given it."""
    required = form.get("required", ())
    properties = form.get("properties", {})
    return {name: _instance(part, known) for name, part in properties.items() if name in required or "default" in part}
