"""`std::http` against a server of this process: hops, checks, limits (G-8.3, L-7.2)."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import resource
import socket
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from concerto.runtime.access import network
from concerto.runtime.access.network import SystemNetwork
from concerto.runtime.access.permissions import Permissions
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.effects.world import perform_http
from concerto.vm.values import Err, Ok


class Handler(BaseHTTPRequestHandler):
    """`/echo` answers with what came; `/to?URL` redirects there; `/large`, `/endless` and `/broken` misbehave."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        self.server.seen.append((self.command, self.path, dict(self.headers), body))  # type: ignore[attr-defined]
        path, _, query = self.path.partition("?")
        if path == "/to":
            self.reply(302, b"", [("Location", query)])
        elif path == "/large":
            self.reply(200, b"x" * 3000, [])
        elif path == "/broken":
            self.wfile.write(b"this is no HTTP\r\n\r\n")
            self.close_connection = True
        elif path == "/slow":
            self.server.released.wait(5)  # type: ignore[attr-defined]
            self.close_connection = True
        else:
            self.reply(404 if path == "/missing" else 200, b"gr\xc3\xbc\xff", [("X-Kind", "a"), ("X-Kind", "b")])

    def reply(self, status: int, body: bytes, headers: list[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in [("Content-Length", str(len(body))), *headers]:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = answer

    def log_message(self, *_: object) -> None:
        """Tests are silent."""


@pytest.fixture
def server() -> Iterator[Any]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.seen, made.released = [], threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.released.set()  # type: ignore[attr-defined]
    made.shutdown()
    made.server_close()


class Run:
    """What the performer uses of a session."""

    def __init__(self, grants: list[str], **addresses: list[str]) -> None:
        self.redactor = Redactor()
        self.services = SimpleNamespace(telemetry=None)
        self.emits: list[tuple[str, dict[str, Any]]] = []
        self.host = SimpleNamespace(permissions=Permissions.of_texts(grants), network=Named(addresses))

    def runtime_emit(self, channel: str, payload: dict[str, Any]) -> None:
        self.emits.append((channel, payload))

    def send(self, method: str, url: str, body: Any = None, headers: Any = None, timeout_ms: int = 5000) -> Any:
        effect: Any = SimpleNamespace(payload=(method, url, body, headers or {}, timeout_ms), task=None)
        return asyncio.run(perform_http(self, effect))  # type: ignore[arg-type]


class Named(SystemNetwork):
    """The real network with the addresses of some names given, one list per look-up after another."""

    def __init__(self, addresses: dict[str, list[str]]) -> None:
        self.addresses = addresses
        self.asked: list[str] = []
        self.reached: list[str] = []

    async def resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self.addresses[host.partition(".")[0]]

    async def exchange(self, request: Any, address: str) -> Any:
        self.reached.append(address)
        return await super().exchange(request, address)


def port_of(server: Any) -> int:
    return int(server.server_address[1])


def test_an_exchange(server: Any) -> None:
    port = port_of(server)
    run = Run([f"net=127.0.0.1:{port}"])
    reply = run.send("POST", f"http://127.0.0.1:{port}/echo?q=1", "töxt", {"X-Mine": "1"})
    assert type(reply) is Ok
    status, body, headers = reply.value.values()
    assert (status, body, headers.items["x-kind"]) == (200, "grü\ufffd", "a, b")
    method, path, sent, content = server.seen[0]
    assert (method, path, content) == ("POST", "/echo?q=1", "töxt")
    assert sent["x-mine"] == "1" and sent["host"] == f"127.0.0.1:{port}"
    assert run.emits == [("audit:net_access", {"host": "127.0.0.1", "port": port})]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
def test_methods_and_statuses(server: Any, method: str) -> None:
    port = port_of(server)
    reply = Run([f"net=127.0.0.1:{port}"]).send(method, f"http://127.0.0.1:{port}/missing")
    assert type(reply) is Ok and reply.value.get("status") == 404
    assert server.seen[0][0] == method and (reply.value.get("body") == "") == (method == "HEAD")


def test_a_name_goes_to_its_checked_address_with_its_own_host_header(server: Any) -> None:
    port = port_of(server)
    run = Run(["net=box.example"], box=["127.0.0.1"])
    assert type(run.send("GET", f"http://box.example:{port}/")) is Ok
    assert run.host.network.reached == ["127.0.0.1"] and server.seen[0][2]["host"] == f"box.example:{port}"


@pytest.mark.parametrize("grant", ["net", "net=*.example"])
def test_a_name_with_a_private_address_is_denied_unless_it_is_named(grant: str) -> None:
    run = Run([grant], box=["10.0.0.1"], mixed=["93.184.215.14", "127.0.0.1"])
    for host in ("box.example", "mixed.example", "127.0.0.1"):
        reply = run.send("GET", f"http://{host}:81/")
        assert type(reply) is Err and reply.value.variant == "PermissionDenied"
        shown = f"{host}:81"
        assert run.emits[-1] == ("audit:denied", {"capability": f"net={shown}", "flag": f"--allow-net={shown}"})
    assert run.host.network.reached == []


def test_an_address_that_is_named_opens_its_names(server: Any) -> None:
    port = port_of(server)
    run = Run(["net=*.example", f"net=127.0.0.1:{port}"], box=["127.0.0.1"])
    assert type(run.send("GET", f"http://box.example:{port}/")) is Ok


def test_a_host_that_is_not_granted_is_not_looked_up() -> None:
    run = Run(["net=a.example"], b=["93.184.215.14"])
    reply = run.send("GET", "http://b.example/")
    assert reply.value.variant == "PermissionDenied" and run.host.network.asked == []


def test_a_redirect_is_checked_like_a_request(server: Any) -> None:
    port = port_of(server)
    run = Run([f"net=127.0.0.1:{port}"])
    for target in ("http://b.example/", "http://169.254.169.254/latest", f"http://127.0.0.1:{port + 1}/", "//10.0.0.1/"):
        reply = run.send("GET", f"http://127.0.0.1:{port}/to?{target}")
        assert reply.value.variant == "PermissionDenied", target
    assert run.send("GET", f"http://127.0.0.1:{port}/to?file:///etc/passwd").value.variant == "InvalidUrl"


def test_a_name_that_moves_to_a_private_address_between_hops() -> None:
    """Every hop looks the name up and checks what it got, and that address is the one connected to."""
    run = Run(["net=*.example"], a=["93.184.215.14"])
    hops: list[str] = []

    async def exchange(request: Any, address: str) -> Any:
        hops.append(address)
        run.host.network.addresses["a"] = ["127.0.0.1"]
        return network.HttpReply(302, [("Location", "/next")], b"")

    run.host.network.exchange = exchange
    assert run.send("GET", "http://a.example/").value.variant == "PermissionDenied"
    assert hops == ["93.184.215.14"]


def test_credentials_stay_with_their_origin(server: Any) -> None:
    port = port_of(server)
    run = Run(["net=127.0.0.1", "net=box.example"], box=["127.0.0.1"])
    headers = {"Authorization": "Bearer x", "Cookie": "a=b", "X-Mine": "1", "Content-Type": "text/x"}
    run.send("POST", f"http://127.0.0.1:{port}/to?http://box.example:{port}/echo", "body", headers)
    method, path, sent, body = server.seen[-1]
    assert (method, path, body) == ("GET", "/echo", "")
    assert "authorization" not in sent and "cookie" not in sent and "content-type" not in sent and sent["x-mine"] == "1"
    run.send("GET", f"http://127.0.0.1:{port}/to?/echo", None, headers)
    assert server.seen[-1][2]["authorization"] == "Bearer x"


def test_limits(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    port = port_of(server)
    run = Run([f"net=127.0.0.1:{port}"])
    monkeypatch.setattr(network, "MOST_BYTES", 2999)
    reply = run.send("GET", f"http://127.0.0.1:{port}/large")
    assert reply.value.variant == "Network" and "larger" in reply.value.message
    monkeypatch.setattr(network, "MOST_BYTES", 3000)
    assert len(run.send("GET", f"http://127.0.0.1:{port}/large").value.get("body")) == 3000
    assert run.send("GET", f"http://127.0.0.1:{port}/slow", timeout_ms=50).value.variant == "Timeout"
    assert run.send("GET", f"http://127.0.0.1:{port}/broken").value.variant == "Network"


def test_proxy_variables_are_ignored(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    port = port_of(server)
    assert type(Run([f"net=127.0.0.1:{port}"]).send("GET", f"http://127.0.0.1:{port}/")) is Ok


@pytest.mark.parametrize("headers", [{"A\nB": "x"}, {"A": "x\r\nB: y"}, {"": "x"}, {"A": "ä"}, {"A": "\x00"}])
def test_headers_cannot_smuggle(headers: dict[str, str]) -> None:
    reply = Run(["net=127.0.0.1"]).send("GET", "http://127.0.0.1:1/", None, headers)
    assert type(reply) is Err and reply.value.variant is None and "header" in reply.value.message


FRAMING = [
    "Host", "Content-Length", "content-length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Trailer", "Keep-Alive",
    "Proxy-Authorization", "Proxy-Connection", "pRoXy-Anything", "Expect", "HTTP2-Settings",
]  # fmt: skip


@pytest.mark.parametrize("name", FRAMING)
def test_what_frames_a_message_is_not_set_by_a_program(server: Any, name: str) -> None:
    port = port_of(server)
    run = Run([f"net=127.0.0.1:{port}"])
    for method, body in (("GET", None), ("POST", "body")):
        reply = run.send(method, f"http://127.0.0.1:{port}/", body, {"X-Mine": "1", name: "5"})
        assert type(reply) is Err and (reply.value.family, reply.value.variant) == ("HttpError", None)
        assert f"'{name}'" in reply.value.message
    assert server.seen == [], "nothing was sent"


def test_headers_and_urls_have_an_end() -> None:
    run = Run(["net"])
    for headers in ({"X": "x" * 70_000}, {f"X-{number}": "1" * 60 for number in range(1_100)}):
        assert "65536 characters" in run.send("GET", "http://127.0.0.1:1/", None, headers).value.message
    assert run.send("GET", "http://a.example/" + "x" * 70_000).value.variant == "InvalidUrl"


def test_keys_stay_with_their_origin(server: Any) -> None:
    """A header whose name says that it is a credential (G-10.5) does not follow a redirect to another origin."""
    port = port_of(server)
    run = Run(["net=127.0.0.1", "net=box.example"], box=["127.0.0.1"])
    headers = {"X-Api-Key": "k", "X-Auth-Token": "t", "X-Monkey": "m"}
    run.send("GET", f"http://127.0.0.1:{port}/to?http://box.example:{port}/echo", None, headers)
    sent = server.seen[-1][2]
    assert "x-api-key" not in sent and "x-auth-token" not in sent and sent["x-monkey"] == "m"


HOSTILE_TARGETS = [
    "http://[", "//[", "http://[::1", "http://a:b/", "http://a:99999/", "//\u2100.example", "http://%zz/", "http://a.b:0/",
    "http://[::1]evil.example/", "http://[v1.x]/", "http://" + "a" * 300 + "/", "http://xn--\u00e9/", "ht!tp://a/", "\x00",
]  # fmt: skip


@pytest.mark.parametrize("target", HOSTILE_TARGETS, ids=ascii)
def test_no_redirect_and_no_url_is_an_exception(target: str) -> None:
    run = Run(["net"], a=["93.184.215.14"], public=["93.184.215.14"])

    async def exchange(request: Any, address: str) -> Any:
        return network.HttpReply(302, [("Location", target)], b"")

    run.host.network.exchange = exchange
    for url in (target, "http://public.example/"):
        reply = run.send("GET", url)
        assert type(reply) is Err and reply.value.family == "HttpError", url


class Raw:
    """A server that answers every connection with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.answer = answer
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.socket.accept()
                with peer, contextlib.suppress(OSError):
                    peer.recv(65_536)
                    peer.sendall(self.answer)

    def send(self, method: str = "GET") -> Any:
        port = self.socket.getsockname()[1]
        return Run([f"net=127.0.0.1:{port}"]).send(method, f"http://127.0.0.1:{port}/", timeout_ms=3000)


def body_of(coding: str, data: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding.encode(), len(data)) + data


def test_encoded_bodies() -> None:
    packed = zlib.compressobj(wbits=-15)
    bare = packed.compress(b"text") + packed.flush()
    whole = {
        "gzip": gzip.compress(b"text"), "x-gzip": gzip.compress(b"te") + gzip.compress(b"xt"), "deflate": zlib.compress(b"text"),
        "DEFLATE, identity": bare, "identity": b"text", "": b"text",
    }  # fmt: skip
    for coding, data in whole.items():
        assert Raw(body_of(coding, data)).send().value.get("body") == "text", coding
    assert type(Raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99\r\n\r\n").send("HEAD")) is Ok


MALFORMED = {
    "a bomb": body_of("gzip", gzip.compress(b"\0" * 50_000_000)),
    "a bomb in a bomb": body_of("gzip, gzip", gzip.compress(gzip.compress(b"\0" * 50_000_000))),
    "many empty members": body_of("gzip", gzip.compress(b"") * 3000 + b"\x1f"),
    "a cut stream": body_of("gzip", gzip.compress(b"text" * 1000)[:-9]),
    "no stream": body_of("gzip", b"this is no gzip"),
    "another encoding": body_of("br", b"x"),
    "no status": b"HTTP/1.1 \r\n\r\n",
    "a large status": b"HTTP/1.1 99999 X\r\n\r\n",
    "a small status": b"HTTP/1.1 007 X\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "nothing": b"",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    "no length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx",
    "too short": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx",
    "a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n",
    "a large chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffffffff\r\nx\r\n",
    "a coding of the transfer": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
    "a header without end": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000,
    "a header without name": b"HTTP/1.1 200 OK\r\n: x\r\n\r\n",
    "a NUL": b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
    "another protocol in the middle": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "no end of heads": b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_reply_is_a_typed_error(name: str) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = Raw(MALFORMED[name]).send()
    assert type(answer) is Err and answer.value.family == "HttpError" and answer.value.variant in ("Network", "Timeout"), answer
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 64 * 1024, "KiB"


STRANGE = {
    "bytes that are no text": b"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 2\r\n\r\n\xff\xfe",
    "a cookie": b"HTTP/1.1 200 OK\r\nSet-Cookie: " + b"a=b; expires=Thu, 99 Foo 99999; " * 50 + b"\r\nContent-Length: 0\r\n\r\n",
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
    "a redirect to nowhere": b"HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_reply_is_a_reply(name: str) -> None:
    answer = Raw(STRANGE[name]).send()
    assert type(answer) is Ok, answer
    answer.value.get("body").encode()


def test_a_closed_port_and_an_offline_run() -> None:
    run = Run(["net=127.0.0.1:9"])
    assert run.send("GET", "http://127.0.0.1:9/").value.variant == "Network"
    run.host.network = None
    assert "offline" in run.send("GET", "http://127.0.0.1:9/").value.message
