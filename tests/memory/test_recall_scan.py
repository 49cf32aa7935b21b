"""Recall over its index gives what a scan of all facts gives, whatever was done to them before (M-10.9 to M-10.20, M-14.4)."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from concerto.runtime.memory import fact_index, recall
from concerto.runtime.memory.fact_index import Bands, bits_of, slots_in
from concerto.runtime.memory.facts import Fact
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Decay, Policy
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.stores.volatile import VolatileStore
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from .planting import mutated
from .scanning import DAY, faded, plainly

LAW = settings(
    max_examples=60, deadline=None, database=None, derandomize=True, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
WORDS = ("tea", "teas", "green", "greens", "Bonn", "Rhine", "tower", "東京", "user_name")
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
NAMES = st.integers(0, 30).map(lambda n: f"{WORDS[n % 7]} {n}")
TIERS = ("ephemeral", "session", "persistent")
REMEMBER = st.tuples(
    st.just("remember"), NAMES, TEXT, st.sampled_from([0.2, 0.5, 0.9, 1.0]), st.sampled_from(TIERS),
    st.lists(st.sampled_from(WORDS), max_size=2),
)  # fmt: skip
OTHERS = st.one_of(
    st.tuples(st.just("forget"), NAMES),
    st.tuples(st.just("confirm"), NAMES),
    st.tuples(st.just("fact"), NAMES),
    st.tuples(st.just("recall"), TEXT, st.integers(1, 4)),
    st.tuples(st.just("wait"), st.integers(1, 40 * DAY)),
    st.just(("other process",)),
)
STEPS = st.lists(st.one_of(REMEMBER, REMEMBER, OTHERS), min_size=20, max_size=60)
QUERIES = st.lists(
    st.tuples(
        TEXT, st.integers(0, 5), st.none() | st.lists(st.sampled_from(TIERS), min_size=1, max_size=2),
        st.sampled_from([0.0, 0.4]), st.booleans(),
    ), min_size=4, max_size=4,
)  # fmt: skip


class Clock:
    def __init__(self):
        self.ms = 100 * DAY

    def __call__(self):
        return self.ms / 1000


class Key:
    """One key of two handles: what one writes, the other finds."""

    def __init__(self, stores, decay):
        self.clock, session = Clock(), VolatileStore()
        policy = Policy(decay=decay)
        self.memories = [
            Memory(policy, store=store, session=session, key=("", "m", ""), clock=self.clock) for store in stores
        ]

    def do(self, step):
        held = Facts(self.memories[0], "task")
        match step:
            case ("remember", name, content, c0, tier, about):
                held.keep(held.drafted(name, content, c0, tier, about))
            case ("forget", name):
                held.forget(name)
            case ("confirm", name):
                held.confirm(name)
            case ("fact", name):
                held.fact(name)
            case ("recall", query, k):
                held.recall(query, k)
            case ("wait", ms):
                self.clock.ms += ms
            case ("other process",):
                self.memories.reverse()

    def check(self, query, k, tiers, least, archived):
        memory, now = self.memories[0], self.clock.ms
        held, decay = Facts(memory, "task"), memory.policy.decay
        found = held.recall(query, k, tiers, least, archived, touch=False)
        stored = [fact for fact in memory.session_facts() if fact.tier != "ephemeral" or fact.task == "task"]
        scanned = [
            (key, fact)
            for key, fact in plainly([*stored, *memory.store.facts(memory.key)], query, now, decay)
            if (tiers is None or fact.tier in tiers)
            and faded(fact, decay, now) >= least
            and (archived or fact.tier != "persistent" or decay is None or faded(fact, decay, now) >= decay.archive_below)
        ][:k]
        assert [hit.fact.as_json() for hit in found] == [fact.as_json() for _, fact in scanned]
        assert [round(hit.score, 8) for hit in found] == [pytest.approx(-key[0], abs=2e-8) for key, _ in scanned]


def follows(stores, decay, steps, queries):
    key = Key(stores, decay)
    with patch.object(fact_index, "LEAST", 4), patch.object(recall, "SMALL", 2):
        for number, step in enumerate(steps):
            key.do(step)
            if number % 5 == 0:
                key.check(*queries[number // 5 % len(queries)])
        for query in queries:
            key.check(*query)


DECAYS = st.none() | st.builds(
    lambda rate, floor, how: Decay(rate=rate, per=10 * DAY, floor=floor, archive_below=0.3, refresh_on=how),
    st.sampled_from([0.05, 0.4]), st.sampled_from([0.0, 0.25]), st.sampled_from(["Access", "Confirm"]),
)  # fmt: skip


# Three facts in an old band, of which a question touches one.
OLD = [("remember", f"tea {n}", "tea", 1.0, "session", []) for n in range(3)]
NEW = [step for n in range(12) for step in (("wait", DAY), ("remember", f"green {n}", "green", 1.0, "session", []))]
TOUCHED = [*OLD, *NEW, ("recall", "tea", 1), ("wait", DAY)]
# Few facts that a wrong bound of a band passes over, and the question that tells: drawn ones may tell nothing of a mutant.
FACTS = [
    ("remember", "tea 14", "tea tea tea", 1.0, "session", []),
    ("remember", "greens 10", "green teas 東京 green tower", 0.5, "session", ["green"]),
    ("remember", "greens 17", "green greens tea tower", 0.5, "persistent", ["green"]),
    ("remember", "tower 6", "東京 Rhine teas Bonn tower", 0.9, "persistent", []),
    ("remember", "greens 17", "東京 Bonn 東京 tea Rhine", 0.5, "ephemeral", ["greens", "greens"]),
    ("remember", "tea 21", "greens green teas user_name tower", 0.5, "ephemeral", []),
]
SHORT = [
    ("remember", "green 2", "tower green Bonn 東京 Rhine", 1.0, "ephemeral", ["green"]),
    ("remember", "greens 24", "東京", 0.5, "session", ["東京", "greens"]),
    ("remember", "teas 15", "user_name greens tower greens", 0.5, "ephemeral", ["Bonn", "東京"]),
    ("remember", "teas 22", "green 東京 tower", 1.0, "ephemeral", ["tea"]),
]


@LAW
@example(None, TOUCHED, [("tea", 5, None, 0.0, True)] * 4)
@example(None, FACTS, [("tea greens Rhine greens tower", 5, None, 0.0, False)])
@example(None, SHORT, [("東京 tower", 1, None, 0.4, False)])
@example(None, [FACTS[1], *FACTS[3:]], [("teas tower Rhine Rhine", 3, None, 0.0, False)])
@example(None, FACTS[:5], [("teas tower Rhine Rhine", 3, None, 0.0, False)])
@given(DECAYS, STEPS, QUERIES)
def scan_law(decay, steps, queries):
    store = VolatileStore()
    follows([store, store], decay, steps, queries)


def test_recall_is_a_scan_whatever_was_done_before():
    """M-10.9 to M-10.20, M-14.4: the same facts with the same scores in the same order, under filters, decay and archive."""
    scan_law()


def test_so_it_is_with_two_processes_on_one_file(tmp_path):
    """M-14.4: each follows what the other wrote."""
    number = [0]

    @settings(LAW, max_examples=15)
    @given(DECAYS, STEPS, QUERIES)
    def law(decay, steps, queries):
        number[0] += 1
        stores = [SqliteStore(str(tmp_path / f"{number[0]}.db")) for _ in range(2)]
        try:
            follows(stores, decay, steps, queries)
        finally:
            for store in stores:
                store.close()

    law()


# ---------------------------------------------------------------- bands


@LAW
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12), st.integers(1, 3)), min_size=30, max_size=150))
def bands_law(moves):
    """An even time adds the slot or moves it there, an odd one takes it out."""
    places = {}
    bands = Bands(places.__getitem__)
    for slot, time, length in moves:
        if slot in places:
            bands.remove(slot, places.pop(slot))
        if time % 2 == 0:
            places[slot] = (time, -length, slot - 100)
            bands.add(slot, places[slot])
        held = [list(slots_in(bits)) for bits in bands.bits]
        assert sorted(slot for band in held for slot in band) == sorted(places)
        assert bands.sizes == [len(band) for band in held] and bands.count == len(places)
        for number, band in enumerate(held):
            after = bands.starts[number + 1] if number + 1 < len(held) else (99, 0, 0)
            assert all(bands.starts[number] <= places[slot] <= bands.newest[number] for slot in band)
            assert all(places[slot] < after for slot in band) and bands.newest[number] < after
            assert all(bands.shortest[number] <= -places[slot][1] for slot in band)
            assert all(bands.lowest[number] <= -places[slot][2] for slot in band)
            assert len(band) < bands.limit or bands.sizes[number] <= 4
    assert len(held) <= 2 + len(places)


def test_bands_hold_every_slot_once_by_its_time():
    """M-14.4: no slot is newer than its band says, older bands hold older ones, and there are not many of them."""
    with patch.object(fact_index, "LEAST", 4):
        bands_law()


@given(st.sets(st.integers(0, 5000)))
def test_bits_are_a_set_of_slots(slots):
    assert list(slots_in(bits_of(slots, 5000))) == sorted(slots)


def test_facts_of_one_time_are_not_looked_at():
    """M-14.4: of 5,000 facts that came together, and of which many are worth the same, some hundred; the lowest numbers win."""
    memory = Memory(clock=lambda: 90 * DAY / 1000)
    texts = ["tea green" if number % 2 else "tea green and more of it" for number in range(5_000)]
    facts = [Fact(number, "session", f"f{number}", text, accessed=DAY) for number, text in enumerate(texts)]
    memory.session.keep(memory.key, 0, facts, ())
    looked, plain = [], recall._Part.fact
    with patch.object(recall._Part, "fact", lambda part, slot: looked.append(slot) or plain(part, slot)):
        found = Facts(memory).recall("tea", 10, touch=False)
    assert [hit.fact.id for hit in found] == list(range(1, 20, 2))
    assert 10 <= len(looked) < 600


def test_many_facts_are_not_looked_at():
    """M-14.4: of 5,000 facts with a word of the query, the few hundred newest."""
    memory = Memory(clock=lambda: 90 * DAY / 1000)
    facts = [Fact(number, "session", f"f{number}", "tea green", accessed=number * DAY // 60) for number in range(5_000)]
    memory.session.keep(memory.key, 0, facts, ())
    looked, plain = [], recall._Part.fact
    with patch.object(recall._Part, "fact", lambda part, slot: looked.append(slot) or plain(part, slot)):
        found = Facts(memory).recall("tea", 10, touch=False)
    assert [hit.fact.id for hit in found] == list(range(4_999, 4_989, -1))
    assert 10 <= len(looked) < 600


MUTANTS = {
    "a touched fact stays in its band": ("fact_index", "self.bands.remove(slot, self._place_of(slot, before))", "pass"),
    "the newest band only": ("recalling", "if left > 1:", "if left > 99:"),
    "a band as new as its oldest": ("recalling", "bands.newest[left - 1][0]\n", "bands.starts[left - 1][0]\n"),
    "a band as long as its own": ("recalling", "list(accumulate(index.bands.shortest, min))", "index.bands.shortest[1:] + [9]"),
    "tokens that were not looked at": ("recalling", "sorted(tokens[at:],", "sorted(tokens[at + 1:],"),
    "confidence of the moment bounds nothing": ("recalling", "half_life) * fact.c0\n", "half_life) * fact.c0 * 0.5\n"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name):
    from concerto.runtime.memory import fact_index

    module, old, new = MUTANTS[name]
    with mutated({"fact_index": fact_index, "recalling": recall}[module], (old, new)), pytest.raises(Exception):  # noqa: B017
        scan_law()
