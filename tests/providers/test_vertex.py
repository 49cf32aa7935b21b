"""Vertex AI: the address, and where access tokens come from (O-1.282, O-1.283, O-1.287 to O-1.289)."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve
from concerto.runtime.errors import Origin
from concerto.runtime.providers.cloud_accounts import GoogleAccount
from concerto.runtime.providers.patience import Patience

from .cloud_mocks import PROJECT, REGION, Vertex
from .cloud_programs import bare_machine, failure, session_on
from .mocks import KEY

__all__ = ["bare_machine"]
FIELDS = {"provider": "vertex", "region": REGION, "project": PROJECT}


@pytest.fixture
def mock() -> Any:
    with Vertex() as made:
        yield made


@pytest.mark.parametrize("way", ["ask", "tell"])
def test_an_access_token(mock: Vertex, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs no library of Google."""
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with session_on(mock, {**FIELDS, "api_key_env": "MINE"}, env={"MINE": KEY}) as session:
        assert session.call(way, "hi") == "echo hi"
    assert mock.broken == []


@pytest.mark.parametrize(
    ("region", "address"),
    [
        ("europe-west1", "https://europe-west1-aiplatform.googleapis.com/v1"), ("global", "https://aiplatform.googleapis.com/v1"),
        ("us", "https://aiplatform.us.rep.googleapis.com/v1"), ("eu", "https://aiplatform.eu.rep.googleapis.com/v1"),
    ],
)  # fmt: skip
def test_the_address_is_that_of_the_sdk(region: str, address: str) -> None:
    from anthropic import AsyncAnthropicVertex

    settings = resolve("lab", [{"lab": {**FIELDS, "region": region}}])
    assert settings.base_url == address == str(AsyncAnthropicVertex(region=region, project_id="p").base_url).rstrip("/")


def test_region_project_and_address_of_variables(mock: Vertex) -> None:
    env = {"CLOUD_ML_REGION": REGION, "ANTHROPIC_VERTEX_PROJECT_ID": PROJECT, "ANTHROPIC_VERTEX_BASE_URL": mock.url}
    with session_on(None, {"provider": "vertex", "api_key": KEY}, env=env) as session:
        assert session.call("ask", "hi") == "echo hi"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"region": None}, "lacks `region`: write it, or set CLOUD_ML_REGION"),
        ({"project": None}, "lacks `project`: write it, or set ANTHROPIC_VERTEX_PROJECT_ID"),
    ],
)
def test_what_is_missing_is_named(mock: Vertex, fields: Any, said: str) -> None:
    with session_on(mock, {**FIELDS, "api_key": KEY, **fields}, env={}) as session:
        error = failure(session, "again", "hi")
    assert error.variant == "ProviderUnavailable" and said in error.message and mock.seen == []


