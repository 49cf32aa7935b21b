"""Declared embedders against a server that speaks the embeddings of the OpenAI API (O-1.240)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import concerto
import pytest
from openai.types import EmbeddingCreateParams
from pydantic import TypeAdapter

PARAMETERS = TypeAdapter(EmbeddingCreateParams)


class Served:
    """`statuses`: of the next replies, 200 behind them; `bodies`: what was asked, each a body that the SDK's types take."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.short = False  # a vector less than was asked for


@contextmanager
def server() -> Iterator[tuple[Served, str]]:
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            PARAMETERS.validate_python(body)
            served.bodies.append(body)
            served.paths.append(self.path)
            status = served.statuses.pop(0) if served.statuses else 200
            size = body.get("dimensions", 3)
            rows = [{"object": "embedding", "index": n, "embedding": [float(len(text)), *[1.0] * (size - 1)]}
                    for n, text in enumerate(body["input"])]  # fmt: skip
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            reply: Any = {"object": "list", "data": rows[served.short :], "model": body["model"], "usage": usage}
            if status != 200:
                reply = {"error": {"message": "not now", "type": "x", "code": None, "param": None}}
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    try:
        yield served, f"http://127.0.0.1:{httpd.server_port}/v1"
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def program(url: str, more: str = "") -> concerto.Program:
    return concerto.compile(
        f"""
        connect here {{
            provider: openai, base_url: "{url}", api_key: env("KEY"), retry: {{ max_attempts: 3, initial_delay_ms: 1 }}
        }}
        embedder E {{ provider: here, base: "small", dimensions: 4 }}
        index notes: Index<String> = Index::of(E);
        {more}
        pub fn one(text: String) -> Result<Array<Float>, AgentError> {{ E.embed(text) }}
        pub fn all(texts: Array<String>) -> Result<Array<Array<Float>>, AgentError> {{ E.embed_all(texts) }}
        pub fn add(texts: Array<String>) -> Result<Nil, AgentError> {{ notes.add_all(texts) }}
        pub fn len() -> Int {{ notes.len() }}
        pub fn find(query: String) -> Result<Array<String>, AgentError> {{ Ok(notes.search(query)?.map(|hit| hit.0)) }}
        """
    )


ENV = {"KEY": "sk-test"}


def test_requests_are_batched_and_carry_the_dimensions() -> None:
    with server() as (served, url), program(url).session(env=ENV) as session:
        vectors = session.call("all", [f"{n:03}" + "x" * n for n in range(200)])
        assert [len(body["input"]) for body in served.bodies] == [96, 96, 8]
        assert {body["dimensions"] for body in served.bodies} == {4} and {body["model"] for body in served.bodies} == {"small"}
        assert set(served.paths) == {"/v1/embeddings"}
        assert len(vectors) == 200 and all(abs(sum(x * x for x in vector) - 1) < 1e-6 for vector in vectors)
        assert vectors[0] != vectors[199]
        session.call("all", ["000", "new"])
        assert served.bodies[-1]["input"] == ["new"]  # what is known is not asked for again


def test_a_request_is_retried_as_the_connection_says() -> None:
    with server() as (served, url), program(url).session(env=ENV) as session:
        served.statuses = [503, 429]
        assert len(session.call("one", "tea")) == 4
        assert len(served.bodies) == 3
        served.statuses = [503] * 3
        with pytest.raises(concerto.ProgramError) as raised:
            session.call("one", "coffee")
        assert raised.value.error.variant == "ProviderUnavailable" and len(served.bodies) == 6
        assert str(raised.value.error).endswith("(3 attempts)") and session.metrics().retries == 4
        served.statuses = [400]
        with pytest.raises(concerto.ProgramError) as raised:
            session.call("one", "milk")
        assert raised.value.error.variant == "InvalidRequest" and len(served.bodies) == 7


def test_retries_are_limited_like_those_of_models() -> None:
    """G-6.5: at most 10 in a run of few requests."""
    with server() as (served, url), program(url).session(env=ENV) as session:
        served.statuses = [503] * 30
        for text in "abcdefgh":
            with pytest.raises(concerto.ProgramError):
                session.call("one", text)
        assert len(served.bodies) == 8 + 10 and session.metrics().retries == 10


def test_an_embedder_that_fails_leaves_the_index_as_it_was() -> None:
    with server() as (served, url), program(url).session(env=ENV) as session:
        session.call("add", ["green tea"])
        served.statuses = [400]
        with pytest.raises(concerto.ProgramError):
            session.call("add", ["black tea", "milk"])
        assert session.call("len") == 1
        served.short = True
        with pytest.raises(concerto.ProgramError) as raised:
            session.call("add", ["oolong"])
        assert raised.value.error.variant == "InvalidResponse" and session.call("len") == 1
        served.short = False
        session.call("add", ["black tea", "milk"])
        assert session.call("find", "milk")[0] == "milk"


