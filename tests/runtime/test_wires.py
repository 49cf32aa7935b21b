"""Lowering to the three wires: exact arguments, checked with the SDKs' own types as well (O-1.85 to O-1.104)."""

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve
from concerto.runtime.errors import NotSent
from concerto.runtime.media import MediaPart
from concerto.runtime.providers.anthropic import Anthropic
from concerto.runtime.providers.openai import GoogleChat, OpenAIChat, OpenAIResponses
from concerto.runtime.records import Call, Msg, ProviderState, Request, SchemaField, ToolDef
from concerto.vm.schema import plain_form, strict_form
from concerto.vm.values.media import content_of

CONNECTIONS = {
    "chat": ({"provider": "openai", "api": "chat"}, OpenAIChat),
    "responses": ({"provider": "openai"}, OpenAIResponses),
    "anthropic": ({"provider": "anthropic"}, Anthropic),
    "google": ({"provider": "google"}, GoogleChat),
}
KIND = ["object", "S<Int>", [], [["a", ["int"], False, False, None, None], ["o", ["int"], True, False, None, None]]]
STRICT, PLAIN = strict_form(KIND), plain_form(KIND)
TOOL = ToolDef("T__add", "adds", {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})
S, U, A = Msg("system", "be kind"), Msg("user", "hi"), Msg("assistant", "hello")


@pytest.fixture
def lower(oracle):
    """The arguments of a request on a wire, after the SDK's own types have accepted them."""

    def lowered(wire, *messages, unsupported="error", **parts):
        fields, provider = CONNECTIONS[wire]
        settings = resolve("c", [{"c": {**fields, "unsupported": unsupported}}])
        request = Request(id="r", connection="c", model="m", messages=list(messages), **parts)
        arguments = provider(settings, {}, Redactor()).lower(request)
        oracle("chat" if wire == "google" else wire, arguments)
        return arguments

    return lowered


PLAIN_CALLS = {
    "chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "hi"},
        ],
    },
    "responses": {
        "model": "m",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "be kind",
        "input": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "hi"},
        ],
    },
    "anthropic": {
        "model": "m",
        "max_tokens": 4096,
        "system": "be kind",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "hi"},
        ],
    },
}


@pytest.mark.parametrize("wire", PLAIN_CALLS)
def test_system_memory_prompt(lower, wire):
    assert lower(wire, S, U, A, U) == PLAIN_CALLS[wire]


def test_system_messages_inside_the_history(lower):
    note = Msg("system", "note")
    assert lower("chat", S, U, note, U)["messages"][2] == {"role": "system", "content": "note"}
    responses = lower("responses", S, U, note, U)
    assert (responses["instructions"], responses["input"][1]) == ("be kind", {"role": "system", "content": "note"})
    anthropic = lower("anthropic", S, U, note, U)
    assert anthropic["system"] == "be kind\n\nnote"
    assert anthropic["messages"] == [{"role": "user", "content": "hi"}] * 2


def test_a_system_message_behind_others_is_no_instruction(lower):
    arguments = lower("responses", U, S, U)
    assert "instructions" not in arguments
    assert [item["role"] for item in arguments["input"]] == ["user", "system", "user"]


def test_anthropic_begins_with_the_user_and_has_no_blank_content(lower):
    messages = [A, Msg("user", " \n"), Msg("assistant", ""), U]
    assert lower("anthropic", S, *messages)["messages"] == [
        {"role": "user", "content": "(conversation continues)"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "(empty)"},
        {"role": "assistant", "content": "(empty)"},
        {"role": "user", "content": "hi"},
    ]
    assert [m.content for m in messages] == ["hello", " \n", "", "hi"]
    assert lower("chat", *messages)["messages"][1]["content"] == " \n"


ROUND = [
    U,
    Msg("assistant", "adding", [Call("c1", "T__add", {"x": 1}), Call("c2", "T__add", None, "[1]")]),
    Msg("tool", "2", call_id="c1"),
    Msg("tool", '{"error":"no"}', call_id="c2", is_error=True),
]


