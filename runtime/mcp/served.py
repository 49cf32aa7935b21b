"""What a server offers, held against its signatures: the tools a program and its models see (O-4.8, O-4.44, G-9.6).

Hands on `ServedTool`, `Answer`, the protocol `Connection`, `ServerFailure` and `offered_tools`.
"""

from __future__ import annotations

import json

from ...vm.declaration_fields import MCP
from ...vm.schema import arguments_form, tool_name
from ...vm.values import NONE, UNSET, from_json, to_json
from ..access.secrets import clean_json, clean_text
from ..agents.children import split_command
from ..connections import check_fields
from ..errors import ConfigFailure
from ..records import ToolDef
from ..schema.lenient_json import JsonRefused, digest, parse_json
from ..schema.validation import Accepted, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from ..records import TreeBuilder

    class Connection(Protocol):
        """A connection that is open: the host's, or one through the SDK. Both raise ServerFailure."""

        async def tools(self) -> list[ServedTool]:
            """All pages of the tool list."""

        async def call(self, name: str, arguments: dict[str, Any]) -> Answer: ...

        async def aclose(self) -> None: ...


LONGEST_NAME = 64
REFUSED_BODY = "the body is refused: "  # begins a reason of the transport, which goes on as no text of a library does
OPEN_SCHEMA = {"type": "object"}
OPEN_SHAPE: list[Any] = ["map", ["any"]]  # the same as the type of a Concerto program


