"""Recall over elements of lists and over messages gives what a scan of all of them gives (M-10.38 to M-10.40, M-12.33), and a
model is shown no fact that it may not read (M-10.35, M-10.36, M-12.32), whatever was done before.

`python -m tests.memory.test_recall_items [CASES [SEED]]` runs the two laws over so many generated histories.
"""

from __future__ import annotations

import random
import re
import sys
from unittest.mock import patch

from concerto.runtime.memory import fact_index, recall
from concerto.runtime.memory.facts import Fact
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Decay, FactAccess, Policy, RecallPolicy
from concerto.runtime.memory.remembering import Facts, Recalling
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Msg

from .scanning import DAY, faded, plainly

WORDS = ("tea", "teas", "green", "greens", "Bonn", "Rhine", "tower", "東京", "user_name")
LISTS = frozenset((("session", "bugs"), ("persistent", "decisions")))
SOURCES = ("session", "persistent", "messages")
SEED = 20_261_126


class Clock:
    def __init__(self):
        self.ms = 100 * DAY

    def __call__(self):
        return self.ms / 1000


def text_of(draw, most=4):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, most)))


def element(draw):
    if draw.random() < 0.6:
        return text_of(draw)
    return {"title": text_of(draw, 2), "why": f"{draw.choice(WORDS)}\n{draw.choice(WORDS)}"}


# ---------------------------------------------------------------- elements and messages


class History:
    """One key, and beside it what its lists hold: (content, created, accessed, refreshed) of every element."""

    def __init__(self, draw, stores):
        self.draw, self.clock = draw, Clock()
        how = draw.choice(["Access", "Confirm"])
        self.decay = draw.choice([None, Decay(rate=0.1, per=10 * DAY, floor=0.25, archive_below=0.3, refresh_on=how)])
        session = VolatileStore()
        self.memories = [
            Memory(Policy(decay=self.decay), store=store, session=session, key=("", "m", ""), clock=self.clock, lists=LISTS)
            for store in stores
        ]
        self.lists = {at: [] for at in LISTS}

    def step(self):
        draw, memory = self.draw, self.memories[0]
        facts = Facts(memory, "task")
        match draw.randrange(9):
            case 0 | 1 | 2:
                self.write(facts, *draw.choice(sorted(LISTS)))
            case 3:
                name = f"{draw.choice(WORDS)} {draw.randrange(4)}"
                facts.keep(facts.drafted(name, element(draw), tier=draw.choice(SOURCES[:2])))
            case 4:
                memory.append(draw.choice(["user", "assistant", "system"]), text_of(draw))
            case 5:
                self.clock.ms += draw.randint(1, 40 * DAY)
            case 6:
                self.touch(facts.recall(text_of(draw), draw.randint(1, 3), draw.choice([None, ["persistent", "messages"]])))
            case 7:
                facts.slots(sorted(LISTS))
                if draw.random() < 0.3 and len(memory):
                    memory.erase([draw.choice([entry.seq for entry in memory.entries()])])
            case _:
                if draw.random() < 0.5:
                    self.memories.reverse()
                elif draw.random() < 0.3:
                    memory.load(memory.dump())
                else:
                    self.confirm(facts, *draw.choice(sorted(LISTS)))

    def write(self, facts, tier, name):
        draw, now = self.draw, self.memories[0].now()
        held = [one[0] for one in self.lists[tier, name]]
        wanted = [one for one in held if draw.random() < 0.8] + [element(draw) for _ in range(draw.randint(0, 2))]
        if draw.random() < 0.3:
            wanted += wanted[:1]
        draw.shuffle(wanted)
        facts.keep(facts.drafted(name, wanted, tier=tier))
        left, made = list(self.lists[tier, name]), []
        for content in wanted:
            same = next((one for one in left if one[0] == content), None)
            if same is not None:
                left.remove(same)
            made.append(same or (content, now, now, now))
        self.lists[tier, name] = made

    def confirm(self, facts, tier, name):
        if facts.confirm(name):
            now = self.memories[0].now()
            self.lists[tier, name] = [(content, made, read, now) for content, made, read, _ in self.lists[tier, name]]

    def touch(self, hits):
        now = self.memories[0].now()
        refreshes = self.decay is None or self.decay.refresh_on == "Access"
        for tier, name in LISTS:
            found = [hit.fact.content for hit in hits if (hit.fact.tier, hit.fact.name) == (tier, name)]
            self.lists[tier, name] = [
                (one[0], one[1], now, now if refreshes else one[3]) if one[0] in found else one for one in self.lists[tier, name]
            ]

    def items(self, among):
        """Everything recall may find, with its place among equals."""
        memory = self.memories[0]
        found = []
        for fact in memory.kept_facts():
            at = fact.tier, fact.name
            if at not in LISTS:
                found.append(((0, fact.id, 0), fact))
                continue
            for number, (content, created, accessed, refreshed) in enumerate(self.lists[at]):
                one = Fact(fact.id, *at, content, created=created, accessed=accessed, refreshed=refreshed)
                found.append(((0, fact.id, number), one))
        if "messages" in among:
            for entry in memory.entries():
                if entry.message.role != "system":
                    said = Fact(entry.seq, "message", entry.message.role, entry.message.content, accessed=entry.at)
                    found.append(((1, entry.seq, 0), said))
        return found

    def check(self):
        draw, now = self.draw, self.memories[0].now()
        query, k = text_of(draw), draw.randint(0, 6)
        among = draw.sample(SOURCES, draw.randint(1, 3))
        archived = draw.random() < 0.5
        found = Facts(self.memories[0], "task").recall(query, k, among, archived=archived, touch=False)
        held = self.items(among)
        least = self.decay.archive_below if self.decay is not None else 0.0
        places = {id(fact): place for place, fact in held}
        scanned = [
            fact for _, fact in plainly([fact for _, fact in held], query, now, self.decay, lambda fact: places[id(fact)])
            if (fact.tier in among or fact.tier == "message")
            and (archived or fact.tier != "persistent" or faded(fact, self.decay, now) >= least)
        ][:k]  # fmt: skip

        def shown(fact):
            return fact.id, fact.tier, fact.name, fact.content, fact.accessed

        assert [shown(hit.fact) for hit in found] == [shown(fact) for fact in scanned]
        for hit, fact in zip(found, scanned, strict=True):
            if fact.tier != "message":
                assert (hit.fact.created, hit.fact.refreshed) == (fact.created, fact.refreshed)


