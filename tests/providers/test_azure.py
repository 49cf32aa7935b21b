"""Azure: deployments, versions of the API, keys and tokens, its filter (O-1.278, O-1.284, O-1.286, O-1.287, O-1.290)."""

from __future__ import annotations

from typing import Any

import concerto
import pytest

from .cloud_mocks import API_VERSION, AzureChat, AzureResponses
from .cloud_programs import failure, session_on
from .mocks import KEY

FIELDS = {"provider": "azure", "api_version": API_VERSION}
TOKEN = "eyJ-token-of-the-tests"
WIRES = {"chat": AzureChat, "responses": AzureResponses}


@pytest.fixture(params=WIRES)
def mock(request: pytest.FixtureRequest) -> Any:
    with WIRES[request.param]() as made:
        made.fields = {**FIELDS, "api": request.param}
        yield made


@pytest.mark.parametrize("way", ["ask", "tell"])
def test_key_path_and_version(mock: Any, way: str) -> None:
    with session_on(mock, {**mock.fields, "api_key": KEY}) as session:
        assert session.call(way, "hi") == "echo hi"
    assert mock.broken == [] and mock.seen[0]["model"] == "m-1"


def test_without_a_word_the_api_is_chat() -> None:
    with AzureChat() as mock, session_on(mock, {**FIELDS, "api_key": KEY}) as session:
        assert session.call("ask", "hi") == "echo hi"


TOKENS: list[tuple[dict[str, str], dict[str, str]]] = [
    ({}, {"AZURE_OPENAI_AD_TOKEN": TOKEN, "AZURE_OPENAI_API_KEY": KEY}),
    ({"auth": "token"}, {"AZURE_OPENAI_AD_TOKEN": TOKEN}),
    ({"auth": "token", "api_key_env": "MINE"}, {"MINE": TOKEN, "AZURE_OPENAI_AD_TOKEN": "of-another"}),
    ({"auth": "token", "api_key": TOKEN}, {}),
]


@pytest.mark.parametrize(("fields", "env"), TOKENS)
def test_tokens(mock: Any, fields: dict[str, str], env: dict[str, str]) -> None:
    mock.token = TOKEN
    with session_on(mock, {**mock.fields, **fields}, env=env) as session:
        assert session.call("ask", "hi") == "echo hi"


