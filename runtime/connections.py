"""Connections: the merge of their declarations, their keys and headers, and checks of what no compiler has seen (O-1.1 to
O-1.28, O-1.283 to O-1.288).

Hands on `ConnectionSettings` to calls, providers, most of `runtime/` and `concerto models`, and to `agents/calls.py`, which makes
one; `resolve_all`, `check_connections`, `check_names`, `check_stages`, `check_externs` and `stated_connections` to the session,
the first two to `concerto inspect` too; `resolve` and `check_connections` to `concerto models`; `check_model`, `check_fields`,
`check_decorators` and `stated_fields` to the settings of models, agents, MCP servers and scripted replies; `resolve_key` and
`resolve_headers` to the providers that use an SDK; `ProcessEnvironment` to the command line and the Python API, which make it,
and to `providers/cloud_accounts.py`, which asks for it; and to that also OFFLINE, an advice in messages. The fields that a
connection, a model or a decorator takes are rows in `vm/declaration_fields.py`; providers are rows in `vm/providers.py`.
"""

from __future__ import annotations

from functools import partial

from ..vm.declaration_fields import (
    CONNECTION,
    DECORATORS,
    MODEL,
    NAMES,
    TOOLS,
    WITH_UNIT,
    as_held,
    hosted_fault,
    is_text,
    named,
    stated,
    twice,
)
from ..vm.providers import PREDECLARED, PROVIDERS, two_accounts
from ..vm.values.text import cut_to
from .errors import ConfigFailure, NotSent, Origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..vm.bytecode.image import Extern, Pipeline
    from ..vm.declaration_fields import Field
    from ..vm.providers import ProviderRow
    from .access.secrets import Redactor
    from .records import Timeout

    Fields = Mapping[str, Any]
    Layer = Mapping[str, Fields]


NO_VARIABLES: Mapping[str, str] = {}
# Fields that a provider which does not carry them refuses. Other such fields have no effect: a host may put another provider in
# place of the one that the program names.
CLIENT_FIELDS = ("organization", "project")


class ProcessEnvironment(dict[str, str]):
    """The variables of the process, perhaps with others. A run that has them may use what else this machine has of its user, such
    as files with credentials (O-1.288); one whose host gives it other variables may not."""


