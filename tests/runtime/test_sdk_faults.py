"""What a call ends in when its provider fails: statuses, networks, timeouts, refusals (O-1.96 to O-1.105, O-1.123 to O-1.130)."""

import asyncio
import json

import httpx2
import pytest
from concerto.runtime.records import Msg, Request

from .sdk_wires import OK, Wire, all_wires, chat, responses


def status(wire, code, message, **headers):
    body = {"error": {"message": message, "type": "t"}}
    if wire == "anthropic":
        body = {"type": "error", **body}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(code, json=body, headers=names)


@all_wires
@pytest.mark.parametrize(
    ("code", "kind", "variant", "retry_class"),
    [
        (400, "AgentError", "InvalidRequest", None),
        (401, "ConnectionError", "AuthenticationFailed", None),
        (402, "AgentError", "InvalidRequest", None),
        (403, "ConnectionError", "AuthenticationFailed", None),
        (404, "AgentError", "ModelNotFound", None),
        (408, "TimeoutError", None, "timeout"),
        (409, "AgentError", "InvalidRequest", None),
        (413, "AgentError", "InvalidRequest", None),
        (422, "AgentError", "InvalidRequest", None),
        (429, "AgentError", "RateLimited", "rate_limit"),
        (500, "ConnectionError", "ProviderUnavailable", "server"),
        (503, "ConnectionError", "ProviderUnavailable", "server"),
        (504, "ConnectionError", "ProviderUnavailable", "server"),
        (529, "ConnectionError", "ProviderUnavailable", "server"),
    ],
)
def test_statuses(wire, code, kind, variant, retry_class):
    sender = Wire(wire, status(wire, code, "the provider says sk-secret no"))
    failure = sender.failure()
    assert (failure.kind, failure.variant, failure.retry_class) == (kind, variant, retry_class)
    assert failure.message == "m-1: the provider says <secret lab.api_key> no"
    assert failure.fields["status"] == code
    assert len(sender.seen) == 1  # the SDK retries nothing


@all_wires
def test_retry_after(wire):
    assert Wire(wire, status(wire, 429, "slow", retry_after="7")).failure().fields["retry_after_ms"] == 7000
    assert Wire(wire, status(wire, 429, "slow", retry_after_ms="70")).failure().fields["retry_after_ms"] == 70
    assert "retry_after_ms" not in Wire(wire, status(wire, 429, "slow")).failure().fields


@all_wires
def test_a_status_without_a_message(wire):
    failure = Wire(wire, httpx2.Response(503)).failure()
    assert failure.message == "m-1: HTTP status 503"
    plain = Wire(wire, httpx2.Response(502, text="Bad Gateway")).failure()
    assert plain.message == "m-1: Bad Gateway"


REASONS = [
    ([{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}], "API key not valid"),
    ({"detail": "Not authenticated"}, "Not authenticated"),
    ({"detail": [{"loc": ["body", "model"], "msg": "field required", "type": "missing"}]}, "field required"),
    ({"error": {"message": "inner"}, "message": "outer"}, "inner"),
    ({"error": "model 'x' not found"}, "model 'x' not found"),
    ({"error": {"code": 5, "details": [{"message": "deep"}]}, "message": "top"}, "top"),
    ({"errors": [[], {"message": ""}, {"msg": "  second  "}]}, "second"),
    ({"fault": {"faultstring": "Rate limit quota violation"}}, '{"fault":{"faultstring":"Rate limit quota violation"}}'),
    ("only a text", "only a text"),
    ({"message": "the key sk-secret is \udb40\udc41wrong"}, "the key <secret lab.api_key> is wrong"),
    ({}, "{}"),
    (b"<!DOCTYPE html>\n<html><head><title>501  Not\nhere</title></head><body><p>long</p></body></html>", "501 Not here"),
    (b"<html><body><center><h1>502 Bad Gateway</h1></center></body></html>", "502 Bad Gateway"),
    (b"<html><body>" + b"<p>" * 5000, "HTTP status 400 with a page of HTML"),
    (b"\xff\xfe no\n\n  text " + b"x" * 5000, "\ufffd\ufffd no text " + "x" * 289),
    (b"[" * 60000, "[" * 300),
    (b"x" * 292 + b" sk-secret and more", "x" * 292 + " <secret"),  # none is cut in half
    (b'{"why": "sk-\\u0073ecret"}', '{"why":"<secret lab.api_key>"}'),
    ({"error": {"message": "<html><title>504</title></html>"}}, "504"),
    (b"", "HTTP status 400"),
]


@all_wires
@pytest.mark.parametrize(("body", "said"), REASONS, ids=range(len(REASONS)))
def test_the_reason_of_an_error(wire, body, said):
    """G-15.5"""
    content = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    failure = Wire(wire, lambda request: httpx2.Response(400, content=content)).failure()
    page = "HTTP status 400 with a page of HTML: " if "<h1>" in str(body) or "<title>" in str(body) else ""
    assert failure.message == f"m-1: {page}{said}"