KEYS: list[tuple[dict[str, str], dict[str, str]]] = [
    ({}, {"AZURE_OPENAI_API_KEY": KEY}),
    ({"auth": "key"}, {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_AD_TOKEN": TOKEN}),
    ({"api_key_env": "MINE"}, {"MINE": KEY, "AZURE_OPENAI_AD_TOKEN": TOKEN}),
]


@pytest.mark.parametrize(("fields", "env"), KEYS)
def test_keys(mock: Any, fields: dict[str, str], env: dict[str, str]) -> None:
    with session_on(mock, {**mock.fields, **fields}, env=env) as session:
        assert session.call("ask", "hi") == "echo hi"


@pytest.mark.parametrize(
    ("fields", "env", "variable"),
    [
        ({}, {}, "AZURE_OPENAI_API_KEY"),
        ({"auth": "token"}, {"AZURE_OPENAI_API_KEY": KEY}, "AZURE_OPENAI_AD_TOKEN"),
        ({"auth": "key"}, {"AZURE_OPENAI_AD_TOKEN": TOKEN}, "AZURE_OPENAI_API_KEY"),
        ({"api_key_env": "MINE"}, {"AZURE_OPENAI_API_KEY": KEY}, "MINE"),
    ],
)
def test_a_missing_key_or_token_is_named(mock: Any, fields: Any, env: Any, variable: str) -> None:
    with session_on(mock, {**mock.fields, **fields}, env=env) as session:
        error = failure(session, "ask", "hi")
    assert error.variant == "MissingKey" and f"environment variable {variable} is not set" in error.message and mock.seen == []


def test_a_token_is_shown_nowhere(mock: Any) -> None:
    mock.token = "another"
    with session_on(mock, {**mock.fields, "auth": "token", "api_key": TOKEN}) as session:
        error = failure(session, "ask", "hi")
    assert error.variant == "AuthenticationFailed" and TOKEN not in error.message


def test_endpoint_and_version_of_variables(mock: Any) -> None:
    env = {"AZURE_OPENAI_ENDPOINT": f"{mock.url}/", "OPENAI_API_VERSION": API_VERSION, "AZURE_OPENAI_API_KEY": KEY}
    with session_on(None, {"provider": "azure", "api": mock.fields["api"]}, env=env) as session:
        assert session.call("ask", "hi") == "echo hi"


@pytest.mark.parametrize(
    ("fields", "env", "said"),
    [
        ({"api_version": None}, {}, "lacks `api_version`: write it, or set OPENAI_API_VERSION"),
        ({"base_url": None}, {}, "lacks `base_url`: write it, or set AZURE_OPENAI_ENDPOINT"),
        ({"base_url": None}, {"AZURE_OPENAI_ENDPOINT": "mine"}, "the value of AZURE_OPENAI_ENDPOINT is not taken as `base_url`"),
        ({"api_version": None}, {"OPENAI_API_VERSION": "a/b"}, "the value of OPENAI_API_VERSION is not taken as `api_version`"),
    ],
)
def test_what_is_missing_is_named(mock: Any, fields: Any, env: Any, said: str) -> None:
    with session_on(mock, {**mock.fields, "api_key": KEY, **fields}, env=env) as session:
        error = failure(session, "again", "hi")
    assert error.variant == "ProviderUnavailable" and said in error.message and mock.seen == []


def test_what_the_client_would_read_by_itself_has_no_effect(mock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """O-1.25"""
    for name in ("AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of-another")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "api-key: of-another")
    with session_on(mock, {**mock.fields, "api_key": KEY}) as session:
        assert session.call("ask", "hi") == "echo hi"
    assert mock.broken == []


def test_headers_of_the_connection_go_along(mock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a gateway in front of it wants them."""
    seen: list[Any] = []
    let_in = mock.let_in
    monkeypatch.setattr(mock, "let_in", lambda headers: seen.append(headers.get("x-team")) or let_in(headers))
    with session_on(mock, {**mock.fields, "api_key": KEY, "headers": {"x-team": "blue"}}) as session:
        assert session.call("ask", "hi") == "echo hi"
    assert seen == ["blue"]


@pytest.mark.parametrize("name", ["gone", "a/b"])
def test_a_deployment_that_is_not_there_hands_over(name: str) -> None:
    with AzureChat() as mock, session_on(mock, {**FIELDS, "api_key": KEY}) as session:
        assert failure(session, "named", name).variant == "ModelNotFound"
        assert session.call("gone") == "spare"


def test_an_alias_is_the_name_of_a_deployment(mock: Any) -> None:
    with session_on(mock, {**mock.fields, "api_key": KEY, "models": {"m-1": "my-deployment"}}) as session:
        assert session.call("ask", "hi") == "echo hi"
    assert mock.seen[0]["model"] == "my-deployment"


def test_the_filter_refuses_and_hands_over(mock: Any) -> None:
    """It is no error of the request, and no retry mends it."""
    with session_on(mock, {**mock.fields, "api_key": KEY}) as session:
        error = failure(session, "again", "something forbidden")
        assert (error.variant, len(mock.seen)) == ("ContentFiltered", 1) and "content management policy" in error.message
        assert session.call("strict", "something forbidden") == "spare"


def test_a_cache_is_named_where_it_is_wanted(mock: Any) -> None:
    with session_on(mock, {**mock.fields, "api_key": KEY, "cache_prompt": True}) as session:
        session.call("counts", "word " * 1200)
        total, cached, _ = session.call("counts", "and now")
    assert 1024 <= cached < total and all("prompt_cache_key" in body for body in mock.seen)


def test_embeddings_stand_under_their_deployment() -> None:
    program = concerto.compile("""
        connect lab { provider: "azure", base_url: "http://127.0.0.1:9", api_version: "VERSION" }
        embedder E { provider: lab, base: "my-vectors" }
        pub fn ask() -> Result<Array<Array<Float>>, AgentError> { E.embed_all(["a", "bbb"]) }
    """.replace("VERSION", API_VERSION))
    with AzureChat() as mock, program.session(connections={"lab": {"base_url": mock.url, "api_key": KEY}}) as session:
        assert [round(row[1] / row[0], 3) for row in session.call("ask")] == [1.0, 3.0]  # of length 1
    assert mock.embedded == [API_VERSION]


@pytest.mark.parametrize("provider", ["bedrock", "vertex"])
def test_what_has_no_embeddings_says_so(provider: str) -> None:
    with pytest.raises(concerto.CompileError, match=f"the provider {provider} has no embeddings"):
        concerto.compile(f'embedder E {{ provider: {provider}, base: "v" }} fn main() {{ println(E.embed("x")?.len()); }}')