class ServerFailure(Exception):
    """`variant` of ToolError; `gone`: the connection has ended."""

    def __init__(self, message: str, variant: str = "ConnectionFailed", *, gone: bool = False, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.variant = variant
        self.gone = gone
        self.fields = fields


class ServedTool:
    """A tool as the server lists it; `schema` is the JSON Schema of its arguments."""

    __slots__ = ("name", "description", "schema")

    def __init__(self, name: str, description: str, schema: Mapping[str, Any]) -> None:
        self.name = name
        self.description = clean_text(description)
        self.schema = dict(schema)

    @property
    def digest(self) -> str:
        return digest([self.name, self.description, self.schema])

    @property
    def properties(self) -> Mapping[str, Any]:
        found = self.schema.get("properties")
        return found if isinstance(found, dict) else {}


class Answer:
    """What a call gave: `structured` content, None without; the text parts; whether the tool failed."""

    __slots__ = ("structured", "texts", "failed")

    def __init__(self, structured: Any, texts: Sequence[str], failed: bool = False) -> None:
        self.structured = structured
        self.texts = texts
        self.failed = failed

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


class Signature:
    """A declared tool, as its image entry has it: `shape` of its arguments, `result` of an object whose one field is the
    value."""

    __slots__ = ("name", "wire", "description", "shape", "result")

    def __init__(self, entry: Sequence[Any]) -> None:
        self.name, self.wire, self.description, self.shape, self.result = entry


class OfferedTool:
    """A tool that program and models may call; `signature` None where the server has no signatures."""

    __slots__ = ("name", "definition", "signature")

    def __init__(self, name: str, definition: ToolDef, signature: Signature | None) -> None:
        self.name = name
        self.definition = definition
        self.signature = signature


def declared_tool(signature: Signature, served: ServedTool | None = None) -> OfferedTool:
    """Texts the declaration leaves out are those of the server."""
    form = arguments_form(signature.shape)
    for name, property in form.get("properties", {}).items():
        told = served.properties.get(name) if served is not None else None
        if "description" not in property and isinstance(told, dict) and isinstance(told.get("description"), str):
            property["description"] = clean_text(told["description"])
    text = signature.description if signature.description is not None else served.description if served is not None else ""
    return OfferedTool(signature.name, ToolDef(signature.wire, text, form), signature)


def offered_tools(
    server: str, signatures: Sequence[Signature], served: Sequence[ServedTool]
) -> tuple[list[OfferedTool], list[str]]:
    """With signatures these alone, else all that is served; and why others are refused (O-4.44, G-9.6). ServerFailure for a
    signature that does not fit."""
    by_name = {tool.name: tool for tool in served}
    if signatures:
        return [declared_tool(signature, _fitting(server, signature, by_name)) for signature in signatures], []
    found: dict[str, OfferedTool] = {}
    refused: list[str] = []
    for tool in served:
        wire = tool_name(server, tool.name)
        reason = _refusal(tool, wire, found)
        if reason is None:
            found[wire] = OfferedTool(tool.name, ToolDef(wire, tool.description, tool.schema), None)
        else:
            refused.append(f"tool {tool.name} of mcp {server} is refused: {reason}")
    return list(found.values()), refused


def _refusal(tool: ServedTool, wire: str, found: Mapping[str, OfferedTool]) -> str | None:
    if len(wire) > LONGEST_NAME:
        return f"`{wire}` is longer than {LONGEST_NAME} characters"
    if wire in found:
        return f"another tool is `{wire}` to a model"
    return "its schema refers to another document" if _refers_outside(tool.schema) else None


def _refers_outside(schema: Any) -> bool:
    """Whether a `$ref` leads out of the document."""
    todo = [schema]
    while todo:
        at = todo.pop()
        if isinstance(at, dict):
            reference = at.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                return True
            todo += at.values()
        elif isinstance(at, list):
            todo += at
    return False


def _fitting(server: str, signature: Signature, served: Mapping[str, ServedTool]) -> ServedTool:
    """The served tool of a signature; every declared parameter is known, every required one declared."""
    tool = served.get(signature.name)
    if tool is None:
        raise ServerFailure(f"mcp {server} does not serve the declared tool {signature.name}")
    if _refers_outside(tool.schema):
        raise ServerFailure(f"mcp {server}, tool {signature.name}: its schema refers to another document")
    declared = [field[0] for field in signature.shape[3]]
    for name in declared:
        if name not in tool.properties:
            raise ServerFailure(f"mcp {server}, tool {signature.name}: the server knows no parameter {name}")
    required = tool.schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in declared:
            raise ServerFailure(f"mcp {server}, tool {signature.name}: the declaration lacks the required parameter {name}")
    return tool


# What an answer of a server is to a program, and a program's arguments to a server (O-4.45, O-4.46).

MOST_BYTES = 1 << 20  # of a result (G-6.1)
RESULT = "result"  # the one key under which servers wrap what is no object


def plain_arguments(signature: Signature, values: Sequence[Any]) -> dict[str, Any]:
    """JSON of the arguments; what is left out takes its default, an Option without value is left out."""
    found: dict[str, Any] = {}
    for (name, _, optional, has_default, default, _), value in zip(signature.shape[3], values, strict=True):
        if value is UNSET and has_default:
            found[name] = default
        elif value is not UNSET and not (optional and value in (NONE, None)):
            found[name] = json.loads(to_json(value))
    return found


def plain_map(arguments: Any) -> dict[str, Any]:
    """JSON of the Map that `call` was given."""
    found: dict[str, Any] = json.loads(to_json(arguments))
    return found


def value_of(answer: Answer, signature: Signature | None, builder: TreeBuilder) -> Any:
    """The value of an answer that is no failure. Raises ServerFailure where it is too large or does not fit the declared type."""
    if _is_too_large(answer):
        raise ServerFailure(f"the result is larger than {MOST_BYTES} bytes", "ExecutionFailed")
    if signature is None or signature.result[3][0][1] == ["any"]:
        return from_json(_open(answer))
    if signature.result[3][0][1] == ["string"] and (answer.texts or answer.structured is None):
        return builder.value(_accepted(signature, clean_text(answer.text)))
    return builder.value(_accepted(signature, _parsed(signature, answer)))


def _is_too_large(answer: Answer) -> bool:
    structured = "" if answer.structured is None else json.dumps(answer.structured, ensure_ascii=False)
    return len(f"{answer.text}{structured}".encode("utf-8", "surrogatepass")) > MOST_BYTES


def _open(answer: Answer) -> Any:
    """Of no declared type: text that is no JSON stays text."""
    if answer.structured is not None:
        return clean_json(answer.structured)
    try:
        return clean_json(parse_json(answer.text))
    except JsonRefused:
        return clean_text(answer.text)


def _parsed(signature: Signature, answer: Answer) -> Any:
    if answer.structured is not None:
        return clean_json(answer.structured)
    try:
        return clean_json(parse_json(answer.text))
    except JsonRefused as refused:
        raise ServerFailure(f"the result of {signature.name} is no JSON: {refused.reason}", "ExecutionFailed") from None


def _accepted(signature: Signature, value: Any) -> Any:
    """The tree of the value. A server whose result is no object gives it as `{"result": …}`: what is inside counts where the
    object itself does not fit."""
    offers = [value]
    if isinstance(value, dict) and list(value) == [RESULT]:
        offers.append(value[RESULT])
    faults: Sequence[Any] = ()
    for offer in offers:
        accepted = validate(signature.result, {"value": offer})
        if isinstance(accepted, Accepted):
            return accepted.tree[2][0][1]
        faults = faults or accepted
    listed = "\n".join(f"- {violation.text}" for violation in faults)
    raise ServerFailure(f"the result of {signature.name} does not fit its declaration:\n{listed}", "ExecutionFailed")


def failure_text(answer: Answer) -> str:
    """What the tool says of its failure."""
    if answer.texts or answer.structured is None:
        return clean_text(answer.text)
    structured: Mapping[str, Any] = answer.structured
    return to_json(from_json(clean_json(structured)))


# The fields of an MCP server: its declaration with the manifest, and what the host gives (O-4.36 to O-4.41).


class McpSettings:
    """`transport` is None where nobody configured one; `command` the argument list of "stdio"; headers and `env` hold names of
    variables, and values that are written out."""

    def __init__(self, name: str, fields: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        """`given`: what the host says, over the declaration and the manifest. Raises ConfigFailure."""
        for layer in (fields, given):
            check_fields(f"mcp {name}", layer, MCP)
        merged = {key: value for layer in (fields, given) for key, value in layer.items() if value is not None}
        self.name = name
        self.transport: str | None = merged.get("transport")
        self.timeout = float(merged.get("timeout", MCP["timeout"].default))
        self.command: list[str] = []
        self.url: str = merged.get("url", "")
        self.headers: Mapping[str, Any] = merged.get("headers", {})
        self.env: Mapping[str, str | dict[str, str]] = merged.get("env", {})
        if self.transport == "stdio":
            self.command = _command(name, merged)
        elif self.transport == "http" and not self.url:
            raise ConfigFailure("E4002", f'mcp {name}: url is missing, which the transport "http" needs')

    @property
    def guard(self) -> str | None:
        """Key of the capability that a connection needs."""
        return {"stdio": "run", "http": "net"}.get(self.transport or "")


def _command(name: str, merged: Mapping[str, Any]) -> list[str]:
    """Split by POSIX quoting when `args` is absent (O-4.38)."""
    if "command" not in merged:
        raise ConfigFailure("E4002", f'mcp {name}: command is missing, which the transport "stdio" needs')
    try:
        return split_command(merged["command"], merged.get("args"))
    except ValueError as error:
        raise ConfigFailure("E4004", f"mcp {name}: command {merged['command']!r}: {error}") from None