class ConnectionSettings:
    """A connection with every default filled in; `resolve` makes it of fields that it has checked. Keys that stand in variables
    of the environment are not in it. `row` is that of its provider; `names_key` says whether the connection itself names its key;
    `given` has by field the variable of the environment that gave its value (O-1.287). `timeout` is in seconds, or has several
    limits in seconds by name (O-1.212), None when the connection sets none. The other attributes are the fields of CONNECTION in
    `vm/declaration_fields.py`, None where nobody gives one and it has no default; `api_key_env`, `api` and `base_url` are those
    of the provider where the connection does not say them. `models` maps aliases to ids of models;
    `media_bytes` is the most of media in one request, `media_tokens` what one Media counts whose tokens nobody knows;
    `unsupported` says whether a field that the provider does not carry is an "error", or is left out ("drop")."""

    __slots__ = ("name", "row", "names_key", "given", *CONNECTION)

    name: str
    row: ProviderRow
    names_key: bool
    given: Mapping[str, str]
    provider: str
    api_key: str | None
    api_key_env: str | None
    base_url: str | None
    default_model: str | None
    models: Mapping[str, str]
    retry: Mapping[str, Any] | None
    timeout: Timeout | None
    rate_limit: Mapping[str, int] | None
    breaker: Mapping[str, Any] | None
    organization: str | None
    project: str | None
    region: str | None
    api_version: str | None
    profile: str | None
    auth: str | None
    headers: Mapping[str, Any]
    api: str
    unsupported: str
    structured: str
    cache_prompt: bool | str | None
    media_bytes: int
    media_tokens: int
    replies: Sequence[Any] | None
    extra: Mapping[str, Any]

    def __init__(self, name: str, fields: Fields, env: Mapping[str, str] = NO_VARIABLES) -> None:
        self.name = name
        self.row = PROVIDERS[fields["provider"]]
        for field, row in CONNECTION.items():
            value = fields.get(field)
            setattr(self, field, row.default if value is None else value)  # nil is as if it was not there
        self.given = {}
        for field, variables in self.row.variables.items():
            variable = next((variable for variable in variables if env.get(variable, "").strip()), None)
            if getattr(self, field) is None and variable is not None:
                setattr(self, field, env[variable].strip())
                self.given = {**self.given, field: variable}
        self.names_key = bool(self.api_key or self.api_key_env)
        self.api_key_env = self.api_key_env or self.row.key_variable
        self.api = self.row.api(self.api, self.base_url)
        self.base_url = self.base_url or self.row.address(self.region)

    def model_id(self, base: str | None) -> str | None:
        """Return the model id that a request names: `base` or the connection's default, with aliases replaced (O-1.9, O-1.36);
        None when there is neither."""
        name = base or self.default_model
        return None if name is None else self.models.get(name, name)

    @property
    def secret_variables(self) -> tuple[str, ...]:
        """Return the variables that the connection may read its key or its credentials from, without those of its headers; of one
        that names its key `api_key_env` alone, if there is one; none of one with a profile."""
        if self.names_key:
            return () if self.api_key_env is None else (self.api_key_env,)
        return () if self._has_profile else (*self.row.key_variables, *(self.row.account or ()))

    @property
    def _has_profile(self) -> bool:
        return self.profile is not None and self.row.carries("profile")

    def key_variable(self, env: Mapping[str, str]) -> str | None:
        """Return the variable of the key: `api_key_env` where the connection names its key, else the first of the provider's that
        is set, else its last one; where the provider has one for a token too, a field `auth` leaves only those of its kind. None
        where there is none, or where a profile stands in place of it."""
        if self.names_key:
            return self.api_key_env
        if self._has_profile:
            return None
        variables = self.row.key_variables
        if self.row.token_variable is not None and self.auth is not None:
            variables = (self.row.token_variable,) if self.auth == "token" else variables[1:]
        return next((name for name in variables if env.get(name, "").strip()), variables[-1] if variables else None)

    def sends_token(self, env: Mapping[str, str]) -> bool:
        """Return whether the key is a token, which stands elsewhere in a request (O-1.286)."""
        if self.auth is not None or self.names_key:
            return self.auth == "token"
        return self.row.token_variable is not None and self.key_variable(env) == self.row.token_variable

    @property
    def address(self) -> str:
        """Return host and port of the base URL, for messages: a URL may hold more than everybody should see. It returns words
        that say so when the URL is missing, or has no host or port (that of http and https need not be written)."""
        from urllib.parse import urlsplit  # a run without failures starts without it

        if self.base_url is None:
            return "a base_url that is missing"
        try:
            parts = urlsplit(self.base_url)
            host, port = parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        except ValueError:
            host = port = None
        if not host or port is None:
            return "a base_url that is no URL"
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def __repr__(self) -> str:
        return f"ConnectionSettings({self.name!r}, {self.provider!r})"  # never the key (O-1.27)


def merged_fields(name: str, layers: Sequence[Layer]) -> dict[str, Any]:
    """Return the fields of one connection by name, unchecked; an empty dict for one that nobody declares. A layer has fields by
    connection; the first layer is the strongest: host, then program. The predeclared fields are weaker than any layer (O-1.2)."""
    fields: dict[str, Any] = dict(PREDECLARED.get(name, {}))
    for layer in reversed(layers):
        fields.update(layer.get(name, {}))
    return fields


def resolve(name: str, layers: Sequence[Layer], env: Mapping[str, str] = NO_VARIABLES) -> ConnectionSettings:
    """Return the settings of one connection; `layers` are as in `merged_fields`, `env` has the variables that may give what they
    leave out. Raises ConfigFailure for unknown fields (E4001), for a provider that is missing (E4002), unknown (E4004), or does
    not carry a field (E4006), for a `base_url` that it needs (E4002), and for two fields that each say who asks (E4001). Whether
    values fit is checked by `check_connections`, which has to be called first; what variables give, by `resolve_key`."""
    fields = merged_fields(name, layers)
    _check(name, fields)
    return ConnectionSettings(name, fields, env)


