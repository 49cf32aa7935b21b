"""What a server offers, held against its signatures: the tools a program and its models see (O-4.8, O-4.44, G-9.6).

Hands on `ServedTool`, `Answer`, the protocol `Connection`, `ServerFailure` and `offered_tools`. Must not know: transports, the
machine.
"""

from __future__ import annotations

from ...vm.schema import arguments_form, tool_name
from ..outside_text import clean_text
from ..records import ToolDef
from ..schema.json_text import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

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
