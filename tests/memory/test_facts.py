"""Facts over stores: durability, ids, expiry, erasing, laws of recall and decay (M-10, M-12.16, M-12.17)."""

import json
from types import SimpleNamespace

import pytest
from concerto.runtime.memory.fact_index import FactIndex
from concerto.runtime.memory.facts import Fact, archived, confidence
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Decay, Policy
from concerto.runtime.memory.recall import rank
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.stores.volatile import VolatileStore

DAY = 86_400_000


class Clock:
    seconds = 1_000_000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "memory.db")


@pytest.fixture
def durable(opened):
    return opening(opened)


def opening(opened):
    def memory_of(path, clock, key=("", "m", ""), **policy):
        return Memory(Policy(**policy), name="m", store=opened(SqliteStore(path)), key=key, clock=clock)

    return memory_of


def remember(memory, name, content, **given):
    facts = Facts(memory)
    facts.keep(facts.drafted(name, content, **given))


def names(memory, query, **given):
    return [found.fact.name for found in Facts(memory).recall(query, 10, **given)]


def test_persistent_facts_outlive_the_process(durable, path, clock):
    memory = durable(path, clock)
    remember(memory, "city", {"name": "Bonn"}, confidence=0.5, about=["Rhine"], seqs=[])
    remember(memory, "gone", "Bonn", tier="session")
    memory.store.close()
    again = durable(path, clock)
    (fact,) = Facts(again).all()
    assert (fact.tier, fact.content, fact.c0, fact.about, fact.id) == ("persistent", {"name": "Bonn"}, 0.5, ["Rhine"], 0)
    assert again.version() == 0


def test_two_processes_never_share_a_number(durable, path, clock):
    one, other = durable(path, clock), durable(path, clock)
    stale = one.stored_facts()
    remember(other, "a", 1)
    one.store.facts, real = lambda key: stale, one.store.facts
    facts = Facts(one)
    with pytest.raises(MemoryFailure) as raised:
        one.store.keep(one.key, 0, [facts.drafted("b", 2).changed(id=0)], ())
    assert raised.value.variant == "Conflict"
    one.store.facts = real
    remember(one, "b", 2)
    assert [(fact.id, fact.name) for fact in one.stored_facts()] == [(0, "a"), (1, "b")]


def test_a_log_begins_beside_its_facts(durable, path, clock):
    memory = durable(path, clock)
    remember(memory, "city", "Bonn")
    memory.append("user", "a")
    assert (memory.version(), len(memory), names(memory, "bonn")) == (1, 1, ["city"])
    assert list(memory.store.keys(("", "m"))) == [memory.key]


def test_a_store_that_keeps_no_facts_takes_no_dump_with_some(durable, path, clock):
    kept = durable(path, clock)
    without = kept.dump()
    remember(kept, "city", "Bonn")
    held = VolatileStore()
    methods = ("head", "entries", "turns", "views", "commit", "remove", "keys", "expire", "close")
    store = SimpleNamespace(name="bare", blocking=False, **{method: getattr(held, method) for method in methods})
    bare = Memory(Policy(), name="m", store=store, key=kept.key, clock=clock, session=VolatileStore())
    bare.load(without)
    with pytest.raises(MemoryFailure, match="keeps no facts"):
        bare.load(kept.dump())


def test_an_expired_key_has_no_facts(durable, path, clock):
    memory = durable(path, clock, ttl=1000)
    remember(memory, "old", "Bonn")
    clock.seconds += 2
    assert names(memory, "bonn") == []
    remember(memory, "new", "Bonn")
    assert [fact.name for fact in memory.store.facts(memory.key)] == ["new"]
    assert names(memory, "bonn") == ["new"]
    clock.seconds += 2
    memory.append("user", "a")
    assert memory.store.facts(memory.key) == [] and names(memory, "bonn") == []
    remember(memory, "last", "Bonn")
    assert names(memory, "bonn") == ["last"]


def test_erasing_takes_what_derives_from_it(durable, path, clock):
    memory = durable(path, clock)
    memory.append("user", "a")
    memory.append("user", "b")
    remember(memory, "one", "Bonn", seqs=[0])
    remember(memory, "two", "Bonn", seqs=[1])
    remember(memory, "now", "Bonn", seqs=[0], tier="session")
    branch = memory.fork("b")
    memory.erase([0])
    assert (names(memory, "bonn"), names(branch, "bonn")) == (["two"], ["two"])
    memory.erase()
    assert (memory.store.facts(memory.key), memory.store.facts(branch.key)) == ([], [])


