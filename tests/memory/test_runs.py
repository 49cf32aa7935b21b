"""Runs, conflicts, locks and folds (M-5, M-8.13, M-9), the parts that no store changes."""

import asyncio
import json

import pytest
from concerto.runtime.memory.changes import Draft
from concerto.runtime.memory.conversation import Conversation
from concerto.runtime.memory.entries import Turn, ViewState
from concerto.runtime.memory.facts import Fact
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.locks import TurnLocks
from concerto.runtime.memory.log import Content, dumped, erase_entries
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy, SummaryPolicy
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.summaries import due_fold, store_fold
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg
from concerto.vm.panics import Panic

ASK = [Msg("user", "q")]


def opened(memory, run_id="r", prompt=ASK, **given):
    return open_run([Attached(memory)], run_id, prompt, **given)


def texts(memory):
    return [message.content for message in memory.messages()]


def call(id="c1"):
    return Call(id, "find", {})


def result(id="c1", text="found"):
    return Msg("tool", text, (), id)


# ---------------------------------------------------------------- what a turn stores


def test_tool_rounds_are_stored_only_with_tools():
    for tools, expected in ((False, ["q", "a"]), (True, ["q", "", "found", "a"])):
        memory = Memory(Policy(tools=tools))
        run = opened(memory)
        run.add_round("dropped", [call()], [result()])
        run.new_attempt("S", "no", "{}")
        run.add_round("", [call()], [result()])
        assert [draft.message.content for draft in run.rounds] == ["", "found"]
        assert [message.content for message in run.commit("a")] == ["q", "", "found", "a"]
        assert texts(memory) == expected


def test_origins_and_reported_tokens():
    memory = Memory(Policy(tools=True))
    run = opened(memory, by="Planner", meta={"k": 1})
    run.add_round("", [call()], [result()], tokens=31)
    run.commit("a", tokens_in=9, tokens_out=50, reasoning=30)
    assert [(entry.origin, entry.tokens) for entry in memory.entries()] == [
        ("user", 5), ("model", 31), ("tool", 8), ("model", 20),
    ]  # fmt: skip
    ((turn, entries),) = memory.turns()
    assert (turn.run, turn.by, turn.tokens_in, turn.tokens_out, turn.meta) == ("r", "Planner", 9, 50, {"k": 1})
    assert {entry.by for entry in entries if entry.origin == "model"} == {"Planner"}


def test_chat_stores_what_is_no_system_message():
    memory = Memory()
    prompt = [Msg("system", "s"), Msg("user", "a"), Msg("assistant", "b"), Msg("user", "c")]
    opened(memory, prompt=prompt).commit("d")
    assert texts(memory) == ["a", "b", "c", "d"]


def test_without_auto_nothing_is_written():
    memory = Memory()
    memory.append("user", "old")
    run = opened(memory, auto=False)
    assert [message.content for message in run.head] == ["old"]
    assert [message.content for message in run.commit("a")] == ["q", "a"]
    assert texts(memory) == ["old"]


def test_direct_writes_that_joined_the_run_come_behind_it():
    memory = Memory()
    run = opened(memory)
    run.frame().append("system", "noted")
    assert texts(memory) == []
    run.commit("a")
    assert texts(memory) == ["q", "a", "noted"]
    failed = opened(memory, "r2")
    failed.frame().append("system", "lost")
    failed.abandon("refused")
    assert texts(memory) == ["q", "a", "noted"]


@pytest.mark.parametrize(
    ("cause", "text", "expected"),
    [
        ("timeout", "half", ["q", "half\n[interrupted: too late]"]),
        ("cancelled", "", []),
        ("", "half", []),
    ],
)
def test_record(cause, text, expected):
    memory = Memory(Policy(on_failure="Record"))
    opened(memory).abandon("too late", text, cause=cause)
    assert texts(memory) == expected
    if expected:
        assert memory.entries()[-1].origin == "host"


def test_discard():
    memory = Memory()
    for cause in ("provider", "timeout", "cancelled", "tool_loop"):
        opened(memory).abandon("too late", "half", cause=cause)
    assert (texts(memory), memory.version()) == ([], 0)


def test_record_completes_calls_without_result():
    memory = Memory(Policy(on_failure="Record", tools=True))
    run = opened(memory)
    run.add_round("", [call("c1"), call("c2")], [result("c1")])
    run.abandon("cancelled", cause="cancelled")
    assert [(entry.role, entry.message.content, entry.origin) for entry in memory.entries()] == [
        ("user", "q", "user"), ("assistant", "", "model"), ("tool", "found", "tool"), ("tool", "[interrupted]", "host"),
        ("assistant", "[interrupted: cancelled]", "host"),
    ]  # fmt: skip
    run.abandon("twice", "x", cause="timeout")
    assert len(memory) == 5


