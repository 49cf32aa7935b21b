"""The lines between Concerto and an agent: how a prompt is written and how a line is read (O-7.22 to O-7.31); and the settings of
an agent (O-7.1 to O-7.8).

Hands on to `process.py` `AgentSettings` and `Answer`; what writes lines, `init_line`, `prompt_lines` and `response_line`, with
`request_id`; what reads them, `read_object` and `answer_of`, with the exceptions `AgentFailed` and `ProtocolBroken`; and
INIT_ACK, a type of messages. Hands on the first two and all that is of the reading of lines to `calls.py`, whose mocks read as a
process does, with RESULT, ERROR, `message_fields`, `object_answer`, `failure_text` and `Unanswered`; to `acp.py` `AgentSettings`,
`Answer` and the exceptions, to `acp_messages.py` `read_object` and `ProtocolBroken`; and `AgentSettings` to the performer of
agents (`effects/agents.py`, `effects/agent_processes.py`). Nothing here starts a process or waits for one.
"""

from __future__ import annotations

import json

from ...vm.declaration_fields import AGENT, DECORATORS, PROCESS, object_of
from ...vm.record import record
from ..access.secrets import clean_text
from ..calls.retry import RetryPolicy
from ..calls.settings import DEFAULT_SCHEMA_ATTEMPTS
from ..connections import check_decorators, check_fields, stated_fields
from ..errors import ConfigFailure
from ..schema.lenient_json import JsonRefused, compact_json, parse_json
from .children import split_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


RESULT, ERROR, INIT_ACK = "result", "error", "init_ack"
ENVELOPE = ("type", "in_reply_to")


@record
class Answer:
    """The answer that ends an exchange: its text, and in `data` the fields of a JSON object without those of the protocol, None
    for a plain line (O-7.12); of an agent that speaks ACP the fields of the result and `text`."""

    text: str
    data: dict[str, Any] | None = None


class ProtocolBroken(Exception):
    """The agent broke the protocol. The arguments say how, in which line if it was one, and the end of its stderr, which no model
    sees."""

    def __init__(self, message: str, line: str | None = None, last_words: str = "") -> None:
        super().__init__(message, line, last_words)


class AgentFailed(Exception):
    """The agent says that the prompt has failed, by a message of type `error` or as ACP does; `kind` and `variant` are those of
    the error that the call gets."""

    def __init__(self, message: str, kind: str = "AgentError", variant: str = "Failed") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.variant = variant


class Unanswered(Exception):
    """Nobody answers an awaited emit; `is_late`: somebody might have, but not in time."""

    def __init__(self, is_late: bool) -> None:
        super().__init__(is_late)
        self.is_late = is_late


def init_line(params: dict[str, Any]) -> str:
    """Return the line that begins the handshake, with its line end."""
    return compact_json({"type": "init", "params": params}) + "\n"


def prompt_lines(prompt: str, context: Any, number: int, *, as_json: bool) -> str:
    """Return the line, or lines, of prompt number 1, 2, …, with their line ends: one JSON object with `as_json`, else text, in
    which a prompt of several lines stands as a JSON string literal. `context` is a tuple with the plain data of the call's
    context, or an empty one."""
    if as_json:
        message = {"id": request_id(number), "prompt": prompt}
        if context:
            message["context"] = context[0]
        return compact_json(message) + "\n"
    line = json.dumps(prompt, ensure_ascii=False) if "\n" in prompt else prompt
    return f"{line}\nContext: {compact_json(context[0])}\n" if context else f"{line}\n"


def response_line(message: dict[str, Any], value: Any) -> str:
    """Return the line, with its line end, that answers `message` with a handler's value, plain data; it names the message by its
    id, else by its type, which it must have (O-7.28). KeyError without one."""
    replied_to = message.get("id", message["type"])
    return compact_json({"type": "response", "in_reply_to": replied_to, "value": value}) + "\n"


def request_id(number: int) -> str:
    """Return the id of prompt number 1, 2, …."""
    return f"r{number}"


def read_object(line: str) -> dict[str, Any] | None:
    """Return the JSON object that a line is, None when it is anything else."""
    try:
        value = parse_json(line)
    except JsonRefused:
        return None
    return value if isinstance(value, dict) else None


def plain_answer(line: str) -> Answer:
    """Return a line of text output, cleaned, as an answer; a JSON string literal is decoded (O-7.31)."""
    if line.lstrip().startswith('"'):
        try:
            value = parse_json(line)
        except JsonRefused:
            value = None
        if isinstance(value, str):
            return Answer(value)
    return Answer(clean_text(line))


def object_answer(message: dict[str, Any]) -> Answer:
    """Return a message as an answer; without a String in its field `text` the text is the whole message as JSON."""
    text = message.get("text")
    return Answer(text if isinstance(text, str) else compact_json(message), message_fields(message))