def resolve_all(layers: Sequence[Layer], env: Mapping[str, str] = NO_VARIABLES) -> dict[str, ConnectionSettings]:
    """Return the settings of all connections by name, the predeclared ones too. Raises ConfigFailure as `resolve`."""
    declared = {name for layer in layers for name in layer}
    settings = {name: resolve(name, layers, env) if name in declared else _undeclared(name, env) for name in PREDECLARED}
    for layer in reversed(layers):
        settings.update({name: resolve(name, layers, env) for name in layer if name not in settings})
    return settings


UNDECLARED: dict[str, ConnectionSettings] = {}  # those of predeclared connections that nobody declares and no variable tells of


def _undeclared(name: str, env: Mapping[str, str]) -> ConnectionSettings:
    """Return the settings of a predeclared connection that nobody declares: made once, which spares each session most of them."""
    row = PROVIDERS[str(PREDECLARED[name]["provider"])]
    if env and any(variable in env for variables in row.variables.values() for variable in variables):
        return resolve(name, (), env)
    if name not in UNDECLARED:
        UNDECLARED[name] = resolve(name, ())
    return UNDECLARED[name]


def _check(name: str, fields: Fields) -> None:
    for field in fields:
        if field not in CONNECTION:
            raise ConfigFailure("E4001", f"connection {name}: unknown field {field}")
    provider = fields.get("provider")
    if provider is None:
        raise ConfigFailure("E4002", f"connection {name}: provider is missing")
    row = PROVIDERS.get(provider) if is_text(provider) else None
    if row is None:
        names = ", ".join(PROVIDERS)
        raise ConfigFailure("E4004", f"connection {name}: unknown provider {_shown(provider)}; providers are {names}")
    if row.needs_base_url and not fields.get("base_url"):
        raise ConfigFailure("E4002", f"connection {name}: base_url is missing, which a {provider} provider needs")
    for field in CLIENT_FIELDS:
        if fields.get(field) is not None and not row.carries(field):
            raise ConfigFailure("E4006", f"connection {name}: {field} is not carried by {provider}")
    two = two_accounts(row, fields)
    if two is not None:
        raise ConfigFailure("E4001", f"connection {name}: {two[0]} and {two[1]} each say who asks; keep one of them")


def resolve_key(settings: ConnectionSettings, env: Mapping[str, str], redactor: Redactor, origin: Origin) -> str:
    """Return the key of a connection, trimmed, and make it known to the redactor. It is to be read at the first request, not
    before. A provider that needs no key may have a stand-in for it (`ProviderRow.stand_in_key`); "" where the credentials of an
    account stand in its place (`ProviderRow.account`).

    Raises NotSent, made by `origin`, when there is no key, or when no header can carry it, and for a field that the provider
    needs and that nothing gives; the failure must name the variable, never a value (O-1.26, G-10.2)."""
    _require_complete(settings, origin)
    variable = settings.key_variable(env)
    key = (settings.api_key or (env.get(variable, "") if variable else "")).strip()
    if not key:
        if settings.row.account is not None and not settings.names_key:
            return ""
        if settings.row.stand_in_key is not None and variable is None:
            return settings.row.stand_in_key
        raise _missing(variable or "api_key", origin)
    _require_header_text(key, variable or "api_key", origin)
    # The name of a variable is of its value alone: a snapshot gives that for it.
    redactor.add(key, f"{settings.name}.api_key" if settings.api_key or variable is None else variable)
    return key


def resolve_headers(settings: ConnectionSettings, env: Mapping[str, str], redactor: Redactor, origin: Origin) -> dict[str, str]:
    """Return the extra request headers by name. Values from `{ env = "N" }` are trimmed, and become known to the redactor as
    secrets (O-1.13). Raises NotSent, as `resolve_key`, for a variable that is not set or that no header can carry, and for a
    header, or a field that goes into one, that holds what none can."""
    from .access.http_messages import ascii_text, is_token  # a run that sends nothing starts without it

    headers: dict[str, str] = {}
    for field in CLIENT_FIELDS:
        if settings.row.carries(field):
            _require_header_text(getattr(settings, field) or "", f"{field} of connection {settings.name}", origin)
    for header, value in settings.headers.items():
        if not is_token(header):
            message = f"connection {settings.name}: {ascii_text(header)!r} is no name of a header"
            raise origin.not_sent("ConnectionError", "ProviderUnavailable", message)
        if isinstance(value, str):
            _require_header_text(value, f"the header {header} of connection {settings.name}", origin)
            headers[header] = value
            continue
        variable = value["env"]
        text = env.get(variable, "").strip()
        if not text:
            raise _missing(variable, origin)
        _require_header_text(text, variable, origin)
        redactor.add(text, variable)
        headers[header] = text
    return headers


