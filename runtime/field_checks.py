"""Types and ranges of connection, model and decorator fields that were not checked by the compiler: those of a host, of a foreign
image, and values computed when the program starts (O-0.1, O-0.4, E4001, E4004).

Hands on `ConfigFailure`s that name the field. Must not know: calls, providers.
"""

from __future__ import annotations

from .errors import ConfigFailure
from .time_limits import DEFAULTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..vm.bytecode.image import Pipeline

    Check = Callable[[Any], bool]

APIS = ("auto", "responses", "chat")
STRATEGIES = ("auto", "native", "tool", "prompt")
BACKOFFS = ("none", "linear", "exponential")
RETRY_CLASSES = ("rate_limit", "server", "connection", "timeout")
LONGEST_SECONDS = 10_000_000
NO_FORMS: Mapping[str, str] = {}


def text(value: Any) -> bool:
    return type(value) is str


def address(value: Any) -> bool:
    """O-1.7: an address of HTTP, whole."""
    scheme, separator, rest = value.partition("://") if type(value) is str else ("", "", "")
    return bool(separator and rest) and scheme.lower() in ("http", "https")


def number(low: float, high: float) -> Check:
    return lambda value: type(value) in (int, float) and low <= value <= high


def whole(low: int, high: int = 2**31) -> Check:
    return lambda value: type(value) is int and low <= value <= high


