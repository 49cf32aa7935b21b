"""The retry rule from source to wire (O-2.47 to O-2.53): two invalid replies and a valid one, and no valid one at all; with a
memory and without; offline through the command and through both real SDKs."""

import json

import pytest

from ..command import concerto
from ..servers.transports import answering
from .online import WIRES, Run

each_wire = pytest.mark.parametrize("wire", WIRES)
with_and_without_memory = pytest.mark.parametrize("memory", [True, False], ids=["with_memory", "plain"])

PROGRAM = """
schema Report {
    kind: "bug" | "task",
    pages: Int,
}

memory desk: Memory = Memory::new();

desk.append("user", "An earlier question");
desk.append("assistant", "An earlier answer");

@log
model Sorter {
    provider: openai,
    base: "m-1",
    system_prompt: "You sort.",
}

fn main() {
    match Sorter.with_memory(desk).execute_with_schema<Report>("Sort this.") {
        Ok(report) => emit("report", report),
        Err(error) => match error {
            SchemaError::MaxRetriesExceeded { attempts, last_error, raw_response, .. } => {
                emit("attempts", attempts);
                emit("last_error", [last_error.kind, last_error.variant, last_error.message]);
                emit("raw_response", raw_response);
                emit("message", error.message);
            },
            _ => emit("another error", error.kind),
        },
    }
    emit("memory", desk.messages());
}
"""
PROMPT = "Sort this."
EARLIER = [("user", "An earlier question"), ("assistant", "An earlier answer")]
NO_JSON, INCOMPLETE, WRONG = "I would rather not.", '{"kind": "task"}', '{"kind": 1, "pages": "x"}'
VALID = '{"kind": "bug", "pages": 2}'

WHY = "\n\nYour previous reply was not accepted:"
WHY_OF = {
    NO_JSON: "\n- $: not valid JSON: no JSON object in the text",
    INCOMPLETE: "\n- $.pages: missing required field",
    WRONG: '\n- $.kind: expected "bug" | "task", got integer\n- $.pages: expected Int, got string',
}
PLAIN = (
    '{"type":"object","properties":{"kind":{"type":"string","enum":["bug","task"]},"pages":{"type":"integer"}},'
    '"required":["kind","pages"]}'
)
BLOCK = f"\n\nReply with one JSON value that matches this JSON Schema, and nothing else:\n{PLAIN}"


def program(memory):
    return PROGRAM if memory else PROGRAM.replace("Sorter.with_memory(desk)", "Sorter")


def prompts(*invalid):
    """The last user message of each request."""
    return [PROMPT, *(PROMPT + WHY + WHY_OF[reply] + BLOCK for reply in invalid)]


def as_json(turns):
    return [{"role": role, "content": content} for role, content in turns]


LISTED = {"chat": "messages", "responses": "input", "anthropic": "messages"}


def parts(wire, body):
    """System text, history and prompt of a body."""
    listed = list(body[LISTED[wire]])
    if wire == "chat":
        system = listed.pop(0)["content"]
    else:
        system = body["instructions" if wire == "responses" else "system"]
    return system, listed[:-1], listed[-1]


# ---------------------------------------------------------------- both SDKs


def requests_of(made):
    """Checks what is the same in every request; gives the prompts."""
    bodies = made.bodies()
    history = as_json(EARLIER) if "with_memory" in made.source else []
    for body in bodies:
        system, before, prompt = parts(made.wire, body)
        assert (system, before, prompt["role"]) == ("You sort.", history, "user")
        # all but the last message is the same, byte for byte
        listed = LISTED[made.wire]
        rest = {**body, listed: body[listed][:-1]}
        assert json.dumps(rest) == json.dumps({**bodies[0], listed: bodies[0][listed][:-1]})
    return [parts(made.wire, body)[2]["content"] for body in bodies]


def run(wire, memory, replies):
    made = Run(program(memory), wire, answering(wire, replies))
    assert (made.outcome.panic, made.outcome.error, made.slept) == (None, None, [])
    return made


@each_wire
@with_and_without_memory
def test_valid_at_the_third_try(wire, memory):
    made = run(wire, memory, [NO_JSON, INCOMPLETE, VALID])
    assert requests_of(made) == prompts(NO_JSON, INCOMPLETE)
    turn = [("user", PROMPT), ("assistant", VALID)]
    assert made.memory("desk") == (EARLIER + turn if memory else EARLIER)
    assert dict(made.emits)["report"] == {"kind": "bug", "pages": 2}
    assert (made.session.metrics.model_calls, made.session.metrics.schema_retries) == (3, 2)


