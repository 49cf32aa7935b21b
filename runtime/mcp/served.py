"""What an MCP server offers, compared with the signatures that the program declares; its settings; its answers as values (O-4.8,
O-4.36 to O-4.46, G-9.6).

Hands on to `servers.py`: `McpSettings`; `Signature` and `OfferedTool`, with `declared_tool` and `offered_tools`, which decides
what program and models may call; `OPEN_SCHEMA` and `OPEN_SHAPE` of a tool without a signature; `plain_arguments` and `plain_map`
for what is sent; `value_of`, `mocked_value` and `failure_text` for what comes back. Hands on to `wire.py` the form in which it
gives tools and answers, `ServedTool` and `Answer`, and `REFUSED_BODY`, to `carrier.py` too. Hands on `ServedTool` and
`tool_digest` to `pins.py`, and MOST_BYTES, the bound of a result, to `resources.py`. The protocol `Connection` is what `wire.py`,
or a host, gives; it raises `ServerFailure`, as all that speaks to a server does. The files of this folder that connect to a
server take its `McpSettings`, and so does the host (`host.py`). What journals servers (`journal/peers.py`) takes the settings,
the forms, the protocol and the failure; `questions.py` and `cli/pin.py` the failure. Nothing here talks to a server.
"""

from __future__ import annotations

import json

from ...vm.declaration_fields import MCP
from ...vm.record import record
from ...vm.schema import arguments_form, tool_name
from ...vm.values import NONE, UNSET, Array, Media, from_json, to_json
from ..access.secrets import clean_json, clean_text
from ..agents.children import split_command
from ..connections import check_fields, stated_fields
from ..errors import ConfigFailure
from ..media import WithMedia
from ..records import ToolDef
from ..schema.lenient_json import JsonRefused, digest, parse_json
from ..schema.validation import Accepted, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from ...vm.values.media import Content
    from ..records import TreeBuilder
    from .questions import Caller
    from .resources import Part, PromptPart, ServedPrompt, ServedResource

    class Connection(Protocol):
        """An open connection, by the host or through the SDK. Its methods raise ServerFailure."""

        async def tools(self) -> list[ServedTool]:
            """Return all tools of the server, of all pages of its list."""

        async def call(self, name: str, arguments: dict[str, Any], caller: Caller) -> Answer:
            """Call a tool with plain data and return its answer. What the server says meanwhile goes to `caller`."""

        async def resources(self) -> list[ServedResource]:
            """Return all resources of the server; none where it offers none."""

        async def read(self, uri: str, caller: Caller) -> list[Part]:
            """Return the contents of a resource."""

        async def prompts(self) -> list[ServedPrompt]:
            """Return all prompts of the server; none where it offers none."""

        async def prompt(self, name: str, arguments: dict[str, str], caller: Caller) -> list[PromptPart]:
            """Return the messages of a prompt that is filled in."""

        async def aclose(self) -> None:
            """End the connection; returns when nothing of it runs any more."""


LONGEST_NAME = 64  # characters of a tool's name that models take
REFUSED_BODY = "the body is refused: "  # begins a text of our own transport; other texts of the library are not shown
OPEN_SCHEMA = {"type": "object"}
OPEN_SHAPE: list[Any] = ["map", ["any"]]  # the same as a schema type


