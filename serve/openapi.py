"""The description of a served program in OpenAPI 3.1 (S-1.1).

Hands on `description` to the application. The schemas of arguments and results are those of `Program.signatures`
(`api/json_calls.py`), moved to where OpenAPI keeps them. Described are the calls of functions, and the ends of durable ones. Left
out on purpose are parameters that `settings.keys` binds to the request, and the protocols that describe themselves: OpenAI's,
MCP, AG-UI and A2A. What the routes do is decided in `app.py`; a new one is not described by itself.
"""

from __future__ import annotations

import re
from typing import Any

from ..api.json_calls import Signature
from ..api.program import Program
from .problems import HINTS
from .settings import Serving

ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string"}, "message": {"type": "string"}, "request": {"type": "string"},
                "value": {"description": "The error of the program, in its JSON form."},
            },
            "required": ["code", "message", "request"],
        }
    },
    "required": ["error"],
}  # fmt: skip
HEADERS = (
    ("Concerto-Session", "The session that the call belongs to: what the program keeps, it keeps there."),
    ("Idempotency-Key", "With the same key the first answer is given again."),
    ("Last-Event-ID", "Of a stream that broke: it goes on behind this event."),
    ("Prefer", "`respond-async`: of a durable call the id at once; `/calls/{id}` has its end."),
)


class _Schemas:
    """The declared types of all signatures, by the names that OpenAPI allows. One key of `$defs` is one type in all of them."""

    def __init__(self) -> None:
        self.components: dict[str, Any] = {"ConcertoError": ERROR}
        self._names: dict[str, str] = {}
        self._taken = {"ConcertoError"}

    def moved(self, schema: dict[str, Any]) -> Any:
        """Return a schema whose definitions stand among the components."""
        for key, definition in schema.get("$defs", {}).items():
            name = self._name(key)
            if name not in self.components:
                self.components[name] = self._replaced(definition)
        return self._replaced({key: part for key, part in schema.items() if key != "$defs"})

    def _name(self, key: str) -> str:
        """Return the name of a type, also of one that is referred to before its definition comes."""
        if key not in self._names:
            name = re.sub(r"[^A-Za-z0-9._-]", "_", key)
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            self._names[key] = name
        return self._names[key]

    def _replaced(self, part: Any) -> Any:
        if isinstance(part, list):
            return [self._replaced(one) for one in part]
        if not isinstance(part, dict):
            return part
        reference = part.get("$ref")
        if isinstance(reference, str):
            key = reference.removeprefix("#/$defs/")
            return {**part, "$ref": f"#/components/schemas/{self._name(key)}"}
        return {name: self._replaced(one) for name, one in part.items()}


def description(program: Program, settings: Serving) -> dict[str, Any]:
    """Return the document, as JSON data."""
    schemas = _Schemas()
    every = program.signatures
    paths = {f"/call/{name}": {"post": _operation(signature, schemas, settings)} for name, signature in every.items()}
    if settings.durable:
        paths["/calls/{id}"] = _ending()
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": program.name, "version": program.content_hash[:12]},
        "paths": paths,
        "components": {"schemas": schemas.components},
    }
    if not settings.is_open:
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"bearer": []}]
    return document


def _operation(signature: Signature, schemas: _Schemas, settings: Serving) -> dict[str, Any]:
    own = [one for one in signature.parameters if one.name not in settings.keys]
    is_durable = signature.name in settings.durable
    body: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: schemas.moved(one.schema) for one in own},
        "additionalProperties": False,
    }
    required = [one.name for one in own if one.required]
    if required:
        body["required"] = required
    result = {
        "application/json": {"schema": schemas.moved(signature.result)},
        "text/event-stream": {"schema": {"type": "string"}},
    }
    first_line, _, rest = signature.doc.partition("\n")
    operation: dict[str, Any] = {
        "operationId": signature.name,
        "parameters": [
            {"name": name, "in": "header", "required": False, "description": text, "schema": {"type": "string"}}
            for name, text in HEADERS if name != "Prefer" or is_durable
        ],
        "requestBody": {"required": bool(required), "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "What the function returned; of a Result the value of its Ok.", "content": result},
            **({"202": {"description": "The call is on its way; `Location` has its end."}} if is_durable else {}),
            **{str(status): _refusal(text) for status, text in HINTS.items()},
        },
    }
    if first_line:
        operation["summary"] = first_line
    if rest.strip():
        operation["description"] = rest.strip()
    return operation


def _ending() -> dict[str, Any]:
    """Return how the end of a durable call is had, and how one is ended."""
    place = {"name": "id", "in": "path", "required": True, "description": "The id of the call.", "schema": {"type": "string"}}
    on_its_way = {"type": "object", "properties": {"call": {"type": "string"}, "state": {"enum": ["running", "waiting"]}}}
    answers = {
        "200": {"description": "What the function returned, as the call itself has it.", "content": {"application/json": {}}},
        "202": {"description": "It is on its way.", "content": {"application/json": {"schema": on_its_way}}},
        "404": _refusal(HINTS[404]), "409": _refusal("The call is of another version of the program."),
        "default": _refusal("It failed, as the call itself would tell."),
    }  # fmt: skip
    cancelled = {"204": {"description": "It is ended, or was over."}, "404": _refusal(HINTS[404])}
    return {
        "parameters": [place],
        "get": {"operationId": "calls.end", "summary": "The end of a durable call.", "responses": answers},
        "delete": {"operationId": "calls.cancel", "summary": "Ends a durable call.", "responses": cancelled},
    }


def _refusal(text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ConcertoError"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}