def items_law(seed, stores=None):
    draw = random.Random(seed)
    store = VolatileStore()
    history = History(draw, stores or [store, store])
    with patch.object(fact_index, "LEAST", 4), patch.object(recall, "SMALL", 2):
        for _ in range(draw.randint(5, 40)):
            history.step()
            history.check()


def test_recall_over_lists_and_messages_is_a_scan():
    """M-12.33, I33: the same items with the same times in the same order, whatever was done to the lists and the log."""
    for number in range(120):
        items_law(SEED + number)


def test_so_it_is_with_two_processes_on_one_file(tmp_path):
    """M-12.33, M-14.4: the times of elements are stored with the list."""
    for number in range(12):
        stores = [SqliteStore(str(tmp_path / f"{number}.db")) for _ in range(2)]
        try:
            items_law(SEED + number, stores)
        finally:
            for store in stores:
                store.close()


def test_a_list_of_many_equal_times_stays_quick():
    """M-10.39: elements of one write have one time; bands are cut between them all the same."""
    memory = Memory(lists=LISTS, clock=Clock())
    facts = Facts(memory)
    facts.keep(facts.drafted("bugs", [f"tea {number}" for number in range(3_000)], tier="session"))
    assert [hit.fact.content for hit in facts.recall("tea", 3, touch=False)] == ["tea 0", "tea 1", "tea 2"]
    assert len(memory.session.index(memory.key).bands.bits) < 50


# ---------------------------------------------------------------- permissions

MODELS = ("A", "B", "C")
NAMES = ("a", "ab", "ab/c", "ab/d", "b", "bugs", "decisions", "*")
PATTERNS = ("a", "ab", "ab/*", "a*", "*", "b", "bugs", "decis*")
TIERS = ("ephemeral", "session", "persistent")