def duration(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value <= LONGEST_SECONDS


def one_of(*words: str) -> Check:
    return lambda value: type(value) is str and value in words


def listed(check: Check) -> Check:
    return lambda value: type(value) is list and all(check(item) for item in value)


def texts_by_name(value: Any) -> bool:
    return type(value) is dict and all(text(k) and text(v) for k, v in value.items())


def variables(value: Any) -> bool:
    """Of a child process: the name of a variable of the host, or `{"value": text}` (O-4.41)."""
    return type(value) is dict and all(text(k) and (text(v) or _literal(v)) for k, v in value.items())


def _literal(value: Any) -> bool:
    return type(value) is dict and list(value) == ["value"] and text(value["value"])


def headers(value: Any) -> bool:
    return type(value) is dict and all(text(k) and (text(v) or _variable(v)) for k, v in value.items())


def _variable(value: Any) -> bool:
    return type(value) is dict and list(value) == ["env"] and text(value["env"])


def fields_of(table: Mapping[str, Check]) -> Check:
    return lambda value: type(value) is dict and all(name in table and table[name](part) for name, part in value.items())


def either(one: Check, other: Check) -> Check:
    return lambda value: one(value) or other(value)


def anything(value: Any) -> bool:
    return True


def record(table: Mapping[str, Check], *required: str) -> Check:
    fits = fields_of(table)
    return lambda value: fits(value) and all(name in value for name in required)


RETRY_OBJECT: dict[str, Check] = {
    "max_attempts": whole(1, 1000), "backoff": one_of(*BACKOFFS), "initial_delay_ms": whole(0), "max_delay_ms": whole(0),
    "retry_on": listed(one_of(*RETRY_CLASSES)),
}  # fmt: skip
TIMEOUT: dict[str, Check] = dict.fromkeys(DEFAULTS, duration)
RATE_LIMIT: dict[str, Check] = {name: whole(1) for name in ("requests_per_minute", "tokens_per_minute", "concurrent_requests")}

CONNECTION: dict[str, Check] = {
    "provider": text, "api_key": text, "api_key_env": text, "base_url": address, "default_model": text, "models": texts_by_name,
    "retry": fields_of(RETRY_OBJECT), "timeout": either(duration, fields_of(TIMEOUT)),
    "rate_limit": fields_of(RATE_LIMIT), "organization": text,
    "project": text, "headers": headers, "api": one_of(*APIS), "unsupported": one_of("error", "drop"),
    "structured": one_of(*STRATEGIES), "replies": listed(anything),  # replies are checked when they become a script
}  # fmt: skip
MODEL: dict[str, Check] = {
    "base": text, "temperature": number(0, 2), "top_p": number(0, 1), "max_tokens": whole(1), "stop_sequences": listed(text),
    "system_prompt": text, "max_tool_rounds": whole(0), "structured": one_of(*STRATEGIES),
    "retry_policy": fields_of(RETRY_OBJECT), "timeout": either(duration, fields_of(TIMEOUT)),
}  # fmt: skip
DECORATORS: dict[str, dict[str, Check]] = {
    "retry": {
        "max": whole(1, 1000), "backoff": one_of(*BACKOFFS), "delay_ms": whole(0), "max_delay_ms": whole(0),
        "retry_on": listed(one_of(*RETRY_CLASSES)),
    },
    "timeout": {"seconds": duration},
    "log": {"channel": text},
    "cache": {"ttl_seconds": whole(0)},
    "effect": {"class": one_of("once")},
}  # fmt: skip


def check_fields(
    owner: str, fields: Mapping[str, Any], table: Mapping[str, Check], forms: Mapping[str, str] = NO_FORMS
) -> None:
    """ConfigFailure E4001 for an unknown field, E4004 for a value it does not take; nil counts as absent. `forms`: how the value
    of a field is written, where its name does not tell."""
    for name, value in fields.items():
        if name not in table:
            raise ConfigFailure("E4001", f"{owner}: unknown field {name}; fields are {', '.join(table)}")
        if value is not None and not table[name](value):
            form = f"; write {forms[name]}" if name in forms else ""
            raise ConfigFailure("E4004", f"{owner}: {name} does not take {_shown(value)}{form}")


def _shown(value: Any) -> str:
    """As JSON, which programs and scripts are written in; values that it does not have in their own form."""
    import json  # a run that refuses nothing starts without it

    return f"{json.dumps(value, ensure_ascii=False, default=str):.80}"


def check_names(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """ConfigFailure E4003 for a connection of a host that the program does not have, where it has one of nearly that name: the
    fields would help nobody. Others may be meant for other programs."""
    for name in given:
        if name not in known and name not in PREDECLARED:
            import difflib  # a run whose names are right starts without it

            for near in difflib.get_close_matches(name, list(known), n=1, cutoff=0.8):
                raise ConfigFailure("E4003", f"the program has no connection {name}; did you mean {near}?")


PREDECLARED = ("openai", "anthropic", "offline", "google", "ollama")


def check_connections(layers: list[Mapping[str, Mapping[str, Any]]]) -> None:
    for layer in layers:
        for name, fields in layer.items():
            if not isinstance(fields, dict):
                raise ConfigFailure("E4004", f"connection {name}: fields expected")
            check_fields(f"connection {name}", fields, CONNECTION, {"base_url": 'it whole, as in "https://box.example.com/v1"'})


def check_model(name: str, fields: Mapping[str, Any], decorators: Mapping[str, Any]) -> None:
    check_fields(f"model {name}", fields, MODEL)
    check_decorators(f"model {name}", decorators)


def check_stages(pipelines: Sequence[Pipeline]) -> None:
    for pipeline in pipelines:
        for name, _, _, decorators, _ in pipeline.stages:
            check_decorators(f"pipeline {pipeline.name}: stage {name}", dict(decorators))


def check_decorators(owner: str, decorators: Mapping[str, Mapping[str, Any]]) -> None:
    """Their arguments are constants, so that nil is none; `@timeout` is nothing without its own."""
    for decorator, arguments in decorators.items():
        if decorator not in DECORATORS:
            raise ConfigFailure("E4001", f"{owner}: unknown decorator @{decorator}")
        check_fields(f"{owner}: @{decorator}", arguments, DECORATORS[decorator])
        if None in arguments.values():
            raise ConfigFailure("E4009", f"{owner}: @{decorator} does not take nil")
        if decorator == "timeout" and not arguments:
            raise ConfigFailure("E4009", f"{owner}: @timeout needs seconds")
