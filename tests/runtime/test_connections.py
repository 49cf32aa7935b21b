"""Connections: merge, defaults, keys, headers (O-1.1 to O-1.28, G-10)."""

import json

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.calls.settings import call_settings, system_text
from concerto.runtime.connections import check_connections, resolve, resolve_all, resolve_headers, resolve_key
from concerto.runtime.effects.world import key_variables
from concerto.runtime.errors import CallFailure, ConfigFailure, Origin
from concerto.vm.providers import PROVIDERS

ORIGIN = Origin("m", "lab", 60)


def settings(**fields):
    return resolve("lab", [{"lab": fields}])


def test_predeclared():
    found = resolve_all([])
    assert set(found) == set(PROVIDERS) - {"custom"}
    assert {"openai", "anthropic", "google", "ollama", "offline"} < set(found)
    assert found["offline"].default_model == "offline-1"
    assert (found["openai"].api_key_env, found["openai"].default_model) == ("OPENAI_API_KEY", None)
    assert found["anthropic"].api_key_env == "ANTHROPIC_API_KEY"


def test_declarations_merge_field_by_field():
    host = {"lab": {"timeout": 5}}
    manifest = {"lab": {"timeout": 7, "base_url": "http://m"}}
    source = {"lab": {"provider": "custom", "base_url": "http://s", "default_model": "tiny"}, "openai": {"timeout": 9}}
    found = resolve_all([host, manifest, source])
    assert (found["lab"].timeout, found["lab"].base_url, found["lab"].default_model) == (5, "http://m", "tiny")
    assert (found["openai"].provider, found["openai"].timeout) == ("openai", 9)


@pytest.mark.parametrize(
    ("provider", "url", "variable", "max_tokens"),
    [
        ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "max_completion_tokens"),
        ("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "max_tokens"),
        ("google", "https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY", "max_tokens"),
        ("ollama", "http://localhost:11434/v1", None, "max_tokens"),
    ],
)
def test_providers_bring_their_defaults(provider, url, variable, max_tokens):
    found = settings(provider=provider)
    assert (found.base_url, found.api_key_env, found.row.max_tokens_name) == (url, variable, max_tokens)


@pytest.mark.parametrize(
    ("fields", "api"),
    [
        ({"provider": "openai"}, "responses"),
        ({"provider": "openai", "base_url": "https://api.openai.com/v1"}, "responses"),
        ({"provider": "openai", "base_url": "http://proxy/v1"}, "chat"),
        ({"provider": "openai", "api": "chat"}, "chat"),
        ({"provider": "ollama"}, "chat"),
        ({"provider": "google"}, "chat"),
        ({"provider": "google", "api": "responses"}, "responses"),
        ({"provider": "anthropic", "api": "chat"}, "messages"),
        ({"provider": "custom", "base_url": "http://x", "api": "responses"}, "responses"),
    ],
)
def test_which_api(fields, api):
    assert settings(**fields).api == api


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "E4002"),
        ({"provider": "custom"}, "E4002"),
        ({"provider": "nobody"}, "E4004"),
        ({"provider": "anthropic", "organization": "o"}, "E4006"),
        ({"provider": "offline", "project": "p"}, "E4006"),
        ({"provider": "custom", "base_url": "http://x", "organization": "o"}, "E4006"),
        ({"provider": "openai", "colour": "red"}, "E4001"),
        ({"provider": "bedrock", "profile": "work", "api_key_env": "K"}, "E4001"),
        ({"provider": "ollama", "project": "p"}, "E4006"),
    ],
)
def test_what_the_host_may_not_give(fields, code):
    with pytest.raises(ConfigFailure) as refused:
        settings(**fields)
    assert refused.value.code == code


@pytest.mark.parametrize("provider", ["nobody", 5, ["openai"]])
def test_an_unknown_provider_is_named_with_its_connection_and_the_known_ones(provider):
    with pytest.raises(ConfigFailure) as refused:
        settings(provider=provider)
    known = ", ".join(PROVIDERS)
    assert refused.value.message == f"connection lab: unknown provider {json.dumps(provider)}; providers are {known}"


def test_variables_give_what_nobody_declares():
    env = {"AWS_REGION": "  ", "AWS_DEFAULT_REGION": " eu-west-1 ", "OPENAI_API_VERSION": "1"}
    found = resolve("lab", [{"lab": {"provider": "bedrock"}}], env)
    assert (found.region, found.given) == ("eu-west-1", {"region": "AWS_DEFAULT_REGION"})
    assert resolve("lab", [{"lab": {"provider": "bedrock", "region": "a"}}], env).given == {}
    assert resolve("lab", [{"lab": {"provider": "openai"}}], env).api_version is None