def naive(rules, by, tier, name, writes):
    """M-10.35, read as it stands."""
    for patterns, readers, writers in rules:
        covers = any(
            (not where or where == tier)
            and (re.match(re.escape(wanted[:-1]), name) is not None if wanted[-1] == "*" else wanted == name)
            for where, wanted in patterns
        )
        if covers and by not in (writers if writes else [*readers, *writers]):
            return False
    return True


def permission_law(seed):
    draw = random.Random(seed)
    rules = [
        (
            [[draw.choice(["", "", *TIERS]), draw.choice(PATTERNS)] for _ in range(draw.randint(1, 2))],
            draw.sample(MODELS, draw.randint(0, 2)), draw.sample(MODELS, draw.randint(0, 2)),
        )
        for _ in range(draw.randint(1, 3))
    ]  # fmt: skip
    among = draw.choice([None, ["session", "persistent"], ["persistent", "session", "ephemeral", "messages"]])
    recall = RecallPolicy(k=draw.randint(1, 9), tiers=among, inject=draw.choice(["Suffix", "Prefix", "Prompt", "System"]))
    view = Policy(recall=recall, window=draw.choice([None, 2]))
    memory = Memory(
        Policy(recall=recall), store=VolatileStore(), session=VolatileStore(), key=("", "m", ""), clock=Clock(), lists=LISTS,
        access=FactAccess(rules), views={"v": view},
    )  # fmt: skip
    if draw.random() < 0.3:
        memory = memory.with_key(("", "m", "k", "branch"))
    markers = {}
    for number in range(draw.randint(1, 12)):
        tier, name = draw.choice(TIERS), draw.choice(NAMES)
        marker = f"marker{number}x"
        content = [f"{text_of(draw)} {marker}", text_of(draw)] if (tier, name) in LISTS else f"{text_of(draw)} {marker}"
        facts = Facts(memory, "t")
        facts.keep(facts.drafted(name, content, tier=tier))
        markers[tier, name] = marker
    memory.append("user", text_of(draw))
    for by in MODELS:
        query = " ".join(WORDS)
        readable = {at for at in markers if naive(rules, by, *at, False)}
        attached = [Attached(memory), Attached(memory, "v")][: draw.randint(1, 2)]
        run = open_run(attached, "r", [Msg("user", query)], system="S", recall=Recalling("t", by, attached))
        sent = run.lead + "\n".join(message.content for message in run.head)
        for at, marker in markers.items():
            assert marker not in sent or at in readable, (by, at, rules)
        found, few = (hits(Facts(memory, "t", by), query, k) for k in (99, 2))
        assert found == [one for one in hits(Facts(memory, "t"), query, 99) if one[:2] in readable]
        assert few == found[:2]
    forgets(draw, memory, rules, markers)


def hits(facts, query, k):
    return [(hit.fact.tier, hit.fact.name, hit.fact.content) for hit in facts.recall(query, k, touch=False)]


def forgets(draw, memory, rules, markers):
    """M-10.36: refused, or it takes what the model may write; what it may not read stays and is not told."""
    by, name = draw.choice(MODELS), draw.choice(NAMES)
    before = {(fact.tier, fact.name) for fact in Facts(memory, "t").all()}
    mine = {at for at in before if at[1] == name}
    readable = {at for at in mine if naive(rules, by, *at, False)}
    said = Facts(memory, "t", by).forget_allowed(name)
    after = {(fact.tier, fact.name) for fact in Facts(memory, "t").all()}
    nowhere = not any(naive(rules, by, tier, name, True) for tier in TIERS)
    if nowhere or any(not naive(rules, by, *at, True) for at in readable):
        assert said is None and after == before
    else:
        assert said is bool(readable) and after == before - readable


def test_a_model_is_shown_what_it_may_read_and_nothing_else():
    """M-12.32, I32."""
    for number in range(400):
        permission_law(SEED + number)


if __name__ == "__main__":
    cases, seed = (*map(int, sys.argv[1:]), *(10_000, SEED)[len(sys.argv) - 1 :])
    for law in (items_law, permission_law):
        for number in range(cases):
            try:
                law(seed + number)
            except BaseException:
                print(f"{law.__name__} fails with seed {seed + number}")
                raise
        print(f"{law.__name__}: {cases} cases from seed {seed}")