@each_wire
@with_and_without_memory
def test_requests_do_not_grow(wire, memory):
    """Only the words on the last reply change; equal replies give equal bytes."""
    first, second, third = (sent.raw for sent in run(wire, memory, [INCOMPLETE, INCOMPLETE, VALID]).sent)
    assert second == third
    assert len(second) > len(first)
    _, second, third = (sent.raw for sent in run(wire, memory, [INCOMPLETE, WRONG, VALID]).sent)
    assert len(third) - len(second) == len(json.dumps(WHY_OF[WRONG])) - len(json.dumps(WHY_OF[INCOMPLETE]))


@each_wire
@with_and_without_memory
def test_never_valid(wire, memory):
    made = run(wire, memory, [NO_JSON, INCOMPLETE, WRONG])
    assert requests_of(made) == prompts(NO_JSON, INCOMPLETE)
    assert made.memory("desk") == EARLIER
    emits = dict(made.emits)
    assert (emits["attempts"], emits["raw_response"]) == (3, WRONG)
    last = '$.kind: expected "bug" | "task", got integer; $.pages: expected Int, got string'
    assert emits["last_error"] == ["SchemaError", "TypeMismatch", last]
    assert emits["message"] == f"m-1: no valid reply after 3 attempts: {last}"
    assert emits["memory"] == as_json(EARLIER)


@each_wire
def test_reply_that_only_needs_extraction_is_stored_as_it_came(wire):
    reply = f"Here it is:\n```json\n{VALID}\n```"
    made = run(wire, True, [reply])
    assert made.memory("desk") == [*EARLIER, ("user", PROMPT), ("assistant", reply)]


# ---------------------------------------------------------------- the command


def command(folder, memory, replies):
    """Emits by channel, and the emits of `@log`, of a run with scripted replies."""
    (folder / "retry.conc").write_text(program(memory))
    (folder / "replies.json").write_text(json.dumps(replies))
    words = ("run", "retry.conc", "--offline-script", "replies.json", "--emit-format", "json", "--verbose", "--metrics")
    shown = concerto(*words, cwd=folder)
    rows = [json.loads(line) for line in shown.out.splitlines()]
    emits = {row["channel"]: row["payload"] for row in rows if row["channel"] != "model:log"}
    return shown.code, emits, [row["payload"] for row in rows if row["channel"] == "model:log"], json.loads(shown.err)


def tokens(*texts):
    """Code points divided by 4, rounded up, per message (O-1.33): the offline provider tells how large a request was."""
    return sum((len(text) + 3) // 4 for text in texts)


@with_and_without_memory
def test_offline_valid_at_the_third_try(tmp_path, memory):
    code, emits, log, metrics = command(tmp_path, memory, [NO_JSON, INCOMPLETE, VALID])
    assert code == 0
    assert emits["report"] == {"kind": "bug", "pages": 2}
    turn = [("user", PROMPT), ("assistant", VALID)]
    assert emits["memory"] == as_json(EARLIER + turn if memory else EARLIER)
    assert (metrics["model_calls"], metrics["schema_retries"], metrics["errors"]) == (3, 2, 0)
    head = ["You sort.", *(content for _, content in EARLIER if memory)]
    assert [row["tokens_in"] for row in log] == [tokens(*head, prompt) for prompt in prompts(NO_JSON, INCOMPLETE)]
    assert [(row["schema_attempt"], row["text"]) for row in log] == [(1, NO_JSON), (2, INCOMPLETE), (3, VALID)]
    assert {row["prompt"] for row in log} == {PROMPT}


@with_and_without_memory
def test_offline_never_valid(tmp_path, memory):
    code, emits, log, metrics = command(tmp_path, memory, [NO_JSON, INCOMPLETE, NO_JSON, VALID])
    assert (code, len(log)) == (0, 3)
    assert (emits["attempts"], emits["raw_response"]) == (3, NO_JSON)
    last = "$: not valid JSON: no JSON object in the text"
    assert emits["last_error"] == ["SchemaError", "ParseError", last]
    assert emits["memory"] == as_json(EARLIER)
    assert (metrics["model_calls"], metrics["schema_retries"], metrics["errors"]) == (3, 2, 1)


def test_failure_that_nobody_handles_ends_the_run(tmp_path):
    source = program(True)
    body = source[source.index("fn main()") :]
    unhandled = 'fn main() {\n    emit("report", Sorter.with_memory(desk).execute_with_schema<Report>("Sort this.")?);\n}\n'
    (tmp_path / "retry.conc").write_text(source.replace(body, unhandled))
    (tmp_path / "replies.json").write_text(json.dumps([NO_JSON] * 3))
    message = "m-1: no valid reply after 3 attempts: $: not valid JSON: no JSON object in the text"
    ended = concerto("run", "retry.conc", "--offline-script", "replies.json", cwd=tmp_path)
    assert ended == (1, "", f"error: {message}\n  at main (retry.conc:20:20)\n")
