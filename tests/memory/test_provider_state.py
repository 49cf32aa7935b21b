"""What a provider wants back stays with its entry, for it alone (O-1.209, M-5.25, M-8.17 to M-8.19)."""

import json

import concerto
import pytest
from concerto.runtime.memory.entries import STATE_BYTES
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.redaction import SecretFilter, pii
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg, ProviderState
from concerto.vm.builtins.memories import message_array
from concerto.vm.values import display, to_json

SAID = {"role": "assistant", "content": "", "tool_calls": [], "reasoning_content": "thought of MARKER-71 \"ü\\"}


def state(content=None, **fields):
    return ProviderState("lab", "chat", "m-1", SAID if content is None else content, **fields)


def turn(memory, run="r", given=None, reply="a"):
    """A turn with one tool round, of which both replies have a state; the entries it stored."""
    made = open_run([Attached(memory)], run, [Msg("user", "q")])
    result = Msg("tool", "found", (), "c1")
    made.add_round("", [Call("c1", "find", {"q": "x"}, '{"q": "x"}')], [result], state=given or state())
    made.commit(reply, state=given or state())
    return memory.entries()[-4:]


def states(messages):
    return [None if message.state is None else message.state.content for message in messages]


@pytest.fixture
def memory(store):
    return lambda **steps: Memory(Policy(**{"tools": True, **steps}), name="chat", store=store)


def test_it_is_kept_with_tool_units_and_sent_again(memory):
    log = memory()
    turn(log)
    assert states(log.messages()) == [None, SAID, None, SAID]
    head = open_run([Attached(log)], "s", [Msg("user", "again")], tools_offered=True).head
    assert states(head) == [None, SAID, None, SAID]
    assert head[1].state.is_for("lab", "chat", "m-1")
    assert head[1].calls[0].text == '{"q": "x"}'


def test_a_memory_without_tool_units_keeps_none(memory):
    log = memory(tools=False)
    made = open_run([Attached(log)], "r", [Msg("user", "q")])
    made.commit("a", state=state())
    assert states(log.messages()) == [None, None]
    assert "MARKER" not in log.dump()


def test_what_says_no_more_than_the_record_is_not_kept(memory):
    log = memory()
    turn(log, given=state(more=False))
    assert states(log.messages()) == [None] * 4


def test_it_is_bounded(memory):
    log = memory()
    turn(log, given=state({"reasoning_content": "x" * STATE_BYTES}))
    assert states(log.messages()) == [None] * 4
    turn(log, "s", given=state({"reasoning_content": "x" * (STATE_BYTES - 100)}))
    assert states(log.messages())[4:] != [None] * 4


def test_it_has_no_tokens_and_no_program_sees_it(memory):
    bare, log = memory(), memory()
    log = Memory(log.policy, name="other", store=log.store)
    turn(bare, given=state(more=False))
    turn(log)
    assert log.tokens() == bare.tokens()
    shown = message_array(log.messages())
    assert "MARKER" not in display(shown) + to_json(shown)
    told = []
    log.listen(lambda channel, payload: told.append(repr(payload)))
    turn(log, "s")
    assert told and "MARKER" not in "".join(told)


def test_a_dump_carries_it_and_loads_it(memory):
    log = memory()
    turn(log)
    text = log.dump()
    other = Memory(log.policy, name="other", store=log.store)
    other.load(text)
    assert (states(other.messages()), other.dump()) == (states(log.messages()), text)


@pytest.mark.parametrize(
    ("part", "variant"),
    [
        ({"kind": "state", "text": "{", "id": '["a","chat","m"]'}, "Corrupt"),
        ({"kind": "state", "text": "{}"}, "Corrupt"),
        ({"kind": "state", "text": "{}", "id": "[1,2,3]"}, "Corrupt"),
        ({"kind": "state", "text": "{}", "id": '["a"]'}, "Corrupt"),
        ({"kind": "state", "text": "[" * 4000, "id": '["a","chat","m"]'}, "Corrupt"),
        ({"kind": "state", "text": "{}", "id": "[" * 100_000}, "Corrupt"),
        ({"kind": "media", "text": '{"kind":"image"}', "id": "00ff"}, "Corrupt"),
    ],
)
def test_what_is_no_state_loads_nothing(memory, part, variant):
    log = memory()
    turn(log)
    held = json.loads(log.dump())
    held["log"][1]["parts"].append(part)
    with pytest.raises(MemoryFailure) as raised:
        log.load(json.dumps(held))
    assert raised.value.variant == variant
    assert states(log.messages()) == [None, SAID, None, SAID]


def test_dumps_of_the_first_format_are_read(memory):
    log = memory()
    turn(log, given=state(more=False))
    text = log.dump()
    assert '"v":3' in text
    log.load(text.replace('"v":3', '"v":1'))
    assert log.dump() == text


