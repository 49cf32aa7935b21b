"""Amazon Bedrock: who signs, and with what; streams in frames; the errors of AWS (O-1.279, O-1.285, O-1.287 to O-1.290)."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from .cloud_mocks import ACCESS_KEY, REGION, SECRET_KEY, SESSION_TOKEN, Bedrock, chunk, exception
from .cloud_programs import bare_machine, failure, session_on
from .mocks import KEY, Json

__all__ = ["bare_machine"]
FIELDS = {"provider": "bedrock", "region": REGION}
ENV = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}


@pytest.fixture
def mock() -> Any:
    with Bedrock() as made:
        yield made


# ---------------------------------------------------------------- who asks


@pytest.mark.parametrize("way", ["ask", "tell"])
def test_keys_in_variables_sign(mock: Bedrock, way: str) -> None:
    with session_on(mock, FIELDS, env=ENV) as session:
        assert session.call(way, "hi") == "echo hi"
    assert (mock.signed_by, mock.broken) == ([ACCESS_KEY], [])


def test_an_id_with_signs_of_an_address_is_signed_as_it_is_sent(mock: Bedrock) -> None:
    ids = ["eu.anthropic.claude-9-v1:0", "arn:aws:bedrock:eu-north-1:1:inference-profile/eu.claude 9"]
    with session_on(mock, FIELDS, env=ENV) as session:
        assert [session.call("named", id) for id in ids] == ["echo hi", "echo hi"]
    assert [body["model"] for body in mock.seen] == ids and mock.broken == []


def test_the_token_of_a_session_is_sent_and_shown_nowhere(mock: Bedrock) -> None:
    mock.signers[ACCESS_KEY] = SECRET_KEY, SESSION_TOKEN
    with session_on(mock, FIELDS, env={**ENV, "AWS_SESSION_TOKEN": SESSION_TOKEN}) as session:
        assert session.call("ask", "hi") == "echo hi"
        mock.signers[ACCESS_KEY] = "another-secret", SESSION_TOKEN
        error = failure(session, "ask", "hi")  # which quotes the token
    assert error.variant == "AuthenticationFailed" and "with <secret AWS_SESSION_TOKEN>" in error.message
    assert SESSION_TOKEN not in error.message and SECRET_KEY not in error.message


def test_a_key_goes_before_signatures_and_needs_no_library(mock: Bedrock, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("boto3", "botocore"):
        monkeypatch.setitem(sys.modules, name, None)
    ways: list[tuple[Json, Json]] = [
        ({**ENV, "AWS_BEARER_TOKEN_BEDROCK": KEY}, {}), ({**ENV, "MINE": KEY}, {"api_key_env": "MINE"}), ({}, {"api_key": KEY}),
    ]  # fmt: skip
    for env, fields in ways:
        with session_on(mock, {**FIELDS, **fields}, env=env) as session:
            assert (session.call("ask", "hi"), session.call("tell", "hi")) == ("echo hi", "echo hi")
    assert mock.signed_by == [""] * 6


def test_without_the_library_it_says_how_to_install_it(mock: Bedrock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with session_on(mock, FIELDS, env=ENV) as session:
        error = failure(session, "ask", "hi")
        assert session.metrics().model_calls == 0
    assert error.variant == "ProviderUnavailable" and "python -m pip install" in error.message
    assert "boto3 is not installed" in error.message and "(the extra `bedrock`)" in error.message and mock.seen == []


def test_a_named_key_that_is_not_set_is_missing_whatever_else_there_is(mock: Bedrock) -> None:
    with session_on(mock, {**FIELDS, "api_key_env": "MINE"}, env=ENV) as session:
        error = failure(session, "ask", "hi")
    assert error.variant == "MissingKey" and "environment variable MINE is not set" in error.message


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a `profile`"),
        ({"AWS_ACCESS_KEY_ID": ACCESS_KEY}, "set AWS_SECRET_ACCESS_KEY too"),
        ({"AWS_SECRET_ACCESS_KEY": SECRET_KEY}, "set AWS_ACCESS_KEY_ID too"),
    ],
)
def test_what_is_missing_is_named(mock: Bedrock, env: dict[str, str], said: str) -> None:
    with session_on(mock, FIELDS, env=env) as session:
        error = failure(session, "again", "hi")
    assert error.variant == "MissingKey" and said in error.message and "--offline" in error.message
    assert SECRET_KEY not in error.message and mock.seen == []


# ---------------------------------------------------------------- what the machine has


def test_a_profile_signs_whatever_the_variables_hold(mock: Bedrock, bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare_machine / "aws-keys").write_text(f"[work]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n")
    for name in (*ENV, "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.setenv(name, "of-another")
    with session_on(mock, {**FIELDS, "profile": "work"}) as session:
        assert session.call("ask", "hi") == "echo hi"
    assert mock.signed_by == [ACCESS_KEY]


def test_the_variable_of_a_profile_counts_behind_keys(mock: Bedrock, bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare_machine / "aws-keys").write_text(f"[work]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n")
    monkeypatch.setenv("AWS_PROFILE", "work")
    with session_on(mock, FIELDS) as session:
        assert session.call("ask", "hi") == "echo hi"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKOTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    mock.signers["AKOTHER"] = SECRET_KEY, None
    with session_on(mock, FIELDS) as session:
        assert session.call("ask", "hi") == "echo hi"
    assert mock.signed_by == [ACCESS_KEY, "AKOTHER"]


def test_an_unknown_profile(mock: Bedrock, bare_machine: Path) -> None:
    with session_on(mock, {**FIELDS, "profile": "wrok"}) as session:
        error = failure(session, "again", "hi")
    assert error.variant == "AuthenticationFailed" and "AWS credentials of profile wrok failed (ProfileNotFound)" in error.message


def script(folder: Path, body: str) -> None:
    """A process of the user that gives credentials."""
    (folder / "give.py").write_text(body)
    (folder / "aws").write_text(f"[profile work]\ncredential_process = {sys.executable} {folder / 'give.py'}\n")


def test_credentials_that_expire_are_asked_for_again(mock: Bedrock, bare_machine: Path) -> None:
    """Each time the process is asked it gives another key, which expires soon."""
    soon = (datetime.now(UTC) + timedelta(seconds=60)).isoformat()
    script(bare_machine, f"""
