"""The offline provider, its scripts, and that it needs neither event loop nor heavy modules (O-1.29 to O-1.34)."""

import json
import subprocess
import sys
import time

import jsonschema
import pytest
from concerto.runtime.errors import CallFailure, ConfigFailure
from concerto.runtime.providers.offline import Script, ScriptedProvider, pieces
from concerto.runtime.records import Msg, Request, SchemaField
from concerto.runtime.schema.strategy import minimal_instance
from concerto.vm.schema import plain_form, strict_form
from hypothesis import given
from hypothesis import strategies as st


def request(*messages, schema=None, timeout=60):
    return Request(id="r", connection="offline", model="offline-1", messages=list(messages), schema=schema, timeout=timeout)


@pytest.fixture
def ask(bench, finish):
    def send(sent, script=None):
        return finish(bench(script).pool["offline"].send(sent))

    return send


def test_the_prompt_comes_back(ask):
    reply = ask(request(Msg("system", "x"), Msg("user", "old"), Msg("assistant", "a"), Msg("user", "line 1\n" + "y" * 80)))
    assert reply.text == "offline: line 1 " + "y" * 53
    assert (reply.model, reply.finish) == ("offline-1", "stop")


def test_no_beginning_of_a_secret_comes_back(bench, finish):
    made = bench(None)
    made.pool._redactor.add("0123456789" * 8, "KEY")
    reply = finish(made.pool["offline"].send(request(Msg("user", "it is " + "0123456789" * 8))))
    assert reply.text == "offline: it is <secret KEY>"


def test_tokens_are_quarter_code_points(ask):
    reply = ask(request(Msg("system", "abcde"), Msg("user", "üüüü")))
    assert (reply.tokens_in, reply.tokens_out) == (2 + 1, -(-len("offline: üüüü") // 4))


def test_minimal_instance(ask):
    inner = ["object", "I", [], [["x", ["float"], False, False, None, None]]]
    fields = [
        ["e", ["enum", ["bug", "task"]], False, False, None, None],
        ["s", ["string"], False, False, None, None],
        ["i", inner, False, False, None, None],
        ["a", ["array", ["int"]], False, False, None, None],
        ["b", ["bool"], False, False, None, None],
        ["o", ["int"], True, False, None, None],
        ["d", ["int"], False, True, 7, None],
    ]
    kind = ["object", "S", [], fields]
    plain = ask(request(Msg("user", "x"), schema=SchemaField("S", "prompt", plain_form(kind))))
    assert plain.text == '{"e":"bug","s":"","i":{"x":0.0},"a":[],"b":false,"d":7}'
    strict = ask(request(Msg("user", "x"), schema=SchemaField("S", "native", strict_form(kind))))
    assert strict.text == '{"e":"bug","s":"","i":{"x":0.0},"a":[],"b":false,"o":null,"d":null}'


SCALARS = st.sampled_from([["string"], ["int"], ["float"], ["bool"], ["nil"], ["any"], ["enum", ["a", "b"]]])


def objects(kinds):
    return st.lists(st.tuples(kinds, st.booleans()), max_size=4).map(
        lambda parts: [
            "object",
            f"S{len(parts)}",
            [],
            [[f"f{n}", kind, optional, False, None, None] for n, (kind, optional) in enumerate(parts)],
        ]
    )


KINDS = st.recursive(
    SCALARS, lambda inner: inner.map(lambda k: ["array", k]) | inner.map(lambda k: ["map", k]) | objects(inner), max_leaves=6
)


@given(objects(KINDS))
def test_the_minimal_instance_always_satisfies_the_schema(kind):
    for form in (plain_form(kind), strict_form(kind)):
        if form is not None:
            jsonschema.validate(minimal_instance(form), form)


def test_a_recursive_schema_has_a_minimal_instance():
    kind = [
        "object",
        "N",
        [],
        [["kids", ["array", ["ref", "N"]], False, False, None, None], ["up", ["ref", "N"], True, False, None, None]],
    ]
    assert minimal_instance(plain_form(kind)) == {"kids": []}
    assert minimal_instance(strict_form(kind)) == {"kids": [], "up": None}


def test_a_default_ends_a_schema_that_leads_back_to_itself():
    document = {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"type": "object", "properties": {
            "name": {"type": "string"}, "next": {"$ref": "#/$defs/A", "default": None}}, "required": ["name"]}},
    }  # fmt: skip
    assert minimal_instance(document) == {"name": "", "next": None}


def test_a_script_is_consumed_in_order_and_then_used_up(bench, finish):
    script = [
        "one",
        {"text": "two", "tokens_in": 7, "tokens_out": 8, "finish": "length", "model": "other"},
        {"chunks": ["a", "b"]},
        {"tool_calls": [{"tool": "T.add", "arguments": {"x": 1}}, {"tool": "T__sub"}]},
    ]
    offline = bench(script).pool["offline"]
    replies = [finish(offline.send(request(Msg("user", "p")))) for _ in range(5)]
    assert [reply.text for reply in replies] == ["one", "two", "ab", "", "offline: p"]
    assert (replies[1].tokens_in, replies[1].tokens_out, replies[1].finish, replies[1].model) == (7, 8, "length", "other")
    assert replies[3].finish == "tool"
    assert [call.as_json() for call in replies[3].calls] == [
        {"id": "call_1", "name": "T__add", "arguments": {"x": 1}},
        {"id": "call_2", "name": "T__sub", "arguments": {}},
    ]


