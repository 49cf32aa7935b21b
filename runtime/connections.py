"""Connections: the table of fields, the merge of their declarations, and the key of one (O-1.1 to O-1.28).

Hands on `ConnectionSettings` to calls and providers. Must not know: SDKs, requests, values of the machine.
"""

from __future__ import annotations

from ..vm.builtins.providers import APIS, PREDECLARED, PROVIDERS
from .errors import ConfigFailure, NotSent, Origin
from .records import DEFAULTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..vm.builtins.providers import ProviderRow
    from ..vm.bytecode.image import Pipeline
    from .access.secrets import Redactor
    from .records import Timeout

    Fields = Mapping[str, Any]
    Layer = Mapping[str, Fields]


# The fields of O-1.4 to O-1.15 and their defaults. `api_key` is the literal key only the host may pass (O-9.44);
# `replies` is the script of an offline connection (O-1.34).
FIELDS: dict[str, Any] = {
    "provider": None,
    "api_key": None,
    "api_key_env": None,
    "base_url": None,
    "default_model": None,
    "models": {},
    "retry": None,
    "timeout": None,
    "rate_limit": None,
    "organization": None,
    "project": None,
    "headers": {},
    "api": "auto",
    "unsupported": "error",
    "structured": "auto",
    "replies": None,
}
# What a client is made with. Other fields that a provider does not carry have no effect there: a host may put another provider in
# place of the one a program names.
CLIENT_FIELDS = ("organization", "project")


class ConnectionSettings:
    """A connection with every default filled in; values of variables are not in here."""

    __slots__ = ("name", "row", *FIELDS)

    name: str
    row: ProviderRow
    provider: str
    api_key: str | None
    api_key_env: str | None
    base_url: str | None
    default_model: str | None
    models: Mapping[str, str]
    retry: Mapping[str, Any] | None
    timeout: Timeout | None
    rate_limit: Mapping[str, int] | None
    organization: str | None
    project: str | None
    headers: Mapping[str, Any]
    api: str
    unsupported: str
    structured: str
    replies: Sequence[Any] | None

    def __init__(self, name: str, fields: Fields) -> None:
        self.name = name
        self.row = PROVIDERS[fields["provider"]]
        for field, default in FIELDS.items():
            setattr(self, field, fields.get(field, default))
        self.api_key_env = self.api_key_env or self.row.key_variable
        self.api = self.row.api(self.api, self.base_url)
        self.base_url = self.base_url or self.row.base_url

    def model_id(self, base: str | None) -> str | None:
        """The id a request names: `base` or the connection's default, aliases replaced (O-1.9, O-1.36)."""
        wanted = base or self.default_model
        return None if wanted is None else self.models.get(wanted, wanted)

    @property
    def address(self) -> str:
        """Host and port for messages: a URL may hold more than everybody should see."""
        from urllib.parse import urlsplit  # a run without failures starts without it

        try:
            parts = urlsplit(self.base_url or "")
            port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        except ValueError:
            return "a base_url that is no URL"
        host = parts.hostname or ""
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def __repr__(self) -> str:
        return f"ConnectionSettings({self.name!r}, {self.provider!r})"  # never the key (O-1.27)


def merged_fields(name: str, layers: Sequence[Layer]) -> dict[str, Any]:
    """The fields of one name, first layer strongest: host, manifest, source; below them the predeclared (O-1.2)."""
    made: dict[str, Any] = dict(PREDECLARED.get(name, {}))
    for layer in reversed(layers):
        made.update(layer.get(name, {}))
    return made


def resolve(name: str, layers: Sequence[Layer]) -> ConnectionSettings:
    """The settings of a connection; ConfigFailure when the host gave what the language refuses."""
    fields = merged_fields(name, layers)
    _check(name, fields)
    return ConnectionSettings(name, fields)


def resolve_all(layers: Sequence[Layer]) -> dict[str, ConnectionSettings]:
    names = dict.fromkeys([*PREDECLARED, *(name for layer in reversed(layers) for name in layer)])
    return {name: resolve(name, layers) for name in names}


def _check(name: str, fields: Fields) -> None:
    for field in fields:
        if field not in FIELDS:
            raise ConfigFailure("E4001", f"connection {name}: unknown field {field}")
    provider = fields.get("provider")
    if provider is None:
        raise ConfigFailure("E4002", f"connection {name}: provider is missing")
    row = PROVIDERS.get(provider) if text(provider) else None
    if row is None:
        known = ", ".join(PROVIDERS)
        raise ConfigFailure("E4004", f"connection {name}: unknown provider {_shown(provider)}; providers are {known}")
    if row.needs_base_url and not fields.get("base_url"):
        raise ConfigFailure("E4002", f"connection {name}: base_url is missing, which a {provider} provider needs")
    for field in CLIENT_FIELDS:
        if fields.get(field) is not None and not row.carries(field):
            raise ConfigFailure("E4006", f"connection {name}: {field} is not carried by {provider}")


def resolve_key(settings: ConnectionSettings, env: Mapping[str, str], redactor: Redactor, origin: Origin) -> str:
    """The key, read at the first request and trimmed; a failure names the variable, never a value (O-1.26, G-10.2)."""
    variable = settings.api_key_env
    key = (settings.api_key or (env.get(variable, "") if variable else "")).strip()
    if not key:
        if settings.row.stand_in_key is not None and variable is None:
            return settings.row.stand_in_key
        raise _missing(variable or "api_key", origin)
    _require_header_text(key, variable or "api_key", origin)
    redactor.add(key, variable or f"{settings.name}.api_key")
    return key


def resolve_headers(settings: ConnectionSettings, env: Mapping[str, str], redactor: Redactor, origin: Origin) -> dict[str, str]:
    """Extra request headers; those given as `{ env = "N" }` are secrets (O-1.13)."""
    made: dict[str, str] = {}
    for header, value in settings.headers.items():
        if isinstance(value, str):
            made[header] = value
            continue
        variable = value["env"]
        text = env.get(variable, "").strip()
        if not text:
            raise _missing(variable, origin)
        _require_header_text(text, variable, origin)
        redactor.add(text, variable)
        made[header] = text
    return made


def _missing(variable: str, origin: Origin) -> NotSent:
    return origin.not_sent(
        "ConnectionError",
        "MissingKey",
        f"environment variable {variable} is not set; set it, or run with --offline to use the offline provider",
    )


def _require_header_text(value: str, variable: str, origin: Origin) -> None:
    if not (value.isascii() and value.isprintable()):
        message = f"the value of {variable} holds characters a header cannot carry"
        raise origin.not_sent("ConnectionError", "AuthenticationFailed", message)


# ----------------------------------------------------------------
# Types and ranges of connection, model and decorator fields that were not checked by the compiler: those of a host, of a
# foreign
# image, and values computed when the program starts (O-0.1, O-0.4, E4001, E4004).
#
# Hands on `ConfigFailure`s that name the field.

if TYPE_CHECKING:
    Check = Callable[[Any], bool]

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
    "project": text, "headers": headers, "api": one_of("auto", *APIS), "unsupported": one_of("error", "drop"),
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
