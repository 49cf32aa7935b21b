"""Laws of decay and of the order of recall (M-12.16, M-12.17) over random facts, the index against plain arithmetic, mutants."""

import pytest
from concerto.runtime.memory import fact_index, facts, recall, remembering
from concerto.runtime.memory.fact_index import FactIndex, folded
from concerto.runtime.memory.facts import Fact
from concerto.runtime.memory.memories import Memories
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Decay, Declaration, Policy
from concerto.runtime.memory.recall import rank
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.stores.volatile import VolatileStore
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from .planting import mutated
from .scanning import plainly

LAWS = settings(
    max_examples=80, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
DAY = 86_400_000
WORDS = ("tea", "teas", "green", "greens", "Bonn", "Rhine", "a", "東京", "user_name")
TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


class Clock:
    def __init__(self):
        self.ms = 10 * DAY

    def __call__(self):
        return self.ms / 1000


def keeping(decay=None):
    """A memory with a store, so that facts may be persistent, and its clock."""
    clock = Clock()
    return Memory(Policy(decay=decay), store=VolatileStore(), session=VolatileStore(), key=("", "m", ""), clock=clock), clock


# ---------------------------------------------------------------- decay

STEPS = st.lists(
    st.tuples(st.sampled_from(["wait", "fact", "recall", "peek", "confirm"]), st.integers(1, 3 * DAY)), min_size=5, max_size=12
)


@LAWS
@given(
    st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from([0.0, 0.25, 0.75]), st.sampled_from([0.125, 0.5, 1.0]),
    st.sampled_from(["Access", "Confirm"]), STEPS,
)  # fmt: skip
def decay_law(rate, floor, c0, refresh_on, steps):
    memory, clock = keeping(Decay(rate=rate, per=DAY, floor=floor, refresh_on=refresh_on))
    held = Facts(memory)
    held.keep(held.drafted("tea", "green", c0))
    refreshed = clock.ms

    def now():
        (fact,) = memory.stored_facts()
        return facts.confidence(fact, memory.policy.decay, memory.now())

    before = now()
    for step, ms in steps:
        if step == "wait":
            clock.ms += ms
            assert now() <= before
        elif step == "confirm":
            held.confirm("tea")
            refreshed = clock.ms
        else:
            if step == "fact":
                held.fact("tea")
            else:
                held.recall("tea", 1, touch=step == "recall")
            if refresh_on == "Access" and step != "peek":
                refreshed = clock.ms
        before = now()
        assert min(floor, c0) <= before <= c0
        assert before == pytest.approx(max(min(floor, c0), c0 - rate * (clock.ms - refreshed) / DAY))


def test_decay():
    """M-12.16: in [min(f, c0), c0]; falls with idle time, not with reading; reset by a refresh."""
    decay_law()


# ---------------------------------------------------------------- recall

FACTS = st.lists(
    st.builds(
        lambda tier, name, content, c0, accessed, about: (tier, name, content, c0, accessed, about),
        st.sampled_from(["session", "persistent"]), TEXT, TEXT, st.sampled_from([0.25, 0.5, 1.0]),
        st.sampled_from([0, DAY, 9 * DAY]), st.lists(st.sampled_from(WORDS), max_size=2),
    ), min_size=3, max_size=14,
)  # fmt: skip


def made(rows):
    """Numbered backwards, so that nothing is in order by itself."""
    return [
        Fact(len(rows) - number, tier, f"{name} {number}", content, c0=c0, accessed=accessed, about=about)
        for number, (tier, name, content, c0, accessed, about) in enumerate(rows)
    ]


def ranked(held, query, k, now, accepts=lambda hit: True):
    parts = [FactIndex(f for f in held if f.tier == tier) for tier in ("session", "persistent")]
    return rank(parts, query, k, now, accepts=accepts)


@LAWS
@given(FACTS, TEXT, st.sampled_from(["session", "persistent"]))
def recall_law(rows, query, tier):
    held, now = made(rows), 10 * DAY
    whole = ranked(held, query, len(held) + 1, now)
    keys = [(-round(hit.score, 9), -hit.fact.accessed, hit.fact.id) for hit in whole]
    expected = [key for key, _ in plainly(held, query, now)]
    assert [key[1:] for key in keys] == [key[1:] for key in expected]
    assert [key[0] for key in keys] == pytest.approx([key[0] for key in expected], abs=2e-9)
    for k in range(len(whole) + 1):
        assert [hit.fact.id for hit in ranked(held, query, k, now)] == [hit.fact.id for hit in whole[:k]]
        wanted = [hit.fact.id for hit in whole if hit.fact.tier == tier][:k]
        assert [hit.fact.id for hit in ranked(held, query, k, now, lambda hit: hit.fact.tier == tier)] == wanted


def test_recall():
    """M-12.17: sorted in a total order; recall(k) is a prefix of recall(k+1); filters hold before k; as M-10.9 ff. say."""
    recall_law()


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 6), TEXT, st.sampled_from(["session", "persistent"])),
        st.tuples(st.just("drop"), st.integers(0, 6), st.just(""), st.just("")),
        st.tuples(st.just("touch"), st.integers(0, 6), st.just(""), st.just("")),
    ),
    min_size=20,
    max_size=120,
)


