"""Providers that redirect, never end, or answer with bombs, over real sockets and both real SDKs (G-8.6, G-9.9)."""

import asyncio
import gzip
import itertools
import json
import tracemalloc
import zlib

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve
from concerto.runtime.errors import CallFailure
from concerto.runtime.records import EmbedRequest, Msg, Request

from ..servers.peer import head, listening
from .sdk_wires import OK, WIRES

WAYS = [*itertools.product(WIRES, ("send", "stream")), ("chat", "embed"), ("responses", "embed")]
every_way = pytest.mark.parametrize(("wire", "way"), WAYS)
SECRETS = {"TEAM": "team-secret-1"}
MIB = 1 << 20
SLACK = 8 * MIB  # of the sockets between the two


def outcome(wire, way, url, timeout=20):
    """The reply, or the failure of one request."""
    provider, fields = WIRES[wire]
    base = url if wire == "anthropic" else f"{url}/v1"
    own = {**fields, "base_url": base, "headers": {"X-Team": {"env": "TEAM"}}}

    async def give(text):
        pass

    async def run():
        made = provider(resolve("lab", [{"lab": own}]), SECRETS, Redactor())
        request = Request(id="r", connection="lab", model="m", messages=[Msg("user", "private words")], timeout=timeout)
        request.stream = way == "stream"
        try:
            if way == "embed":
                return await made.embed(EmbedRequest("lab", "m", ["private words"], timeout))
            return await (made.stream(request, give) if way == "stream" else made.send(request))
        except CallFailure as failure:
            return failure
        finally:
            await made.aclose()

    return asyncio.run(run())


@every_way
@pytest.mark.parametrize("status", [302, 307])
def test_no_redirect_is_followed(wire, way, status):
    """G-8.6: the other place sees nothing, the first one a single request."""
    with listening(lambda request: [head(), b"{}"]) as other:
        place = f"{other.url.replace('//', '//user:pw@')}/take?words=team-secret-1"
        with listening(lambda request: [head(status, location=place)]) as peer:
            failure = outcome(wire, way, peer.url)
    assert (failure.kind, failure.variant, failure.retry_class) == ("ConnectionError", "ProviderUnavailable", None)
    assert failure.fields["status"] == status
    assert failure.message == (
        f"m: the provider redirects to {other.url}/take (status {status}), which calls do not follow; "
        "if that is where the requests shall go, make it the base_url of connection lab"
    )
    assert (len(peer.requests), len(other.requests)) == (1, 0)


NOWHERE = [None, "/elsewhere", "http://[", "\x80\xff", "mailto:a@example.com", "//", "https://x" * 9000]


@pytest.mark.parametrize("location", NOWHERE)
def test_redirects_that_point_nowhere(location):
    named = {} if location is None else {"location": location}
    with listening(lambda request: [head(302, **named)]) as peer:
        failure = outcome("chat", "send", peer.url)
    assert failure.variant in ("ProviderUnavailable", "NetworkError")  # a head that is no HTTP breaks the connection
    assert len(failure.message) < 2100 and len(peer.requests) == 1


def endless(start, more, kind="application/json", status=200, **headers):
    return lambda request: itertools.chain([head(status, kind, **headers), start], itertools.repeat(more))


BODIES = {
    "a text": (b'{"choices": "', b"x" * 65536),
    "a list": (b'{"choices": [1', b",1" * 30000),
    "white space": (b"", b" \n" * 30000),
}


@pytest.mark.parametrize(("wire", "way"), [pair for pair in WAYS if pair[1] != "stream"])
@pytest.mark.parametrize("body", BODIES)
def test_a_body_without_end(wire, way, body):
    """G-9.9: refused while it comes, and not asked for again."""
    with listening(endless(*BODIES[body])) as peer:
        failure = outcome(wire, way, peer.url)
    assert (failure.variant, failure.retry_class) == ("InvalidResponse", None)
    assert failure.message == f"m: the reply is larger than {4 * MIB} bytes"
    assert peer.sent < 4 * MIB + SLACK


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("more", [b'"a":1,' * 10000, b":\n" * 30000], ids=["a line", "lines that say nothing"])
def test_an_event_without_end(wire, more):
    with listening(endless(b"data: {", more, "text/event-stream")) as peer:
        failure = outcome(wire, "stream", peer.url)
    assert failure.variant == "InvalidResponse"
    assert failure.message == f"m: no event of the stream ends within {4 * MIB} bytes"
    assert peer.sent < 4 * MIB + SLACK


