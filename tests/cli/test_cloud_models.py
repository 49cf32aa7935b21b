"""`concerto models` of Azure, Amazon Bedrock and Vertex AI (O-1.233, O-1.289)."""

from __future__ import annotations

import json
import sys

import pytest

from ..providers.cloud_mocks import ACCESS_KEY, API_VERSION, PROJECT, REGION, SECRET_KEY, AzureChat, Bedrock, Vertex
from ..providers.cloud_programs import bare_machine
from ..providers.mocks import KEY

__all__ = ["bare_machine"]
KINDS = {
    "azure": (AzureChat, {"api_version": API_VERSION}, "gpt-1\ngpt-2\n", "AZURE_OPENAI_API_KEY"),
    "bedrock": (Bedrock, {"region": REGION}, "anthropic.m-1\nanthropic.m-3\neu.anthropic.m-2\n", "AWS_BEARER_TOKEN_BEDROCK"),
    "vertex": (Vertex, {"region": REGION, "project": PROJECT}, "m-1\nm-2\n", None),
}


@pytest.fixture
def ask(cli, write, monkeypatch, bare_machine):
    """Ask a connection `lab` of a project with these fields and a program's models, in an environment."""

    def run(provider, mock, *words, env=None, models="", **fields):
        for name, value in (env or {}).items():
            monkeypatch.setenv(name, value)
        fields = {"provider": provider, "base_url": mock.url, **KINDS[provider][1], **fields}
        lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in fields.items() if value is not None)
        write("Concerto.toml", f'[project]\nname = "p"\nversion = "1.0.0"\nentry = "main.conc"\n[connections.lab]\n{lines}\n')
        write("main.conc", f"{models}\nfn main() {{}}\n")
        return cli("models", "lab", *words)

    return run


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def test_ids_and_who_asked(ask, kind):
    made, _, ids, _ = KINDS[kind]
    with made() as mock:
        code, out, err = ask(kind, mock, api_key_env="lab_key", env={"lab_key": KEY})
    word, count = "token" if kind == "vertex" else "key", ids.count("\n")
    assert (code, out) == (0, ids) and f"lab: {count} models at {mock.url}, asked with the {word} in lab_key\n" in err


def test_a_key_that_is_refused(ask, kind):
    with KINDS[kind][0]() as mock:
        code, out, err = ask(kind, mock, api_key_env="LAB_KEY", env={"LAB_KEY": "wrong"})
    assert (code, out) == (1, "") and "is LAB_KEY the key of this provider" in err


def test_the_variable_of_the_provider(ask, kind):
    made, _, ids, variable = KINDS[kind]
    if variable is None:
        return
    with made() as mock:
        code, out, err = ask(kind, mock, env={variable: KEY})
    assert (code, out) == (0, ids) and f"asked with the key in {variable}\n" in err


def test_nothing_to_ask_with(ask, kind):
    """The message has all the ways."""
    with KINDS[kind][0]() as mock:
        code, out, err = ask(kind, mock)
    variable = {"azure": "AZURE_OPENAI_API_KEY", "bedrock": "AWS_ACCESS_KEY_ID", "vertex": "GOOGLE_APPLICATION_CREDENTIALS"}[kind]
    assert (code, out) == (1, "") and variable in err and ("help" in err) == (kind == "azure")


def test_what_is_missing_is_named_and_nothing_advised(ask):
    with Bedrock() as mock:
        code, _, err = ask("bedrock", mock, region=None, env={"AWS_BEARER_TOKEN_BEDROCK": KEY})
    assert code == 1 and err == "error: lab: connection lab lacks `region`: write it, or set AWS_REGION or AWS_DEFAULT_REGION\n"


def test_what_azure_lists_are_no_deployments(ask):
    with AzureChat() as mock:
        _, _, err = ask(
            "azure", mock, api_key_env="LAB_KEY", env={"LAB_KEY": KEY}, models='model M { provider: lab, base: "my-deployment" }'
        )
    assert "note: these are models that may be deployed; a request names a deployment of yours" in err
    assert "which is not in the list" not in err


def test_a_token_of_azure(ask):
    with AzureChat() as mock:
        code, _, err = ask("azure", mock, auth="token", env={"AZURE_OPENAI_AD_TOKEN": "wrong"})
    assert code == 1 and "is AZURE_OPENAI_AD_TOKEN the key of this provider" in err


def test_signed_by_an_account(ask, bare_machine):
    keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    with Bedrock() as mock:
        code, out, err = ask("bedrock", mock, env=keys)
        assert (code, out) == (0, KINDS["bedrock"][2]) and err.endswith("asked with AWS credentials\n")
        assert mock.signed_by == [ACCESS_KEY] * 2
        mock.signers = {}
        code, out, err = ask("bedrock", mock, env=keys)
    assert code == 1 and "refuses who asks with AWS credentials: is it the right account" in err
    (bare_machine / "aws-keys").write_text(f"[work]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n")
    with Bedrock() as mock:
        code, _, err = ask("bedrock", mock, profile="work")
    assert code == 0 and err.endswith("asked with the AWS profile work\n")


def test_a_library_that_is_missing(ask, monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with Bedrock() as mock:
        code, _, err = ask("bedrock", mock, env={"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY})
    assert code == 1 and "boto3 is not installed" in err and "help" not in err


def test_what_is_no_list(ask, monkeypatch, kind):
    made = KINDS[kind][0]
    with made() as mock:
        monkeypatch.setattr(mock, "listed", lambda path, headers: (200, "application/json", b'{"publisherModels": [{}]}'))
        code, _, err = ask(kind, mock, api_key_env="LAB_KEY", env={"LAB_KEY": KEY})
    assert code == 1 and "is no API of models" in err


def test_the_service_of_aws_that_lists(monkeypatch):
    """At AWS's own address the list comes from another host."""
    from concerto.runtime.access.secrets import Redactor
    from concerto.runtime.connections import resolve
    from concerto.runtime.providers.bedrock import Bedrock as Provider
    from concerto.runtime.records import SideRequest

    asked = []

    async def fetch(self, request, arguments, create):
        asked.append(create.__closure__[0].cell_contents)
        raise KeyError

    monkeypatch.setattr(Provider, "fetch", fetch)
    provider = Provider(resolve("lab", [{"lab": {"provider": "bedrock", "region": REGION}}]), {}, Redactor())
    with pytest.raises(KeyError):
        provider.model_ids(SideRequest("lab", "lab", 5)).send(None)
    assert asked == ["https://bedrock.eu-north-1.amazonaws.com/foundation-models?byProvider=anthropic"]


def test_a_manifest_with_two_accounts(ask, cli):
    with Bedrock() as mock:
        ask("bedrock", mock, profile="work", api_key_env="LAB_KEY")
    code, _, err = cli("check", "main.conc")
    assert code == 65 and "error[E4001]: [connections.lab] has `profile` and a key, which each say who asks" in err


def test_inspect_names_the_variables_of_an_account(cli, write):
    write("lab.conc", 'model M { provider: bedrock, base: "b" } fn main() { println(M.execute("x")?.text); }')
    code, out, _ = cli("inspect", "lab.conc")
    assert code == 0
    names = ("AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    assert f"key_variables: {', '.join(names)}" in out.splitlines()
