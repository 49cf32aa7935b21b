"""The direct API over every store (M-6, M-7, M-8)."""

import json
from threading import Thread

import pytest
from concerto.runtime.memory.changes import Draft
from concerto.runtime.memory.entries import Entry, Turn
from concerto.runtime.memory.failures import InvalidValue, MemoryFailure
from concerto.runtime.memory.memories import Memories
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Declaration, Policy
from concerto.runtime.memory.redaction import pii
from concerto.runtime.memory.stores.operations import MustWait
from concerto.runtime.memory.stores.protocol import Batch, Head
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg


class Clock:
    def __init__(self):
        self.seconds = 1_000_000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make(store, clock):
    def made(name="chat", **steps):
        listener = steps.pop("listener", None)
        views = steps.pop("views", None)
        return Memory(Policy(**steps), name=name, store=store, clock=clock, listener=listener, views=views)

    return made


def texts(messages):
    return [message.content for message in messages]


def variant_of(work):
    with pytest.raises(MemoryFailure) as raised:
        work()
    return raised.value.variant


def turn_of(memory, run, prompt="q", reply="a", **fields):
    drafts = [Draft(Msg("user", prompt), "user"), Draft(Msg("assistant", reply), "model")]
    return memory.write(drafts, Turn(0, run=run, **fields))


TOOL_UNIT = [
    Msg("assistant", "look", (Call("c1", "find", {}), Call("c2", "find", {}))),
    Msg("tool", "2", (), "c2"),
    Msg("tool", "1", (), "c1"),
]


def test_append_and_read(make):
    memory = make()
    for n in range(5):
        memory.append("user", str(n))
    assert texts(memory.messages()) == ["0", "1", "2", "3", "4"]
    assert texts(memory.last(2)) == ["3", "4"]
    assert memory.last(0) == memory.last(-1) == []
    assert texts(memory.last(99)) == ["0", "1", "2", "3", "4"]
    assert (len(memory), memory.is_empty(), memory.version()) == (5, False, 5)
    assert memory.tokens() == 5 * 5


@pytest.mark.parametrize("steps", [{}, {"retain": 3}, {"window": 2}, {"tokens": 90}])
def test_what_reading_gives_is_a_copy(make, steps):
    memory = make(**steps)
    for n in range(3):
        memory.append("user", str(n))
    for read in (memory.messages, lambda: memory.last(2), memory.entries, memory.appended):
        read().clear()
        read().append(Msg("user", "of the caller"))
    assert texts(memory.messages()) == ["0", "1", "2"]
    assert len(memory) == len(memory.entries()) == 3


def test_a_hundred_turns_on_twenty_messages(make):
    memory = make(retain=20)
    for n in range(100):
        turn_of(memory, f"r{n}", f"q{n}", f"a{n}")
    assert len(memory) == 20
    assert memory.messages()[0].content == "q90"
    assert memory.messages()[-1].role == "assistant"
    assert [turn.run for turn, _ in memory.turns()] == [f"r{n}" for n in range(90, 100)]


def test_append_all_is_one_turn_of_whole_units(make):
    memory = make()
    memory.append("user", "before")
    assert memory.append_all([Msg("user", "q"), *TOOL_UNIT, Msg("assistant", "a")]) == 6
    assert [entry.turn for entry in memory.entries()] == [0, 1, 1, 1, 1, 1]
    assert memory.version() == 2
    for broken in ([TOOL_UNIT[0]], TOOL_UNIT[:2], [TOOL_UNIT[1]], [Msg("narrator", "x")], [*TOOL_UNIT, TOOL_UNIT[1]]):
        assert variant_of(lambda given=broken: memory.append_all(given)) == "InvalidUnit"
    assert memory.append_all([]) == 6
    assert memory.version() == 2