def test_what_a_run_tells():
    told = []
    memory = Memory(Policy(tools=True), name="m", listener=lambda channel, payload: told.append((channel, payload)))
    run = opened(memory)
    run.add_round("look", [call()], [result()])
    run.commit("a")
    opened(memory, "r2").abandon("refused")
    assert [channel for channel, _ in told] == ["memory:step", "memory:commit", "memory:step", "memory:rollback"]
    assert (told[0][1]["round"], told[2][1]["round"]) == (1, 2)
    assert [message["content"] for message in told[0][1]["appended"]] == ["look", "found"]
    assert [message["content"] for message in told[2][1]["appended"]] == ["a"]
    assert (told[3][1]["run"], told[3][1]["reason"]) == ("r2", "refused")


# ---------------------------------------------------------------- concurrent turns


def test_append_puts_whole_turns_in_order_of_completion():
    memory = Memory()
    first, second = opened(memory, "r1"), opened(memory, "r2")
    second.commit("two")
    first.commit("one")
    assert texts(memory) == ["q", "two", "q", "one"]


@pytest.mark.parametrize("how", ["Reject", "Serial"])
def test_the_later_commit_conflicts(how):
    told = []
    memory = Memory(Policy(on_conflict=how), listener=lambda channel, payload: told.append(channel))
    first, second = opened(memory, "r1"), opened(memory, "r2")
    second.commit("two")
    with pytest.raises(MemoryFailure) as raised:
        first.commit("one")
    assert (raised.value.variant, raised.value.fields) == ("Conflict", {"expected": 0, "actual": 1})
    assert texts(memory) == ["q", "two"]
    assert told == ["memory:commit", "memory:step", "memory:conflict"]
    opened(memory, "r2").commit("two")  # a run id again stores nothing and succeeds
    assert len(memory) == 2


def test_fork_keeps_both():
    told = []
    memory = Memory(Policy(on_conflict="Fork"), listener=lambda channel, payload: told.append((channel, payload)))
    opened(memory, "r0").commit("zero")
    first, second = opened(memory, "r1"), opened(memory, "r2")
    second.commit("two")
    first.commit("one")
    (name,) = memory.branches()
    assert texts(memory) == ["q", "zero", "q", "two"]
    assert texts(memory.branch(name)) == ["q", "zero", "q", "one"]
    assert [payload["branch"] for channel, payload in told if channel == "memory:conflict"] == [name]


def test_serial_turns_wait_for_each_other_in_order():
    async def main():
        memory = Memory(Policy(on_conflict="Serial"))
        locks = TurnLocks()
        order = []

        async def turn(number):
            conversation = Conversation(memory, locks=locks)
            try:
                head = await conversation.open(f"r{number}", [Msg("user", str(number))], system=None, tools_offered=False)
                order.append((number, len(head)))
                await asyncio.sleep(0)
                if number == 1:
                    await conversation.abandon("refused")
                else:
                    conversation.commit("a")
            finally:
                conversation.close()

        await asyncio.gather(*(turn(number) for number in range(4)))
        return order, texts(memory)

    order, held = asyncio.run(main())
    assert order == [(0, 0), (1, 2), (2, 2), (3, 4)]
    assert held == ["0", "a", "2", "a", "3", "a"]


def test_waiting_for_the_lock_ends_with_the_timeout_and_by_cancellation():
    async def main():
        memory = Memory(Policy(on_conflict="Serial"))
        locks = TurnLocks()
        await locks.take(memory)
        with pytest.raises(MemoryFailure) as raised:
            await locks.take(memory, timeout=0.01)
        assert raised.value.variant == "Conflict"
        cancelled = asyncio.ensure_future(locks.take(memory))
        patient = asyncio.ensure_future(locks.take(memory))
        await asyncio.sleep(0)
        cancelled.cancel()
        locks.release(memory)
        await patient
        locks.release(memory)
        await locks.take(memory)  # free again

    asyncio.run(main())


# ---------------------------------------------------------------- summaries


class Joiner:
    """Keeps every text it was given; fails when told to."""

    def __init__(self):
        self.seen = []
        self.failing = False

    async def __call__(self, previous, entries):
        if self.failing:
            raise ValueError("no summariser today")
        self.seen += [entry.message.content for entry in entries]
        return " ".join([previous, *(entry.message.content for entry in entries)]).strip()