def test_a_dump_round_trips_and_stores_agree(durable, path, clock):
    texts = []
    for memory in (durable(path, clock), Memory(name="m", key=("", "m", ""), clock=clock)):
        remember(memory, "city", "Bonn", tier="session")
        remember(memory, "tea", [1, None, "x"], tier="session", about=["cup"])
        text = memory.dump()
        memory.load(text)
        assert memory.dump() == text
        texts.append(text)
    assert texts[0] == texts[1]


def test_without_a_store_a_dump_gives_one_fact_of_each_name(durable, path, clock):
    """Two tiers become one: `forget` left the other fact of the name there, and one of two with one number was lost."""
    memory, other = durable(path, clock), durable(path, clock)
    remember(memory, "city", "Bonn", tier="session")
    remember(other, "tea", "green")  # by another session, which gives it the same number
    remember(memory, "city", "Chur")
    assert [(fact.id, fact.name, fact.tier) for fact in memory.kept_facts()] == [
        (0, "tea", "persistent"), (0, "city", "session"), (1, "city", "persistent"),
    ]  # fmt: skip
    plain = Memory(clock=clock)
    plain.load(memory.dump())
    facts = Facts(plain)
    assert {fact.name: fact.content for fact in facts.all()} == {"city": "Bonn", "tea": "green"}
    assert len({fact.id for fact in facts.all()}) == 2
    assert facts.forget("city") and facts.fact("city") is None
    assert facts.fact("tea").fact.content == "green"