def test_entries_from_a_point(make):
    memory = make()
    for n in range(6):
        memory.append("user", str(n))
    assert [entry.seq for entry in memory.entries(after=3)] == [4, 5]
    assert [entry.seq for entry in memory.entries(after=1, limit=2)] == [2, 3]
    assert memory.entries(limit=0) == []
    assert memory.entries()[2].at == 1_000_000_000
    assert (memory.entries()[2].origin, memory.entries()[2].run) == ("program", None)


def test_turns_carry_their_record(make):
    memory = make()
    turn_of(memory, "r1", by="Planner", tokens_in=7, tokens_out=3, meta={"user": "u1"})
    memory.append("system", "note")
    (turn, entries), (direct, _) = memory.turns()
    assert (turn.turn, turn.run, turn.by, turn.tokens_in, turn.tokens_out, turn.meta) == (
        0,
        "r1",
        "Planner",
        7,
        3,
        {"user": "u1"},
    )
    assert texts(entry.message for entry in entries) == ["q", "a"]
    assert (direct.turn, direct.run) == (1, None)
    assert [each.turn for each, _ in memory.turns(last=1)] == [1]
    assert memory.turns(last=0) == []


def test_a_run_is_committed_once(make):
    memory = make()
    assert turn_of(memory, "r") is True
    assert turn_of(memory, "r") is False
    assert (len(memory), memory.version()) == (2, 1)
    assert texts(memory.appended("r")) == ["q", "a"]
    memory.append("user", "later")
    assert texts(memory.appended()) == ["q", "a"]
    assert memory.appended("unknown") == []


def test_pins_outlive_retention(make):
    memory = make(retain=3)
    memory.pin("system", "rules")
    for n in range(6):
        memory.append("user", str(n))
    assert texts(memory.messages()) == ["rules", "4", "5"]
    assert memory.set_pinned(memory.entries()[1].seq, True)
    assert not memory.set_pinned(99, True)
    for n in range(3):
        memory.append("user", f"new{n}")
    assert texts(memory.messages()) == ["rules", "4", "new2"]
    memory.set_pinned(0, False)
    memory.append("user", "last")
    assert texts(memory.messages()) == ["4", "new2", "last"]


def test_pinning_takes_the_whole_unit(make):
    memory = make(pin_when=(lambda message: message.content == "1",))
    memory.append_all(TOOL_UNIT)
    assert [entry.pinned for entry in memory.entries()] == [True, True, True]
    memory.set_pinned(1, False)
    assert [entry.pinned for entry in memory.entries()] == [False, False, False]


def test_a_result_without_its_call_is_not_pinned(make, store):
    """Who changes stored data may leave such a log (G-2.24); pinning looked for the call without end."""
    memory = make()
    entries = [Entry(seq, 0, Msg("tool", "r", (), f"c{seq}")) for seq in range(2)]
    store.commit([(memory.key, 0, Batch(Head(1, 2, 1, 2, 0, 0), entries=entries))])
    with pytest.raises(MemoryFailure, match="entry 0 is a tool result without its call"):
        memory.set_pinned(1, True)
    assert not memory.set_pinned(7, True)


def test_retention_never_splits_a_unit(make):
    memory = make(retain=4)
    memory.append_all(TOOL_UNIT)
    memory.append("user", "x")
    memory.append("user", "y")
    assert texts(memory.messages()) == ["x", "y"]


def test_the_newest_unit_stays_even_alone_over_the_bound(make):
    memory = make(retain=2, retain_tokens=1)
    memory.append("user", "x")
    memory.append_all(TOOL_UNIT)
    assert texts(memory.messages()) == ["look", "2", "1"]


def test_low_water(make):
    memory = make(retain=6, retain_low=2)
    lengths = []
    for n in range(9):
        memory.append("user", str(n))
        lengths.append(len(memory))
    assert lengths == [1, 2, 3, 4, 5, 6, 2, 3, 4]


def test_clear(make):
    memory = make()
    memory.pin("system", "s")
    memory.append("user", "x")
    memory.clear()
    assert (len(memory), memory.tokens(), memory.version()) == (0, 0, 3)
    memory.append("user", "y")
    assert [(entry.seq, entry.turn) for entry in memory.entries()] == [(2, 2)]


