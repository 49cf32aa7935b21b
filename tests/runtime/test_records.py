"""The neutral record as JSON (O-1.82, O-1.83)."""

from concerto.runtime.records import Call, Msg, ProviderState, Reply, Request, SchemaField, ToolDef


def test_a_plain_request_has_no_unset_fields():
    request = Request(id="r.1", connection="lab", model="m", messages=[Msg("user", "hi")], timeout=60)
    assert list(request.as_json().items()) == [
        ("id", "r.1"),
        ("connection", "lab"),
        ("model", "m"),
        ("messages", [{"role": "user", "content": "hi"}]),
        ("params", {}),
        ("stream", False),
        ("timeout", 60),
    ]


def test_a_full_request_keeps_the_order_of_the_record():
    request = Request(
        id="r.1",
        connection="lab",
        model="m",
        messages=[Msg("system", "s"), Msg("user", "hi")],
        tools=[ToolDef("T__a", "does", {"type": "object"})],
        tool_choice={"name": "T__a"},
        params={"temperature": 0},
        schema=SchemaField("S", "native", {"type": "object"}),
        timeout=5,
    )
    record = request.as_json()
    assert list(record) == [
        "id", "connection", "model", "messages", "tools", "tool_choice", "params", "schema", "stream", "timeout",
    ]  # fmt: skip
    assert record["tools"] == [{"name": "T__a", "description": "does", "schema": {"type": "object"}}]
    assert record["schema"] == {"name": "S", "strategy": "native", "json": {"type": "object"}}


def test_tool_messages():
    call = Call("c1", "T__a", {"x": 1})
    asked = Msg("assistant", "", [call], state=ProviderState("lab", "chat", "m", {"opaque": True}))
    assert asked.as_json() == {
        "role": "assistant",
        "content": "",
        "calls": [{"id": "c1", "name": "T__a", "arguments": {"x": 1}}],
    }
    assert Msg("tool", "42", call_id="c1").as_json() == {"role": "tool", "content": "42", "call_id": "c1"}
    failed = Msg("tool", "{}", call_id="c1", is_error=True)
    assert failed.as_json() == {"role": "tool", "content": "{}", "call_id": "c1", "is_error": True}


def test_arguments_that_are_no_object_stay_as_they_came():
    assert Call("c", "T__a", None, "[1]").as_json()["arguments"] == "[1]"


def test_a_message_is_lowered_once():
    message = Msg("user", "hi")
    assert message.as_json() is message.as_json()


def test_reply():
    reply = Reply("t", calls=[Call("c", "T__a", {})], finish="tool", model="m", tokens_in=1, tokens_out=2)
    assert list(reply.as_json()) == ["text", "calls", "finish", "model", "tokens_in", "tokens_out"]