async def turn(memory, number, joiner):
    conversation = Conversation(memory, summarise=lambda memory, view: joiner)
    await conversation.open(f"r{number}", [Msg("user", f"q{number}")], system=None, tools_offered=False)
    conversation.commit(f"a{number}")
    await conversation.fold()


def summarising(**steps):
    summary = {name: steps.pop(name) for name in ("every_turns", "every_ms", "max_tokens") if name in steps}
    return Memory(Policy(summary=SummaryPolicy(**summary), **steps))


def everything(count):
    return [text for number in range(count) for text in (f"q{number}", f"a{number}")]


@pytest.mark.parametrize("steps", [{"window": 4}, {"retain": 4}, {"window": 3, "retain": 5}, {"window": 4, "every_turns": 3}])
def test_covered_and_raw_are_all_and_nothing_is_folded_twice(steps):
    """I11, with a summariser that fails every third time."""

    async def main():
        memory, joiner = summarising(**steps), Joiner()
        for number in range(12):
            joiner.failing = number % 3 == 2
            await turn(memory, number, joiner)
            held = texts(memory)
            upto = memory.store.views(memory.key)[""].upto if joiner.seen else -1
            raw = [entry.message.content for entry in memory.entries() if entry.seq > upto]
            assert joiner.seen + raw == everything(number + 1)
            assert (memory.summary() or "").split() == joiner.seen
            shown = [message.content for message in memory.view()[0].window]
            assert set(raw) <= set(shown)
            if "retain" in steps and not joiner.failing:
                assert len(held) <= steps["retain"]
        assert joiner.seen

    asyncio.run(main())


def test_folds_every_so_many_turns():
    async def main():
        memory, joiner = summarising(every_turns=2), Joiner()
        lengths = []
        for number in range(6):
            await turn(memory, number, joiner)
            lengths.append(len(joiner.seen))
        return lengths

    assert asyncio.run(main()) == [0, 4, 4, 8, 8, 12]


def test_folds_after_a_duration():
    now = [0.0]
    memory = Memory(Policy(summary=SummaryPolicy(every_ms=60_000)), clock=lambda: now[0])
    memory.append("user", "a")
    assert due_fold(memory) is None
    now[0] = 61.0
    fold = due_fold(memory)
    assert [entry.message.content for entry in fold.entries] == ["a"]
    assert store_fold(memory, fold, "first")
    memory.append("user", "b")
    assert due_fold(memory) is None
    now[0] = 122.0
    assert due_fold(memory).previous == "first"


def test_a_fold_of_an_older_state_is_not_stored():
    memory = summarising(window=1)
    memory.append("user", "a")
    memory.append("user", "b")
    fold = due_fold(memory)
    memory.append("user", "c")
    assert store_fold(memory, fold, "late") is False
    assert memory.summary() is None


def test_an_empty_text_is_a_failure():
    told = []
    memory = Memory(Policy(window=1, summary=SummaryPolicy()), listener=lambda channel, payload: told.append(channel))

    async def nothing(previous, messages):
        return ""

    async def main():
        for number in range(2):
            await turn(memory, number, nothing)

    asyncio.run(main())
    assert memory.summary() is None
    assert told.count("memory:summary_failed") == 2
    assert len(memory) == 4


def test_text_is_cut_and_goes_when_what_it_covers_goes():
    memory = summarising(window=1, max_tokens=6)
    for text in "abcd":
        memory.append("user", text)
    store_fold(memory, due_fold(memory), "x" * 100)
    assert memory.summary() == "x" * 8
    memory.erase([1])
    assert memory.summary() is None
    assert [entry.message.content for entry in due_fold(memory).entries] == ["a", "c"]


def test_text_goes_when_what_it_covers_is_rewound():
    memory = summarising(window=1)
    for text in "abcd":
        memory.append("user", text)
    store_fold(memory, due_fold(memory), "a, b and c")
    assert memory.rewind(3) == 0
    assert memory.summary() == "a, b and c"
    assert memory.rewind(1) == 2
    assert memory.summary() is None
    assert [message.content for message in memory.view()[0].window] == ["a", "b"]


