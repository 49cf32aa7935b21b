"""Calls over HTTP: arguments, results, failures, the description (S-1.1)."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import concerto
import httpx2
import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from .served import events_of, in_loop, program, running, served

TYPES = """
struct Point { x: Int, y: Int = 7 }
enum Shape { Nothing, Dot(Point), Box { wide: Float, high: Float } }
schema Node { name: String, children: Array<Node> = [], kind: "leaf" | "twig" = "leaf" }
pub fn all(p: Point, s: Shape, b: Bytes, m: Map<Int, String>, t: (Int, String), o: Int?, n: Node) ->
    (Point, Shape, Bytes, Map<Int, String>, (Int, String), Int?, Node) { (p, s, b, m, t, o, n) }
pub fn prompted(p: Prompt) -> String { p.text }
pub fn failing(kind: Int) -> Result<Int, Error> {
    if kind == 1 { throw ToolError::new("the \\"reason\\""); }
    if kind == 2 { return Err(Point { x: 1 }); }
    throw IoError::new("x");
}
fn private() -> Int { 1 }
"""


@in_loop
async def test_results_are_json_by_the_declared_types() -> None:
    async with served(TYPES.replace("return Err(Point { x: 1 });", "")) as (client, _):
        given = {
            "p": {"x": 1}, "s": {"variant": "Box", "data": {"wide": 1, "high": 2.5}}, "b": "aGk=", "m": {"3": "three"},
            "t": [1, "one"], "n": {"name": "root", "children": [{"name": "a", "kind": "twig"}]},
        }  # fmt: skip
        answer = await client.post("/call/all", json=given)
        assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
        assert answer.json() == [
            {"x": 1, "y": 7}, {"variant": "Box", "data": {"wide": 1.0, "high": 2.5}}, "aGk=", {"3": "three"}, [1, "one"], None,
            {"name": "root", "children": [{"name": "a", "children": [], "kind": "twig"}], "kind": "leaf"},
        ]  # fmt: skip
        assert (await client.post("/call/prompted", json={"p": "a text"})).json() == "a text"
        unit = await client.post("/call/all", json={**given, "s": "Nothing", "o": 4})
        assert unit.json()[1] == {"variant": "Nothing", "data": None} and unit.json()[5] == 4


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("hello", {}, "lacks 'name'"),
        ("hello", {"name": "x", "tmies": 2}, "no parameter 'tmies'"),
        ("hello", {"name": 5}, "argument 'name' of hello: expected String, found Int at $"),
        ("hello", {"name": "x", "times": 1.5}, "argument 'times' of hello"),
        ("hello", {"name": "x", "times": 2**70}, "argument 'times' of hello"),
        ("hello", [], "an object of the arguments by name"),
    ],
)
def test_arguments_are_checked(name: str, body: Any, says: str) -> None:
    @in_loop
    async def check() -> None:
        async with served() as (client, _):
            answer = await client.post(f"/call/{name}", json=body)
            error = answer.json()["error"]
            assert answer.status_code == 400 and says in error["message"], error
            assert error["request"] == answer.headers["x-request-id"]

    check()


@in_loop
async def test_failures_have_their_status() -> None:
    """Err 422 with the error value, panic 500 with its code alone, budget 429, denied permission 403."""
    async with served(budgets=concerto.Budgets(model_calls=1, per="call")) as (client, _):
        panic = await client.post("/call/crash", json={"secret": "hidden words"})
        assert panic.status_code == 500 and panic.json()["error"]["code"] == "P004" and "hidden" not in panic.text
        denied = await client.post("/call/read", json={"path": "/etc/passwd"})
        assert denied.status_code == 403 and denied.json()["error"]["value"]["variant"] == "PermissionDenied"
        assert (await client.post("/call/variable", json={})).status_code == 403  # panic P407
        assert (await client.post("/call/none", json={})).status_code == 404
        assert (await client.get("/call/hello")).status_code == 405
    async with served(TYPES.replace("return Err(Point { x: 1 });", "")) as (client, _):
        refused = await client.post("/call/failing", json={"kind": 1})
        assert refused.status_code == 422
        assert refused.json()["error"]["value"] == {"kind": "ToolError", "message": 'the "reason"'}
        assert (await client.post("/call/private", json={})).status_code == 404
    tight = 'model M { provider: openai, base: "m", max_tokens: 50 }\n'
    tight += 'pub fn ask() -> Result<String> { M.execute("a")?.text }'
    async with served(tight, budgets=concerto.Budgets(tokens=10, per="call")) as (client, _):
        spent = await client.post("/call/ask", json={})
        assert spent.status_code == 429 and spent.json()["error"]["value"]["kind"] == "BudgetError"
    spinning = "pub fn spin() -> Int { let mut n = 0; while true { n += 1; } n }"
    async with served(spinning, budgets=concerto.Budgets(steps=1000)) as (client, _):
        assert (await client.post("/call/spin", json={})).json()["error"]["code"] == "budget"


@in_loop
async def test_the_description_is_openapi() -> None:
    """The document is valid, and its schemas take what the functions take."""
    async with served(TYPES.replace("return Err(Point { x: 1 });", ""), tokens={"me": "x" * 16}) as (client, _):
        head = {"authorization": "Bearer " + "x" * 16}
        document = (await client.get("/openapi.json", headers=head)).json()
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    assert document["security"] == [{"bearer": []}]
    assert sorted(document["paths"]) == ["/call/all", "/call/failing", "/call/prompted"]
    body = document["paths"]["/call/all"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    check = jsonschema.Draft202012Validator({**body, "components": document["components"]}).is_valid
    good = {"p": {"x": 1}, "s": "Nothing", "b": "", "m": {"1": "a"}, "t": [1, "a"], "n": {"name": "a"}}
    assert check(good) and check({**good, "o": None})
    assert not check({**good, "p": {}}) and not check({**good, "t": [1]}) and not check({**good, "zzz": 1})
    async with served() as (client, _):
        document = (await client.get("/openapi.json")).json()
    hello = document["paths"]["/call/hello"]["post"]
    assert hello["summary"] == "Says hello." and hello["description"] == "To whoever is named." and "security" not in document


@in_loop
async def test_a_type_that_functions_reach_inside_another_is_described() -> None:
    source = """
    struct Inner { n: Int }
    enum Way { Straight, Around(Inner) }
    struct Middle { inner: Inner, way: Way }
    schema Tree { middle: Middle, trees: Array<Tree> = [] }
    struct ConcertoError { way: Way }
    pub fn grow(tree: Tree) -> Array<Way> { [tree.middle.way] }
    pub fn own(error: ConcertoError, way: Way) -> Inner { Inner { n: 1 } }
    pub fn bound(user: String, n: Int) -> Int { n }
    """
    async with served(source, keys={"user": "header:X-User"}) as (client, _):
        document = (await client.get("/openapi.json")).json()
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert names == set(document["components"]["schemas"])
    assert names == {"Inner", "Way", "Middle", "Tree", "ConcertoError", "ConcertoError_"}
    body = document["paths"]["/call/grow"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    check = jsonschema.Draft202012Validator({**body, "components": document["components"]}).is_valid
    good = {"tree": {"middle": {"inner": {"n": 1}, "way": {"variant": "Around", "data": {"n": 2}}}, "trees": []}}
    wrong = {"tree": {"middle": {"inner": {"n": "1"}, "way": "Straight"}}}
    assert check(good) and not check(wrong)


@in_loop
async def test_mounted_in_another_application() -> None:
    """FastAPI, Starlette and Django mount it like any application."""
    from starlette.applications import Starlette
    from starlette.routing import Mount

    app = concerto.asgi(program(), offline=True)
    outer = Starlette(routes=[Mount("/desk", app)])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(outer), base_url="http://t") as client:
        assert (await client.post("/desk/call/hello", json={"name": "x"})).json() == "hello x"
        page = await client.get("/desk/")
        assert page.status_code == 200 and "script-src 'sha256-" in page.headers["content-security-policy"]
    await app.aclose()


def test_an_application_is_started_again_after_its_end() -> None:
    """The tests of a host share an application, and each runs its lifespan, in an event loop of its own."""
    from starlette.testclient import TestClient

    app = concerto.asgi(program(), offline=True)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for _ in range(3):
        with TestClient(app, base_url="http://localhost") as client:
            assert client.post("/call/hello", json={"name": "x"}, headers={"Concerto-Session": "s"}).json() == "hello x"
            assert client.post("/mcp", json=asked).status_code == 400  # without a session of MCP
            assert client.get("/readyz").status_code == 200
        assert client.post("/call/hello", json={"name": "x"}).status_code == 503
    without_lifespan = TestClient(concerto.asgi(program(), offline=True), base_url="http://localhost")
    assert [without_lifespan.post("/mcp", json=asked).status_code for _ in range(2)] == [400, 400]


def test_wrong_settings_are_refused() -> None:
    for options, says in (
        ({"tokens": {"me": "short"}}, "tokens is of the type dict; it is a mapping"),
        ({"keys": {"nobody": "caller"}}, "no public function has a parameter 'nobody'"),
        ({"keys": {"name": "body"}}, "keys is"),
        ({"concurrent": 0}, "concurrent is 0; it is an int of at least 1"),
        ({"rate": 0}, "rate is 0"),
        ({"tokens": {"a": "x" * 16, "b": "x" * 16}}, "the same token"),
    ):
        with pytest.raises(ValueError, match=says.replace("(", r"\(")):
            concerto.asgi(program(), **options)
    with pytest.raises(TypeError, match="unknown option 'tokenz'"):
        concerto.asgi(program(), tokenz=1)


def test_a_call_that_the_drain_does_not_wait_for_gets_an_answer(tmp_path: Path) -> None:
    with running(tmp_path, "--drain", "1") as server, ThreadPoolExecutor() as threads:
        waiting = threads.submit(httpx2.post, f"{server.url}/call/wait", json={"ms": 20_000}, timeout=30)
        while "concerto_running 1.0" not in httpx2.get(f"{server.url}/metrics").text:
            time.sleep(0.05)
        code, told = server.end()
        answer = waiting.result()
    assert (code, answer.status_code, answer.json()["error"]["code"]) == (0, 503, "busy"), (answer.text, told)
    assert "retry-after" in answer.headers and "Exception" not in told and "Traceback" not in told


def test_the_command_serves_and_drains(tmp_path: Path) -> None:
    """A call that runs ends well after SIGTERM; nothing new is taken. The log has lines of JSON without contents."""
    import threading


    with running(tmp_path) as server:
        given: list[Any] = []
        client = httpx2.Client(base_url=server.url, timeout=30)
        assert client.post("/call/hello", json={"name": "hidden words"}).json() == "hello hidden words"
        client.post("/call/crash", json={"secret": "hidden words"})
        stream = client.post("/call/hello", json={"name": "hidden words"}, headers={"accept": "text/event-stream"})
        assert [kind for _, kind, _ in events_of(stream.text)] == ["emit", "result"]
        slow = threading.Thread(target=lambda: given.append(client.post("/call/wait", json={"ms": 1500})))
        slow.start()
        while "concerto_running 1.0" not in httpx2.get(f"{server.url}/metrics").text:
            pass
        code, log = server.end()
        slow.join()
        assert given[0].json() == "waited" and code == 0
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{server.url}/healthz")
    lines = [json.loads(line) for line in log.splitlines()]
    rows = [line for line in lines if line["what"] == "request"]
    assert [row["status"] for row in rows if row.get("function")] == [200, 500, 200, 200] and "hidden" not in log
    panic = next(line for line in lines if line["what"] == "panic")
    assert panic["code"] == "P004" and panic["at"].startswith("served.conc:") and panic["call"] == rows[1]["request"]


def test_a_served_program_calls_functions_of_a_module_beside_it(tmp_path: Path) -> None:

    (tmp_path / "served_prices.py").write_text("def price(name: str) -> int:\n    return 100 * len(name)\n")
    declared = 'extern python "served_prices" { fn price(name: String) -> Int; }\n'
    source = declared + "pub fn cost(name: String) -> Int { price(name) }\n"
    with running(tmp_path, "--allow-python=served_prices", source=source) as server:
        assert httpx2.post(f"{server.url}/call/cost", json={"name": "ab"}).json() == 200


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (["--host", "0.0.0.0"], 2, "0.0.0.0 can be reached by others"),
        (["--port", "70000"], 2, "a number from 0 to 65535"),
        (["--workers", "1000000"], 2, "expected at most 1,000"),
        (["--tokens", "TOKENS"], 2, "TOKENS:1: expected `NAME TOKEN`"),
        (["--host", "203.0.113.7", "--tokens", "GOOD"], 1, "cannot listen on 203.0.113.7:8000"),
        (["--host", "a..b", "--tokens", "GOOD"], 1, "cannot listen on a..b:8000: it is no name of a host"),
        (["--tokens", "SHORT"], 2, "SHORT:2: the token of you is not at least 16 printable characters"),
        (["--state", "nowhere/s.db"], 66, "serve: nowhere/s.db: No such file or directory"),
        (["--workers", "2"], 2, "standard input is read once"),
        (["--tokens", "GOOD", "--approver", "my"], 2, "--approver my is no caller; those are: me"),
        (["--approver", "me"], 2, "--approver me is no caller; those are: none, name who may call"),
    ],
)
def test_what_the_command_refuses(flags: list[str], code: int, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.conc").write_text("pub fn f() -> Int { 1 }")
    (tmp_path / "TOKENS").write_text("onlyname\n")
    (tmp_path / "GOOD").write_text("# who\nme 0123456789abcdef\n")
    (tmp_path / "SHORT").write_text("me 0123456789abcdef\nyou 123456\n")
    source = "-" if "--workers" in flags else "a.conc"
    words = [sys.executable, "-m", "concerto", "serve", source, *flags]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, input="pub fn f() -> Int { 1 }")
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.2", "127.0.0.2"), ("[::1]", "[::1]"), ("LOCALHOST", "LOCALHOST")])
def test_a_loopback_address_serves_under_its_own_name(host: str, shown: str, tmp_path: Path) -> None:
    if shown == "[::1]":
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            pytest.skip("no IPv6 here")
    with running(tmp_path, "--host", host) as server:
        assert server.url.startswith(f"http://{shown}:")
        head = {"host": server.url.removeprefix("http://")}
        assert httpx2.post(f"{server.url}/call/hello", json={"name": "a"}, headers=head).json() == "hello a"


def test_a_program_without_functions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.conc").write_text("fn main() { }")
    done = subprocess.run([sys.executable, "-m", "concerto", "serve", "a.conc"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 65 and "declare a function with `pub fn`" in done.stderr


@pytest.mark.parametrize("words", [["serve", "a.conc"], ["mcp", "a.conc"]])
def test_a_missing_library_is_told(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.conc").write_text("pub fn f() -> Int { 1 }")
    code = f"import sys; sys.modules['starlette'] = None; from concerto.cli.main import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "starlette" in done.stderr and "python -m pip install" in done.stderr, done.stderr
    code = "import sys; sys.modules['starlette'] = None; import concerto; "
    code += "concerto.asgi(concerto.compile('pub fn f() -> Int { 1 }'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "ImportError: asgi needs the library starlette" in done.stderr, done.stderr