def test_tool_rounds_on_chat(lower):
    messages = lower("chat", *ROUND, tools=[TOOL])["messages"]
    assert messages[1:] == [
        {
            "role": "assistant",
            "content": "adding",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "T__add", "arguments": '{"x":1}'}},
                {"id": "c2", "type": "function", "function": {"name": "T__add", "arguments": "[1]"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
        {"role": "tool", "tool_call_id": "c2", "content": '{"error":"no"}'},
    ]


def test_tool_rounds_on_responses(lower):
    assert lower("responses", *ROUND, tools=[TOOL])["input"][1:] == [
        {"role": "assistant", "content": "adding"},
        {"type": "function_call", "call_id": "c1", "name": "T__add", "arguments": '{"x":1}'},
        {"type": "function_call", "call_id": "c2", "name": "T__add", "arguments": "[1]"},
        {"type": "function_call_output", "call_id": "c1", "output": "2"},
        {"type": "function_call_output", "call_id": "c2", "output": '{"error":"no"}'},
    ]


def test_tool_rounds_on_anthropic(lower):
    assert lower("anthropic", *ROUND, tools=[TOOL])["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "adding"},
                {"type": "tool_use", "id": "c1", "name": "T__add", "input": {"x": 1}},
                {"type": "tool_use", "id": "c2", "name": "T__add", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "2"},
                {"type": "tool_result", "tool_use_id": "c2", "content": '{"error":"no"}', "is_error": True},
            ],
        },
    ]


def test_results_of_two_rounds_are_two_messages(lower):
    again = [Msg("assistant", "", [Call("c3", "T__add", {"x": 2})]), Msg("tool", "3", call_id="c3")]
    roles = [m["role"] for m in lower("anthropic", *ROUND, *again, tools=[TOOL])["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


def test_tools(lower):
    schema = TOOL.schema
    function = {"name": "T__add", "description": "adds", "parameters": schema}
    assert lower("chat", U, tools=[TOOL])["tools"] == [{"type": "function", "function": function}]
    assert lower("responses", U, tools=[TOOL])["tools"] == [{"type": "function", **function, "strict": False}]
    assert lower("anthropic", U, tools=[TOOL])["tools"] == [{"name": "T__add", "description": "adds", "input_schema": schema}]


@pytest.mark.parametrize(
    ("wire", "choice", "sent"),
    [
        ("chat", "required", "required"),
        ("chat", {"name": "T__add"}, {"type": "function", "function": {"name": "T__add"}}),
        ("responses", "required", "required"),
        ("responses", {"name": "T__add"}, {"type": "function", "name": "T__add"}),
        ("anthropic", "required", {"type": "any"}),
        ("anthropic", {"name": "T__add"}, {"type": "tool", "name": "T__add"}),
    ],
)
def test_tool_choice(lower, wire, choice, sent):
    assert lower(wire, U, tools=[TOOL], tool_choice=choice)["tool_choice"] == sent
    assert "tool_choice" not in lower(wire, U, tools=[TOOL])
    assert "tools" not in lower(wire, U)


PARAMS = {"temperature": 0, "top_p": 0.5, "max_tokens": 9}


@pytest.mark.parametrize(
    ("wire", "sent"),
    [
        ("chat", {"temperature": 0, "top_p": 0.5, "max_completion_tokens": 9}),
        ("google", {"temperature": 0, "top_p": 0.5, "max_tokens": 9}),
        ("responses", {"temperature": 0, "top_p": 0.5, "max_output_tokens": 9}),
        (
            "anthropic",
            {
                "max_tokens": 9,
                "extra_body": {"temperature": 0, "top_p": 0.5},
                "extra_headers": {"anthropic-version": "2023-06-01"},
            },
        ),
    ],
)
def test_params(lower, wire, sent):
    arguments = lower(wire, U, params=PARAMS)
    unset = lower(wire, U)
    assert {key: value for key, value in arguments.items() if unset.get(key) != value} == sent


def test_stop_sequences(lower):
    assert lower("chat", U, params={"stop": ["x"]})["stop"] == ["x"]
    assert lower("anthropic", U, params={"stop": ["x"]})["stop_sequences"] == ["x"]
    with pytest.raises(NotSent) as refused:
        lower("responses", U, params={"stop": ["x"]})
    assert refused.value.variant == "InvalidRequest"
    assert "stop_sequences" in refused.value.message
    assert "stop" not in lower("responses", U, params={"stop": ["x"]}, unsupported="drop")


def test_native_schemas(lower):
    native = SchemaField("S_Int_", "native", STRICT)
    assert lower("chat", U, schema=native)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "S_Int_", "schema": STRICT, "strict": True},
    }
    assert lower("responses", U, schema=native)["text"] == {
        "format": {"type": "json_schema", "name": "S_Int_", "schema": STRICT, "strict": True}
    }
    assert lower("anthropic", U, schema=native)["output_config"] == {"format": {"type": "json_schema", "schema": STRICT}}
    loose = lower("chat", U, schema=SchemaField("S", "native", PLAIN))["response_format"]
    assert loose["json_schema"]["strict"] is False


