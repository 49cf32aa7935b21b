"""What a call of a model is made with: the model's fields, decorators and connection, merged (O-1.35 to O-1.59, O-1.230).

Hands on `call_settings`, which merges them into `CallSettings`, and `Substitute` to the performer of models; to it also the parts
of the system message that one call adds: `knowledge_block` of a ledger, `passages_block` of an index, `context_block`, joined by
`system_text` (O-1.76 to O-1.78, O-1.254). Calls, tools, agents and `prompt_cache.py` take `CallSettings`, settings of agents also
`DEFAULT_SCHEMA_ATTEMPTS`. Which of several places a setting is taken from is decided here; which fields there are, in
`vm/declaration_fields.py`; whether their values fit, in `connections.py`.
"""

from __future__ import annotations

from ...vm.declaration_fields import DECORATORS, DEFAULT_SECONDS, MODEL
from ...vm.interp.stores import words
from ...vm.values import to_json
from ..errors import Origin
from ..prompt_cache import lifetime_of
from ..records import call_seconds
from .retry import RetryPolicy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...vm.interp.stores import Ledger
    from ..connections import ConnectionSettings
    from ..records import Timeout, ToolDef
    from .reply_cache import ReplyCache
    from .services import Sender


DEFAULT_TOOL_ROUNDS = MODEL["max_tool_rounds"].default
DEFAULT_LOG_CHANNEL = DECORATORS["log"].arguments_at("model")["channel"].default
DEFAULT_SCHEMA_ATTEMPTS = 3

# Field of a model: its name in the params of a request's record (O-1.37, O-1.38, O-1.210).
PARAMS = {
    "temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "stop_sequences": "stop",
    "reasoning": "reasoning", "reasoning_tokens": "reasoning_tokens",
}  # fmt: skip
ATTRIBUTES = {"system_prompt": "system"}  # fields of a model whose attribute of the settings has another name


class Substitute:
    """The model `name`, which may take over the call of another one. `take` returns its settings for that call and what sends its
    requests; it is called when the call comes to it, and raises CallFailure for a model whose fields no call can use."""

    __slots__ = ("name", "take")

    def __init__(self, name: str, take: Callable[[], tuple[CallSettings, Sender]]) -> None:
        self.name = name
        self.take = take