def test_rewind_gives_numbers_again(make):
    memory = make()
    for n in range(4):
        turn_of(memory, f"r{n}", f"q{n}")
    assert memory.rewind(1) == 2
    assert texts(memory.messages()) == ["q0", "a", "q1", "a"]
    assert memory.rewind(1) == 0
    turn_of(memory, "r2", "again")
    assert [(entry.seq, entry.turn) for entry in memory.entries(after=3)] == [(4, 2), (5, 2)]
    assert memory.rewind(-1) == 3
    assert len(memory) == 0


def test_branches(make):
    memory = make()
    turn_of(memory, "r")
    copy = memory.fork("plan b")
    copy.append("user", "only here")
    memory.append("user", "only there")
    assert memory.branches() == copy.branches() == ["plan b"]
    assert texts(memory.branch("plan b").messages()) == ["q", "a", "only here"]
    assert memory.branch("plan b") == copy != memory
    assert copy.branch("") == memory
    assert variant_of(lambda: memory.fork("plan b")) == "Exists"
    assert variant_of(lambda: memory.fork("")) == "Exists"
    assert variant_of(lambda: memory.branch("none")) == "NotFound"


def test_a_branch_keeps_the_bounds(make):
    memory = make(retain=2)
    copy = memory.fork("b")
    for n in range(5):
        copy.append("user", str(n))
    assert texts(copy.messages()) == ["3", "4"]


def test_dump_is_canonical_and_loads(make):
    memory = make()
    turn_of(memory, "r", "é", tokens_in=2, meta={"b": 1, "a": 2})
    memory.append_all(TOOL_UNIT)
    memory.pin("system", "s")
    text = memory.dump()
    assert json.loads(text)["v"] == 3
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False) and "é" in text
    assert "chat" not in text
    other = make("other", retain=1)
    other.append("user", "gone")
    other.load(text)
    assert other.dump() == text
    assert len(other) == 6  # loading never evicts
    assert other.version() == 2
    assert turn_of(other, "r") is False  # run ids came along


def call_part(held):
    return next(part for entry in held["log"] for part in entry["parts"] if part["kind"] == "call")


