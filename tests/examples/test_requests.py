"""The examples against an independent server through both real SDKs: every request, exactly, on each of the three wires.

Expected messages are written here as the clauses say them (O-1.79, O-1.85 to O-1.94, O-2.47, O-2.48), not taken from the product.
"""

import io
import json
import sys

import pytest
from concerto.cli.main import main

from ..command import EXAMPLES
from ..servers.aimock import needs_aimock, serving
from ..servers.transports import to_network
from .online import WIRES, Run

pytestmark = needs_aimock
each_wire = pytest.mark.parametrize("wire", WIRES)

ASKED = "What is Rust?"
ASKED_NEXT = "How does its borrow checker work?"
MAIL = "The export button crashes the app since Monday!"
TICKET = '{"title": "Export crashes", "kind": "bug", "urgent": true, "tags": null}'
ANSWERS = {
    "was not accepted": TICKET,
    ASKED: "A language with ownership.",
    ASKED_NEXT: "It follows every reference.",
    "deduplicate": "Call .dedup() after sorting.",
    MAIL: TICKET,
    "A mail that is sorted at the second try": '{"kind": "complaint"}',
    # the longer numbers first: the server looks for a part of the message
    **{f"Question {i}": f"Answer {i}" for i in reversed(range(100))},
}
SYSTEM_OF_TUTOR = "You explain programming languages in two sentences."


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    fixtures = [{"match": {"userMessage": asked}, "response": {"content": answer}} for asked, answer in ANSWERS.items()]
    with serving(fixtures, tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture
def run(server):
    def started(name, wire, change=lambda source: source):
        source = (EXAMPLES / f"{name}.conc").read_text(encoding="utf-8")
        made = Run(change(source), wire, to_network(), server)
        assert (made.outcome.panic, made.outcome.error, made.slept) == (None, None, [])
        return made

    return started


def messages(*turns):
    return [{"role": role, "content": content} for role, content in turns]


def body(wire, model, system, turns, **more):
    """A whole body. A system text has its own place on two of the three wires."""
    listed = messages(*turns)
    if wire == "chat":
        return {"model": model, "messages": ([] if system is None else messages(("system", system))) + listed, **more}
    if wire == "responses":
        fixed = {"model": model, "store": False, "include": ["reasoning.encrypted_content"], "input": listed}
        return fixed | ({} if system is None else {"instructions": system}) | more
    return {"model": model, "max_tokens": 4096, "messages": listed} | ({} if system is None else {"system": system}) | more


# ---------------------------------------------------------------- conversation

FIRST, SECOND = "A language with ownership.", "It follows every reference."
CONVERSATION = {
    "chat": [
        {
            "model": "gpt-5.4-mini",
            "messages": [{"role": "system", "content": SYSTEM_OF_TUTOR}, {"role": "user", "content": "What is Rust?"}],
        },
        {
            "model": "gpt-5.4-mini",
            "messages": [
                {"role": "system", "content": SYSTEM_OF_TUTOR},
                {"role": "user", "content": "What is Rust?"},
                {"role": "assistant", "content": "A language with ownership."},
                {"role": "user", "content": "How does its borrow checker work?"},
            ],
        },
    ],
    "responses": [
        {
            "model": "gpt-5.4-mini",
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "instructions": SYSTEM_OF_TUTOR,
            "input": [{"role": "user", "content": "What is Rust?"}],
        },
        {
            "model": "gpt-5.4-mini",
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "instructions": SYSTEM_OF_TUTOR,
            "input": [
                {"role": "user", "content": "What is Rust?"},
                {"role": "assistant", "content": "A language with ownership."},
                {"role": "user", "content": "How does its borrow checker work?"},
            ],
        },
    ],
    "anthropic": [
        {
            "model": "gpt-5.4-mini",
            "max_tokens": 4096,
            "system": SYSTEM_OF_TUTOR,
            "messages": [{"role": "user", "content": "What is Rust?"}],
        },
        {
            "model": "gpt-5.4-mini",
            "max_tokens": 4096,
            "system": SYSTEM_OF_TUTOR,
            "messages": [
                {"role": "user", "content": "What is Rust?"},
                {"role": "assistant", "content": "A language with ownership."},
                {"role": "user", "content": "How does its borrow checker work?"},
            ],
        },
    ],
}


@each_wire
def test_conversation(run, wire):
    made = run("conversation", wire)
    assert made.bodies() == CONVERSATION[wire]
    turns = [("user", ASKED), ("assistant", FIRST), ("user", ASKED_NEXT), ("assistant", SECOND)]
    assert made.memory("chat") == turns
    history = [("history", f"{role}: {content}") for role, content in turns]
    assert made.emits == [("answer", FIRST), ("answer", SECOND), ("history_length", 4), *history]


# ---------------------------------------------------------------- prepared

QUESTION, DEDUP = "Now how do I deduplicate it?", "Call .dedup() after sorting."
PREPARED = [("user", "I have a Vec<String> that I need to sort."), ("assistant", "You can call .sort() on it, in place.")]
NOTE = "The user works on a Rust project."


@each_wire
def test_prepared(run, wire):
    """A system message of the memory stands first: on two wires it is the system text of the request."""
    made = run("prepared", wire)
    expected = body(wire, "gpt-5.4-mini", NOTE, [*PREPARED, ("user", QUESTION)])
    assert made.bodies() == [expected, expected]  # the first call has written nothing
    turn = [("user", QUESTION), ("assistant", DEDUP)]
    assert made.memory("session") == [("system", NOTE), *PREPARED, *turn]
    emitted = [("preview", DEDUP), ("length_after_preview", 3), ("answer", DEDUP), ("length", 5), ("last", messages(*turn))]
    assert made.emits == emitted


@each_wire
def test_system_message_in_the_middle_of_a_memory(run, wire):
    """In place for OpenAI, joined with the other system text for Anthropic (O-1.86)."""

    def change(source):
        more = 'session.append("system", "You are now in debug mode.");\n\nmodel Helper {\n    system_prompt: "You help.",'
        return source.replace("\nmodel Helper {", more)

    made = run("prepared", wire, change)
    middle = ("system", "You are now in debug mode.")
    if wire == "anthropic":
        expected = body(wire, "gpt-5.4-mini", f"You help.\n\n{NOTE}\n\n{middle[1]}", [*PREPARED, ("user", QUESTION)])
    else:
        turns = [("system", NOTE), *PREPARED, middle, ("user", QUESTION)]
        expected = body(wire, "gpt-5.4-mini", "You help.", turns)
    assert made.bodies() == [expected, expected]


# ---------------------------------------------------------------- window


@each_wire
def test_window(run, wire):
    """A hundred requests; none carries more than the newest twenty messages and the question."""
    made = run("window", wire)
    said = []
    for number, sent in enumerate(made.bodies()):
        question = ("user", f"Question {number}")
        assert sent == body(wire, "gpt-5.4-mini", None, [*said[-20:], question])
        said += [question, ("assistant", f"Answer {number}")]
    assert len(made.sent) == 100
    assert made.memory("recent") == said[-20:]
    assert made.emits == [("memory_size", 20), ("oldest", "Question 90"), ("newest", "assistant")]


# ---------------------------------------------------------------- ticket

KIND = {"type": "string", "enum": ["bug", "task", "question"]}
STRICT = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "description": "one line"},
        "kind": KIND,
        "urgent": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
    },
    "required": ["title", "kind", "urgent", "tags"],
    "additionalProperties": False,
}
PLAIN = (
    '{"type":"object","properties":{"title":{"type":"string","description":"one line"},'
    '"kind":{"type":"string","enum":["bug","task","question"]},"urgent":{"type":"boolean","default":false},'
    '"tags":{"type":"array","items":{"type":"string"},"default":[]}},"required":["title","kind"]}'
)
SCHEMA_FIELD = {
    "chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "Ticket", "schema": STRICT, "strict": True}}},
    "responses": {"text": {"format": {"type": "json_schema", "name": "Ticket", "schema": STRICT, "strict": True}}},
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": STRICT}}},
}


