"""Failures of calls as exceptions (O-1.117 to O-1.130), and the library that a program lacks.

Hands on `CallFailure`, which is raised anywhere in the runtime; the performer of an effect turns it into an error value of the
language (`records.py: failed`). `NotSent` is one of a request that never left, `Returned` one that carries such a value. `Origin`
makes the failures of one request: which status means which error is in the tables above it. `ConfigFailure` is a wrong setting,
found before the run or when what it is for is first used; the command line, batches and the Python API report it. Hands on the
classes of failures (RATE_LIMIT, SERVER, CONNECTION and TIMEOUT) to calls, agents, their performer and `breaker.py`,
`install_advice` and `package_advice` to what needs such a library, in other rooms too, and MESSAGE_LENGTH to who keeps messages
of others. None of the functions raises. Failures of memories are `memory/failures.py: MemoryFailure`, a CallFailure too. Nothing
here retries or logs.
"""

from __future__ import annotations

from ..vm.declaration_fields import RETRY_CLASSES
from ..vm.values.errors import FOR_MODEL
from ..vm.values.text import cut_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


# The classes a retry policy may name (O-1.52).
RATE_LIMIT, SERVER, CONNECTION, TIMEOUT = RETRY_CLASSES

# Failures that no retry mends, after which another model may still give an answer: their word of `fallback_on` (O-1.230).
FALLBACK_VARIANTS: dict[tuple[str, str | None], str] = {
    ("AgentError", "ModelNotFound"): "not_found",
    ("AgentError", "ContentFiltered"): "refusal",
    ("SchemaError", "MaxRetriesExceeded"): "schema",
    ("ConnectionError", "Open"): "open",
}

MESSAGE_LENGTH = 2000  # code points of a message that others wrote: more of it is cut


