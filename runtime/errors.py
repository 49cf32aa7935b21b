"""Failures of calls as data (O-1.117 to O-1.130): what the machine turns into error values.

Hands on: `CallFailure`, raised inside the runtime and ended at its boundary.
"""

from __future__ import annotations

from ..vm.declaration_fields import RETRY_CLASSES
from ..vm.values.errors import FOR_MODEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# The classes a retry policy may name (O-1.52).
RATE_LIMIT, SERVER, CONNECTION, TIMEOUT = RETRY_CLASSES

MESSAGE_LENGTH = 2000


class CallFailure(Exception):
    """An error value in the making: `kind`, `variant`, `message` and extra `fields` of plain data.

    `retry_class` is one of RETRY_CLASSES or None for what no retry can mend.
    """

    def __init__(self, kind: str, variant: str | None, message: str, retry_class: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.variant = variant
        self.message = message
        self.retry_class = retry_class
        self.fields = {name: value for name, value in fields.items() if value is not None}

    def exhausted(self, attempts: int) -> CallFailure:
        """The same failure after the last of several attempts (O-1.130)."""
        message = f"{self.message} ({attempts} attempts)"
        return CallFailure(self.kind, self.variant, message, self.retry_class, **self.fields)

    @property
    def panic_code(self) -> str:
        """The panic of a method of a memory that gives no Result (M-6.22)."""
        return "P451"

    @property
    def told(self) -> str:
        """The message as models, memories and emits have it (G-9.10)."""
        return str(self.fields.get(FOR_MODEL, self.message))

    @property
    def cause(self) -> str:
        """Which of the ends that `Record` stores this is (M-5.12); empty for none of them."""
        if self.variant == "ToolLoopLimit":
            return "tool_loop"
        if self.kind in ("SchemaError", "MemoryError"):
            return ""
        return "timeout" if self.kind == "TimeoutError" else "provider"

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "variant": self.variant, "message": self.message, **self.fields}


class Returned(CallFailure):
    """An error that a function of the program gave, which becomes that of the call as it is; `value` is its value."""

    def __init__(self, value: Any, for_model: str | None = None) -> None:
        super().__init__(value.family, value.variant, value.message, **{FOR_MODEL: for_model})
        self.value = value


class NotSent(CallFailure):
    """Found before anything left for the provider: it counts as no request and no retry can mend it."""


class ConfigFailure(Exception):
    """A setting given by manifest or host that the language refuses; `code` is that of section 11."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


# What a status means: kind, variant, class (O-1.123 to O-1.128).
STATUS: dict[int, tuple[str, str | None, str | None]] = {
    401: ("ConnectionError", "AuthenticationFailed", None),
    403: ("ConnectionError", "AuthenticationFailed", None),
    404: ("AgentError", "ModelNotFound", None),
    408: ("TimeoutError", None, TIMEOUT),
    429: ("AgentError", "RateLimited", RATE_LIMIT),
}
OTHER_CLIENT_STATUS: tuple[str, str | None, str | None] = ("AgentError", "InvalidRequest", None)
SERVER_STATUS: tuple[str, str | None, str | None] = ("ConnectionError", "ProviderUnavailable", SERVER)


class Origin:
    """Who a failure belongs to: the fields and the `MODEL: ` prefix every failure of one request shares."""

    __slots__ = ("model", "connection", "timeout")

    def __init__(self, model: str, connection: str, timeout: float) -> None:
        self.model = model
        self.connection = connection
        self.timeout = timeout

    def failure(self, kind: str, variant: str | None, message: str, retry_class: str | None = None, **fields: Any) -> CallFailure:
        if kind == "ConnectionError":
            fields["connection"] = self.connection
        if kind == "TimeoutError":
            fields.setdefault("timeout_seconds", self.timeout)
        text = f"{self.model}: {message[:MESSAGE_LENGTH]}"
        return CallFailure(kind, variant, text, retry_class, model=self.model, provider=self.connection, **fields)

    def not_sent(self, kind: str, variant: str, message: str) -> NotSent:
        made = self.failure(kind, variant, message)
        return NotSent(kind, variant, made.message, **made.fields)

    def of_status(self, status: int, message: str, retry_after_ms: int | None = None) -> CallFailure:
        other = SERVER_STATUS if status >= 500 else OTHER_CLIENT_STATUS
        kind, variant, retry_class = STATUS.get(status, other)
        return self.failure(kind, variant, message, retry_class, status=status, retry_after_ms=retry_after_ms)

    def redirected(self, status: int, place: str) -> CallFailure:
        """No request follows a redirect (G-8.6); `place` may be empty."""
        to = f" to {place}" if place else ""
        way = f"; if that is where the requests shall go, make it the base_url of connection {self.connection}" if place else ""
        message = f"the provider redirects{to} (status {status}), which calls do not follow{way}"
        return self.failure("ConnectionError", "ProviderUnavailable", message, status=status)

    def timed_out(self, limit: str | None = None, seconds: float | None = None, message: str = "") -> CallFailure:
        """`limit`: which of several limits ran out (O-1.212), with its seconds."""
        seconds = self.timeout if seconds is None else seconds
        fields = {"timeout_seconds": seconds, "limit": limit}
        return self.failure("TimeoutError", None, message or f"no reply within {seconds:g} s", TIMEOUT, **fields)

    def network(self, message: str) -> CallFailure:
        return self.failure("ConnectionError", "NetworkError", message, CONNECTION)

    def invalid_request(self, message: str) -> CallFailure:
        return self.failure("AgentError", "InvalidRequest", message)

    def invalid_response(self, message: str) -> CallFailure:
        return self.failure("AgentError", "InvalidResponse", message)

    def filtered(self, message: str) -> CallFailure:
        return self.failure("AgentError", "ContentFiltered", message)


# Libraries that only some programs need, and how somebody without them gets them.

DISTRIBUTION = "concerto-lang"


def install_advice(extra: str) -> str:
    """The command that installs what an extra lists, the libraries by their own names: it works whether Concerto came as a
    checkout or as a wheel. Where Concerto itself is not installed, the place that lists them."""
    required = _required(extra)
    if not required:
        return f"install what the extra `{extra}` in pyproject.toml lists"
    from shlex import quote

    return f"python -m pip install {' '.join(map(quote, required))}"


def _required(extra: str) -> list[str]:
    """The requirements of an extra, as the installed metadata has them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        rows = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    parts = (row.partition(";") for row in rows)
    return [name.strip() for name, _, marker in parts if marker.replace("'", '"').strip() == f'extra == "{extra}"']
