"""Laws of facts over random facts, times and queries: decay (I16), recall (I17), no feedback (I18), reading (I9), keys (I13)."""

from __future__ import annotations

from concerto.runtime.memory.fact_index import FactIndex
from concerto.runtime.memory.facts import Fact, confidence
from concerto.runtime.memory.keys import memory_key
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Decay, Policy, RecallPolicy, SummaryPolicy
from concerto.runtime.memory.recall import rank
from concerto.runtime.memory.remembering import Facts, Recalling
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.runtime.memory.summaries import due_fold, store_fold
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.memory.views import RECALL_MARK
from concerto.runtime.records import Msg
from hypothesis import example, given
from hypothesis import strategies as st

DAY = 86_400_000
WORDS = st.lists(st.sampled_from(["bonn", "rhine", "tea", "tower", "東京"]), min_size=1, max_size=3).map(" ".join)
SHARES = st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0])
TIMES = st.integers(0, 90).map(lambda days: days * DAY)
NOW = 100 * DAY


@st.composite
def facts(draw):
    """Forced ties: few words, few times, few confidences."""
    made = []
    for number in range(draw(st.integers(1, 10))):
        tier = draw(st.sampled_from(["session", "persistent"]))
        at = draw(st.sampled_from([0, 50 * DAY, NOW]))
        made.append(Fact(number, tier, f"f{number % 2}", draw(WORDS), c0=draw(SHARES), accessed=at, refreshed=at))
    return draw(st.permutations(made))


def remembered(memory, contents, **given):
    for number, content in enumerate(contents):
        held = Facts(memory)
        held.keep(held.drafted(f"n{number}", content, **given))


def ranked(held, query):
    return rank([FactIndex(held)], query, 99, NOW)


TIED = [Fact(number, "session", f"f{number}", "bonn", c0=1.0, accessed=0, refreshed=0) for number in range(2)]


@given(facts(), WORDS)
@example(TIED, "bonn")
def test_recall_is_sorted_by_a_total_order(held, query):
    """I17, M-12.17: relevance × recency × confidence, then the newest access, then the number, whatever order they came in."""
    found = ranked(held, query)
    for hit in found:
        idle = NOW - hit.fact.accessed
        assert abs(hit.score - hit.relevance * (0.5 + 0.5 * 2 ** (-idle / (30 * DAY))) * hit.fact.c0) < 1e-9
    keys = [(-round(hit.score, 9), -hit.fact.accessed, hit.fact.id) for hit in found]
    assert keys == sorted(keys) and len(set(keys)) == len(keys)
    assert [hit.fact.id for hit in found] == [hit.fact.id for hit in ranked(held[::-1], query)]


@given(st.lists(st.tuples(WORDS, SHARES, st.booleans()), max_size=8), WORDS, st.integers(0, 8), SHARES)
@example([("bonn", 1.0, True), ("bonn", 0.9, False)], "bonn", 1, 0.0)
def test_filters_act_before_k(contents, query, k, least):
    """I17: recall(k) is a prefix of recall(k + 1), under filters too."""
    memory = Memory()
    for number, (content, share, is_ephemeral) in enumerate(contents):
        held = Facts(memory)
        held.keep(held.drafted(f"n{number}", content, share, "ephemeral" if is_ephemeral else "session"))

    def ids(k):
        return [hit.fact.id for hit in Facts(memory).recall(query, k, ["session"], least, touch=False)]

    every = Facts(memory).recall(query, 99, touch=False)
    whole = [hit.fact.id for hit in every if hit.confidence >= least and hit.fact.tier == "session"]
    assert ids(k) == whole[:k] == ids(k + 1)[:k]


@given(st.lists(WORDS, min_size=1, max_size=5), WORDS, st.integers(0, 5))
def test_recall_without_touch_changes_nothing(contents, query, k):
    """I9."""
    now = [1000.0]
    memory = Memory(clock=lambda: now[0])
    remembered(memory, contents)
    before = memory.dump()
    now[0] = 2000.0
    Facts(memory).recall(query, k, touch=False)
    assert memory.dump() == before


@given(st.lists(WORDS, max_size=3), st.lists(WORDS, max_size=3), WORDS)
def test_recall_sees_one_key(mine, theirs, query):
    """I13: recall(A) ⊆ facts(A)."""
    store = VolatileStore()
    ours, others = (Memory(store=store, key=(*memory_key("", "m")[:-1], user, "")) for user in ("a", "A"))
    remembered(ours, mine)
    before = ours.dump()
    remembered(others, theirs)
    found = Facts(ours).recall(query, 99, touch=False)
    assert [hit.fact.content for hit in found] == [each for each in (f.fact.content for f in found) if each in mine]
    assert len(found) <= len(mine)
    assert ours.dump() == before


@given(SHARES, SHARES, SHARES, TIMES, TIMES | st.integers(0, 12).map(lambda quarters: quarters * DAY // 4))
@example(1.0, 0.0, 0.3, 0, 2 * DAY)
def test_decay_is_in_closed_form(c0, floor, rate, refreshed, later):
    """I16, M-12.16: linear, not below the floor, the same however often it is read on the way."""
    decay = Decay(rate=rate, per=DAY, floor=floor)
    fact = Fact(0, "persistent", "a", 1, c0=c0, refreshed=refreshed)
    now = refreshed + later
    for at in range(refreshed, now, 13 * DAY):
        confidence(fact, decay, at)
    days = later / DAY
    assert abs(confidence(fact, decay, now) - max(min(floor, c0), c0 - rate * days)) < 1e-9
    assert min(floor, c0) <= confidence(fact, decay, now) <= c0
    assert confidence(fact.changed(refreshed=now), decay, now) == c0


def test_under_confirm_no_access_refreshes():
    """I16, M-10.19."""
    for how, expected in (("Access", 1.0), ("Confirm", 0.5)):
        now = [0.0]
        memory = Memory(Policy(decay=Decay(rate=0.5, per=DAY, refresh_on=how)), clock=lambda now=now: now[0])
        memory.session = VolatileStore()
        remembered(memory, ["bonn"])
        now[0] = DAY / 1000
        Facts(memory).recall("bonn", 1)
        assert Facts(memory).fact("n0").confidence == expected
        Facts(memory).confirm("n0")
        assert Facts(memory).fact("n0").confidence == 1.0


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(1, 6), st.booleans(), st.sampled_from(["Prefix", "Prompt", "System"]))
def test_what_is_only_shown_is_never_stored(contents, turns, tools, inject):
    """I18, M-12.18: neither summary nor recalled facts come back as entries."""
    policy = Policy(tools=tools, window=2, summary=SummaryPolicy(inject=inject), recall=RecallPolicy(inject=inject))
    memory = Memory(policy)
    remembered(memory, [f"{content} MARKER" for content in contents])
    for number in range(turns):
        prompt = f"bonn rhine tea tower {number}"
        run = open_run([Attached(memory)], f"r{number}", [Msg("user", prompt)], system="S", recall=Recalling(None))
        run.commit("reply")
        fold = due_fold(memory)
        if fold is not None:
            store_fold(memory, fold, "MARKER")
    told = [message.content for message in memory.messages()]
    assert told == [text for number in range(turns) for text in (f"bonn rhine tea tower {number}", "reply")]
    shown = open_run([Attached(memory)], "", [Msg("user", "bonn rhine tea tower")], system="S", recall=Recalling(None))
    text = shown.lead + "".join(message.content for message in shown.head)
    assert ("[summary] " in text) is (turns > 1)
    assert RECALL_MARK in text or not any(set(content.split()) - {"東京"} for content in contents)
