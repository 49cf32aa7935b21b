"""What a call ends in when its provider fails: statuses, networks, timeouts, refusals (O-1.96 to O-1.105, O-1.123 to O-1.130)."""

import asyncio
import json

import httpx2
import pytest
from concerto.runtime.records import Msg, Request

from .sdk_wires import OK, WIRES, Wire, all_wires, chat, responses


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
    assert failure.message == "m-1: the provider says <secret OPENAI_API_KEY> no".replace(
        "OPENAI_API_KEY", WIRES[wire][1]["provider"].upper() + "_API_KEY"
    )
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