def answer_of(line: str, message: dict[str, Any] | None, *, listens: bool, as_json: bool) -> Answer | None:
    """Return the answer that a line is, None for a message before it. `message` is the line as a JSON object, None when it is no
    object or, neither in a `listen` nor with `as_json`, was not read as one. `listens`: the call is a `listen`, whose handlers
    take messages and which takes plain lines too; `as_json`: the agent is declared to write JSON objects alone.

    Raises AgentFailed for a message of type ERROR; with `as_json` alone ProtocolBroken for a line that is no JSON object, or
    whose `type` is no String."""
    if not (listens or as_json):
        return plain_answer(line)
    kind = None if message is None else message.get("type")
    if listens and (message is None or not isinstance(kind, str)):
        return plain_answer(line)
    if message is None:
        raise ProtocolBroken("a line is no JSON object", line)
    if kind == ERROR:
        raise AgentFailed(failure_text(message))
    if kind is None and "type" not in message or kind == RESULT:
        return object_answer(message)
    if not isinstance(kind, str):
        raise ProtocolBroken("the type of a message is no String", line)
    return None


def failure_text(message: dict[str, Any]) -> str:
    """Return what a message of type ERROR says: its text, of anything else the JSON."""
    said = message.get("message")
    if said is None:
        return "the agent gave no message"
    return said if isinstance(said, str) else compact_json(said)


def message_fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the fields of a message without those of the protocol (ENVELOPE)."""
    return {key: value for key, value in message.items() if key not in ENVELOPE}


ACP = "acp"  # a word of `protocol` (O-7.38)
DEFAULT_LOG_CHANNEL = DECORATORS["log"].arguments_at("agent")["channel"].default
FIELDS = {**AGENT, "process": object_of(PROCESS)}  # the compiler takes the process from the manifest


class AgentSettings:
    """What an agent is called and started with: its declaration, and what manifest and host configure (O-7.1 to O-7.8).

    `connector` is the name that the configuration has for the process; `speaks_acp` says whether it speaks that protocol, else
    `json_input` and `json_output` whether its lines are JSON. `command` is the argument list, None when nobody has configured
    the connector; `timeout` is the limit of one exchange in seconds. `working_dir` is relative to the project, `env` is as
    `variables` of `children.py: environment`, `params` go into the handshake, which an empty Map leaves out, or into the `_meta`
    of an ACP session. `policy` is the rule for failures of the process (without `@retry` one attempt), `schema_attempts` says
    how many replies are asked for at most; `log_channel` is that of `@log`, None without it."""

    def __init__(
        self, name: str, fields: Mapping[str, Any], decorators: Mapping[str, Mapping[str, Any]],
        host_fields: Mapping[str, Any],
    ) -> None:
        """`fields` are those of the declaration, with those of the manifest in `process`; `host_fields` are those that the host
        gives for the connector, over the manifest's. `decorators` has the arguments by decorator. Raises ConfigFailure for
        fields, decorators or a command that do not fit."""
        check_fields(f"agent {name}", fields, FIELDS)
        host_fields = stated_fields(f"agent {name}", host_fields, PROCESS)
        check_fields(f"agent {name}", host_fields, PROCESS)
        check_decorators(f"agent {name}", "agent", decorators)
        if fields.get("connector") is None:
            raise ConfigFailure("E4002", f"agent {name} lacks connector")
        process = {**(fields.get("process") or {}), **host_fields}
        self.name = name
        self.connector: str = fields["connector"]
        self.json_input = fields.get("input_format") == "json"
        self.json_output = fields.get("output_format") == "json"
        self.speaks_acp = process.get("protocol") == ACP
        if self.speaks_acp and (self.json_input or self.json_output):
            raise ConfigFailure("E4006", f'agent {name}: the protocol "acp" carries no input_format or output_format')
        limits = (decorators.get("timeout", {}).get("seconds"), fields.get("timeout"), process.get("timeout"))
        self.timeout = float(next((limit for limit in limits if limit is not None), AGENT["timeout"].default))
        self.command = _argument_list(name, process)
        self.working_dir: str = process.get("working_dir") or PROCESS["working_dir"].default
        self.env: Mapping[str, str | dict[str, str]] = process.get("env") or {}
        self.params: dict[str, Any] = process.get("params") or {}
        retry = decorators.get("retry")
        self.policy = RetryPolicy(max_attempts=1) if retry is None else RetryPolicy.from_decorator(retry)
        self.schema_attempts = int((retry or {}).get("max", DEFAULT_SCHEMA_ATTEMPTS))
        log = decorators.get("log")
        self.log_channel = None if log is None else str(log.get("channel", DEFAULT_LOG_CHANNEL))


def _argument_list(name: str, process: Mapping[str, Any]) -> list[str] | None:
    """Return the argument list; without `args` the command is split by POSIX quoting (O-4.38)."""
    command = process.get("command")
    if command is None:
        return None
    try:
        return split_command(command, process.get("args"))
    except ValueError as error:
        raise ConfigFailure("E4004", f"agent {name}: command {command!r}: {error}") from None