def test_what_the_client_would_read_by_itself_has_no_effect(mock: Vertex, monkeypatch: pytest.MonkeyPatch) -> None:
    """O-1.25"""
    for name in ("CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID"):
        monkeypatch.setenv(name, "of-another")
    monkeypatch.setenv("ANTHROPIC_VERTEX_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "authorization: Bearer another")
    with session_on(mock, {**FIELDS, "api_key": KEY}) as session:
        assert session.call("ask", "hi") == "echo hi"


def test_sampling_goes_to_the_version_that_takes_it(mock: Vertex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.providers.mocks.Anthropic.check", lambda self, body, headers: None)
    with session_on(mock, {**FIELDS, "api_key": KEY}) as session:
        assert session.call("warm", "hi") == "echo hi"
    assert mock.broken == [] and mock.seen[0]["temperature"] == 0.2


def test_schemas_are_answered_by_a_tool(mock: Vertex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Native ones are off until the organisation allows them."""
    with session_on(mock, {**FIELDS, "api_key": KEY}) as session:
        failure(session, "number", "hi")  # the mock calls no tool that it is not asked about
    assert mock.seen[0]["tools"][-1]["name"] == "respond" and "output_config" not in mock.seen[0]


# ---------------------------------------------------------------- credentials


class TokenServer:
    """Who gives access tokens for the key of a service account (RFC 7523): `t1`, `t2` …, each for `seconds`."""

    def __init__(self) -> None:
        self.asked: list[dict[str, list[str]]] = []
        self.seconds = 3600
        self.status = 200
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.asked.append(parse_qs(self.rfile.read(int(self.headers["content-length"])).decode()))
                token = f"token-of-the-tests-{len(server.asked)}"
                body = {"access_token": token, "expires_in": server.seconds, "token_type": "Bearer"}
                if server.status != 200:
                    body = {"error": "invalid_grant", "error_description": "the secret is hunter2"}
                data = json.dumps(body).encode()
                self.send_response(server.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *given: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/token"


@pytest.fixture
def tokens() -> Any:
    made = TokenServer()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def private_key() -> str:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return made.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


@pytest.fixture
def key_file(tokens: TokenServer, private_key: str, tmp_path: Path) -> str:
    facts = {
        "type": "service_account", "client_email": "a@b.iam.gserviceaccount.com", "private_key": private_key,
        "private_key_id": "1", "token_uri": tokens.url, "project_id": "another",
    }  # fmt: skip
    (tmp_path / "key.json").write_text(json.dumps(facts))
    return str(tmp_path / "key.json")


@pytest.mark.parametrize("of_process", [True, False])
def test_the_key_file_of_a_service_account(
    mock: Vertex, tokens: TokenServer, key_file: str, bare_machine: Path, monkeypatch: pytest.MonkeyPatch, of_process: bool
) -> None:
    """A host may give it, too. Its token counts until it expires."""
    mock.tokens = ["token-of-the-tests-1"]
    env = None if of_process else {"GOOGLE_APPLICATION_CREDENTIALS": key_file}
    if of_process:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", key_file)
    with session_on(mock, FIELDS, env=env) as session:
        assert [session.call(way, "hi") for way in ("ask", "tell", "ask")] == ["echo hi"] * 3
    assert len(tokens.asked) == 1 and tokens.asked[0]["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]


def test_a_token_that_expires_is_asked_for_again(mock: Vertex, tokens: TokenServer, key_file: str) -> None:
    tokens.seconds = 5
    mock.tokens = ["token-of-the-tests-1", "token-of-the-tests-2"]
    with session_on(mock, FIELDS, env={"GOOGLE_APPLICATION_CREDENTIALS": key_file}) as session:
        assert [session.call("ask", "hi") for _ in range(2)] == ["echo hi"] * 2
    assert len(tokens.asked) == 2


def test_requests_share_the_search_for_a_token(tokens: TokenServer, key_file: str) -> None:
    """Also with one that stops waiting for it."""
    settings = resolve("here", [{"here": FIELDS}])
    account = GoogleAccount(settings, {"GOOGLE_APPLICATION_CREDENTIALS": key_file}, Redactor())

    async def main() -> list[str]:
        asked = [asyncio.create_task(account.token(Origin("m", "here", 9.0), Patience(9.0))) for _ in range(4)]
        await asyncio.sleep(0)
        asked.pop().cancel()
        return await asyncio.gather(*asked)

    assert asyncio.run(main()) == ["token-of-the-tests-1"] * 3 and len(tokens.asked) == 1


def test_what_the_machine_has(mock: Vertex, tokens: TokenServer, key_file: str, bare_machine: Path) -> None:
    """`gcloud auth application-default login` writes such a file."""
    (bare_machine / "gcloud").mkdir()
    (bare_machine / "gcloud" / "application_default_credentials.json").write_text(Path(key_file).read_text())
    mock.tokens = ["token-of-the-tests-1"]
    with session_on(mock, FIELDS) as session:
        assert session.call("ask", "hi") == "echo hi"
    with session_on(mock, FIELDS, env={}) as session:
        error = failure(session, "ask", "hi")
    assert error.variant == "MissingKey" and "the run has variables of its own" in error.message and len(tokens.asked) == 1


def test_a_machine_without_any(mock: Vertex, bare_machine: Path) -> None:
    with session_on(mock, FIELDS) as session:
        error = failure(session, "again", "hi")
    assert error.variant == "MissingKey" and "set GOOGLE_APPLICATION_CREDENTIALS" in error.message and mock.seen == []
    assert "variables of its own" not in error.message and "--offline" in error.message


@pytest.mark.parametrize("content", ["no JSON", "[]", "{}", '{"type": "service_account"}', None])
def test_a_file_that_holds_none(mock: Vertex, tmp_path: Path, bare_machine: Path, content: str | None) -> None:
    path = tmp_path / "key.json"
    if content is not None:
        path.write_text(content)
    with session_on(mock, FIELDS, env={"GOOGLE_APPLICATION_CREDENTIALS": str(path)}) as session:
        error = failure(session, "again", "hi")
    said = "neither a service account nor a user" if content == "{}" else "the search for Google credentials failed ("
    assert error.variant == "AuthenticationFailed" and said in error.message


@pytest.fixture
def account_elsewhere(tokens: TokenServer, tmp_path: Path) -> str:
    """A file that says where to find a token, to be exchanged for one of Google."""
    (tmp_path / "subject").write_text("a token of somebody else")
    facts = {
        "type": "external_account", "audience": "//iam.googleapis.com/x", "token_url": tokens.url,
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "credential_source": {"file": str(tmp_path / "subject")},
    }  # fmt: skip
    (tmp_path / "elsewhere.json").write_text(json.dumps(facts))
    return str(tmp_path / "elsewhere.json")


def test_a_file_that_leads_elsewhere(
    mock: Vertex, tokens: TokenServer, account_elsewhere: str, key_file: str, bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O-1.288: who has variables of its own never gets the identity of the machine."""
    (bare_machine / "gcloud").mkdir()
    (bare_machine / "gcloud" / "application_default_credentials.json").write_text(Path(key_file).read_text())
    mock.tokens = ["token-of-the-tests-1"]
    with session_on(mock, FIELDS, env={"GOOGLE_APPLICATION_CREDENTIALS": account_elsewhere}) as session:
        error = failure(session, "again", "hi")
    assert error.variant == "AuthenticationFailed" and "neither a service account nor a user" in error.message
    assert tokens.asked == []
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", account_elsewhere)
    with session_on(mock, FIELDS) as session:
        assert session.call("ask", "hi") == "echo hi"
    assert tokens.asked[0]["subject_token"] == ["a token of somebody else"]


def test_who_gives_no_token_and_who_cannot_be_reached(mock: Vertex, tokens: TokenServer, key_file: str) -> None:
    """Nothing is shown of what it said; only the second is worth a retry."""
    env = {"GOOGLE_APPLICATION_CREDENTIALS": key_file}
    tokens.status = 400
    with session_on(mock, FIELDS, env=env) as session:
        error = failure(session, "again", "hi")
    assert error.variant == "AuthenticationFailed" and "(RefreshError)" in error.message and "hunter2" not in error.message
    assert "attempts" not in error.message
    facts = json.loads(Path(key_file).read_text())
    Path(key_file).write_text(json.dumps({**facts, "token_uri": "http://127.0.0.1:9/token"}))
    with session_on(mock, FIELDS, env=env) as session:
        error = failure(session, "again", "hi")
    assert error.variant == "NetworkError" and "nobody answers who gives Google credentials" in error.message
    assert "(3 attempts)" in error.message and mock.seen == []


def test_without_the_library_it_says_how_to_install_it(mock: Vertex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with session_on(mock, FIELDS) as session:
        error = failure(session, "ask", "hi")
    assert error.variant == "ProviderUnavailable" and "(the extra `vertex`)" in error.message and mock.seen == []
    assert "python -m pip install" in error.message