def test_a_host_may_put_another_provider_in_place_of_a_cloud():
    """The fields of the first one have no effect then."""
    program = {"lab": {"provider": "bedrock", "region": "a", "profile": "work", "api_key_env": "K"}}
    found = resolve("lab", [{"lab": {"provider": "custom", "base_url": "http://box/v1"}}, program])
    assert (found.base_url, found.key_variable({})) == ("http://box/v1", "K")


def test_aliases():
    found = settings(provider="openai", default_model="fast", models={"fast": "gpt-x"})
    assert found.model_id(None) == "gpt-x"
    assert found.model_id("other") == "other"


def test_the_key_is_trimmed_and_known_to_the_filter():
    redactor = Redactor()
    key = resolve_key(settings(provider="openai"), {"OPENAI_API_KEY": " sk-123 \n"}, redactor, ORIGIN)
    assert key == "sk-123"
    assert redactor.clean("the key sk-123 was used") == "the key <secret OPENAI_API_KEY> was used"
    assert "sk-123" not in repr(redactor)


def test_a_key_of_the_host_is_not_called_by_the_variable():
    redactor = Redactor()
    for name, key in (("one", "sk-123"), ("two", "sk-456")):
        given = resolve(name, [{name: {"provider": "openai", "api_key": key}}])
        assert resolve_key(given, {"OPENAI_API_KEY": "sk-789"}, redactor, ORIGIN) == key
    assert redactor.clean("sk-123 sk-456") == "<secret one.api_key> <secret two.api_key>"


@pytest.mark.parametrize("env", [{}, {"OPENAI_API_KEY": "  "}])
def test_a_missing_key_names_the_variable_and_the_way_out(env):
    with pytest.raises(CallFailure) as missing:
        resolve_key(settings(provider="openai"), env, Redactor(), ORIGIN)
    failure = missing.value
    assert (failure.kind, failure.variant) == ("ConnectionError", "MissingKey")
    assert "OPENAI_API_KEY" in failure.message and "--offline" in failure.message
    assert failure.fields["connection"] == "lab"


def test_optional_keys_have_a_stand_in():
    assert resolve_key(settings(provider="ollama"), {}, Redactor(), ORIGIN) == "ollama"
    assert resolve_key(settings(provider="custom", base_url="http://x"), {}, Redactor(), ORIGIN) == "none"


@pytest.mark.parametrize("value", ["sk-\u00e9", "a\nb", "a\x00b"])
def test_a_key_no_header_can_carry_is_not_shown(value):
    with pytest.raises(CallFailure) as refused:
        resolve_key(settings(provider="openai"), {"OPENAI_API_KEY": value}, Redactor(), ORIGIN)
    assert "OPENAI_API_KEY" in refused.value.message
    assert value not in refused.value.message


def test_headers_come_from_text_or_environment():
    found = settings(provider="openai", headers={"X-A": "1", "X-B": {"env": "B"}})
    redactor = Redactor()
    assert resolve_headers(found, {"B": "hidden"}, redactor, ORIGIN) == {"X-A": "1", "X-B": "hidden"}
    assert redactor.clean("hidden") == "<secret B>"
    with pytest.raises(CallFailure):
        resolve_headers(found, {}, redactor, ORIGIN)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"headers": {"X-A": "\u00fc"}}, "the value of the header X-A of connection lab holds characters a header cannot carry"),
        ({"headers": {"X-A": "a\nb"}}, "the value of the header X-A of connection lab holds characters a header cannot carry"),
        ({"headers": {"X A": "1"}}, "connection lab: 'X A' is no name of a header"),
        ({"headers": {"": {"env": "B"}}}, "connection lab: '' is no name of a header"),
        ({"organization": "\u00fc"}, "the value of organization of connection lab holds characters a header cannot carry"),
    ],
)
def test_what_no_header_can_carry_is_named(fields, says):
    with pytest.raises(CallFailure) as refused:
        resolve_headers(settings(provider="openai", **fields), {"B": "x"}, Redactor(), ORIGIN)
    assert refused.value.message.endswith(says)


def test_settings_never_show_a_key():
    assert "sk-9" not in repr(settings(provider="openai", api_key="sk-9"))


def test_longer_secrets_are_replaced_first():
    redactor = Redactor()
    redactor.add("abcdef", "SHORT")
    redactor.add("abcdefgh", "LONG")
    assert redactor.clean("abcdefgh abcdef") == "<secret LONG> <secret SHORT>"