def asking_for_a_ticket(wire, text):
    return body(wire, "claude-haiku-5-5", "You sort support mail.", [("user", text)], **SCHEMA_FIELD[wire])


@each_wire
def test_ticket(run, wire):
    made = run("ticket", wire)
    assert made.bodies() == [asking_for_a_ticket(wire, MAIL)]
    assert made.memory("desk") == [("user", MAIL), ("assistant", TICKET)]
    assert made.emits == [("sorted", "bug: Export crashes"), ("remembered", 2)]


@each_wire
def test_ticket_at_the_second_try(run, wire):
    mail = "A mail that is sorted at the second try"
    made = run("ticket", wire, lambda source: source.replace(MAIL, mail))
    why = (
        "\n\nYour previous reply was not accepted:"
        "\n- $.title: missing required field"
        '\n- $.kind: expected one of "bug", "task", "question"; got "complaint"'
    )
    block = f"\n\nReply with one JSON value that matches this JSON Schema, and nothing else:\n{PLAIN}"
    assert made.bodies() == [asking_for_a_ticket(wire, mail), asking_for_a_ticket(wire, mail + why + block)]
    assert made.memory("desk") == [("user", mail), ("assistant", TICKET)]


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("provider", "declared"),
    [
        ("openai", 'base_url: "URL/v1", api: "responses"'),
        ("openai", 'base_url: "URL/v1"'),
        ("anthropic", 'base_url: "URL"'),
    ],
)
def test_command_over_the_network(server, monkeypatch, capsys, provider, declared):
    """`concerto run -` with a connection to the server and a key from the environment."""
    source = (EXAMPLES / "conversation.conc").read_text(encoding="utf-8").replace("provider: openai", "provider: lab")
    fields = f'provider: "{provider}", {declared.replace("URL", server)}, api_key: env("LAB_KEY")'
    stdin = io.TextIOWrapper(io.BytesIO(f"connect lab {{ {fields} }}\n{source}".encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setenv("LAB_KEY", "key-of-the-lab")
    code = main(["run", "-", "--emit-format", "json"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert [json.loads(line)["payload"] for line in out.splitlines()][:3] == [FIRST, SECOND, 4]