@all_wires
def test_a_failure_to_connect_names_the_place(wire):
    """G-15.6: the rest of the URL may be secret."""
    for url, place in (
        ("https://user:pw@box.example/secret?a=b", "box.example:443"), ("http://[::1]:8000/v1", "[::1]:8000"),
        ("http://box.example:81", "box.example:81"),
    ):  # fmt: skip
        failure = Wire(wire, raising(httpx2.ConnectError("All connection attempts failed")), base_url=url).failure()
        assert failure.message == f"m-1: connection failed to {place}: All connection attempts failed"


@all_wires
def test_an_address_that_is_none(wire):
    for url in ("box:8000/v1", "/v1", "ftp://box/v1"):
        sender = Wire(wire, OK[wire], base_url=url)
        sender.provider._http_client = None
        failure = sender.failure()
        assert (failure.variant, failure.retry_class) == ("InvalidRequest", None)
        assert failure.message == "m-1: base_url of connection lab does not begin with http:// or https://"


def raising(error):
    def answer(request):
        raise error

    return answer


@all_wires
@pytest.mark.parametrize(
    ("error", "kind", "variant"),
    [
        (httpx2.ConnectError("refused"), "ConnectionError", "NetworkError"),
        (httpx2.ReadError("reset"), "ConnectionError", "NetworkError"),
        (httpx2.RemoteProtocolError("peer closed"), "ConnectionError", "NetworkError"),
        (httpx2.ConnectTimeout("slow"), "ConnectionError", "NetworkError"),
        (httpx2.ReadTimeout("slow"), "TimeoutError", None),
        (httpx2.PoolTimeout("slow"), "TimeoutError", None),
    ],
)
def test_network_faults(wire, error, kind, variant):
    sender = Wire(wire, raising(error))
    failure = sender.failure()
    assert (failure.kind, failure.variant) == (kind, variant)
    assert failure.retry_class == ("timeout" if variant is None else "connection")
    assert len(sender.seen) == 1


@all_wires
def test_a_body_that_breaks_off(wire):
    async def pieces():
        yield b'{"choices": ['
        raise httpx2.RemoteProtocolError("incomplete body")

    failure = Wire(wire, lambda request: httpx2.Response(200, content=pieces())).failure()
    assert (failure.variant, failure.retry_class) == ("NetworkError", "connection")


@all_wires
def test_the_timeout_covers_the_whole_request(wire):
    async def slow():
        while True:
            await asyncio.sleep(0.02)
            yield b" "

    failure = Wire(wire, lambda request: httpx2.Response(200, content=slow())).failure(timeout=0.3)
    assert (failure.kind, failure.fields["timeout_seconds"]) == ("TimeoutError", 0.3)
    assert failure.message == "m-1: no reply within 0.3 s"


@all_wires
def test_cancelling_is_no_failure(wire):
    async def run():
        sender = Wire(wire, lambda request: asyncio.sleep(30))
        request = Request(id="r", connection="lab", model="m", messages=[Msg("user", "x")])
        task = asyncio.create_task(sender.provider.send(request))
        while not sender.seen:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await sender.provider.aclose()

    asyncio.run(run())


def test_whatever_the_sdk_refuses_is_an_error_value():
    sender = Wire("chat", chat())
    failure = sender.failure(params={"temperature": object()})
    assert failure.variant == "InvalidRequest"
    assert "openai refuses the request" in failure.message


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    failure = Wire("chat", chat()).failure()
    assert (failure.kind, failure.variant) == ("ConnectionError", "ProviderUnavailable")
    assert "openai" in failure.message


def refuses_temperature(wire):
    def answer(request):
        if "temperature" not in json.loads(request.content):
            return OK[wire]
        if wire == "anthropic":
            return status(wire, 400, "temperature: Extra inputs are not permitted")
        error = {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"}
        return httpx2.Response(400, json={"error": error})

    return answer


@all_wires
def test_a_parameter_the_model_refuses(wire):
    failure = Wire(wire, refuses_temperature(wire)).failure(params={"temperature": 0.2})
    assert failure.variant == "InvalidRequest"
    sender = Wire(wire, refuses_temperature(wire), unsupported="drop")
    reply = sender.send(params={"temperature": 0.2})
    assert (reply.text, reply.notes) == ("hello", ["temperature is refused by m-1"])
    assert len(sender.seen) == 2


def test_a_parameter_the_wire_has_no_place_for():
    sender = Wire("responses", responses(), unsupported="drop")
    assert sender.send(params={"stop": ["x"]}).notes == ["stop_sequences is not carried by the Responses API"]
    failure = Wire("responses", responses()).failure(params={"stop": ["x"]})
    assert failure.variant == "InvalidRequest"
