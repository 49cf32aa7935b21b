"""What a served program is given besides the options of its sessions (S-1.1, S-1.3, S-1.7).

Hands on `Serving`, the settings with their bounds, to the other files of `serve/` and to `concerto mcp`, and `settings_of`, which
takes them out of the keyword arguments of `concerto.asgi`, to `asgi.py`; to the command `is_token`, and TOKEN, what one is. A new
setting is a field of `Serving` with a row in `RULES`, and a flag of `cli/serve.py` where the command has it. What a setting does
is decided by the file that reads it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..api.json_calls import KEY_SOURCE


@dataclass(frozen=True, slots=True)
class Serving:
    """How a program is served. None for a limit is no limit. Raises ValueError for a value that is not what its row of RULES
    says, for two callers with one token, and for one of `durable` and `store` without the other.

    `tokens`: bearer tokens by the name of the caller that has each; `authorize`: a function of the request (Starlette's) that
    returns who calls, as a name or as a mapping with `name` and further claims, or None for nobody; it may be awaitable. Without
    both every request is accepted. `approvers`: names of callers that see and answer the questions of all; others see those of
    their own calls. `hosts`: names that the header Host may have, None for any. `keys`: by parameter name where its value comes
    from, `header:NAME`, `claim:NAME` of `authorize`, `caller` or `session`; no body gives such a parameter. `session_of`: a
    function of the request that gives the name of its session, in place of the header Concerto-Session. `url`: the address under
    which others reach the service, as its agent card says it; None: the one that the request for the card was sent to.

    `body_bytes` of a request and `body_seconds` until it is there; `concurrent` calls run at once, `queue` more wait, each
    `queue_seconds` at most; `rate`: calls a second and caller, up to twice as many, and at least one, in a burst. `day_tokens`,
    `day_cost` (in dollars): of all calls of a caller in a day of UTC. `buffer_bytes`: how much of a stream is
    kept for a reader that lags or comes again; `linger_seconds`: how long a stream may be without a reader before its call is
    cancelled; `keep_seconds`: how long the end of a call is kept for a reader that comes again. `durable`: public functions whose
    calls are runs of `store`, a run store (a path, or a URL of PostgreSQL), so that they go on in another process and without a
    client. `sessions`: named sessions that are kept, 0: none, each call gets a new one; `session_seconds`: those that nobody used
    for so long are forgotten. `state`: a file that keeps budgets of the day, first answers and sessions across restarts."""

    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    authorize: Callable[[Any], Any] | None = None
    approvers: tuple[str, ...] = ()
    hosts: tuple[str, ...] | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    session_of: Callable[[Any], str | None] | None = None
    url: str | None = None
    body_bytes: int = 1 << 20
    body_seconds: float = 10.0
    concurrent: int = 512
    queue: int = 512
    queue_seconds: float = 10.0
    rate: float | None = None
    day_tokens: int | None = None
    day_cost: float | None = None
    buffer_bytes: int = 1 << 20
    linger_seconds: float = 5.0
    keep_seconds: float = 60.0
    sessions: int = 10_000
    session_seconds: float = 3600.0
    state: str | os.PathLike[str] | None = None
    durable: tuple[str, ...] = ()
    store: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for name, (holds, words) in RULES.items():
            value = getattr(self, name)
            if not holds(value):
                shown = f"of the type {type(value).__name__}" if name == "tokens" else repr(value)
                raise ValueError(f"{name} is {shown}; it is {words}")
        if len(set(self.tokens.values())) < len(self.tokens):
            raise ValueError("tokens: two callers have the same token")
        if bool(self.durable) != (self.store is not None):
            lacking = "store: name the run store" if self.durable else "durable: name the functions"
            raise ValueError(f"durable calls need both `durable` and `store` (--durable NAME, --store PLACE); {lacking}")

    @property
    def is_open(self) -> bool:
        """Whether nobody asks who calls."""
        return not self.tokens and self.authorize is None


def _whole(least: int) -> tuple[Callable[[Any], bool], str]:
    return lambda value: type(value) is int and value >= least, f"an int of at least {least}"


def _seconds(least: float) -> tuple[Callable[[Any], bool], str]:
    words = f"a number of at least {least:g}" if least else "a number of at least 0"
    return lambda value: type(value) in (int, float) and least <= value < float("inf"), words


def _texts(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(one, str) and one for one in value)


def _or_none(rule: tuple[Callable[[Any], bool], str]) -> tuple[Callable[[Any], bool], str]:
    holds, words = rule
    return lambda value: value is None or holds(value), f"{words}, or None"


def is_token(value: Any) -> bool:
    """Return whether a value may be a bearer token."""
    return isinstance(value, str) and len(value) >= LEAST_TOKEN and value.isascii() and value.isprintable() and " " not in value


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"https?://[^/\s][!-~]*", value) is not None


LEAST_TOKEN = 16  # characters: a shorter one is guessed
TOKEN = f"at least {LEAST_TOKEN} printable characters of ASCII without a space"
_FUNCTION = _or_none((callable, "a function of the request"))
_PLACE = _or_none((lambda value: isinstance(value, str | os.PathLike), "a path"))
_POSITIVE: tuple[Callable[[Any], bool], str] = (
    lambda value: type(value) in (int, float) and 0 < value < float("inf"), "a number above 0",
)  # fmt: skip
RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "tokens": (
        lambda value: isinstance(value, Mapping) and all(map(is_token, value.values())) and _texts(list(value)),
        f"a mapping of names to tokens, each {TOKEN}",
    ),
    "authorize": _FUNCTION,
    "approvers": (_texts, "a tuple of names of callers"),
    "hosts": _or_none((_texts, "a tuple of names")),
    "keys": (
        lambda value: isinstance(value, Mapping)
        and all(isinstance(k, str) and isinstance(s, str) and re.fullmatch(KEY_SOURCE, s) for k, s in value.items()),
        "a mapping of parameters to `header:NAME`, `claim:NAME`, `caller` or `session`",
    ),
    "session_of": _FUNCTION,
    "url": _or_none((_is_url, "an address of http or https")),
    "body_bytes": _whole(1),
    "body_seconds": _POSITIVE,
    "concurrent": _whole(1),
    "queue": _whole(0),
    "queue_seconds": _seconds(0),
    "rate": _or_none(_POSITIVE),
    "day_tokens": _or_none(_whole(1)),
    "day_cost": _or_none(_POSITIVE),
    "buffer_bytes": _whole(1024),
    "linger_seconds": _seconds(0),
    "keep_seconds": _seconds(0),
    "sessions": _whole(0),
    "session_seconds": _POSITIVE,
    "state": _PLACE,
    "durable": (_texts, "a tuple of names of public functions"),
    "store": _PLACE,
}  # fmt: skip
NAMES = tuple(one.name for one in fields(Serving))


def settings_of(options: dict[str, Any]) -> tuple[Serving, dict[str, Any]]:
    """Return the settings among keyword arguments, and the others, which are options of sessions. Raise ValueError for a setting
    that is not what it must be."""
    own = {name: value for name, value in options.items() if name in NAMES}
    return Serving(**own), {name: value for name, value in options.items() if name not in NAMES}