class CallSettings:
    """The settings of the calls of one model. They must not be changed: `changed`, `of_call` and `taken_over` return copies.

    `name` is the declared model or agent, `model` the id that requests name, `connection` where they go; `system` is the system
    message, None without one. `params` are the parameters of a request by the names of its record, only those that are set;
    `extra` in it is what the body of the request has besides (O-1.211). `tools` are those of the program that the model is
    offered. `policy` says when a failed request is sent again; `schema_attempts` is how many replies a schema call asks for at
    most; `max_tool_rounds` how often the model may answer with calls of tools, or the provider interrupt a reply; `timeout` is a
    number of seconds, or a Map of several limits in seconds (O-1.212). `structured` names the strategy by which a model is made
    to reply with a value of a schema (one of `STRATEGIES` in `vm/declaration_fields.py`). `log_channel` is the channel of `@log`,
    None without that decorator. `cache` holds the replies that `@cache` keeps, None without it. `is_once` says that a request
    must not take effect twice (O-9.37). `cache_prompt` is what the program says of the provider's prompt cache, None for nothing
    (O-1.220), and `cache_lifetime`, which follows from it, what requests say of it (`prompt_cache.py: lifetime_of`). `hosted` are
    the tools that the provider runs itself, as plain data (O-1.213). `fallback` are the models that take a call over, in order,
    after a failure of a class in `fallback_on` (O-1.230)."""

    __slots__ = (
        "name",
        "connection",
        "model",
        "system",
        "params",
        "tools",
        "max_tool_rounds",
        "policy",
        "schema_attempts",
        "timeout",
        "structured",
        "cache_prompt",
        "hosted",
        "log_channel",
        "cache",
        "is_once",
        "fallback",
        "fallback_on",
        "cache_lifetime",
    )

    name: str
    connection: ConnectionSettings
    model: str
    system: str | None
    params: Mapping[str, Any]
    tools: Sequence[ToolDef]
    max_tool_rounds: int
    policy: RetryPolicy
    schema_attempts: int
    timeout: Timeout
    structured: str
    cache_prompt: bool | str | None
    hosted: Sequence[dict[str, Any]]
    log_channel: str | None
    cache: ReplyCache | None
    is_once: bool
    fallback: Sequence[Substitute]
    fallback_on: Sequence[str]
    cache_lifetime: str

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        self.cache_lifetime = lifetime_of(self)

    def changed(self, **changes: Any) -> CallSettings:
        """Return a copy in which the attributes that `changes` names have other values. Raises AttributeError for another
        name."""
        return CallSettings(**{name: getattr(self, name) for name in self.__slots__} | changes)

    def of_call(self, overrides: Mapping[str, Any]) -> CallSettings:
        """Return a copy with what one call replaces: a Prompt's `model`, `temperature`, `max_tokens` (O-1.67), and the fields of
        the model that `with` names (O-3.30); itself when nothing is replaced. The values are not checked here."""
        if not overrides:
            return self
        params = {**self.params, **{PARAMS[name]: value for name, value in overrides.items() if name in PARAMS}}
        base = overrides.get("model", overrides.get("base"))
        model = self.connection.models.get(base, base) if base is not None else self.model
        others = {
            ATTRIBUTES.get(name, name): value for name, value in overrides.items() if name not in (*PARAMS, "model", "base")
        }
        if "hosted" in others:
            others["hosted"] = stated_tools(others["hosted"])
        return self.changed(params=params, model=model, **others)

    def taken_over(self, call: CallSettings) -> CallSettings:
        """Return a copy for a call that another model has begun, with what belongs to the call: name, system message, tools,
        hosted tools, rounds and log are those of `call`. Nothing is cached, since the cache is another model's (O-1.230)."""
        return self.changed(
            name=call.name, system=call.system, tools=call.tools, hosted=call.hosted, max_tool_rounds=call.max_tool_rounds,
            log_channel=call.log_channel, cache=None,
        )  # fmt: skip

    def carried_tools(self) -> Sequence[dict[str, Any]]:
        """Return the hosted tools that its requests send: none where the connection carries not all of them and drops what it
        does not carry (O-1.134). Raises NotSent where it does not drop it."""
        lacking = self._lacking()
        if lacking is None:
            return self.hosted
        if self.connection.unsupported != "drop":
            _, _, words, there_is = lacking
            raise self.origin().not_sent("AgentError", "InvalidRequest", f"hosted: {words}; {there_is}")
        return ()

    def dropped_tools(self) -> list[str]:
        """Return one note on the hosted tools that the connection does not carry, all of which `carried_tools` leaves out; an
        empty list where it carries them."""
        lacking = self._lacking()
        return [] if lacking is None else [f"hosted: {lacking[2]}"]

    def _lacking(self) -> tuple[int, str, str, str] | None:
        return self.connection.row.lacks(self.connection.api, self.hosted) if self.hosted else None

    def origin(self) -> Origin:
        """Return the `Origin` that builds this call's failures, with its model, connection and timeout in seconds."""
        return Origin(self.model, self.connection.name, call_seconds(self.timeout))


def call_settings(
    name: str,
    fields: Mapping[str, Any],
    decorators: Mapping[str, Mapping[str, Any]],
    connection: ConnectionSettings,
    *,
    tools: Sequence[ToolDef] = (),
    cache: ReplyCache | None = None,
) -> CallSettings:
    """Return the settings of the calls of the model `name` from fields and decorators that `connections.py: check_model` has
    accepted; `decorators` has the arguments by decorator, `tools` are those that the model is offered, `cache` that of `@cache`.
    Raises NotSent for a model without an id, which its connection does not give either. `fallback` is left empty."""
    model = connection.model_id(fields.get("base"))
    if model is None:
        message = f"no model id: set base, or default_model of connection {connection.name}"
        raise Origin(name, connection.name, DEFAULT_SECONDS).not_sent("AgentError", "InvalidRequest", message)
    return CallSettings(
        name=name,
        connection=connection,
        model=model,
        system=fields.get("system_prompt"),
        params=_params(fields, connection),
        tools=tools,
        max_tool_rounds=_first(fields.get("max_tool_rounds"), DEFAULT_TOOL_ROUNDS),
        policy=_policy(fields, decorators, connection),
        schema_attempts=_schema_attempts(fields, decorators),
        timeout=_timeout(fields, decorators, connection),
        structured=_structured(fields, connection),
        hosted=stated_tools(fields.get("hosted") or ()),
        cache_prompt=fields["cache_prompt"] if fields.get("cache_prompt") is not None else connection.cache_prompt,
        log_channel=_log_channel(decorators),
        cache=cache,
        is_once="effect" in decorators,
        fallback=(),
        fallback_on=_first(fields.get("fallback_on"), MODEL["fallback_on"].default),
    )