def test_one_retry_policy_and_one_timeout_a_request():
    connection = settings(provider="openai", retry={"max_attempts": 9}, timeout=30, default_model="m")
    assert call_settings("M", {}, {}, connection).policy.max_attempts == 9
    assert call_settings("M", {}, {}, connection).schema_attempts == 3
    fields = {"retry_policy": {"max_attempts": 5}, "timeout": 20}
    assert call_settings("M", fields, {}, connection).policy.max_attempts == 5
    assert call_settings("M", fields, {}, connection).schema_attempts == 5
    decorated = call_settings("M", fields, {"retry": {"max": 2}, "timeout": {"seconds": 10}}, connection)
    assert (decorated.policy.max_attempts, decorated.schema_attempts, decorated.timeout) == (2, 2, 10)
    assert call_settings("M", {}, {}, settings(provider="openai", default_model="m")).timeout == 60


def test_a_prompt_replaces_settings_for_its_call():
    connection = settings(provider="openai", default_model="m", models={"fast": "gpt-x"})
    made = call_settings("M", {"temperature": 1, "stop_sequences": ["x"]}, {}, connection)
    changed = made.of_call({"model": "fast", "temperature": 0, "max_tokens": 5})
    assert (changed.model, changed.params) == ("gpt-x", {"temperature": 0, "stop": ["x"], "max_tokens": 5})
    assert (made.model, made.params) == ("m", {"temperature": 1, "stop": ["x"]})


def test_a_model_without_id_is_an_error_of_the_call():
    with pytest.raises(CallFailure) as refused:
        call_settings("Sorter", {}, {}, settings(provider="openai"))
    assert refused.value.variant == "InvalidRequest"
    assert refused.value.message.startswith("Sorter: ")


def test_system_parts_are_joined_by_one_blank_line():
    assert system_text("a", None, "b") == "a\n\nb"
    assert system_text(None, None) is None


def test_a_stand_in_is_no_secret():
    redactor = Redactor()
    redactor.add("k", "OPENAI_API_KEY")
    assert redactor.clean("it broke") == "it broke"


AWS = ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@pytest.mark.parametrize(
    ("fields", "variables"),
    [
        ({"provider": "bedrock"}, AWS),
        ({"provider": "bedrock", "profile": "work"}, ()),
        ({"provider": "bedrock", "api_key_env": "MINE"}, ("MINE",)),
        ({"provider": "azure"}, ("AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_API_KEY")),
        ({"provider": "vertex"}, ()),
        ({"provider": "vertex", "api_key_env": "MINE"}, ("MINE",)),
        ({"provider": "openai", "api_key": "given"}, ("OPENAI_API_KEY",)),
        ({"provider": "ollama"}, ()),
    ],
)
def test_the_variables_that_may_hold_a_secret(fields, variables):
    found = settings(**fields)
    assert found.secret_variables == variables and key_variables([found]) == set(variables)


@pytest.mark.parametrize(
    ("fields", "address"),
    [
        ({"provider": "bedrock"}, "a base_url that is missing"),
        ({"provider": "bedrock", "region": "eu-north-1"}, "bedrock-runtime.eu-north-1.amazonaws.com:443"),
        ({"provider": "offline"}, "a base_url that is missing"),
        ({"provider": "custom", "base_url": "http://"}, "a base_url that is no URL"),
        ({"provider": "custom", "base_url": "http://h:99999"}, "a base_url that is no URL"),
        ({"provider": "custom", "base_url": "https://user:word@h/v1"}, "h:443"),
        ({"provider": "custom", "base_url": "http://[::1]:8000/v1"}, "[::1]:8000"),
        ({"provider": "ollama"}, "localhost:11434"),
    ],
)
def test_the_address_in_messages(fields, address):
    assert settings(**fields).address == address


class Unshown:
    def __repr__(self):
        raise ValueError("it shows nothing")


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(("value", "shown"), [({(1, 2): "x"}, "{(1, 2): 'x'}"), (Unshown(), "Unshown"), (nested(5_000), "dict")])
def test_a_value_that_json_does_not_have_is_refused_all_the_same(value, shown):
    """The host's own values are no JSON yet."""
    with pytest.raises(ConfigFailure) as raised:
        check_connections([{"openai": {"models": value}}])
    assert (raised.value.code, raised.value.message) == (
        "E4004", f"connection openai: models does not take {shown}; it is a Map<String, String>",
    )  # fmt: skip
