"""`std::http` (L-7.2). Payload: (method, url, body text or nil, headers as a dict, timeout in milliseconds)."""

from __future__ import annotations

from ...panics import Panic
from ...values.display import quote
from ...values.json import to_json
from ..guards import integer, table, text
from ..registry import std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Prepare = TypeVar("Prepare", bound=Callable[..., Any])

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD")
DEFAULT_TIMEOUT_MS = 30_000
RESULT = "Result<HttpResponse, HttpError>"


def _request(method: str, url: Any, body: Any, headers: Any, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> tuple[Any, ...]:
    """A String body goes as it is, any other than nil as JSON with its content type (L-7.2.3)."""
    sent = {text(name): text(value) for name, value in table(headers).items()}
    if body is not None and type(body) is not str:
        body = to_json(body)
        if not any(name.lower() == "content-type" for name in sent):
            sent["content-type"] = "application/json"
    return (method, text(url), body, sent, timeout_ms)


def _effect(signature: str, clause: str = "L-7.2.1") -> Callable[[Prepare], Prepare]:
    return std_effect("http", f"{signature} -> {RESULT}", effect="http", permission="net", clause=clause)


@_effect("get(url: String, headers: Map<String, String> = {})")
def get(url: Any, headers: Any) -> tuple[Any, ...]:
    """Sends a GET request; every HTTP status is Ok."""
    return _request("GET", url, None, headers)


@_effect("delete(url: String, headers: Map<String, String> = {})")
def delete(url: Any, headers: Any) -> tuple[Any, ...]:
    """Sends a DELETE request; every HTTP status is Ok."""
    return _request("DELETE", url, None, headers)


@_effect("post(url: String, body: Any = nil, headers: Map<String, String> = {})")
def post(url: Any, body: Any, headers: Any) -> tuple[Any, ...]:
    """Sends a POST request; every HTTP status is Ok."""
    return _request("POST", url, body, headers)


@_effect("put(url: String, body: Any = nil, headers: Map<String, String> = {})")
def put(url: Any, body: Any, headers: Any) -> tuple[Any, ...]:
    """Sends a PUT request; every HTTP status is Ok."""
    return _request("PUT", url, body, headers)


@_effect(
    "request(method: String, url: String, body: Any = nil, headers: Map<String, String> = {}, timeout_ms: Int = 30000)",
    "L-7.2.2",
)
def request(method: Any, url: Any, body: Any, headers: Any, timeout_ms: Any) -> tuple[Any, ...]:
    """Sends a request by any of GET, POST, PUT, DELETE, PATCH, HEAD; another method panics with P013."""
    if text(method).upper() not in METHODS:
        raise Panic("P013", f"method of `request` must be one of {', '.join(METHODS)}, not {quote(method[:40])}")
    if integer(timeout_ms) < 1:
        raise Panic("P013", f"timeout of `request` must be at least 1 ms, not {timeout_ms}")
    return _request(method.upper(), url, body, headers, timeout_ms)