import json, os
path = {str(bare_machine / "count")!r}
count = len(open(path).read()) if os.path.exists(path) else 0
open(path, "a").write("x")
keys = {{"AccessKeyId": f"AK{{count}}", "SecretAccessKey": {SECRET_KEY!r}, "SessionToken": f"a-session-token-{{count}}"}}
print(json.dumps({{"Version": 1, "Expiration": {soon!r}, **keys}}))
""")
    mock.signers.update({f"AK{count}": (SECRET_KEY, f"a-session-token-{count}") for count in range(20)})
    with session_on(mock, {**FIELDS, "profile": "work"}) as session:
        assert [session.call("ask", "hi") for _ in range(2)] == ["echo hi", "echo hi"]
    assert len(set(mock.signed_by)) == 2 and mock.broken == []


def test_a_search_that_takes_too_long_is_a_timeout(mock: Bedrock, bare_machine: Path) -> None:
    script(bare_machine, "import time; time.sleep(1.5)")
    with session_on(mock, {**FIELDS, "profile": "work"}) as session:
        error = failure(session, "hasty")
    assert error.kind == "TimeoutError" and mock.seen == []


def test_a_search_that_fails_shows_nothing_of_what_was_said(mock: Bedrock, bare_machine: Path) -> None:
    script(bare_machine, "import sys; sys.exit('the secret is hunter2')")
    with session_on(mock, {**FIELDS, "profile": "work"}) as session:
        error = failure(session, "again", "hi")
    assert error.variant == "AuthenticationFailed" and "(CredentialRetrievalError)" in error.message
    assert "hunter2" not in error.message


def test_a_run_with_variables_of_its_own_has_nothing_of_the_machine(
    mock: Bedrock, bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bare_machine / "aws-keys").write_text(f"[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n")
    for name, value in {**ENV, "AWS_BEARER_TOKEN_BEDROCK": KEY, "AWS_REGION": REGION}.items():
        monkeypatch.setenv(name, value)
    for fields in (FIELDS, {**FIELDS, "profile": "default"}):
        with session_on(mock, fields, env={"OTHER": "1"}) as session:
            error = failure(session, "ask", "hi")
        assert error.variant == "MissingKey" and "the run has variables of its own" in error.message
    with session_on(mock, {"provider": "bedrock"}, env={}) as session:
        assert "lacks `region`" in failure(session, "ask", "hi").message
    assert mock.seen == []


def test_what_the_client_would_read_by_itself_has_no_effect(mock: Bedrock, monkeypatch: pytest.MonkeyPatch) -> None:
    """O-1.25"""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "key-of-another")
    monkeypatch.setenv("AWS_REGION", "us-west-1")
    monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "authorization: Bearer another")
    with session_on(mock, FIELDS, env=ENV) as session:
        assert session.call("ask", "hi") == "echo hi"
    assert mock.signed_by == [ACCESS_KEY]


# ---------------------------------------------------------------- fields and variables


def test_the_address_and_the_region_of_variables(mock: Bedrock) -> None:
    env = {**ENV, "AWS_DEFAULT_REGION": REGION, "ANTHROPIC_BEDROCK_BASE_URL": mock.url}
    with session_on(None, {"provider": "bedrock"}, env=env) as session:
        assert session.call("ask", "hi") == "echo hi"
    with session_on(None, {"provider": "bedrock"}, env={**env, "AWS_REGION": "us-east-1"}) as session:
        assert failure(session, "ask", "hi").variant == "AuthenticationFailed"  # signed for that region


@pytest.mark.parametrize("value", ["us east", "x/../y", "-", "evil.example/#"])
def test_a_variable_that_is_no_region(mock: Bedrock, value: str) -> None:
    with session_on(mock, {"provider": "bedrock"}, env={**ENV, "AWS_REGION": value}) as session:
        error = failure(session, "ask", "hi")
    assert error.variant == "ProviderUnavailable" and "the value of AWS_REGION is not taken as `region`" in error.message


def test_a_key_and_a_profile_are_two_accounts() -> None:
    with pytest.raises(ValueError, match="E4001: connection lab: profile and api_key each say who asks"):
        session_on(None, {**FIELDS, "api_key": KEY, "profile": "work"}).__enter__()


# ---------------------------------------------------------------- what is sent


def test_sampling_goes_to_the_version_that_takes_it(mock: Bedrock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.providers.mocks.Anthropic.check", lambda self, body, headers: None)
    versions = []
    check = mock.check_version
    monkeypatch.setattr(mock, "check_version", lambda body: versions.append(body.get("anthropic_version")) or check(body))
    with session_on(mock, FIELDS, env=ENV) as session:
        assert (session.call("warm", "hi"), session.call("ask", "hi")) == ("echo hi", "echo hi")
    assert versions == ["bedrock-2023-05-31", "2026-10-21"] and mock.seen[0]["temperature"] == 0.2


def test_a_conversation_is_read_from_the_cache(mock: Bedrock) -> None:
    with session_on(mock, FIELDS, env=ENV) as session:
        for text in ("word " * 1200, "more " * 1200):
            session.call("counts", text)
        total, cached, written = session.call("counts", "and now")
    assert total > cached > 1024 and mock.broken == [] and written > 0


def test_schemas_are_native(mock: Bedrock) -> None:
    with session_on(mock, FIELDS, env=ENV) as session:
        assert session.call("number", "hi") == 7
    assert all("format" in body["output_config"] for body in mock.seen)


def test_headers_of_the_connection_are_signed_too(mock: Bedrock, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    let_in = mock.let_in
    monkeypatch.setattr(mock, "let_in", lambda *given: seen.append(given[2]) or let_in(*given))
    with session_on(mock, {**FIELDS, "headers": {"x-team": "blue"}}, env=ENV) as session:
        assert session.call("ask", "hi") == "echo hi"
    assert seen[0]["x-team"] == "blue" and ";x-team" in seen[0]["authorization"]


# ---------------------------------------------------------------- streams


CUTS: dict[str, tuple[Any, str]] = {
    "checksum of a frame": (lambda data, events: data[:200] + bytes([data[200] ^ 1]) + data[201:], "wrong checksum"),
    "checksum of a beginning": (lambda data, events: bytes([data[0] ^ 1]) + data[1:], "wrong checksum"),
    "end of a frame": (lambda data, events: data[:-300], "stop_reason"),
    "nothing": (lambda data, events: b"", "the stream has no events"),
    "server-sent events": (lambda data, events: b"data: {}\n\n" * 9, "wrong checksum"),
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_damaged_stream_is_no_reply(mock: Bedrock, cut: str) -> None:
    mock.cut, said = CUTS[cut]
    with session_on(mock, FIELDS, env=ENV) as session:
        error = failure(session, "tell", "hi, what is this?")
    assert error.variant == "InvalidResponse" and said in error.message


STATUSES = [
    ("throttlingException", "AgentError", "RateLimited", 429, 3),
    ("internalServerException", "ConnectionError", "ProviderUnavailable", 500, 3),
    ("serviceUnavailableException", "ConnectionError", "ProviderUnavailable", 503, 3),
    ("modelStreamErrorException", "ConnectionError", "ProviderUnavailable", 424, 3),
    ("modelTimeoutException", "TimeoutError", None, 408, 3),
    ("validationException", "AgentError", "InvalidRequest", 400, 1),
    ("aNewException", "ConnectionError", "ProviderUnavailable", 500, 3),
]


@pytest.mark.parametrize(("kind", "family", "variant", "status", "tries"), STATUSES)
def test_an_exception_at_the_beginning_of_a_stream(
    mock: Bedrock, kind: str, family: str, variant: str | None, status: int, tries: int
) -> None:
    """It has its documented status, and is retried like that."""
    mock.cut = lambda data, events: exception(kind, "too much")
    with session_on(mock, FIELDS, env=ENV) as session:
        error = failure(session, "tell_again", "hi")
    assert (error.kind, error.variant, error.fields["status"], len(mock.seen)) == (family, variant, status, tries)
    assert "too much" in error.message


def test_an_exception_behind_the_beginning(mock: Bedrock) -> None:
    """The provider has done some work: its report of tokens counts, and so does a retry, since no text has come."""
    mock.cut = lambda data, events: chunk(events[0]) + exception("throttlingException", "too much")
    with session_on(mock, FIELDS, env=ENV) as session:
        error = failure(session, "tell_again", "hi")
        used = session.metrics()
    assert error.variant == "RateLimited" and error.fields.get("status") is None and len(mock.seen) == 3
    assert used.tokens_in > 0


def test_an_exception_behind_text_ends_the_stream(mock: Bedrock) -> None:
    def cut(data: bytes, events: list[Json]) -> bytes:
        at = next(n for n, event in enumerate(events) if (event.get("delta") or {}).get("type") == "text_delta")
        return b"".join(map(chunk, events[: at + 1])) + exception("internalServerException", "broken")

    mock.cut = cut
    with session_on(mock, FIELDS, env=ENV) as session:
        error = failure(session, "tell_again", "hi")
    assert error.variant == "ProviderUnavailable" and len(mock.seen) == 1


# ---------------------------------------------------------------- errors


def test_an_id_that_no_model_has_hands_over(mock: Bedrock) -> None:
    with session_on(mock, FIELDS, env=ENV) as session:
        assert failure(session, "named", "gone").variant == "ModelNotFound"
        assert session.call("gone") == "spare"


REFUSALS = [(424, "ProviderUnavailable", 3), (403, "AuthenticationFailed", 1), (429, "RateLimited", 3)]


@pytest.mark.parametrize(("status", "variant", "tries"), REFUSALS)
def test_statuses_of_aws(mock: Bedrock, status: int, variant: str, tries: int) -> None:
    mock.faults = [status] * tries
    with session_on(mock, FIELDS, env=ENV) as session:
        error = failure(session, "again", "hi")
    assert (error.variant, error.fields["status"], len(mock.seen)) == (variant, status, tries)


def test_a_wrong_key_is_refused_in_words_of_aws(mock: Bedrock) -> None:
    with session_on(mock, {**FIELDS, "api_key": "key-of-nobody"}) as session:
        error = failure(session, "ask", "hi")
    assert error.variant == "AuthenticationFailed" and "make sure your API Key is valid" in error.message


def test_nothing_of_it_is_imported_before_it_is_needed() -> None:
    program = """
import sys, concerto
p = concerto.compile('''
    connect a { provider: "bedrock", region: "x-1" }
    model M { provider: a, base: "m" }
    fn main() { println(M.execute("hi")?.text); }
''')
assert p.session(offline=True).__enter__().run().ok
print([name for name in ("boto3", "botocore", "google.auth", "anthropic", "openai") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr


def test_betas_stand_in_the_body(mock: Bedrock) -> None:
    """AWS reads no header of Anthropic's."""
    with session_on(mock, {**FIELDS, "extra": {"anthropic_beta": ["context-1m"]}}, env=ENV) as session:
        assert session.call("ask", "hi") == "echo hi"
    assert mock.seen[0].pop("anthropic_beta") == ["context-1m"]
