"""The messages of the Agent Client Protocol, by the models of the official SDK (O-7.39 to O-7.50).

Hands on to `acp.py`, and to nobody else, VERSION, the names of methods and the codes of errors; what is sent: the contents
`initialize`, `new_session`, `prompt` with `blocks_of`, `cancel`, `permission` and `file_text`, and the lines `request_line`,
`reply_line` and `error_line`; and what comes: `read_message` with its three kinds, `greeted`, which returns a `Greeting`,
`session_of`, `stop_of`, `permission_of`, `read_of` and `write_of`. What reads a message's contents raises `Misfit` for what is
not as the protocol says, `blocks_of` `Untaken` for a content that the agent does not take. The SDK is imported here alone
(`effects/agent_processes.py` only looks whether it is there), and of it only the models and names: its connection starts a task
for each message and logs with tracebacks what does not fit, where lines of an agent are read one after another and end in errors
of the language. Nothing here waits for a process. A further request of the agent is a name and a function that reads it here, and
a case of `AcpProcess._result`.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TypeVar

from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from acp.schema import (
    AllowedOutcome,
    AudioContentBlock,
    BlobResourceContents,
    CancelNotification,
    ClientCapabilities,
    DeniedOutcome,
    EmbeddedResourceContentBlock,
    FileSystemCapabilities,
    ImageContentBlock,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    PromptResponse,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
    WriteTextFileRequest,
)
from pydantic import BaseModel, ValidationError

from ...vm.record import record
from ...vm.values.media import TEXT
from ..schema.lenient_json import compact_json
from .messages import ProtocolBroken, read_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeAlias

    from ..media import MediaPart

    Block: TypeAlias = (
        TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
    )

Model = TypeVar("Model", bound=BaseModel)

VERSION = PROTOCOL_VERSION
INITIALIZE = AGENT_METHODS["initialize"]
NEW_SESSION = AGENT_METHODS["session_new"]
PROMPT = AGENT_METHODS["session_prompt"]
CANCEL = AGENT_METHODS["session_cancel"]
UPDATE = CLIENT_METHODS["session_update"]
PERMISSION = CLIENT_METHODS["session_request_permission"]
READ_FILE = CLIENT_METHODS["fs_read_text_file"]
WRITE_FILE = CLIENT_METHODS["fs_write_text_file"]

# Codes of errors, of JSON-RPC and of ACP.
METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32601, -32602, -32603
AUTH_REQUIRED, RESOURCE_NOT_FOUND = -32000, -32002
CLIENT = Implementation(name="concerto", version="1")


class Misfit(Exception):
    """Something that came is not what the protocol says; `reason` names the part."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Untaken(Exception):
    """A content that the agent does not take; `what` names it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


# ----------------------------------------------------------------
# What comes.


@record
class Reply:
    """The answer to a request of ours, whose number is `id`: its result, plain data, or the `error`, an object, else None."""

    id: int | str
    result: Any
    error: dict[str, Any] | None


@record
class Asked:
    """A request of the agent, which wants an answer with its `id`; `params` are empty where it has none."""

    id: int | str
    method: str
    params: dict[str, Any]


@record
class Told:
    """A notification of the agent, which wants no answer; `params` are empty where it has none."""

    method: str
    params: dict[str, Any]


def read_message(line: str) -> Reply | Asked | Told:
    """Return the message that a line is. Raises ProtocolBroken for a line that is none."""
    message = read_object(line)
    found = None if message is None else _message(message)
    if found is None:
        raise ProtocolBroken("a line is no message of ACP", line)
    return found


def _message(message: dict[str, Any]) -> Reply | Asked | Told | None:
    method, number, params = message.get("method"), message.get("id"), message.get("params")
    is_numbered = type(number) in (int, str)
    if isinstance(method, str) and (params is None or isinstance(params, dict)):
        if "id" not in message:
            return Told(method, params or {})
        return Asked(number, method, params or {}) if is_numbered else None  # type: ignore[arg-type]
    error = message.get("error")
    if method is None and is_numbered and ("result" in message) != isinstance(error, dict):
        return Reply(number, message.get("result"), error)  # type: ignore[arg-type]
    return None


def _as(model: type[Model], value: Any) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Misfit(f"{place}: {first['msg']}" if place else first["msg"]) from None


@record
class Greeting:
    """What an agent says of itself: the `version` of the protocol, whether it takes `images`, `audio` and `embedded` documents,
    and the names of its logins."""

    version: int
    images: bool
    audio: bool
    embedded: bool
    logins: tuple[str, ...]


def greeted(result: Any) -> Greeting:
    """Return what the answer to INITIALIZE says. Raises Misfit."""
    response = _as(InitializeResponse, result)
    takes = response.agent_capabilities and response.agent_capabilities.prompt_capabilities
    logins = tuple(method.name for method in response.auth_methods or ())
    return Greeting(
        response.protocol_version, bool(takes and takes.image), bool(takes and takes.audio),
        bool(takes and takes.embedded_context), logins,
    )  # fmt: skip


def session_of(result: Any) -> str:
    """Return the id of the session that the answer to NEW_SESSION names. Raises Misfit."""
    return _as(NewSessionResponse, result).session_id


def stop_of(result: Any) -> str:
    """Return why a turn has ended, such as `end_turn`, from the answer to PROMPT. Raises Misfit."""
    return _as(PromptResponse, result).stop_reason


def permission_of(params: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """Return the session of a request PERMISSION, and id and kind of each option, in their order. Raises Misfit."""
    request = _as(RequestPermissionRequest, params)
    return request.session_id, [(option.option_id, option.kind) for option in request.options]


def read_of(params: dict[str, Any]) -> tuple[str, str, int | None, int | None]:
    """Return session, path, first line (from 1) and number of lines of a request READ_FILE; None where it does not say. Raises
    Misfit."""
    request = _as(ReadTextFileRequest, params)
    return request.session_id, request.path, request.line, request.limit


def write_of(params: dict[str, Any]) -> tuple[str, str, str]:
    """Return session, path and text of a request WRITE_FILE. Raises Misfit."""
    request = _as(WriteTextFileRequest, params)
    return request.session_id, request.path, request.content


# ----------------------------------------------------------------
# What is sent.


def _plain(model: BaseModel) -> dict[str, Any]:
    plain: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
    return plain


def request_line(number: int | None, method: str, params: dict[str, Any]) -> str:
    """Return the line, with its line end, of a request; of a notification without a number."""
    numbered = {} if number is None else {"id": number}
    return compact_json({"jsonrpc": "2.0", **numbered, "method": method, "params": params}) + "\n"


def reply_line(number: int | str, result: Any) -> str:
    """Return the line, with its line end, of the answer to a request of the agent."""
    return compact_json({"jsonrpc": "2.0", "id": number, "result": result}) + "\n"


def error_line(number: int | str, code: int, message: str) -> str:
    """Return the line, with its line end, of an answer that is an error."""
    return compact_json({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}) + "\n"


def initialize(reads: bool, writes: bool) -> dict[str, Any]:
    """Return the parameters of INITIALIZE; `reads` and `writes` say which requests for files the client serves."""
    files = FileSystemCapabilities(read_text_file=reads, write_text_file=writes)
    capabilities = ClientCapabilities(fs=files, terminal=False)
    return _plain(
        InitializeRequest(protocol_version=PROTOCOL_VERSION, client_capabilities=capabilities, client_info=CLIENT)
    )


def new_session(folder: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of NEW_SESSION in an absolute `folder`; `params` become its `_meta`."""
    meta = {"_meta": dict(params)} if params else {}
    return {**_plain(NewSessionRequest(cwd=folder, mcp_servers=[])), **meta}