def test_vectors_count_in_budgets_and_metrics() -> None:
    with server() as (served, url):
        with program(url).session(env=ENV, budgets=concerto.Budgets(tokens=150)) as session:
            session.call("all", [f"text {n}" for n in range(20)])
            used = session.metrics().total_tokens
            with pytest.raises(concerto.Panic, match="P401"):
                session.call("all", [f"a longer text {n}" for n in range(96)])
            assert session.metrics().total_tokens == used > 0
        assert len(served.bodies) == 1


def test_the_manifest_and_the_host_win_over_the_declaration(tmp_path: Any) -> None:
    class Own:
        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[3.0, 4.0] for _ in texts]

    class Failing:
        def embed(self, texts: list[str]) -> list[list[float]]:
            raise OSError("the disk is gone")

    with program("http://127.0.0.1:1/v1").session(env=ENV, embedders={"E": Own()}) as session:
        assert session.call("one", "x") == pytest.approx([0.6, 0.8])
    with program("http://127.0.0.1:1/v1").session(env=ENV, embedders={"E": Failing()}) as session:
        with pytest.raises(concerto.ProgramError, match="the disk is gone"):
            session.call("one", "x")
        assert session.call("len") == 0
    project = '[project]\nname = "p"\nversion = "0.1.0"\nentry = "main.conc"\n'
    (tmp_path / "Concerto.toml").write_text(f'{project}[embedders.E]\nconnection = "offline"\nmodel = "m"\n')
    declared = 'embedder E { provider: openai, base: "b" }'
    (tmp_path / "main.conc").write_text(f'{declared} pub fn n() -> Int {{ E.embed("a").unwrap_or([]).len() }} fn main() {{}}')
    with concerto.compile(path=tmp_path / "main.conc").session(env={}) as session:
        assert session.call("n") == 256


def stored(url: str) -> concerto.Program:
    """A program whose index is in a file."""
    return concerto.compile(f"""
        connect here {{ provider: openai, base_url: "{url}", api_key: env("KEY") }}
        embedder E {{ provider: here, base: "small" }}
        index notes: Index<String> = Index::of(E).store("durable");
        pub fn add(text: String) -> Result<Nil, AgentError> {{ notes.add(text) }}
        pub fn len() -> Int {{ notes.len() }}
        pub fn find(text: String) -> Result<Array<String>, AgentError> {{ Ok(notes.search(text)?.map(|hit| hit.0)) }}
    """)


def test_what_an_offline_run_has_stored_is_embedded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline vectors are those of another embedder: their length, 256 here, is refused beside the 3 of this one."""
    monkeypatch.chdir(tmp_path)
    with server() as (served, url):
        compiled = stored(url)
        with compiled.session(offline=True) as session:
            session.call("add", "green tea")
        assert served.bodies == []
        with compiled.session(env=ENV) as session:
            session.call("add", "granite")
            assert session.call("len") == 2
        assert [body["input"] for body in served.bodies] == [["granite"], ["green tea"]]


def test_vectors_of_others_that_fail_leave_what_was_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O-1.252: the documents of a call are there, although those of another embedder got no vectors yet."""
    monkeypatch.chdir(tmp_path)
    with server() as (served, url):
        compiled = stored(url)
        with compiled.session(offline=True) as session:
            session.call("add", "green tea")
        with compiled.session(env=ENV) as session:
            served.statuses = [200, 400]
            session.call("add", "granite")
            assert len(served.bodies) == 2 and session.call("find", "granite")[0] == "granite"
            session.call("add", "slate")
            assert served.bodies[-1]["input"] == ["green tea"]


def test_two_modules_have_embedders_of_one_name(tmp_path: Path) -> None:
    """Each asks its own, and what a memory has embedded is not asked for again."""
    with server() as (served, url):
        (tmp_path / "other.conc").write_text(f"""
            connect there {{ provider: openai, base_url: "{url}", api_key: env("KEY") }}
            embedder E {{ provider: there, base: "small", dimensions: 8 }}
            pub fn size() -> Result<Int, AgentError> {{ Ok(E.embed("tea")?.len()) }}
        """)
        (tmp_path / "main.conc").write_text(f"""
            mod other;
            connect here {{ provider: openai, base_url: "{url}", api_key: env("KEY") }}
            embedder E {{ provider: here, base: "small", dimensions: 4 }}
            memory log: Memory = Memory::new().embed(E);
            pub fn sizes() -> Result<Array<Int>, AgentError> {{ Ok([E.embed("tea")?.len(), other::size()?]) }}
            pub fn known() -> Result<Int, AgentError> {{
                log.remember("name", "green tea", tier: Session);
                log.recall("hot drinks", k: 1);
                E.embed("hot drinks")?;
                Ok(E.embed("tea")?.len())
            }}
        """)
        with concerto.compile(path=tmp_path / "main.conc").session(env=ENV) as session:
            assert session.call("sizes") == [4, 8]
            assert session.call("known") == 4
            texts = [text for body in served.bodies for text in body["input"]]
            assert texts.count("tea") == 2 and texts.count("hot drinks") == 1