class ServerFailure(Exception):
    """A call or a connection that failed: the `message` and the `variant` of ToolError, further `fields` of the error, and
    whether the connection has ended (`gone`)."""

    def __init__(self, message: str, variant: str = "ConnectionFailed", *, gone: bool = False, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.variant = variant
        self.gone = gone
        self.fields = fields


class ServedTool:
    """A tool as the server lists it, cleaned (G-9.1). `schema` is the JSON Schema of its arguments. `refused` says why nobody may
    call it, None if all may: its schema leads to another document, or is no JSON within the limits of G-9.2, in place of which it
    is empty, or, as `servers.py` finds, the tool is not the one that was pinned."""

    __slots__ = ("name", "description", "schema", "refused")

    def __init__(self, name: str, description: str, schema: Mapping[str, Any]) -> None:
        self.name = clean_text(name)
        self.description = clean_text(description)
        self.schema: dict[str, Any] = {}
        self.refused: str | None = None
        try:
            self.schema = parse_json(json.dumps(dict(schema)))
            if _refers_outside(self.schema):
                self.refused = "its schema refers to another document"
        except JsonRefused as refused:
            self.refused = f"its schema is no JSON: {refused.reason}"
        except (RecursionError, ValueError):  # from a host: too deep, or with a number of too many digits, to be written at all
            self.refused = "its schema is no JSON: it is beyond all bounds"

    @property
    def digest(self) -> str:
        """The digest of all that the tool says of itself: it must stay the same during a session (G-9.6)."""
        return tool_digest(self.name, self.description, self.schema)

    @property
    def properties(self) -> Mapping[str, Any]:
        """The JSON Schemas of its parameters by name; none where its schema has no such object."""
        properties = self.schema.get("properties")
        return properties if isinstance(properties, dict) else {}


def tool_digest(name: str, description: str, schema: dict[str, Any]) -> str:
    """Return the digest of all that a tool says of itself, for a session and for pins alike."""
    return digest([name, description, schema])


@record
class Answer:
    """What a call gave: `structured` content as plain data, None without it; its text parts (`texts`); whether the tool `failed`;
    and the contents of its pictures and sounds (`media`)."""

    structured: Any
    texts: Sequence[str]
    failed: bool = False
    media: Sequence[Content] = ()

    @property
    def text(self) -> str:
        """The text parts, each on a line of its own, not cleaned."""
        return "\n".join(self.texts)


class Signature:
    """A tool that the program declares, from its entry in the image. `name` is its name on the server, `wire` its name for
    models, `shape` the schema type of its arguments, `result` the schema type of an object whose only field is the value.
    `description` is None when the program gives none."""

    __slots__ = ("name", "wire", "description", "shape", "result")

    def __init__(self, entry: Sequence[Any]) -> None:
        self.name, self.wire, self.description, self.shape, self.result = entry


@record
class OfferedTool:
    """A tool that program and models may call: its `name` on the server, its `definition` for models, and its `signature`, None
    when the program declares no tools of the server."""

    name: str
    definition: ToolDef
    signature: Signature | None


def declared_tool(signature: Signature, served: ServedTool | None = None) -> OfferedTool:
    """Return a declared tool as it is offered. Descriptions that the declaration leaves out are those of `served`, which is None
    as long as the server is not connected."""
    form = arguments_form(signature.shape)
    for name, property in form.get("properties", {}).items():
        described = served.properties.get(name) if served is not None else None
        if "description" not in property and isinstance(described, dict) and isinstance(described.get("description"), str):
            property["description"] = described["description"]
    text = signature.description if signature.description is not None else served.description if served is not None else ""
    return OfferedTool(signature.name, ToolDef(signature.wire, text, form), signature)


def offered_tools(
    server: str, signatures: Sequence[Signature], served: Sequence[ServedTool]
) -> tuple[list[OfferedTool], list[str]]:
    """Return the tools of a server: the declared ones alone if there are any, else all that it serves and that are not refused,
    and for each refused one a line that says why (O-4.44, G-9.6): its own reason, or a name for models that is too long or taken.
    Raises ServerFailure for a declaration that the server does not fit, or whose served tool is refused."""
    by_name = {tool.name: tool for tool in served}
    if signatures:
        return [declared_tool(signature, _fitting(server, signature, by_name)) for signature in signatures], []
    offered: dict[str, OfferedTool] = {}  # by the name for models
    refused: list[str] = []
    for tool in served:
        wire = tool_name(server, tool.name)
        reason = _refusal(tool, wire, offered)
        if reason is None:
            offered[wire] = OfferedTool(tool.name, ToolDef(wire, tool.description, tool.schema), None)
        else:
            refused.append(f"tool {tool.name} of mcp {server} is refused: {reason}")
    return list(offered.values()), refused


def _refusal(tool: ServedTool, wire: str, offered: Mapping[str, OfferedTool]) -> str | None:
    if len(wire) > LONGEST_NAME:
        return f"`{wire}` is longer than {LONGEST_NAME} characters"
    if wire in offered:
        return f"another tool is `{wire}` to a model"
    return tool.refused


def _refers_outside(schema: Any) -> bool:
    """Return whether a `$ref` leads to another document, which nobody would have looked at."""
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
    """Return the served tool of a declaration. ServerFailure unless the server knows every declared parameter and the
    declaration has every required one."""
    tool = served.get(signature.name)
    if tool is None:
        raise ServerFailure(f"mcp {server} does not serve the declared tool {signature.name}")
    if tool.refused is not None:
        raise ServerFailure(f"mcp {server}, tool {signature.name}: {tool.refused}")
    declared = [field[0] for field in signature.shape[3]]
    for name in declared:
        if name not in tool.properties:
            raise ServerFailure(f"mcp {server}, tool {signature.name}: the server knows no parameter {name}")
    required = tool.schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in declared:
            raise ServerFailure(f"mcp {server}, tool {signature.name}: the declaration lacks the required parameter {name}")
    return tool


MOST_BYTES = 1 << 20  # bytes of a result (G-6.1)
RESULT = "result"  # the key under which servers wrap a result that is no object


def plain_arguments(signature: Signature, values: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments of a declared tool as plain data by name, from their values in its order: one that is UNSET takes its
    default, or is left out without one, as is None or nil of an optional one. P103 for a value beyond the limits of JSON (G-6.1),
    ValueError for another number of values than parameters."""
    arguments: dict[str, Any] = {}
    for (name, _, optional, has_default, default, _), value in zip(signature.shape[3], values, strict=True):
        if value is UNSET and has_default:
            arguments[name] = default
        elif value is not UNSET and not (optional and value in (NONE, None)):
            arguments[name] = json.loads(to_json(value))
    return arguments


def plain_map(arguments: Any) -> dict[str, Any]:
    """Return the Map of arguments that the program gave `call` as plain data. P103 as `plain_arguments`."""
    data: dict[str, Any] = json.loads(to_json(arguments))
    return data


def value_of(answer: Answer, signature: Signature | None, builder: TreeBuilder) -> Any:
    """Return the value of an answer that is no failure (O-4.45). Without a signature, or of the type Any, it is whatever came:
    the structured content, else the text, read as JSON where it is some, and the media; several of these as an Array. Else
    it is a value of the declared type, in a WithMedia where media came too. Raises ServerFailure when it has more than MOST_BYTES
    bytes beside its media, is no JSON, or does not fit the declared type."""
    if _is_too_large(answer):
        raise ServerFailure(f"the result is larger than {MOST_BYTES} bytes", "ExecutionFailed")
    media = [Media.holding(content, None) for content in answer.media]
    if signature is None or signature.result[3][0][1] == ["any"]:
        is_empty = answer.structured is None and not answer.texts
        plain = [] if media and is_empty else [from_json(_untyped(answer))]
        every = [*plain, *media]
        return every[0] if len(every) == 1 else Array(every)
    value = _typed(answer, signature, builder)
    return WithMedia(value, media) if media else value


def _typed(answer: Answer, signature: Signature, builder: TreeBuilder) -> Any:
    if signature.result[3][0][1] == ["string"] and (answer.texts or answer.structured is None):
        return builder.value(_accepted(signature, clean_text(answer.text)))
    return builder.value(_accepted(signature, _parsed(signature, answer)))


def mocked_value(signature: Signature | None, value: Any, builder: TreeBuilder) -> Any:
    """Return what a mock gives as a value of the declared type: it may be one, or have its JSON form; without a signature, or of
    the type Any, the value itself. Raises ValueError, whose text says what does not fit, and panic P103 for a value beyond the
    limits of JSON."""
    if signature is None or signature.result[3][0][1] == ["any"]:
        return value
    accepted = validate(signature.result, {"value": json.loads(to_json(value))})
    if isinstance(accepted, Accepted):
        return builder.value(accepted.tree[2][0][1])
    raise ValueError("; ".join(violation.text for violation in accepted))


def _is_too_large(answer: Answer) -> bool:
    structured = "" if answer.structured is None else json.dumps(answer.structured, ensure_ascii=False)
    return len(f"{answer.text}{structured}".encode("utf-8", "surrogatepass")) > MOST_BYTES


def _untyped(answer: Answer) -> Any:
    """Return an answer without a declared type as plain data; a text that is no JSON stays a text."""
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
    """Return the accepted tree of a value. Servers wrap a result that is no object as `{"result": …}`: what is inside counts
    when the object itself does not fit."""
    candidates = [value]
    if isinstance(value, dict) and list(value) == [RESULT]:
        candidates.append(value[RESULT])
    faults: Sequence[Any] = ()
    for candidate in candidates:
        accepted = validate(signature.result, {"value": candidate})
        if isinstance(accepted, Accepted):
            return accepted.tree[2][0][1]
        faults = faults or accepted
    listed = "\n".join(f"- {violation.text}" for violation in faults)
    raise ServerFailure(f"the result of {signature.name} does not fit its declaration:\n{listed}", "ExecutionFailed")


def failure_text(answer: Answer) -> str:
    """Return what a tool says of its failure: its texts, one on each line, else its structured content as JSON; cleaned of lone
    surrogates and invisible tag characters."""
    if answer.texts or answer.structured is None:
        return clean_text(answer.text)
    structured: Mapping[str, Any] = answer.structured
    return to_json(from_json(clean_json(structured)))


class McpSettings:
    """The settings of an MCP server (O-4.36 to O-4.41). `transport` is stdio or http, None when nobody configured one; `command`
    is the argument list for stdio, else empty, `url` the address for http, "" where nobody gives one; `timeout` is the limit of
    one request in seconds. `headers` and `env` have names of variables, or values that are written out (`connections.py:
    resolve_headers`, `agents/children.py: environment`)."""

    def __init__(self, name: str, fields: Mapping[str, Any], host_fields: Mapping[str, Any]) -> None:
        """`fields` are those of declaration and manifest, over which those of the host go. Raises ConfigFailure."""
        host_fields = stated_fields(f"mcp {name}", host_fields, MCP)
        for layer in (fields, host_fields):
            check_fields(f"mcp {name}", layer, MCP)
        merged = {key: value for layer in (fields, host_fields) for key, value in layer.items() if value is not None}
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
        """The key of the capability that a connection needs: run or net; None without a transport."""
        return {"stdio": "run", "http": "net"}.get(self.transport or "")


def _command(name: str, merged: Mapping[str, Any]) -> list[str]:
    """Return the argument list; without `args` the command is split by POSIX quoting (O-4.38)."""
    if "command" not in merged:
        raise ConfigFailure("E4002", f'mcp {name}: command is missing, which the transport "stdio" needs')
    try:
        return split_command(merged["command"], merged.get("args"))
    except ValueError as error:
        raise ConfigFailure("E4004", f"mcp {name}: command {merged['command']!r}: {error}") from None