@pytest.mark.parametrize("wire", PLAIN_CALLS)
@pytest.mark.parametrize("strategy", ["tool", "prompt"])
def test_other_strategies_put_no_schema_on_the_wire(lower, wire, strategy):
    assert lower(wire, U, schema=SchemaField("S", strategy, PLAIN)) == lower(wire, U)


def test_streaming(lower):
    chat = lower("chat", U, stream=True)
    assert (chat["stream"], chat["stream_options"]) == (True, {"include_usage": True})
    assert lower("responses", U, stream=True)["stream"] is True
    assert lower("anthropic", U, stream=True)["stream"] is True


def test_raw_content_is_replayed_verbatim(lower):
    blocks = [{"type": "text", "text": "t"}, {"type": "tool_use", "id": "c1", "name": "T__add", "input": {"x": 1}}]
    state = ProviderState("c", "messages https://api.anthropic.com", "m", blocks)
    asked = Msg("assistant", "t", [Call("c1", "T__add", {"x": 1})], state=state)
    result = Msg("tool", "2", call_id="c1")
    sent = lower("anthropic", U, asked, result, tools=[TOOL])
    assert sent["messages"][1] == {"role": "assistant", "content": blocks}


def test_the_oracle_sees_what_the_sdk_does_not_take(oracle):
    with pytest.raises(AssertionError):
        oracle("anthropic", {**PLAIN_CALLS["anthropic"], "temperature": 0})
    with pytest.raises(Exception, match="max_tokens"):
        oracle("anthropic", {"model": "m", "messages": []})


GIF = MediaPart(content_of("image", b"GIF89a"), "a.gif", 10)
GIF_URL = "data:image/gif;base64,R0lGODlh"
PICTURED = [
    U, Msg("assistant", "", [Call("c1", "T__add", {}), Call("c2", "T__add", {})]), Msg("tool", "one", call_id="c1", media=(GIF,)),
    Msg("tool", "two", call_id="c2"),
]  # fmt: skip


def test_media_of_results_on_chat(lower):
    """O-1.202: the tool messages have text alone, so a user message behind the round brings the media."""
    behind = [{"type": "image_url", "image_url": {"url": GIF_URL}}, {"type": "text", "text": "(media of the results above)"}]
    for more in ([], [A, U]):
        messages = lower("chat", *PICTURED, *more)["messages"]
        assert messages[2:5] == [
            {"role": "tool", "tool_call_id": "c1", "content": "one"}, {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "user", "content": behind},
        ]  # fmt: skip
        assert len(messages) == 5 + len(more)


def test_media_of_results_on_responses(lower):
    outputs = lower("responses", *PICTURED)["input"][3:]
    image = {"type": "input_image", "image_url": GIF_URL, "detail": "auto"}
    assert [item["output"] for item in outputs] == [[image, {"type": "input_text", "text": "one"}], "two"]


def test_media_of_results_on_anthropic(lower):
    first, second = lower("anthropic", *PICTURED)["messages"][2]["content"]
    source = {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}
    assert first["content"] == [{"type": "image", "source": source}, {"type": "text", "text": "one"}]
    assert second["content"] == "two"


@pytest.mark.parametrize("wire", CONNECTIONS)
def test_media_without_text(lower, wire):
    """A prompt of media alone has no empty text, which Anthropic refuses."""
    arguments = lower(wire, Msg("user", "", media=(GIF,)))
    (message,) = arguments["input" if wire == "responses" else "messages"]
    assert message["role"] == "user" and len(message["content"]) == 1 and "text" not in message["content"][0]["type"]


@pytest.mark.parametrize("unsupported", ["error", "drop"])
def test_media_are_never_left_out(lower, unsupported):
    sound = MediaPart(content_of("audio", b"RIFF0000WAVE"), None, 10)
    for wire in ("responses", "anthropic"):
        with pytest.raises(NotSent, match=r"media: audio \(audio/wav\) is not carried by"):
            lower(wire, Msg("user", "hi", media=(sound,)), unsupported=unsupported)