def test_an_offline_connection_takes_its_own_replies(bench, finish):
    mine = {"box": {"provider": "offline", "replies": ["mine"]}}
    asked = request(Msg("user", "p"))
    assert finish(bench(None, mine).pool["box"].send(asked)).text == "mine"
    assert finish(bench(["of the run"], mine).pool["box"].send(asked)).text == "of the run"


def test_offline_routes_every_connection(bench, finish):
    assert finish(bench().pool["openai"].send(request(Msg("user", "p")))).text == "offline: p"


@pytest.mark.parametrize(
    ("error", "kind", "variant", "retry_class"),
    [
        ("rate_limit", "AgentError", "RateLimited", "rate_limit"),
        ("server", "ConnectionError", "ProviderUnavailable", "server"),
        ("connection", "ConnectionError", "NetworkError", "connection"),
        ("timeout", "TimeoutError", None, "timeout"),
        ("auth", "ConnectionError", "AuthenticationFailed", None),
        ("not_found", "AgentError", "ModelNotFound", None),
        ("refusal", "AgentError", "ContentFiltered", None),
        ("it broke", "AgentError", "Failed", None),
    ],
)
def test_scripted_faults(ask, error, kind, variant, retry_class):
    with pytest.raises(CallFailure) as raised:
        ask(request(Msg("user", "p")), [{"error": error}])
    failure = raised.value
    assert (failure.kind, failure.variant, failure.retry_class) == (kind, variant, retry_class)
    if variant == "Failed":
        assert failure.message == "it broke"


def test_a_scripted_delay_uses_the_clock_and_meets_the_timeout(bench, finish):
    made = bench([{"text": "late", "delay_ms": 1500}, {"text": "too late", "delay_ms": 9000}])
    offline = made.pool["offline"]
    assert finish(offline.send(request(Msg("user", "p"), timeout=2))).text == "late"
    with pytest.raises(CallFailure) as raised:
        finish(offline.send(request(Msg("user", "p"), timeout=2)))
    assert raised.value.kind == "TimeoutError"
    assert raised.value.fields["timeout_seconds"] == 2
    assert made.slept == [1.5, 2]


@pytest.mark.parametrize(("reply", "code"), [(5, "E4004"), ({"txt": "x"}, "E4001")])
def test_a_script_accepts_listed_parts_only(reply, code):
    with pytest.raises(ConfigFailure) as refused:
        Script([reply])
    assert refused.value.code == code


def test_a_mock_answers_by_script_only(bench, finish):
    made = bench()
    mock = ScriptedProvider(made.connections["offline"], Script(["x"]), made.sleep, lambda asked: LookupError(asked.model))
    reply = finish(mock.send(request(Msg("user", "p"))))
    assert (reply.text, reply.model, mock.name, reply.tokens_in, reply.tokens_out) == ("x", "mock", "mock", 0, 0)
    with pytest.raises(LookupError):
        finish(mock.send(request(Msg("user", "p"))))


HEAVY = {"asyncio", "openai", "anthropic", "httpx2", "pydantic", "dataclasses", "inspect", "logging", "pathlib", "socket"}
PROGRAM = """
import sys
base = set(sys.modules)
from concerto.runtime.calls.services import Services
from concerto.runtime.calls.call import execute_with_schema
from concerto.runtime.calls.settings import call_settings
from concerto.runtime.connections import resolve_all
from concerto.runtime.calls.usage import Metrics
from concerto.runtime.providers.pool import ProviderPool
from concerto.runtime.schema.strategy import Schema
from concerto.runtime.access.secrets import Redactor
loaded_at_start = set(sys.modules) - base
async def sleep(seconds): pass
connections = resolve_all([])
pool = ProviderPool(connections, env={}, redactor=Redactor(), sleep=sleep)
services = Services(provider=pool.__getitem__, sleep=sleep, random=float, clock=float, metrics=Metrics())
schema = Schema("S", ["object", "S", [], [["a", ["int"], False, False, None, None]]])
work = execute_with_schema(services, call_settings("M", {}, {}, connections["offline"]), "p", schema, run_id="r")
try:
    work.send(None)
except StopIteration as stop:
    import json
    print(json.dumps([sorted(loaded_at_start), sorted(set(sys.modules) - base), stop.value.tree[2]]))
"""


def test_an_offline_call_loads_no_sdk_and_no_event_loop():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    at_start, at_end, tree = json.loads(done.stdout)
    assert tree == [["a", 0]]
    assert not HEAVY & set(at_end)
    assert not {"re", "json", "typing", "enum", "hashlib"} & set(at_start)


def test_a_very_long_word_is_one_piece():
    began = time.perf_counter()
    assert pieces("", " \n" + "a" * 1_000_000 + "  b ") == [" \n" + "a" * 1_000_000 + "  ", "b "]
    assert pieces("", "") == [""] and pieces("", "  ") == ["  "]
    assert time.perf_counter() - began < 5