def _require_complete(settings: ConnectionSettings, origin: Origin) -> None:
    """Raise NotSent for a field that the provider needs and nothing gives, and for a variable whose value it does not take
    (O-1.287)."""
    row = settings.row
    for field, variable in settings.given.items():
        if not CONNECTION[field].takes(getattr(settings, field)):
            message = f"the value of {variable} is not taken as `{field}`, which is {CONNECTION[field].says}"
            raise origin.not_sent("ConnectionError", "ProviderUnavailable", message)
    for field in row.needs:
        if getattr(settings, field) is None:
            message = f"connection {settings.name} lacks `{field}`: write it, or set {' or '.join(row.variables[field])}"
            raise origin.not_sent("ConnectionError", "ProviderUnavailable", message)


# The way out for whoever has no key, on the command line and in Python.
OFFLINE = "or run with --offline (in Python offline=True) to use the offline provider"


def _missing(variable: str, origin: Origin) -> NotSent:
    return origin.not_sent("ConnectionError", "MissingKey", f"environment variable {variable} is not set; set it, {OFFLINE}")


def _require_header_text(value: str, variable: str, origin: Origin) -> None:
    if not (value.isascii() and value.isprintable()):
        message = f"the value of {variable} holds characters a header cannot carry"
        raise origin.not_sent("ConnectionError", "AuthenticationFailed", message)


# Fields and decorators that no compiler has checked: those of a host, of a foreign image, and values computed when the
# program starts (O-0.1, O-0.4, E4001, E4004).

NO_FORMS: Mapping[str, str] = {}
# What an image and a run hold in the fields of a model; what it names by them stands elsewhere.
MODEL_VALUES = {name: field for name, field in MODEL.items() if field.kind != NAMES}


def check_fields(
    owner: str, fields: Mapping[str, Any], table: Mapping[str, Field], forms: Mapping[str, str] = NO_FORMS
) -> None:
    """Raise ConfigFailure E4001 for an unknown field, also in an object that is a value, E4004 for a value that a field does not
    take; nil counts as absent, but not in such an object.

    `owner` begins the message. `table` has the fields that there are by name. `forms` says how the value of a field is written,
    where its description in the table does not tell."""
    for name, value in fields.items():
        if name not in table:
            raise ConfigFailure("E4001", f"{owner}: unknown field {name}; fields are {', '.join(table)}")
        if value is not None and not table[name].takes(value):
            raise _refused(owner, name, value, table[name], forms.get(name))


def _refused(owner: str, name: str, value: Any, field: Field, form: str | None) -> ConfigFailure:
    """Return the failure for a value; of an object it names the part that is wrong."""
    if field.parts is not None and type(value) is dict:
        for inner, part in value.items():
            if inner not in field.parts:
                names = ", ".join(field.parts)
                return ConfigFailure("E4001", f"{owner}: {name} has no field {inner}; fields are {names}")
            if not field.parts[inner].takes(part):
                return _refused(owner, f"{inner} of {name}", part, field.parts[inner], None)
    fault = hosted_fault(value) if field.kind == TOOLS else None
    takes = fault[2] if fault is not None else f"it is {field.says}" if form is None else f"write {form}"
    return ConfigFailure("E4004", f"{owner}: {name} does not take {_shown(value)}; {takes}")


def _shown(value: Any) -> str:
    """Return a value as at most 80 characters of JSON, in which programs and scripts are written; one that JSON does not have, as
    Python writes it, or its class."""
    import json  # a run that refuses nothing starts without it

    writers: tuple[Callable[[Any], str], ...] = (partial(json.dumps, ensure_ascii=False, default=str), repr)
    for write in writers:
        try:
            return cut_to(write(value), 80)
        except Exception:  # a key that is no text, an object in itself or nested too deeply, a class of the host's own
            continue
    return type(value).__name__


