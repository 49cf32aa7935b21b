"""A program on one connection, and environments without anything of the machine that runs the tests."""

from __future__ import annotations

import os
from typing import Any

import concerto
import pytest

from .mocks import Mock

Json = dict[str, Any]
PROGRAM = concerto.compile("""
    connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    connect spare { provider: "offline", replies: [{ text: "spare" }, { text: "spare" }] }
    schema N { n: Int }
    memory log: Memory = Memory::new();
    model M { provider: lab, base: "m-1", retry_policy: { max: 1 } }
    model Patient { provider: lab, base: "m-1", retry_policy: { max: 3, delay_ms: 1 } }
    model Spare { provider: spare, base: "s" }
    model Gone { provider: lab, base: "gone", fallback: [Spare] }
    model Strict { provider: lab, base: "m-1", fallback: [Spare], fallback_on: ["refusal"] }
    model Hasty { provider: lab, base: "m-1", timeout: 0.5, retry_policy: { max: 1 } }
    pub fn ask(text: String) -> Result<String, AgentError> { Ok(M.execute(text)?.text) }
    pub fn again(text: String) -> Result<String, AgentError> { Ok(Patient.execute(text)?.text) }
    pub fn named(id: String) -> Result<String, AgentError> { Ok(M.execute(Prompt::new("hi").with_model(id))?.text) }
    pub fn gone() -> Result<String, AgentError> { Ok(Gone.execute("hi")?.text) }
    pub fn strict(text: String) -> Result<String, AgentError> { Ok(Strict.execute(text)?.text) }
    pub fn hasty() -> Result<String, AgentError> { Ok(Hasty.execute("hi")?.text) }
    pub fn warm(text: String) -> Result<String, AgentError> { Ok(M.with(temperature: 0.2).execute(text)?.text) }
    pub fn number(text: String) -> Result<Int, AgentError> { Ok(M.execute_with_schema<N>(text)?.n) }
    pub fn counts(text: String) -> Result<Array<Int>, AgentError> {
        let r = M.with_memory(log).execute(text)?;
        Ok([r.tokens_in, r.tokens_cached, r.tokens_cache_write])
    }
    pub fn tell(text: String) -> Result<String, AgentError> {
        let mut told = "";
        for chunk in M.stream(text)? { told += chunk.text; }
        Ok(told)
    }
    pub fn tell_again(text: String) -> Result<String, AgentError> {
        let mut told = "";
        for chunk in Patient.stream(text)? { told += chunk.text; }
        Ok(told)
    }
""")


def session_on(mock: Mock | None, fields: Json, **options: Any) -> concerto.Session:
    address = {} if mock is None else {"base_url": mock.url}
    return PROGRAM.session(connections={"lab": {"base_url": None, **address, **fields}}, **options)


def failure(session: concerto.Session, function: str, *given: Any) -> Any:
    """The error of a call that fails."""
    with pytest.raises(concerto.ProgramError) as raised:
        session.call(function, *given)
    return raised.value.error


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """A process without variables of AWS, Azure and Google, whose user has no files and whose machine has no services; the folder
    of the user."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "OPENAI_", "ANTHROPIC_", "CLOUD_ML_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws-keys"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    return tmp_path