def test_a_store_that_fails_leaves_the_facts_of_the_session_too(durable, path, clock, monkeypatch):
    memory = durable(path, clock)
    remember(memory, "city", "Bonn", tier="session")
    remember(memory, "city", "Chur")

    def full(*arguments):
        raise MemoryFailure("Store", "the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(memory.store, "keep", full)
        with pytest.raises(MemoryFailure):
            Facts(memory).forget("city")
    assert [fact.content for fact in memory.kept_facts()] == ["Bonn", "Chur"]
    assert Facts(memory).forget("city") and memory.kept_facts() == []


@pytest.mark.parametrize("change", [{"c0": 2}, {"c0": None}, {"tier": "disk"}, {"trust": "god"}, {"seqs": ["a"]}, {"more": 1}])
def test_a_damaged_fact_is_refused(clock, change):
    memory = Memory(clock=clock)
    remember(memory, "city", "Bonn")
    held = json.loads(memory.dump())
    held["facts"][0].update(change)
    with pytest.raises(MemoryFailure) as raised:
        Memory(clock=clock).load(json.dumps(held))
    assert raised.value.variant == "Corrupt"


def test_redaction_reaches_what_facts_say(clock):
    memory = Memory(Policy(redact=(lambda text: text.replace("Bonn", "*"),)), clock=clock)
    remember(memory, "town", {"x": ["Bonn"]}, about=["ann"])
    for name, about in (("Bonn", []), ("near", ["Bonn"])):
        with pytest.raises(MemoryFailure, match="nothing was stored") as raised:
            remember(memory, name, "by a redactor it would be another's", about=about)
        assert raised.value.variant == "Redaction"
    (fact,) = Facts(memory).all()
    assert (fact.name, fact.content, fact.about) == ("town", {"x": ["*"]}, ["ann"])


def test_keys_keep_facts_apart(durable, path, clock):
    for key in (("", "m", "a", ""), ("", "m", "A", ""), ("", "m:a", "")):
        remember(durable(path, clock, key), "city", f"Bonn {key}")
    for key in (("", "m", "a", ""), ("", "m", "A", ""), ("", "m:a", "")):
        assert [fact.content for fact in durable(path, clock, key).stored_facts()] == [f"Bonn {key}"]


def test_a_name_may_hold_anything(durable, path, clock):
    memory = durable(path, clock)
    for name in ("a\0b", "\ud800", "'; DROP TABLE fact", ""):
        remember(memory, name, name)
    assert [fact.name for fact in memory.stored_facts()] == ["a\0b", "\ud800", "'; DROP TABLE fact", ""]


@pytest.mark.parametrize("idle", [0, 1, DAY, 3 * DAY, 400 * DAY])
@pytest.mark.parametrize("c0", [0.1, 0.5, 1.0])
def test_decay_stays_between_floor_and_start(idle, c0):
    """M-12.16."""
    decay = Decay(rate=0.2, per=DAY, floor=0.3)
    fact = Fact(0, "persistent", "a", 1, c0=c0, refreshed=0)
    now = confidence(fact, decay, idle)
    assert min(0.3, c0) <= now <= c0
    assert now == pytest.approx(max(min(0.3, c0), c0 - 0.2 * idle / DAY))
    assert confidence(fact, decay, idle + DAY) <= now
    assert confidence(fact, decay, idle) == now
    assert confidence(fact.changed(refreshed=idle), decay, idle) == c0
    assert not archived(fact.changed(tier="session"), Decay(rate=1, per=1, archive_below=1), idle)
    assert archived(fact, Decay(rate=0.2, per=DAY, archive_below=0.5), idle) == (c0 - 0.2 * idle / DAY < 0.5)


def test_recall_is_a_total_order_and_a_prefix(clock):
    """M-12.17."""
    memory = Memory(clock=clock)
    for number in range(12):
        remember(memory, f"fact {number}", "Bonn on the Rhine" if number % 2 else "Bonn", confidence=1 - number % 3 / 4)
    whole = Facts(memory).recall("bonn rhine", 12, touch=False)
    keys = [(-round(hit.score, 9), -hit.fact.accessed, hit.fact.id) for hit in whole]
    assert keys == sorted(keys)
    for k in range(12):
        assert [hit.fact.id for hit in Facts(memory).recall("bonn rhine", k, touch=False)] == [h.fact.id for h in whole[:k]]
    sure = Facts(memory).recall("bonn rhine", 3, min_confidence=0.9, touch=False)
    assert len(sure) == 3
    assert all(hit.confidence >= 0.9 for hit in sure)


def test_scores_of_the_table():
    """M-10.13."""
    for relevance, c0, score in ((0.95, 0.90, 0.855), (0.70, 1.0, 0.70), (0.60, 0.85, 0.51)):
        (found,) = rank([FactIndex([Fact(0, "session", "a", "b", c0=c0)])], "a", 1, 0)
        found.relevance = relevance
        assert found.score == pytest.approx(score)


def test_a_name_that_is_asked_for_before_it_is_there():
    """M-10.10: asking the index about an entity that no fact has enters none, so a later fact of it is found by its words."""
    index = FactIndex()
    assert len(index) == 0
    assert index.about(["anna"]) == 0
    index.change([Fact(0, "persistent", "city", "Bonn", about=["Anna"])], ())
    assert len(index) == 1
    assert index.graph.activations(frozenset({"anna"})) == {"anna": 1.0}
    assert index.about(["anna", "berta"]) == 1


@pytest.mark.parametrize(
    ("content", "query"), [("東京に住む", "東京"), ("STRASSE", "straße"), ("ﬁne tea", "FINE"), ("user_name-x", "name")]
)
def test_words_of_any_script(content, query, clock):
    """M-10.8."""
    memory = Memory(clock=clock)
    remember(memory, "1", content)
    assert names(memory, query) == ["1"]


@pytest.mark.parametrize("tier", ["persistent", "session"])
def test_a_rewind_takes_along_what_names_a_removed_entry(durable, path, clock, tier):
    """M-6.18: the seqs are given again, so a fact that stayed would name a message that is not its own."""
    memory = durable(path, clock)
    for number in range(3):
        memory.append("user", f"m{number}")
    remember(memory, "kept", "a", tier=tier, seqs=[0])
    remember(memory, "gone", "b", tier=tier, seqs=[0, 2])
    remember(memory, "bare", "c", tier=tier)
    branch = memory.fork("b")
    memory.rewind(1)
    memory.append("user", "another")
    assert sorted(fact.name for fact in Facts(memory).all()) == ["bare", "kept"]
    assert sorted(fact.name for fact in Facts(branch).all()) == ["bare", "gone", "kept"]
    assert memory.erase([2]) == 1
    assert sorted(fact.name for fact in Facts(memory).all()) == ["bare", "kept"]


def test_a_changed_fact_has_all_other_fields():
    """`changed` names the fields one by one: a field that it forgets would be gone after the first recall."""
    given = {
        "id": 1, "tier": "persistent", "name": "n", "content": [2], "about": ["a"], "c0": 0.5, "created": 3, "accessed": 4,
        "refreshed": 5, "trust": "user", "origin": "model", "by": "M", "run": "r", "rule": "l", "seqs": [6],
        "elements": [[7, 8, 9]],
    }  # fmt: skip
    fact = Fact(**given, task=(1, 2))
    fact.vector = ("label", b"v")
    copy = fact.changed(accessed=10)
    assert fact.as_json() == given
    assert copy.as_json() == {**given, "accessed": 10}
    assert (copy.task, copy.vector, copy.element) == ((1, 2), fact.vector, None)
    assert copy.about is not fact.about and copy.seqs is not fact.seqs
