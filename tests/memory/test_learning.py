"""Rules over stores: what is kept, what leaves, what a failure and a second process do (M-10.22 to M-10.24, M-12.18)."""

import pytest
from concerto.runtime.memory import facts
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy, Rule
from concerto.runtime.memory.remembering import Facts, observe
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg

KEY = ("", "m", "")
TURNS = Rule(
    name="turns", on="turn", by=lambda one: one.data["model"], when=lambda group: True,
    store=lambda group: ([one.data["reply"] for one in group.members], 1.0, []),
)  # fmt: skip
NUMBERS = Rule(
    name="n", on="t", by=lambda one: one.data.get("by", "g"), when=lambda group: len(group.members) > 1,
    store=lambda group: (sum(one.data["n"] for one in group.members), 0.5, [group.key]),
)  # fmt: skip


class Clock:
    seconds = 1_000.0

    def __call__(self):
        return self.seconds


def memory_of(store, *rules, clock=None, **policy):
    return Memory(Policy(learn=rules, **policy), name="m", store=store, key=KEY, clock=clock or Clock())


def turn(memory, prompt, reply, run, rounds=()):
    made = open_run([Attached(memory)], run, [Msg("user", prompt)], by="M")
    for text, calls, results in rounds:
        made.add_round(text, calls, results)
    made.commit(reply)


def learned(memory):
    return {fact.name: fact.content for fact in memory.kept_facts()}


def test_a_turn_is_observed_once_on_every_store(store):
    """M-10.22, M-12.18: with its seqs and the trust of its entries; a repeated commit observes nothing."""
    memory = memory_of(store, TURNS)
    call = Call("c", "find", {})
    turn(memory, "a", "b", "r0", [("", (call,), [Msg("tool", "x", (), "c")])])
    turn(memory, "c", "d", "r1")
    turn(memory, "c", "d", "r1")
    first, second = memory.seen()
    assert first.data == {"prompt": "a", "reply": "b", "model": "M", "tools": ["find"], "tokens_in": 0, "tokens_out": 0}
    assert [(one.n, one.seqs, one.trust) for one in (first, second)] == [(0, [0, 1], "model"), (1, [2, 3], "model")]
    (fact,) = memory.kept_facts()
    assert (fact.name, fact.content, fact.rule, fact.run, fact.seqs) == ("turns/M", ["b", "d"], "turns", "r1", [0, 1, 2, 3])
    assert fact.tier == ("persistent" if memory.keeps else "session")


@pytest.mark.parametrize("is_error", [False, True])
def test_a_result_of_any_text_is_observed(is_error):
    """M-10.43: it is read as JSON only where it tells of a failure, and may be none or nest beyond all bounds."""
    calls = Rule(name="calls", on="turn:tool", by=lambda one: "g", when=lambda group: False, store=lambda group: None)
    memory = memory_of(None, calls)
    content = "[" * 100_000
    turn(memory, "a", "b", "r0", [("", (Call("c", "find", {}),), [Msg("tool", content, (), "c", is_error=is_error)])])
    (seen,) = memory.seen()
    shown = content[: facts.LONGEST]
    assert (seen.data["ok"], seen.data["result"], seen.data["error"]) == (
        (False, None, shown) if is_error else (True, shown, None)
    )


def test_learning_again_gives_the_same_facts(store):
    """M-10.24: a rule is a function of the observations, which a dump carries."""
    memory = memory_of(store, NUMBERS, clock=Clock())
    for n in range(5):
        observe(Facts(memory), "t", {"n": n, "by": "ab"[n % 2]})
    once = [fact.as_json() for fact in memory.kept_facts()]
    again = Memory(memory.policy, name="m", key=KEY, clock=memory.clock)
    for one in memory.seen():
        observe(Facts(again), one.topic, one.data)
    tiers = {"tier": None}
    assert [fact.as_json() | tiers for fact in again.kept_facts()] == [fact | tiers for fact in once]
    assert learned(memory) == {"n/a": 6, "n/b": 4}


def test_only_the_newest_observations_of_a_topic_are_kept(store, monkeypatch):
    """M-10.23"""
    monkeypatch.setattr(facts, "KEPT", 3)
    memory = memory_of(store, NUMBERS)
    observe(Facts(memory), "other", {"n": 100})
    for n in range(5):
        observe(Facts(memory), "t", {"n": n})
    assert [one.place for one in memory.seen()] == [("other", 0), ("t", 2), ("t", 3), ("t", 4)]
    assert learned(memory) == {"n/g": 2 + 3 + 4}


def test_removed_turns_are_not_learned_from(store):
    """M-6.18, M-8.14: what a rewind or an erasure takes away takes its observations and what rules made of them along."""
    memory = memory_of(store, TURNS)
    for number in range(3):
        turn(memory, f"p{number}", f"r{number}", f"run{number}")
    branch = memory.fork("b")
    memory.rewind(1)
    assert ([one.data["reply"] for one in memory.seen()], learned(memory)) == (["r0", "r1"], {})
    turn(memory, "p", "new", "run3")
    assert learned(memory) == {"turns/M": ["r0", "r1", "new"]}
    memory.erase([0])
    assert [one.data["reply"] for one in memory.seen()] == ["r1", "new"]
    assert ([one.data["reply"] for one in branch.seen()], learned(branch)) == (["r1", "r2"], {})
    assert "p0" not in memory.dump() + branch.dump()


def test_an_expired_key_has_no_observations(store):
    """M-8.9"""
    if not store.blocking:
        pytest.skip("what expires has a store")
    clock = Clock()
    memory = memory_of(store, NUMBERS, clock=clock, ttl=1_000)
    observe(Facts(memory), "t", {"n": 1})
    clock.seconds += 5
    observe(Facts(memory), "t", {"n": 2})
    assert ([one.data["n"] for one in store.seen(KEY)], learned(memory)) == ([2], {})
    clock.seconds += 5
    memory.append("user", "a")
    assert store.seen(KEY) == []


def test_two_processes_observe_in_some_order(open_store):
    """M-10.24: whoever comes second looks again."""
    store = open_store()
    one, other = memory_of(store, NUMBERS), memory_of(open_store.again(), NUMBERS)
    observe(Facts(one), "t", {"n": 1})
    real, stale = one.store.seen, one.store.seen(KEY)
    observe(Facts(other), "t", {"n": 10})
    answers = iter([stale])
    try:
        one.store.seen = lambda key: next(answers, None) or real(key)
        observe(Facts(one), "t", {"n": 100})
    finally:
        del one.store.seen
    assert [(each.n, each.data["n"]) for each in store.seen(KEY)] == [(0, 1), (1, 10), (2, 100)]
    assert learned(other) == {"n/g": 111}


def test_redaction_reaches_observations(store):
    """M-4.4"""
    memory = memory_of(store, TURNS, redact=(lambda text: text.replace("secret", "*"),))
    turn(memory, "a secret", "my secret", "r")
    observe(Facts(memory), "t", {"x": ["secret"]})
    assert [one.data for one in memory.seen() if one.topic == "t"] == [{"x": ["*"]}]
    assert "secret" not in memory.dump()


@pytest.mark.parametrize("change", [{"n": "0"}, {"data": []}, {"trust": "god"}, {"seqs": ["a"]}, {"more": 1}, {"n": -1}])
def test_a_damaged_observation_is_refused(change):
    """M-8.11"""
    import json

    memory = memory_of(None, NUMBERS)
    observe(Facts(memory), "t", {"n": 1})
    held = json.loads(memory.dump())
    held["seen"][0].update(change)
    with pytest.raises(Exception, match="does not decode"):
        memory.load(json.dumps(held))