def prompt(session: str, blocks: Sequence[Block]) -> dict[str, Any]:
    """Return the parameters of PROMPT; `session` is the id of the session, `blocks` are those of `blocks_of`."""
    return _plain(PromptRequest(session_id=session, prompt=list(blocks)))


def cancel(session: str) -> dict[str, Any]:
    """Return the parameters of CANCEL."""
    return _plain(CancelNotification(session_id=session))


def permission(option: str | None) -> dict[str, Any]:
    """Return the result of PERMISSION: the id of the option that was chosen, None for none."""
    outcome = DeniedOutcome(outcome="cancelled") if option is None else AllowedOutcome(outcome="selected", option_id=option)
    return _plain(RequestPermissionResponse(outcome=outcome))


def file_text(text: str) -> dict[str, Any]:
    """Return the result of READ_FILE."""
    return _plain(ReadTextFileResponse(content=text))


def blocks_of(text: str, context: Any, media: Sequence[MediaPart], takes: Greeting) -> list[Block]:
    """Return the contents of a prompt: the media, the text, and the context (a tuple with its plain data, or an empty one) as a
    text of its own. Raises Untaken for media that an agent with this greeting does not take; media without data are sent as
    links, which every agent takes."""
    blocks = [_media_block(part, number, takes) for number, part in enumerate(media, 1)]
    blocks.append(TextContentBlock(type="text", text=text))
    if context:
        blocks.append(TextContentBlock(type="text", text=f"Context: {compact_json(context[0])}"))
    return blocks


def _media_block(part: MediaPart, number: int, takes: Greeting) -> Block:
    content = part.content
    name = part.name or f"{content.kind}-{number}"
    if content.data is None:  # every agent takes links
        return ResourceContentBlock(type="resource_link", uri=content.url or "", name=name)
    if not {"image": takes.images, "audio": takes.audio, "document": takes.embedded}[content.kind]:
        raise Untaken(f"{content.kind} ({content.mime})")
    data = b64encode(content.data).decode()
    if content.kind == "image":
        return ImageContentBlock(type="image", data=data, mime_type=content.mime)
    if content.kind == "audio":
        return AudioContentBlock(type="audio", data=data, mime_type=content.mime)
    uri = f"attachment:{number}/{name}"
    if content.mime == TEXT:
        text = TextResourceContents(uri=uri, text=content.data.decode(), mime_type=content.mime)
        return EmbeddedResourceContentBlock(type="resource", resource=text)
    return EmbeddedResourceContentBlock(
        type="resource", resource=BlobResourceContents(uri=uri, blob=data, mime_type=content.mime)
    )