def stated_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return hosted tools without the parts that are nil, which count as absent."""
    return [{name: part for name, part in tool.items() if part is not None} for tool in tools]


def _params(fields: Mapping[str, Any], connection: ConnectionSettings) -> dict[str, Any]:
    params = {PARAMS[field]: fields[field] for field in PARAMS if fields.get(field) is not None}
    extra = {**connection.extra, **(fields.get("extra") or {})}
    return {**params, "extra": extra} if extra else params


def system_text(*parts: str | None) -> str | None:
    """Return system prompt, knowledge block and context block, those that exist, joined by one blank line; None without any
    (O-1.76)."""
    texts = [part for part in parts if part is not None]
    return "\n\n".join(texts) if texts else None


def _policy(fields: Mapping[str, Any], decorators: Mapping[str, Any], connection: ConnectionSettings) -> RetryPolicy:
    """Return the policy of the strongest place: `@retry`, else `retry_policy`, else the connection's (O-1.45); with `@effect`
    that of requests which must not take effect twice."""
    if "retry" in decorators:
        policy = RetryPolicy.from_decorator(decorators["retry"])
    else:
        policy = RetryPolicy.from_object(_first(fields.get("retry_policy"), connection.retry, {}))
    return policy.of_once() if "effect" in decorators else policy


def _schema_attempts(fields: Mapping[str, Any], decorators: Mapping[str, Any]) -> int:
    """Return how many replies a schema call may ask for. The connection's `retry` has no part in it (O-2.46)."""
    policy = fields.get("retry_policy") or {}
    return int(_first(decorators.get("retry", {}).get("max"), policy.get("max_attempts"), DEFAULT_SCHEMA_ATTEMPTS))


def _timeout(fields: Mapping[str, Any], decorators: Mapping[str, Any], connection: ConnectionSettings) -> Timeout:
    """Return the limits of the strongest place: those of several places are not mixed (O-1.46)."""
    decorated = decorators.get("timeout", {}).get("seconds")
    timeout: Timeout = _first(decorated, fields.get("timeout"), connection.timeout, DEFAULT_SECONDS)
    return float(timeout) if isinstance(timeout, int) else timeout


def _structured(fields: Mapping[str, Any], connection: ConnectionSettings) -> str:
    return str(_first(fields.get("structured"), connection.structured))


def _log_channel(decorators: Mapping[str, Any]) -> str | None:
    return str(decorators["log"].get("channel", DEFAULT_LOG_CHANNEL)) if "log" in decorators else None


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)


MOST_ENTRIES = 20  # of a ledger in one system message


def knowledge_block(ledger: Ledger, prompt: str) -> str | None:
    """Return `Knowledge:` and one line for each of the first MOST_ENTRIES entries of a ledger (a table of the program, with keys
    and a text for each identifier) of which a key, or a word of the identifier, is a word of the prompt (O-1.77). None when there
    is no such entry."""
    prompt_words = words(prompt)
    lines = [
        f"- {_line(identifier)}: {_line(value)}"
        for identifier, (keys, value) in ledger.entries.items()
        if not prompt_words.isdisjoint(key.lower() for key in keys) or not prompt_words.isdisjoint(words(identifier))
    ]
    return "\n".join(["Knowledge:", *lines[:MOST_ENTRIES]]) if lines else None


def passages_block(texts: Sequence[str]) -> str | None:
    """Return `Knowledge:` and one line for each text that an index has found; None where there is none (O-1.254)."""
    return "\n".join(["Knowledge:", *(f"- {_line(text)}" for text in texts)]) if texts else None


def _line(text: str) -> str:
    """Return a text on one line, whatever line ends it has."""
    return " ".join(text.splitlines())


def context_block(value: Any) -> str:
    """Return the part of the system message that holds the context of a call, a value of the machine, as JSON (O-1.78). Raises
    panic P103 for a value beyond the limits of JSON."""
    return f"Context:\n{to_json(value)}"