def check_names(host_fields: Mapping[str, Any], declared: Mapping[str, Any]) -> None:
    """Raise ConfigFailure E4003 for a connection of the host that the program lacks, if it has one of nearly that name.

    Then the name is misspelt and the fields would have no effect. Other names may be meant for other programs."""
    for name in host_fields:
        if name not in declared and name not in PREDECLARED:
            import difflib  # a run whose names are right starts without it

            for near in difflib.get_close_matches(name, list(declared), n=1, cutoff=0.8):
                raise ConfigFailure("E4003", f"the program has no connection {name}; did you mean {near}?")


def check_connections(layers: list[Mapping[str, Mapping[str, Any]]]) -> None:
    """Raise ConfigFailure as `check_fields` for fields of connections that do not fit, and E4004 for a connection whose fields
    are no object. `layers` are as in `merged_fields`."""
    for layer in layers:
        for name, fields in layer.items():
            if not isinstance(fields, dict):
                raise ConfigFailure("E4004", f"connection {name}: fields expected")
            check_fields(f"connection {name}", fields, CONNECTION)


def stated_fields(owner: str, fields: Mapping[str, Any], table: Mapping[str, Field]) -> dict[str, Any]:
    """Return the fields that a host gives, each under the name that it has in `table`, durations as numbers. Raises ConfigFailure
    E4001 for two names that say the same, and E4004 for a duration that is none; whether other values fit is for
    `check_fields`."""
    two = twice(table, fields)
    if two is not None:
        raise ConfigFailure("E4001", f"{owner}: {two[0]} and {two[1]} say the same; keep one of them")
    for name, value in fields.items():
        own, as_duration = named(table, name) or (name, False)
        if as_duration and (type(value) is not str or as_held(table[own], value, True) == value):
            raise ConfigFailure("E4004", f"{owner}: {name} does not take {_shown(value)}; it is {WITH_UNIT}")
        if own in table and table[own].parts is not None and type(value) is dict:
            stated_fields(f"{owner}: {name}", value, table[own].parts or {})
    return stated(table, fields)


def stated_connections(layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the connections that a host gives, each as `stated_fields` does, which raises; what is no object stays, to be
    refused by `check_connections`."""
    return {
        name: stated_fields(f"connection {name}", fields, CONNECTION) if isinstance(fields, dict) else fields
        for name, fields in layer.items()
    }


def check_model(name: str, fields: Mapping[str, Any], decorators: Mapping[str, Any]) -> None:
    """Raise ConfigFailure, as `check_fields` and `check_decorators`, for fields or decorators of a model that do not fit."""
    check_fields(f"model {name}", fields, MODEL_VALUES)
    check_decorators(f"model {name}", "model", decorators)


def check_stages(pipelines: Sequence[Pipeline]) -> None:
    """Raise ConfigFailure, as `check_decorators`, for decorators of stages that do not fit."""
    for pipeline in pipelines:
        for name, _, _, decorators, _ in pipeline.stages:
            check_decorators(f"pipeline {pipeline.name}: stage {name}", "stage", dict(decorators))


def check_externs(externs: Sequence[Extern]) -> None:
    """Raise ConfigFailure, as `check_decorators`, for decorators of functions of Python that do not fit."""
    for extern in externs:
        check_decorators(f"fn {extern.name}", "extern fn", dict(extern.decorators))


def check_decorators(owner: str, place: str, decorators: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise ConfigFailure for decorators that `place` (model, agent, stage or extern fn) does not have (E4001), or whose
    arguments do not fit (as `check_fields`); `decorators` has the arguments by decorator, `owner` begins the message.

    Their arguments are constants, so nil is refused, and a decorator may need one of them (E4009)."""
    for decorator, arguments in decorators.items():
        row = DECORATORS.get(decorator)
        if row is None or place not in row.places:
            raise ConfigFailure("E4001", f"{owner}: unknown decorator @{decorator}")
        check_fields(f"{owner}: @{decorator}", arguments, row.arguments_at(place))
        if None in arguments.values():
            raise ConfigFailure("E4009", f"{owner}: @{decorator} does not take nil")
        if row.required is not None and row.required not in arguments:
            raise ConfigFailure("E4009", f"{owner}: @{decorator} needs {row.required}")