def test_a_derived_view_has_a_summary_of_its_own():
    views = {"short": Policy(window=2, summary=SummaryPolicy())}
    memory = Memory(Policy(retain=3), views=views)
    joiner = Joiner()

    async def main():
        for number in range(4):
            await turn(memory, number, joiner)

    asyncio.run(main())
    assert memory.summary() is None
    assert memory.summary("short").split() == joiner.seen == ["q0", "a0", "q1", "a1", "q2", "a2"]
    assert texts(memory) == ["a2", "q3", "a3"]


def test_what_joined_a_run_vanishes_with_it_also_where_the_turn_is_recorded():
    memory = Memory(Policy(on_failure="Record", on_conflict="Serial"))
    run = opened(memory)
    run.frame().append("system", "x")
    run.abandon("too late", "half", cause="timeout")
    assert texts(memory) == ["q", "half\n[interrupted: too late]"]


class Panicking(Memory):
    """A memory whose steps panic while a run is opened."""

    def whole_log(self, tools_offered):
        raise Panic("P013", "a step of the program")


def test_ephemeral_facts_end_with_a_turn_that_could_not_begin():
    memory = Panicking(Policy())
    facts = Facts(memory)
    facts.keep(facts.drafted("x", "a fact", tier="ephemeral"))
    facts.keep(facts.drafted("y", "another one", tier="session"))
    conversation = Conversation(memory)

    async def call():
        with pytest.raises(Panic):
            await conversation.open("r", ASK, system=None, tools_offered=False)
        await conversation.abandon("panic")

    asyncio.run(call())
    assert [fact.name for fact in memory.session_facts()] == ["y"]


# ---------------------------------------------------------------- branches of an older moment, erasing beside others, dumps


def test_a_branch_of_an_older_moment_has_what_was_there_then(store):
    memory = Memory(Policy(window=6, window_low=2), name="chat", store=store)
    for number in range(5):
        memory.append("user", str(number))
    then = memory.head()
    for number in range(3):
        memory.write([Draft(Msg("user", f"later {number}"))], Turn(0, run=f"r{number}", at=5))
    for _ in range(40):
        memory.append("user", "x")
    branch = memory.fork_at(then, "other")
    assert (branch.head().next, branch.head().turns, [turn.run for turn, _ in branch.turns()]) == (5, 5, [None] * 5)
    for number in range(2):
        branch.append("user", f"new {number}")
    [view, *_] = branch.view()
    assert [message.content for message in view.window] == ["new 0", "new 1"]  # a cut is not put back, but to the end (M-9.8)


def test_a_branch_of_an_empty_moment_has_no_turns(store):
    memory = Memory(Policy(), name="chat", store=store)
    then = memory.head()
    memory.write([Draft(Msg("user", "later"))], Turn(0, run="r", at=5))
    branch = memory.fork_at(then, "other")
    assert (branch.head().next, branch.head().turns, branch.turns(), texts(branch)) == (0, 0, [], [])


def test_erasing_beside_a_rewind_of_somebody_else_begins_anew(store):
    memory, other = (Memory(Policy(), name="chat", store=store) for _ in range(2))
    for number in range(6):
        memory.append("user", str(number))

    class Beside:
        """The store, in which another one rewinds when the entries have been read."""

        def __init__(self):
            self.rewinds = 1

        def __getattr__(self, name):
            return getattr(store, name)

        def entries(self, *given, **named):
            found = store.entries(*given, **named)
            if self.rewinds:
                self.rewinds -= 1
                other.rewind(3)
            return found

    erased = erase_entries(Beside(), memory.key, lambda entry: entry.seq >= 2, 1)
    assert erased == {memory.key: [2, 3]} and texts(memory) == ["0", "1"]


@pytest.mark.parametrize("number", [2**70, -(2**70)])
@pytest.mark.parametrize("place", ["upto", "id", "created", "seqs", "elements", "n", "at"])
def test_a_dump_with_numbers_that_no_store_holds_is_refused(store, place, number):
    dump = json.loads(dumped(Content(0, 0, [], [], [])))
    if place == "upto":
        dump["views"] = {"": ViewState().as_json() | {"upto": number}}
    elif place in ("n", "at"):
        dump["seen"] = [{"topic": "turn", "n": 0, "data": {}, "seqs": [], "trust": "program", "at": 0} | {place: number}]
    else:
        fact = Fact(id=0, name="a", content=1, tier="persistent", created=0).as_json()
        dump["facts"] = [fact | {place: {"seqs": [number], "elements": [[number, 0, 0]]}.get(place, number)}]
    with pytest.raises(MemoryFailure, match="damaged memory"):
        Memory(Policy(), name="chat", store=store).load(json.dumps(dump))