class CallFailure(Exception):
    """The error of a call: its family `kind`, `variant` (None where it has none), `message`, and further `fields` of plain data;
    one that is None is left out.

    `retry_class` is one of RETRY_CLASSES, None when no retry can mend it."""

    def __init__(self, kind: str, variant: str | None, message: str, retry_class: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.variant = variant
        self.message = message
        self.retry_class = retry_class
        self.fields = {name: value for name, value in fields.items() if value is not None}

    @property
    def fallback_class(self) -> str | None:
        """The word of `fallback_on` that the failure falls under (O-1.230), "open" for a breaker that lets nothing through; None
        when no other model is asked."""
        return self.retry_class or FALLBACK_VARIANTS.get((self.kind, self.variant))

    def after(self, models: Sequence[str]) -> CallFailure:
        """Return a copy, a plain CallFailure, whose message ends with the names of the models that were asked, of which the last
        one has failed so (O-1.230)."""
        message = f"{self.message} (models tried: {', '.join(models)})"
        return CallFailure(self.kind, self.variant, message, self.retry_class, **self.fields)

    def exhausted(self, attempts: int) -> CallFailure:
        """Return a copy, a plain CallFailure, with the number of attempts in its message; it is for a failure that no further
        attempt follows (O-1.130)."""
        message = f"{self.message} ({attempts} attempts)"
        return CallFailure(self.kind, self.variant, message, self.retry_class, **self.fields)

    @property
    def panic_code(self) -> str:
        """The code of the panic that this becomes in a method of a memory without a Result (M-6.22)."""
        return "P451"

    @property
    def model_message(self) -> str:
        """The message for models, memories and emits (G-9.10): that of the program may hold more."""
        return str(self.fields.get(FOR_MODEL, self.message))

    @property
    def cause(self) -> str:
        """How the turn ended, in the words by which the policy `Record` knows what to store (M-5.12): "tool_loop", "timeout",
        empty for a failure of schema or memory, of which it stores nothing, or "provider" for any other."""
        if self.variant == "ToolLoopLimit":
            return "tool_loop"
        if self.kind in ("SchemaError", "MemoryError"):
            return ""
        return "timeout" if self.kind == "TimeoutError" else "provider"


class Returned(CallFailure):
    """An error value that a function of the program has returned: `value` becomes the error of the call as it is. `for_model` is
    what models are told of it, None for its message."""

    def __init__(self, value: Any, for_model: str | None = None) -> None:
        super().__init__(value.family, value.variant, value.message, **{FOR_MODEL: for_model})
        self.value = value


class NotSent(CallFailure):
    """A failure before anything was sent to the provider: it counts as no request, and no retry can mend it."""


class ConfigFailure(Exception):
    """A setting of the program, the manifest or the host that the language refuses; `code` is its diagnostic, such as E4001, and
    `message` says for a reader what is wrong."""

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
    """Makes the failures of one request: they share the model, the connection and the prefix `MODEL: ` of the message.
    `timeout` is in seconds."""

    __slots__ = ("model", "connection", "timeout")

    def __init__(self, model: str, connection: str, timeout: float) -> None:
        self.model = model
        self.connection = connection
        self.timeout = timeout

    def failure(self, kind: str, variant: str | None, message: str, retry_class: str | None = None, **fields: Any) -> CallFailure:
        """Return a failure with `fields` and those that its kind always has. Its message is the model's name and `message`, which
        is cut to MESSAGE_LENGTH code points; `retry_class` is one of the classes above, None for what is not retried."""
        if kind == "ConnectionError":
            fields["connection"] = self.connection
        if kind == "TimeoutError":
            fields.setdefault("timeout_seconds", self.timeout)
        text = f"{self.model}: {cut_to(message, MESSAGE_LENGTH)}"
        return CallFailure(kind, variant, text, retry_class, model=self.model, provider=self.connection, **fields)

    def not_sent(self, kind: str, variant: str, message: str, **fields: Any) -> NotSent:
        """Return the failure of a request that was not sent, made as by `failure`."""
        failure = self.failure(kind, variant, message, **fields)
        return NotSent(kind, variant, failure.message, **failure.fields)

    def of_status(
        self, status: int, message: str, retry_after_ms: int | None = None, meaning: int | None = None
    ) -> CallFailure:
        """Return the failure that an HTTP status of 400 or more means. `retry_after_ms` is how many milliseconds the server asks
        to wait, None when it does not say; `meaning` is a status that this one stands for, if it does not mean itself."""
        meant = status if meaning is None else meaning
        other = SERVER_STATUS if meant >= 500 else OTHER_CLIENT_STATUS
        kind, variant, retry_class = STATUS.get(meant, other)
        return self.failure(kind, variant, message, retry_class, status=status, retry_after_ms=retry_after_ms)

    def redirected(self, status: int, place: str) -> CallFailure:
        """Return the failure for a redirect, which no request follows (G-8.6). `place` is where it leads, empty if unknown."""
        to = f" to {place}" if place else ""
        way = f"; if that is where the requests shall go, make it the base_url of connection {self.connection}" if place else ""
        message = f"the provider redirects{to} (status {status}), which calls do not follow{way}"
        return self.failure("ConnectionError", "ProviderUnavailable", message, status=status)

    def timed_out(self, limit: str | None = None, seconds: float | None = None, message: str = "") -> CallFailure:
        """Return the failure for a time limit that ran out; `limit` names it where there are several (O-1.212), `seconds` says
        how long it was, None for the `timeout` of the origin. `message` stands in place of the usual one unless it is empty."""
        seconds = self.timeout if seconds is None else seconds
        fields = {"timeout_seconds": seconds, "limit": limit}
        return self.failure("TimeoutError", None, message or f"no reply within {seconds:g} s", TIMEOUT, **fields)

    def network(self, message: str) -> CallFailure:
        """Return the failure of a connection that cannot be made, or breaks."""
        return self.failure("ConnectionError", "NetworkError", message, CONNECTION)

    def invalid_request(self, message: str) -> CallFailure:
        """Return the failure of a request that the provider cannot take."""
        return self.failure("AgentError", "InvalidRequest", message)

    def invalid_response(self, message: str) -> CallFailure:
        """Return the failure of an answer that is no reply."""
        return self.failure("AgentError", "InvalidResponse", message)

    def filtered(self, message: str) -> CallFailure:
        """Return the failure of a reply that the provider or the model refuses to give."""
        return self.failure("AgentError", "ContentFiltered", message)


DISTRIBUTION = "concerto-lang"


def install_advice(extra: str) -> str:
    """Return how to install the libraries of an extra, which only some programs need, as part of a sentence.

    It is a command with the libraries' own names, which works for a checkout as well as a wheel. When Concerto itself is not
    installed, or knows no such extra, it is the place that lists them."""
    required = _required(extra)
    return _command(required) if required else f"install what the extra `{extra}` in pyproject.toml lists"


def package_advice(package: str) -> str:
    """Return how to install one package that Concerto depends on, as part of a sentence: an install without dependencies
    (`pip install --no-deps`) may lack it. The command names the versions where the metadata does."""
    import re

    rows = (row for row in _required("") if re.split(r"[^\w.-]", row, maxsplit=1)[0].lower() == package)
    return _command([next(rows, package)])


def _command(requirements: list[str]) -> str:
    from shlex import quote

    return f"python -m pip install {' '.join(map(quote, requirements))}"


def _required(extra: str) -> list[str]:
    """Return the requirements of an extra, for "" those of every install, as the installed metadata has them; none when Concerto
    is not installed."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        rows = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    parts = (row.partition(";") for row in rows)
    wanted = f'extra == "{extra}"' if extra else ""
    return [name.strip() for name, _, marker in parts if marker.replace("'", '"').strip() == wanted]