def test_it_leaves_with_its_entry(memory):
    log = memory(retain=4)
    turn(log)
    turn(log, "s", given=state(more=False))
    assert "MARKER" not in log.dump()
    turn(log, "t")
    log.erase(run="t")
    assert "MARKER" not in log.dump()


def test_erasing_leaves_no_byte_of_it_in_the_file(tmp_path):
    path = tmp_path / "m.db"
    log = Memory(Policy(tools=True), name="chat", store=SqliteStore(str(path)))
    turn(log)
    log.fork("side")
    assert b"MARKER" in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    log.erase(run="r")
    assert b"MARKER" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    log.store.close()


# ---------------------------------------------------------------- steps that change a text


@pytest.mark.parametrize(
    ("redact", "given", "kept"),
    [
        ((pii,), SAID, True),
        ((pii,), {**SAID, "reasoning_content": "ask ann@example.org"}, False),
        ((SecretFilter(lambda text: text.replace("hunter2", "")),), SAID, True),
        ((SecretFilter(lambda text: text.replace("hunter2", "")),), {**SAID, "reasoning_content": "it is hunter2"}, False),
        ((lambda text: text,), SAID, False),
        ((pii, lambda text: text), SAID, False),
    ],
)
def test_redacted_memories_keep_what_holds_nothing_to_redact(memory, redact, given, kept):
    seen = []
    told = [one if one is pii or type(one) is SecretFilter else lambda text: seen.append(text) or text for one in redact]
    log = memory(redact=tuple(told))
    turn(log, given=state(given))
    assert states(log.messages()) == ([None, given, None, given] if kept else [None] * 4)
    assert "MARKER" not in "".join(seen)  # a function of the program looks into none


def test_a_redacted_text_goes_without_its_state(memory):
    log = memory(redact=(pii,))
    turn(log, reply="write to ann@example.org")
    assert states(log.messages()) == [None, SAID, None, None]
    assert "ann@" not in log.dump()


def test_shaped_messages_keep_theirs_when_they_are_as_they_were(memory):
    def shape(messages):
        given = [Msg(m.role, m.content, m.calls, m.call_id) for m in messages]  # a program has no state in its hands
        return [*given[:3], Msg("assistant", "other")]

    log = memory(shape=shape)
    turn(log)
    head = open_run([Attached(log)], "s", [Msg("user", "again")], tools_offered=True).head
    assert states(head) == [None, SAID, None, None]


def test_a_unit_shown_in_part_or_as_text_has_none(memory):
    log = memory(roles=frozenset(("assistant", "user")))
    made = open_run([Attached(log)], "r", [Msg("user", "q")])
    made.add_round("let me see", [Call("c1", "find", {})], [Msg("tool", "found", (), "c1")], state=state())
    made.commit("a")
    assert states(open_run([Attached(log)], "s", [], tools_offered=True).head) == [None, None, None]
    whole = Memory(Policy(tools=True), name="chat", store=log.store)
    assert states(open_run([Attached(whole)], "s", [], tools_offered=False).head) == [None, None, None]


# ---------------------------------------------------------------- formats


def test_a_store_of_the_format_before_is_read_and_taken_over(tmp_path):
    path = str(tmp_path / "m.db")
    old = SqliteStore(path)
    log = Memory(Policy(tools=True), name="chat", store=old)
    turn(log, given=state(more=False))
    before = log.dump()
    old._connection.execute("UPDATE meta SET format = 2")
    old.close()
    log = Memory(Policy(tools=True), name="chat", store=SqliteStore(path))
    assert log.store._rows("SELECT format FROM meta") == [(5,)]
    assert log.dump() == before
    turn(log, "s")
    assert states(log.messages())[5] == SAID
    log.store.close()


PROGRAM = concerto.compile("""
    memory log: Memory = Memory::new(tools: true);
    pub fn text() -> String { log.dump() }
    pub fn take(text: String) -> Result<Nil, Error> { log.load(text) }
    pub fn secret() -> Result<String, EnvError> { std::env::require("MY_TOKEN") }
""")


def test_states_of_sessions_hold_it_without_secrets():
    """G-10.3: a secret in it stands there by its name, as anywhere else."""
    granted = {"offline": True, "env": {"MY_TOKEN": "hunter2-hunter2"}, "permissions": concerto.Permissions(env=True)}
    log = Memory(Policy(tools=True))
    turn(log, given=state({"reasoning_content": "they gave me hunter2-hunter2", "role": "assistant"}))
    with PROGRAM.session(**granted) as session:
        session.call("secret")
        session.call("take", log.dump())
        kept = session.dump()
        text = session.call("text")
    assert b"hunter2" not in kept
    with PROGRAM.session(**granted) as session:
        session.restore(kept)
        assert session.call("text") == text
