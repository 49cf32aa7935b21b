"""The volatile log of a memory (O-3.1 to O-3.14, M-3.13, M-5.10, M-14.1)."""

import time

import pytest
from concerto.runtime.memory.log import MemoryLog
from concerto.runtime.memory.store import MemoryStore
from hypothesis import given
from hypothesis import strategies as st


def texts(log):
    return [message.content for message in log.messages()]


def test_fifo_by_message():
    log = MemoryLog(3)
    for n in range(5):
        log.append("user", str(n))
    assert texts(log) == ["2", "3", "4"]
    assert len(log) == 3


def test_a_bounded_log_may_begin_with_an_assistant_message():
    log = MemoryLog(3)
    for n in range(2):
        log.append_turn([("user", f"q{n}"), ("assistant", f"a{n}")], f"r{n}")
    assert [(m.role, m.content) for m in log.messages()] == [("assistant", "a0"), ("user", "q1"), ("assistant", "a1")]
    assert log.turns() == [(0, "r0"), (1, "r1"), (1, "r1")]


def test_a_hundred_turns_on_twenty_messages():
    log = MemoryLog(20)
    for n in range(100):
        log.append_turn([("user", f"q{n}"), ("assistant", f"a{n}")], f"r{n}")
    assert len(log) == 20
    assert texts(log)[0] == "q90"
    assert log.messages()[-1].role == "assistant"
    assert log.turns()[0] == (90, "r90")


def test_last():
    log = MemoryLog()
    for n in range(5):
        log.append("user", str(n))
    assert [m.content for m in log.last(2)] == ["3", "4"]
    assert [m.content for m in log.last(9)] == ["0", "1", "2", "3", "4"]
    assert log.last(0) == log.last(-1) == []


def test_direct_appends_are_turns_of_their_own():
    log = MemoryLog()
    log.append("system", "s")
    log.append_turn([("user", "q"), ("assistant", "a")], "r")
    log.append("user", "u")
    assert log.turns() == [(0, None), (1, "r"), (1, "r"), (2, None)]
    assert log.version == 3


def test_a_run_is_stored_once():
    log = MemoryLog()
    assert log.append_turn([("user", "q"), ("assistant", "a")], "r")
    assert not log.append_turn([("user", "q"), ("assistant", "a")], "r")
    assert (len(log), log.version) == (2, 1)


def test_clear_keeps_counting_turns():
    log = MemoryLog(4)
    log.append_turn([("user", "q"), ("assistant", "a")], "r")
    log.clear()
    assert (len(log), log.messages(), log.version) == (0, [], 2)
    log.append("user", "x")
    assert log.turns() == [(1, None)]


def test_a_snapshot_does_not_change():
    log = MemoryLog(2)
    log.append("user", "a")
    snapshot = log.messages()
    log.append("user", "b")
    log.append("user", "c")
    assert [m.content for m in snapshot] == ["a"]


def test_messages_are_shared_between_readings():
    log = MemoryLog(2)
    log.append("user", "a")
    assert log.messages()[0] is log.messages()[0] is log.last(1)[0]


STEPS = st.lists(
    st.one_of(st.just(("append",)), st.tuples(st.just("turn"), st.integers(0, 5)), st.just(("read",)), st.just(("clear",))),
    max_size=40,
)


@given(st.none() | st.integers(1, 5), STEPS)
def test_the_log_behaves_like_a_list_cut_at_the_front(bound, steps):
    log = MemoryLog(bound)
    model: list[tuple[str, int, str | None]] = []
    turn = changes = number = 0
    for step in steps:
        number += 1
        if step[0] == "append":
            log.append("user", str(number))
            model.append((str(number), turn, None))
        elif step[0] == "turn":
            run = f"run{step[1]}"
            if not log.append_turn([("user", str(number)), ("assistant", "a")], run):
                assert run in {kept[2] for kept in model}
                continue
            assert run not in {kept[2] for kept in model}
            model += [(str(number), turn, run), ("a", turn, run)]
        elif step[0] == "clear":
            log.clear()
            model.clear()
            changes += 1
            continue
        else:
            log.messages()
            continue
        turn += 1
        changes += 1
        model = model[-bound:] if bound else model
        assert len(log) == len(model)
    assert texts(log) == [kept[0] for kept in model]
    assert log.turns() == [(kept[1], kept[2]) for kept in model]
    assert log.version == changes


@pytest.mark.parametrize("reading", [False, True])
def test_appending_costs_the_same_at_any_bound(reading):
    def seconds(bound):
        log = MemoryLog(bound)
        for _ in range(bound):
            log.append("user", "x")
        started = time.process_time()
        for _ in range(20_000):
            log.append("user", "x")
            if reading:
                log.last(1)
        return time.process_time() - started

    assert seconds(20_000) < 5 * seconds(20) + 0.05


def test_a_store_has_one_log_for_each_name():
    store = MemoryStore([("recent", 2), ("all", None)])
    assert list(store) == ["recent", "all"]
    assert store["recent"] is store["recent"]
    assert (store["recent"].max_messages, store["all"].max_messages) == (2, None)
    assert MemoryStore([("all", None)])["all"] is not store["all"]