@pytest.mark.parametrize(
    ("change", "variant"),
    [
        (lambda held: held.update(v=4), "Version"),
        (lambda held: held.update(v="1"), "Corrupt"),
        (lambda held: held.pop("log"), "Corrupt"),
        (lambda held: held["log"].reverse(), "Corrupt"),
        (lambda held: held["log"].pop(), "Corrupt"),
        (lambda held: held["log"][0].update(seq="0"), "Corrupt"),
        (lambda held: held["log"][0].update(parts=7), "Corrupt"),
        (lambda held: held.update(next=1), "Corrupt"),
        (lambda held: held["views"].update(x=1), "Corrupt"),
        (lambda held: call_part(held).update(text='{"name":"t","arguments":{"x":1e999}}'), "Corrupt"),
        (lambda held: call_part(held).update(text='{"name":"t","arguments":{"x":[NaN]}}'), "Corrupt"),
        (lambda held: call_part(held).update(text='{"name":"t","arguments":{"x":-Infinity}}'), "Corrupt"),
    ],
)
def test_a_damaged_dump_loads_nothing(make, change, variant):
    memory = make()
    memory.append_all([Msg("user", "q"), *TOOL_UNIT])
    before = memory.dump()
    held = json.loads(before)
    change(held)
    assert variant_of(lambda: memory.load(json.dumps(held))) == variant
    for cut in (0, 1, len(before) // 2, len(before) - 1):
        assert variant_of(lambda cut=cut: memory.load(before[:cut])) == "Corrupt"
    assert memory.dump() == before


MOST = 1 << 53
FACT = {
    "id": 0, "tier": "session", "name": "a", "content": 1, "about": [], "c0": 1.0, "created": 0, "accessed": 0, "refreshed": 0,
    "trust": "program", "origin": "program", "by": None, "run": None, "rule": None, "seqs": [],
}  # fmt: skip
SEEN = {"topic": "t", "n": 0, "data": {}, "seqs": [], "trust": "program", "at": 0}
VIEW = {"name": "", "cut": 0, "text": "", "upto": -1, "folded": 0, "folded_at": 0}


@pytest.mark.parametrize(
    "change",
    [
        *(lambda held, name=name: held.update({name: MOST}) for name in ("next", "turns")),
        *(lambda held, name=name: held["log"][0].update({name: MOST}) for name in ("tokens", "at")),
        lambda held: [entry.update(tokens=MOST - 1) for entry in held["log"]],
        lambda held: held["log"][0].update(origin="nobody"),
        *(lambda held, name=name: held["log"][0].update({name: "\ud800"}) for name in ("run", "by")),
        *(lambda held, name=name: held["runs"][0].update({name: MOST}) for name in ("turn", "at", "tokens_in", "tokens_out")),
        *(lambda held, name=name: held["runs"][0].update({name: "\ud800"}) for name in ("run", "by")),
        lambda held: held["runs"][0].pop("at"),
        lambda held: held["runs"][0].update(turn=held["turns"]),
        lambda held: held["runs"].append(held["runs"][0] | {"run": "other"}),
        lambda held: held["runs"].append(held["runs"][0] | {"turn": 1}),
        *(lambda held, name=name: held["views"].update({"": VIEW | {name: MOST}}) for name in ("cut", "upto", "folded")),
        lambda held: held["views"].update({"": VIEW | {"upto": -2}}),
        lambda held: held["views"].update({"\ud800": VIEW | {"name": "\ud800"}}),
        *(lambda held, name=name: held["facts"].append(FACT | {name: MOST}) for name in ("id", "created", "accessed")),
        lambda held: held["facts"].append(FACT | {"id": -1}),
        lambda held: held["facts"].append(FACT | {"seqs": [MOST]}),
        lambda held: held["facts"].append(FACT | {"content": [1], "elements": [[0, MOST, 0]]}),
        lambda held: held["facts"].extend([FACT, FACT | {"name": "b"}]),
        lambda held: held["facts"].extend([FACT, FACT | {"id": 1}]),
        *(lambda held, name=name: held["seen"].append(SEEN | {name: MOST}) for name in ("n", "at")),
        lambda held: held["seen"].extend([SEEN, SEEN | {"at": 1}]),
    ],
)
def test_a_dump_of_what_no_store_holds_loads_nothing(make, change):
    """It was stored, and damage when it was read again; what stood twice was tried for ever."""
    memory = make()
    turn_of(memory, "r")
    memory.append_all([Msg("user", "q"), *TOOL_UNIT])
    before = memory.dump()
    held = json.loads(before)
    change(held)
    assert variant_of(lambda: memory.load(json.dumps(held))) == "Corrupt"
    assert memory.dump() == before
    memory.append("user", "x")
    assert memory.messages()[-1].content == "x"


def test_unknown_parts_stay(make):
    memory = make()
    memory.append("user", "x")
    held = json.loads(memory.dump())
    held["log"][0]["parts"].append({"kind": "hologram", "text": "t", "data": "AAEC"})
    text = json.dumps(held, sort_keys=True, separators=(",", ":"))
    memory.load(text)
    assert memory.dump() == text


def test_erase_reaches_branches_and_summaries(make, store):
    memory = make(summary=None)
    for n in range(3):
        turn_of(memory, f"r{n}", f"q{n}")
    copy = memory.fork("b")
    copy.append("user", "its own")
    assert memory.erase(run="r1") == 2
    assert texts(memory.messages()) == ["q0", "a", "q2", "a"]
    assert texts(copy.messages()) == ["q0", "a", "q2", "a", "its own"]
    assert memory.erase([0]) == 1
    assert memory.erase([77]) == 0
    assert copy.erase() == 4
    assert (memory.branches(), len(memory)) == ([], 3)
    assert memory.erase() == 3
    assert memory.version() == 0


def test_ttl(make, clock):
    memory = make(ttl=60_000)
    memory.append("user", "old")
    clock.seconds += 61
    assert (len(memory), memory.messages(), memory.version()) == (0, [], 0)
    memory.append("user", "new")
    assert [(entry.seq, entry.message.content) for entry in memory.entries()] == [(0, "new")]
    clock.seconds += 59
    assert len(memory) == 1


def test_a_commit_sweeps_expired_keys(make, clock, store):
    declared = Declaration("chat", Policy(ttl=60_000), per=["user"], store="s")
    keyed = Memories([declared], clock=clock, stores=lambda name: store)["chat"]
    for number in range(3):
        keyed.key(user=number).append("user", "x")
    clock.seconds += 61
    keyed.key(user=9).append("user", "x")
    assert keyed.keys() == [{"user": 9}]


def test_keys_keep_logs_apart(store, clock):
    declared = Declaration("chat", per=["tenant", "user"], store="s")
    memories = Memories([declared], namespace="app", clock=clock, stores=lambda name: store)
    keyed = memories["chat"]
    for tenant, user in (("a", "b:c"), ("a:b", "c"), ("A", "b:c"), ("a", 1), ("a", "1")):
        keyed.key(tenant=tenant, user=user).append("user", f"{tenant}/{user}")
    assert texts(keyed.key(user="c", tenant="a:b").messages()) == ["a:b/c"]
    assert len(keyed.keys()) == 5
    assert keyed.erase(tenant="a") == 3
    assert [held["tenant"] for held in sorted(keyed.keys(), key=str)] == ["A", "a:b"]
    for bad in ({"tenant": "", "user": "x"}, {"tenant": "a"}, {"tenant": 1.5, "user": "x"}, {"tenant": "a" * 1025, "user": "x"}):
        with pytest.raises(InvalidValue):
            keyed.key(**bad)
    with pytest.raises(InvalidValue):
        keyed.erase(user=True)


def test_initialisation_happens_once_a_log(store, clock):
    declared = Declaration("chat", store="s", initial=[("system", "s", True), ("user", "u", False)])
    for _ in range(2):  # two programs one after another
        memory = Memories([declared], clock=clock, stores=lambda name: store)["chat"]
        assert texts(memory.messages()) == ["s", "u"]
        assert memory.version() == 1
    memory.clear()
    assert Memories([declared], clock=clock, stores=lambda name: store)["chat"].messages() == []


def test_events_come_after_their_change(make):
    told = []
    memory = make(retain=2, listener=lambda channel, payload: told.append((channel, payload)))
    memory.append("user", "a")
    turn_of(memory, "r")
    memory.clear()
    channels = [channel for channel, _ in told]
    assert channels == ["memory:commit", "memory:commit", "memory:evict", "memory:evict"]
    assert told[1][1] == {"memory": "chat", "key": ["", "chat", ""], "run": "r", "turn": 1, "seqs": [1, 2], "tokens": 10}
    assert (told[2][1]["seqs"], told[2][1]["reason"]) == ([0], "retain")
    assert (told[3][1]["seqs"], told[3][1]["reason"]) == ([1, 2], "clear")


def test_redaction_before_it_is_stored(make):
    memory = make(redact=(pii, lambda text: text.replace("secret", "***")))
    memory.append_all(
        [
            Msg("user", "mail a@b.example, secret"),
            Msg("assistant", "", (Call("c1", "find", {"who": ["x@y.example"], "n": 1}),)),
            Msg("tool", "card 4111 1111 1111 1111", (), "c1"),
        ]
    )
    user, call, result = memory.messages()
    assert user.content == "mail [redacted:email], ***"
    assert call.calls[0].arguments == {"who": ["[redacted:email]"], "n": 1}
    assert result.content == "card [redacted:card]"


def test_a_failing_redactor_stores_nothing(make):
    def broken(text):
        raise ValueError("no")

    memory = make(redact=(broken,))
    before = memory.dump()
    assert variant_of(lambda: memory.append("user", "x")) == "Redaction"
    assert variant_of(lambda: make(redact=(lambda text: None,)).append("user", "x")) == "Redaction"
    assert memory.dump() == before


def test_the_same_operations_give_the_same_dump_on_any_store(make, clock):
    """M-8.4: every store is compared with the volatile one, so with every other."""
    steps = {"retain": 6, "retain_low": 4, "window": 4, "window_low": 2, "tools": True}

    def operations(memory):
        memory.pin("system", "s")
        for n in range(4):
            turn_of(memory, f"r{n}", f"q{n}", meta={"n": n})
        memory.append_all(TOOL_UNIT)
        memory.set_pinned(2, True)
        memory.fork("b").rewind(2)
        return memory.dump(), memory.branch("b").dump()

    found = operations(make(**steps))
    assert found == operations(Memory(Policy(**steps), name="chat", clock=clock))
    assert json.loads(found[0])["views"][""]["cut"] == 8


def test_writers_with_handles_of_their_own_lose_nothing(open_store, clock):
    """I14 on every store: whole turns, in some order, each writer's in its own."""
    open_store()
    count, writers = 8, 3

    def write(writer, store):
        memory = Memory(Policy(retain=1000), name="chat", store=store, clock=clock)
        for number in range(count):
            turn_of(memory, f"{writer}:{number}", f"{writer}:{number}")

    handles = [open_store.again() for _ in range(writers)]
    threads = [Thread(target=write, args=(writer, store)) for writer, store in enumerate(handles)]
    if open_store.kind == "volatile":  # belongs to one thread
        for thread in threads:
            thread.run()
    else:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    memory = Memory(name="chat", store=open_store.again(), clock=clock)
    runs = [turn.run for turn, _ in memory.turns()]
    assert len(runs) == writers * count == memory.version()
    assert all([run for run in runs if run.startswith(f"{w}:")] == [f"{w}:{n}" for n in range(count)] for w in range(writers))
    assert [(turn.run, [entry.run for entry in held]) for turn, held in memory.turns()] == [(run, [run, run]) for run in runs]


def test_stats(make):
    memory = make(retain=9, window=4, tokens=100)
    turn_of(memory, "r")
    memory.append("user", "x")
    assert memory.stats() == {
        "messages": 3, "tokens": 15, "turns": 2, "version": 2, "facts": 0, "retain": 9, "retain_low": None,
        "retain_tokens": None, "window": 4, "window_low": None, "window_turns": None, "token_limit": 100, "prune": None,
        "clip": None, "ttl": None, "summary_every_turns": None, "summary_every_ms": None, "summary_max_tokens": None,
        "recall_k": None, "recall_min_confidence": None,
    }  # fmt: skip


def test_a_commit_stands_when_the_sweep_fails(clock, monkeypatch):
    """M-8.9: the disk may be full for the sweep only."""
    memory = Memory(Policy(ttl=1000), clock=clock)

    def full(*given):
        raise MemoryFailure("Store", "the disk is full")

    monkeypatch.setattr(memory.store, "expire", full)
    assert memory.append_all([Msg("user", "kept")]) == 1
    assert [message.content for message in memory.messages()] == ["kept"]


class SlowToRead(Memory):
    """A memory whose store has to be waited for once, when its length is asked."""

    waits = 1

    def __len__(self) -> int:
        if self.waits:
            self.waits -= 1
            raise MustWait
        return super().__len__()


def test_messages_added_in_a_turn_are_added_once_where_the_store_has_to_be_waited_for():
    memory = SlowToRead(Policy())
    run = open_run([Attached(memory)], "r1", [Msg("user", "q")])
    with pytest.raises(MustWait):
        run.frame().append_all([Msg("user", "once")])
    assert run.frame().append_all([Msg("user", "once")]) == 1
    run.commit("a")
    assert [message.content for message in memory.messages()] == ["q", "a", "once"]