@LAWS
@given(CHANGES, TEXT)
def index_law(changes, query):
    index, held = FactIndex(), {}
    for number, (what, at, text, tier) in enumerate(changes):
        if what == "put":
            held[at] = Fact(at, tier, f"{text} {at}", text, about=text.split()[:1], accessed=number)
            index.change([held[at]], [])
        elif what == "drop":
            held.pop(at, None)
            index.change([], [at])
        elif at in held:
            held[at] = held[at].changed(accessed=number)
            index.change([held[at]], [])
        if number % 3:  # else what follows comes on top of what nobody has asked for
            assert len(index) == len(held)
    anew = FactIndex(held.values())
    assert (len(index), index.length, index.highest) == (len(anew), anew.length, max(held, default=-1))
    assert index.graph.edges == anew.graph.edges
    for fact in held.values():
        assert index.named(fact.tier, fact.name) is fact
    found = [[(hit.fact.id, hit.score) for hit in rank([one], query, 9, 200)] for one in (index, anew)]
    assert found[0] == found[1]


def test_the_index_follows_every_change():
    """M-14.4: after any changes it is that of the facts there are."""
    index_law()


def test_a_store_tells_its_index_what_others_wrote(open_store):
    """M-14.4: another handle's facts are found, forgotten ones are not."""
    store = open_store()
    here = Memory(store=store, session=VolatileStore(), key=("", "m", ""))
    there = Memory(store=open_store.again(), session=VolatileStore(), key=("", "m", ""))

    def remember(memory, name):
        Facts(memory).keep(Facts(memory).drafted(name, "tea"))

    def names(memory):
        return sorted(hit.fact.name for hit in Facts(memory).recall("tea", 9, touch=False))

    remember(here, "a")
    assert (names(here), names(there)) == (["a"], ["a"])
    remember(there, "b")
    assert (names(here), names(there)) == (["a", "b"], ["a", "b"])
    remember(here, "c")
    Facts(there).forget("a")
    assert (names(here), names(there)) == (["b", "c"], ["b", "c"])
    here.load(here.dump())
    assert names(here) == ["b", "c"]
    there.erase()
    assert (names(here), names(there)) == ([], [])


# ---------------------------------------------------------------- mutants

MUTANTS = {
    "no floor": (test_decay, facts, "max(min(decay.floor, fact.c0), faded)", "faded"),
    "compounding": (
        test_decay, remembering, "fact.changed(accessed=now,",
        "fact.changed(c0=Found(fact, 1.0, now, decay).confidence, accessed=now,",
    ),
    "Confirm refreshed by access": (test_decay, remembering, 'decay.refresh_on == "Access"', "True"),
    "unstable ties": (
        test_recall, recall, "key=lambda pair: pair[0], reverse", "key=lambda pair: pair[0][0], reverse",
    ),
    "k before filter": (
        test_recall, recall, "            if accepts(hit):\n", "            if accepts(hit) or len(best) < k:\n",
    ),
    "recency left out": (
        test_recall, recall, "0.5 + 0.5 * 2.0 ** (-max(0, now - accessed) / half_life)", "1.0",
    ),
    "stops too early": (test_recall, recall, "limit = round(most +", "limit = round(most * 0.7 +"),
    "a counter loses its carry": (test_recall, fact_index, "planes[at] ^ bits, planes[at] & bits", "planes[at] ^ bits, 0"),
    "edges of what is shared no more": (
        test_the_index_follows_every_change, fact_index, "self._weigh(entity, self._only_slot(entity, slot), -1)", "pass",
    ),
    "an entity of one fact hands nothing on": (
        test_recall, fact_index,
        "for other in self.of_slot(self._only_slot(entity, -1)) if other in self.edges", "for other in ()",
    ),
    "graph keeps what is gone": (
        test_the_index_follows_every_change, fact_index, "            self.graph.remove(slot, entities(fact))",
        "            pass",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name):
    check, module, old, new = MUTANTS[name]
    with mutated(module, (old, new)), pytest.raises(Exception):  # noqa: B017
        check()


def test_names_are_folded():
    assert folded("Straße") == folded("STRASSE")


@pytest.mark.parametrize("erase", [
    lambda memories: memories["m"].key(user="u").erase(), lambda memories: memories["m"].erase(user="u"),
])  # fmt: skip
def test_what_is_erased_is_in_no_index_of_messages(erase, store):
    memories = Memories([Declaration("m", per=["user"], store="s")], stores=lambda name: store)
    memory = memories["m"].key(user="u")

    def said():
        return [hit.fact.content for hit in Facts(memory).recall("apple", 5, ["messages"])]

    memory.append("user", "one apple")
    assert said() == ["one apple"]
    erase(memories)
    assert not memory.session.spoken
    memory.append("user", "red apple")
    assert said() == ["red apple"]