@pytest.mark.parametrize("wire", WIRES)
def test_events_without_end(wire):
    event = b'data: {"type": "ping", "choices": [], "pad": "' + b"x" * 60000 + b'"}\n\n'
    with listening(endless(b"", event, "text/event-stream")) as peer:
        failure = outcome(wire, "stream", peer.url)
    assert (failure.variant, failure.message) == ("InvalidResponse", f"m: the reply is larger than {64 * MIB} bytes")
    assert peer.sent < 64 * MIB + SLACK


def test_a_text_without_end():
    event = b'data: {"choices": [{"delta": {"content": "' + b"x" * 60000 + b'"}}]}\n\n'
    with listening(endless(b"", event, "text/event-stream")) as peer:
        failure = outcome("chat", "stream", peer.url)
    assert (failure.variant, failure.message) == ("InvalidResponse", f"m: the reply is larger than {MIB} bytes")
    assert peer.sent < MIB + SLACK


def compressed(coding, plain):
    return gzip.compress(plain, 1) if coding == "gzip" else zlib.compress(plain, 1)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("way", ["send", "stream"])
@pytest.mark.parametrize("status", [200, 500])
def test_a_compressed_bomb(coding, way, status):
    """96 MiB in less than 1 MiB."""
    body = compressed(coding, b'{"choices": "' + b"x" * (96 * MIB))
    with listening(lambda request: [head(status, content_encoding=coding), body]) as peer:
        outcome("chat", way, peer.url)  # imports the SDK
        tracemalloc.start()
        try:
            failure = outcome("chat", way, peer.url)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert failure.variant == ("InvalidResponse" if status == 200 else "ProviderUnavailable")
    assert most < 48 * MIB


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_what_is_compressed_is_read(coding):
    plain = json.dumps(OK["chat"]).encode()
    with listening(lambda request: [head(content_encoding=coding), compressed(coding, plain)]) as peer:
        assert outcome("chat", "send", peer.url).text == "hello"


HOLLOW = [b"[" + b"[]," * 900_000 + b"1]", b'{"a": [' + b'{"a":{}},' * 300_000 + b"1]}"]


@pytest.mark.parametrize("body", HOLLOW, ids=["lists", "objects"])
def test_what_is_small_as_text_and_large_as_values(body):
    """G-9.2: refused before it is built."""
    with listening(lambda request: [head(), body]) as peer:
        tracemalloc.start()
        try:
            failure = outcome("chat", "send", peer.url)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert failure.variant == "InvalidResponse" and "cannot be read as JSON (more than 100000 values)" in failure.message
    assert most < 64 * MIB


def test_a_client_of_the_host_that_follows_redirects():
    """G-8.6: for calls it does not; what else the host asks through it is the host's."""
    import httpx2

    def answer(request):
        location = {"location": "http://other.example/"}
        return httpx2.Response(307, headers=location) if request.url.host == "box" else httpx2.Response(200)

    async def run():
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer), follow_redirects=True)
        provider, fields = WIRES["chat"]
        request = Request(id="r", connection="lab", model="m", messages=[Msg("user", "q")])
        for _ in range(2):
            made = provider(resolve("lab", [{"lab": {**fields, "base_url": "http://box/v1"}}]), {}, Redactor(), client)
            with pytest.raises(CallFailure) as raised:
                await made.send(request)
            assert "redirects to http://other.example/ (status 307)" in raised.value.message
        assert len(client.event_hooks["response"]) == 1
        assert (await client.get("http://box/")).status_code == 200

    asyncio.run(run())


@every_way
def test_an_error_without_end(wire, way):
    """G-9.9: the beginning tells what there is to tell."""
    with listening(endless(b"no room ", b"here " * 10000, "text/plain", 500)) as peer:
        failure = outcome(wire, way, peer.url)
    assert (failure.variant, failure.fields["status"]) == ("ProviderUnavailable", 500)
    assert failure.message.startswith("m: no room here here") and len(failure.message) < 320
    assert peer.sent < MIB + SLACK
