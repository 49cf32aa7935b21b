"""The contract of a store (M-8): what `runtime.memory.stores.protocol` promises, as plain functions over an empty store.

Whoever writes a store runs `CONTRACT` over it: each function takes `open_store`, which gives a fresh empty store, and whose
`again()` gives another handle of the same one. A store conforms when all pass, and the *store* laws of section 12 with it.
"""

from __future__ import annotations

import gc
from time import sleep

import pytest
from concerto.runtime.media import MediaPart
from concerto.runtime.memory.entries import Entry, Part, Turn, ViewState, entry_json
from concerto.runtime.memory.facts import Fact, Observation
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.stores.protocol import Batch, Head
from concerto.runtime.records import Call, Msg
from concerto.vm.values.media import content_of, known, link_to

MEDIA_HASH = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"  # of `one`

KEY = ("app", "chat", "")
OTHER = ("app", "chat", "b")


def entry(seq, turn=None, text="x", **fields):
    return Entry(seq, seq if turn is None else turn, Msg("user", text), tokens=5, **fields)


def head_after(version, entries, touched=1000):
    return Head(version, len(entries), len(entries), len(entries), 5 * len(entries), touched)


def filled(store, count, key=KEY, pinned=()):
    entries = [entry(n, text=f"m{n}", pinned=n in pinned) for n in range(count)]
    store.commit([(key, 0, Batch(head_after(1, entries), entries=entries))])
    return entries


def keys_of_facts_stand_beside_those_of_logs(open_store):
    store = open_store()
    for name in ("b", "d"):
        filled(store, 1, ("app", name, ""))
    for name in ("a", "c", "e"):
        if hasattr(store, "keep"):
            store.keep(("app", name, ""), 5, [fact()], ())
    names = [key[1] for key in store.keys(("app",))]
    assert names == (list("abcde") if hasattr(store, "keep") else list("bd"))
    assert [key[1] for key in store.keys(("app", "d"))] == ["d"]


def a_swap_stores_what_nobody_has_written_meanwhile(open_store):
    store = open_store()
    if not hasattr(store, "swap"):
        pytest.skip("swap is optional")
    one, other = fact(content=1), fact(content=2)
    assert store.swap(KEY, 5, one, "", (), one.name)
    assert not store.swap(KEY, 6, other, "", (), one.name), "there is one by now"
    assert not open_store.again().swap(KEY, 6, other, "2", (), one.name), "it says something else"
    assert [held.content for held in store.facts(KEY)] == [1]
    knowing = open_store.again()
    assert [held.content for held in knowing.index(KEY).facts.values()] == [1]
    assert open_store.again().swap(KEY, 7, other, "1", (), one.name)
    assert not knowing.swap(KEY, 7, fact(content=3), "1", (), one.name), "what it knows of is gone"
    assert [held.content for held in store.index(KEY).facts.values()] == [2], "an index follows"
    renamed = fact(number=4, name="new", content=3)
    assert not store.swap(KEY, 8, renamed, "1", (other.id,), other.name)
    assert store.swap(KEY, 8, renamed, "2", (other.id,), other.name)
    assert [(held.name, held.content) for held in open_store.again().facts(KEY)] == [("new", 3)]
    assert store.head(KEY).version == 0 and store.head(KEY).touched == 8
    with pytest.raises(MemoryFailure, match="changed meanwhile"):
        store.swap(KEY, 9, fact(number=4, name="third", content=1), "", (), "third")  # another fact has that number


def a_touch_changes_only_what_still_says_the_same(open_store):
    store = open_store()
    if not hasattr(store, "touch"):
        pytest.skip("touch is optional")
    first, second = fact(number=0, name="a", content=1), fact(number=1, name="b", content={"x": 1})
    store.keep(KEY, 5, [first, second], ())
    store.keep(KEY, 6, [second.changed(content={"x": 2})], ())  # another wrote it, after they were read
    seen = [one.changed(accessed=90, refreshed=80) for one in (first, second)]
    seen[0].vector = ("e", b"\0\0\0\0")
    open_store.again().touch(KEY, 7, [*seen, fact(number=9, name="gone")])
    held = store.facts(KEY)
    assert [(one.content, one.accessed, one.refreshed) for one in held] == [(1, 90, 80), ({"x": 2}, 0, 0)]
    assert held[0].vector == ("e", b"\0\0\0\0") and store.head(KEY).touched == 7
    store.touch(KEY, 8, [first.changed(accessed=50)])
    assert store.facts(KEY)[0].accessed == 90, "an access goes not back"
    assert {one.id: one.accessed for one in store.index(KEY).facts.values()} == {0: 90, 1: 0}
    store.touch(KEY, 9, [second.changed(accessed=95)])
    assert store.head(KEY).touched == 9, "the key counts as written where no fact is the same any more"
    store.touch(KEY, 10, [])
    assert store.head(KEY).touched == 10
    elsewhere = ("app", "elsewhere", "")
    store.touch(elsewhere, 10, [first])
    assert store.head(elsewhere).touched == 10 and elsewhere in store.keys(("app",)) and not store.facts(elsewhere)


def fact(number=0, name="n", content=0):
    return Fact(number, "persistent", name, content)


def seqs(found):
    return [each.seq for each in found]


def media_come_back_with_their_entries(open_store):
    """M-8.19, with nothing of the contents in this process, so that they are read."""
    store = open_store()

    def entry_with(seq, *texts):
        media = tuple(MediaPart(content_of("document", text.encode()), f"{text}.txt", 7) for text in texts)
        link = MediaPart(link_to("image", "https://a.example/p.png"), "https://a.example/p.png", 9)
        return Entry(seq, seq, Msg("user", f"m{seq}", media=(*media, link)), tokens=5)

    entries = [entry_with(0, "one"), entry_with(1, "one", "two"), entry_with(2, "two")]
    after = head_after(1, entries)
    store.commit([(KEY, 0, Batch(after, entries=entries))])
    stored = [entry_json(each) for each in entries]
    del entries
    gc.collect()
    assert known("document", MEDIA_HASH) is None or not store.blocking  # who keeps the entries themselves has it
    for handle in (store, open_store.again()):
        read = handle.entries(KEY)
        assert [entry_json(each) for each in read] == stored
        assert [part.content.data for part in read[1].message.media] == [b"one", b"two", None]
        assert [part.name for part in read[1].message.media] == ["one.txt", "two.txt", "https://a.example/p.png"]
    store.commit([(KEY, 1, Batch(Head(2, 3, 3, 1, 5, 9), evict=read[:2]))])
    del read
    gc.collect()
    (last,) = open_store.again().entries(KEY)
    assert [part.content.data for part in last.message.media] == [b"two", None]


def a_key_that_was_never_written_is_empty(open_store):
    store = open_store()
    assert store.head(KEY) == Head()
    assert (store.entries(KEY), store.turns(KEY), store.views(KEY), list(store.keys(("app",)))) == ([], [], {}, [])


def what_was_committed_is_read_back_by_every_handle(open_store):
    store = open_store()
    call = Call("c1", "find", {"q": ["ü", 1.5, None, {}]})
    broken = Call("c2", "find", None, "{not json")
    entries = [
        Entry(0, 0, Msg("user", "héllo\0 \ud800 𝄞 'x' :"), run="r1", by="Planner", origin="user", tokens=9, at=17, pinned=True),
        Entry(1, 0, Msg("assistant", "", (call, broken)), run="r1", origin="model", tokens=3, at=17),
        Entry(2, 0, Msg("tool", "{}", (), "c1"), run="r1", origin="tool", tokens=1, at=17),
        Entry(3, 0, Msg("tool", "no", (), "c2", True), run="r1", origin="tool", tokens=1, at=17),
        Entry(4, 0, Msg("assistant", ""), run="r1", opaque=[Part("hologram", "t", "i", b"\x00\xff")]),
    ]
    turn = Turn(0, run="r1", by="Planner", at=17, tokens_in=4, tokens_out=2, meta={"a": [1, None]})
    state = ViewState("v", 3, "text ü\0", 2, 1, 99)
    after = Head(1, 5, 1, 5, 14, 17)
    assert store.commit([(KEY, 0, Batch(after, entries=entries, turns=[turn], views=[state]))]) is True
    for handle in (store, open_store.again()):
        assert handle.head(KEY) == after
        assert handle.entries(KEY) == entries
        assert handle.turns(KEY) == [turn]
        assert handle.views(KEY) == {"v": state}
        assert handle.entries(KEY)[3].message.is_error is True
        assert handle.entries(KEY)[4].opaque == [Part("hologram", "t", "i", b"\x00\xff")]


def another_version_is_a_conflict_and_stores_nothing(open_store):
    store = open_store()
    filled(store, 2)
    before = store.head(KEY)
    for expect in (0, 2):
        with pytest.raises(MemoryFailure) as raised:
            store.commit([(KEY, expect, Batch(Head(9, 3, 3, 3, 15, 0), entries=[entry(2)]))])
        assert raised.value.variant == "Conflict"
        assert raised.value.fields == {"expected": expect, "actual": 1}
    assert (store.head(KEY), seqs(store.entries(KEY))) == (before, [0, 1])


def several_writes_are_one_transaction(open_store):
    store = open_store()
    filled(store, 1)
    writes = [(OTHER, 0, Batch(head_after(1, [entry(0)]), entries=[entry(0)])), (KEY, 7, Batch(Head(8, 1, 1, 1, 5, 0)))]
    with pytest.raises(MemoryFailure):
        store.commit(writes)
    assert store.head(OTHER) == Head()
    assert store.entries(OTHER) == []
    store.commit([writes[0], (KEY, 1, Batch(Head(2, 1, 1, 1, 5, 0)))])
    assert (store.head(OTHER).version, store.head(KEY).version) == (1, 2)


def a_run_is_stored_once_whatever_the_version(open_store):
    store = open_store()
    first = Batch(Head(1, 1, 1, 1, 5, 0), entries=[entry(0, run="r")], turns=[Turn(0, run="r")])
    again = Batch(Head(2, 2, 2, 2, 10, 0), entries=[entry(1, run="r")], turns=[Turn(1, run="r")])
    assert store.commit([(KEY, 0, first)]) is True
    for expect in (0, 1, 5):
        assert store.commit([(KEY, expect, again)]) is False
    assert (store.head(KEY).version, seqs(store.entries(KEY))) == (1, [0])
    assert store.commit([(OTHER, 0, first)]) is True  # of another key


def ranges(open_store):
    store = open_store()
    filled(store, 10, pinned=(1, 8))
    assert seqs(store.entries(KEY)) == list(range(10))
    assert seqs(store.entries(KEY, after=6)) == [7, 8, 9]
    assert seqs(store.entries(KEY, before=2)) == [0, 1]
    assert seqs(store.entries(KEY, after=2, before=9, limit=2)) == [3, 4]
    assert seqs(store.entries(KEY, after=2, before=9, limit=2, newest=True)) == [7, 8]
    assert seqs(store.entries(KEY, limit=3, newest=True, pinned=False)) == [6, 7, 9]
    assert seqs(store.entries(KEY, limit=3, pinned=False)) == [0, 2, 3]
    assert seqs(store.entries(KEY, pinned=True)) == [1, 8]
    assert seqs(store.entries(KEY, limit=1, newest=True, pinned=True)) == [8]
    assert store.entries(KEY, limit=0) == []
    assert seqs(store.entries(KEY, limit=99, newest=True)) == list(range(10))


def entries_of_a_run(open_store):
    store = open_store()
    filled(store, 2)
    tagged = [entry(2, 2, run="r"), entry(3, 2, run="r")]
    store.commit([(KEY, 1, Batch(Head(2, 4, 3, 4, 20, 0), entries=tagged, turns=[Turn(2, run="r")]))])
    assert seqs(store.entries(KEY, run="r")) == [2, 3]
    assert seqs(store.entries(KEY, run="r", limit=1)) == [2]
    assert store.entries(KEY, run="q") == []


def evicted_entries_are_gone_with_turns_nothing_is_left_of(open_store):
    store = open_store()
    rows = [Turn(n, run=f"r{n}") for n in range(2)]
    entries = [entry(n, n // 2, run=f"r{n // 2}") for n in range(4)]
    store.commit([(KEY, 0, Batch(Head(1, 4, 2, 4, 20, 0), entries=entries, turns=rows))])
    store.commit([(KEY, 1, Batch(Head(2, 4, 2, 3, 15, 0), evict=entries[:1]))])
    assert (seqs(store.entries(KEY)), [row.turn for row in store.turns(KEY)]) == ([1, 2, 3], [0, 1])
    store.commit([(KEY, 2, Batch(Head(3, 4, 2, 2, 10, 0), evict=entries[1:2]))])
    assert (seqs(store.entries(KEY)), [row.turn for row in store.turns(KEY)]) == ([2, 3], [1])
    renewed = Batch(Head(4, 5, 3, 3, 15, 0), entries=[entry(4, 2, run="r0")], turns=[Turn(2, run="r0")])
    assert store.commit([(KEY, 3, renewed)]) is True  # nothing remembers r0
    store.commit([(KEY, 4, Batch(Head(5, 5, 3, 1, 5, 0), evict=[entries[2], renewed.entries[0]]))])
    assert seqs(store.entries(KEY)) == [3]
    assert [row.turn for row in store.turns(KEY)] == [1]


def everything_leaves_and_new_content_comes_in_one_commit(open_store):
    store = open_store()
    filled(store, 3, pinned=(0,))
    store.commit([(KEY, 1, Batch(Head(2, 3, 3, 3, 15, 0), views=[ViewState("v", 1)]))])
    fresh = [entry(7, 4, text="new", run="r")]
    batch = Batch(Head(3, 8, 5, 1, 5, 0), entries=fresh, turns=[Turn(4, run="r")], everything=True)
    assert store.commit([(KEY, 2, batch)]) is True
    assert (store.entries(KEY), store.views(KEY), [row.turn for row in store.turns(KEY)]) == (fresh, {}, [4])


def pins_move_and_come_back(open_store):
    store = open_store()
    filled(store, 4)
    store.commit([(KEY, 1, Batch(Head(2, 4, 4, 4, 20, 0), pins={1: True, 2: True}))])
    assert seqs(store.entries(KEY, pinned=True)) == [1, 2]
    assert [each.pinned for each in store.entries(KEY)] == [False, True, True, False]
    store.commit([(KEY, 2, Batch(Head(3, 4, 4, 4, 20, 0), pins={1: False, 3: False}))])
    assert seqs(store.entries(KEY, pinned=True)) == [2]
    assert seqs(store.entries(KEY, pinned=False)) == [0, 1, 3]
    store.commit([(KEY, 3, Batch(Head(4, 4, 4, 3, 15, 0), evict=[entry(2)]))])
    assert seqs(store.entries(KEY)) == [0, 1, 3]


def a_view_state_replaces_that_of_its_name(open_store):
    store = open_store()
    filled(store, 1)
    for version, text in ((2, "one"), (3, "two")):
        store.commit([(KEY, version - 1, Batch(Head(version, 1, 1, 1, 5, 0), views=[ViewState("", 0, text)]))])
    store.commit([(KEY, 3, Batch(Head(3, 1, 1, 1, 5, 0), views=[ViewState("d", 0, "other")]))])  # the version may stay
    assert {name: state.text for name, state in store.views(KEY).items()} == {"": "two", "d": "other"}


HOSTILE = [
    ("app", "a", "b", ""), ("app", "a:b", "", ""), ("app", "a", "b:", ""), ("app", "a", "", "b"), ("ap", "pa", "b", ""),
    ("app", "a", "B", ""), ("app", "a", "\u00e9", ""), ("app", "a", "e\u0301", ""), ("app", "a", "x\0", ""),
    ("app", "a", "x", ""),
    ("app", "a", "'; DROP TABLE log; --", ""), ("app", "a", "{x}", ""), ("app", "a", 1, ""), ("app", "a", "1", ""),
    ("app", "a", -1, ""), ("app", "a", "\ud800", ""),
]  # fmt: skip


def no_two_keys_meet(open_store):
    store = open_store()
    for number, key in enumerate(HOSTILE):
        made = [entry(0, text=str(number))]
        store.commit([(key, 0, Batch(head_after(1, made), entries=made))])
    for number, key in enumerate(HOSTILE):
        assert [each.message.content for each in store.entries(key)] == [str(number)]
    store.commit([(HOSTILE[0], 1, Batch(Head(2), everything=True))])
    assert all(len(store.entries(key)) == 1 for key in HOSTILE[1:])
    assert sorted(map(str, store.keys(("app",)))) == sorted(str(key) for key in HOSTILE if key[0] == "app")
    assert list(store.keys(("app", "a", 1))) == [("app", "a", 1, "")]
    assert list(store.keys(("nothing",))) == []


def removed_keys_are_as_if_never_written(open_store):
    store = open_store()
    filled(store, 2)
    filled(store, 1, OTHER)
    store.remove([KEY])
    assert (store.head(KEY), store.entries(KEY), list(store.keys(("app",)))) == (Head(), [], [OTHER])
    filled(store, 1)
    assert seqs(store.entries(KEY)) == [0]


def expired_keys_are_swept_oldest_bytes_first_up_to_a_limit(open_store):
    store = open_store()
    for name, touched in (("a", 10), ("b", 99), ("c", 20), ("d", 30)):
        made = [entry(0)]
        store.commit([(("app", "chat", name, ""), 0, Batch(head_after(1, made, touched), entries=made))])
    filled(store, 1, ("app", "other", ""))
    store.expire(("app", "chat"), 50, 2)
    assert [key[2] for key in store.keys(("app", "chat"))] == ["b", "d"]
    store.expire(("app", "chat"), 50, 100)
    assert [key[2] for key in store.keys(("app", "chat"))] == ["b"]
    assert len(list(store.keys(("app", "other")))) == 1


def large_numbers(open_store):
    store = open_store()
    big = 2**45
    held = Entry(big, big, Msg("user", "x"), tokens=big, at=big)
    store.commit([(KEY, 0, Batch(Head(1, big + 1, big + 1, 1, big, big), entries=[held]))])
    assert store.head(KEY) == Head(1, big + 1, big + 1, 1, big, big)
    assert store.entries(KEY, after=big - 1) == [held]


def scrubbing_needs_no_write(open_store):
    store = open_store()
    filled(store, 2)
    assert store.commit([], scrub=True) is True
    assert seqs(store.entries(KEY)) == [0, 1]


def a_lease_has_one_owner(open_store):
    store = open_store()
    if not hasattr(store, "acquire"):
        pytest.skip("leases are optional")
    other = open_store.again()
    assert store.acquire(KEY, "one", 60)
    assert store.acquire(KEY, "one", 60)  # renewed
    assert not other.acquire(KEY, "two", 60)
    assert other.acquire(OTHER, "two", 60)
    other.release(KEY, "two")
    assert not other.acquire(KEY, "two", 60)
    if hasattr(store, "holder"):
        assert (store.holder(KEY), store.holder(("other",))) == ("one", None)
    store.release(KEY, "one")
    assert other.acquire(KEY, "two", 60)


def placed(store, key=KEY):
    return [one.place for one in store.seen(key)]


def facts_stand_beside_the_log(open_store):
    store = open_store()
    held = Fact(0, "persistent", "a\0\ud800 'x", {"n": [1, None, "ü", 1.5]}, about=["b"], c0=0.5, seqs=[3], rule="r", run=None)
    store.keep(KEY, 7, [held, Fact(2, "persistent", "two", 2)], [])
    for handle in (store, open_store.again()):
        assert [fact.as_json() for fact in handle.facts(KEY)] == [held.as_json(), Fact(2, "persistent", "two", 2).as_json()]
        assert (handle.head(KEY), handle.facts(OTHER)) == (Head(0, 0, 0, 0, 0, 7), [])
    assert list(store.keys(("app",))) == [KEY]
    filled(store, 2)
    store.keep(KEY, 2**45, [held.changed(content=5)], [2])
    assert [(fact.id, fact.content) for fact in store.facts(KEY)] == [(0, 5)]
    assert store.head(KEY) == Head(1, 2, 2, 2, 10, 2**45)
    store.commit([(KEY, 1, Batch(Head(2, 2, 2, 2, 10, 9), facts=[Fact(1, "persistent", "two", 1)], gone=[0]))])
    assert [fact.name for fact in store.facts(KEY)] == ["two"]
    store.commit([(KEY, 2, Batch(Head(3, 2, 2, 0, 0, 9), everything=True))])
    assert [fact.name for fact in store.facts(KEY)] == ["two"]  # they stay
    store.commit([(KEY, 3, Batch(Head(4, 2, 2, 0, 0, 9), facts=[held], facts_anew=True))])
    assert [fact.id for fact in store.facts(KEY)] == [0]
    store.remove([KEY])
    assert (store.facts(KEY), list(store.keys(("app",)))) == ([], [])


def a_number_belongs_to_one_name(open_store):
    store = open_store()
    store.keep(KEY, 0, [Fact(0, "persistent", "a", 1)], [])
    taken = [Fact(0, "persistent", "b", 2)]
    with pytest.raises(MemoryFailure) as raised:
        store.keep(KEY, 5, [Fact(1, "persistent", "c", 3), *taken], [])
    assert raised.value.variant == "Conflict"
    with pytest.raises(MemoryFailure) as raised:
        store.commit([(KEY, 0, Batch(head_after(1, [entry(0)]), entries=[entry(0)], facts=taken))])
    assert raised.value.variant == "Conflict"
    assert ([fact.name for fact in store.facts(KEY)], store.entries(KEY), store.head(KEY)) == (["a"], [], Head())
    store.keep(KEY, 0, taken, [0])
    assert [fact.name for fact in store.facts(KEY)] == ["b"]


def observations_are_added_at_free_places(open_store):
    store = open_store()
    one = Observation("t\0\ud800", 0, {"a": [1, {"ü": None}]}, [4], "model", 8)
    other = Observation("a", 3, {})
    store.keep(KEY, 1, [], [], [one, other])
    for handle in (store, open_store.again()):
        assert handle.seen(KEY) == [other, one]
    with pytest.raises(MemoryFailure) as raised:
        store.keep(KEY, 2, [Fact(0, "persistent", "a", 1)], [], [Observation("a", 4, {}), Observation("a", 3, {"x": 1})])
    assert raised.value.variant == "Conflict"
    assert (placed(store), store.facts(KEY), store.head(KEY).touched) == ([other.place, one.place], [], 1)
    batch = Batch(head_after(1, [entry(0)]), entries=[entry(0)], seen=[Observation("a", 4, {})], unseen=[one.place])
    store.commit([(KEY, 0, batch)])
    assert placed(store) == [("a", 3), ("a", 4)]
    with pytest.raises(MemoryFailure) as raised:
        store.commit([(KEY, 1, Batch(Head(2, 1, 1, 1, 5, 0), seen=[Observation("a", 4, {})]))])
    assert (raised.value.variant, store.head(KEY).version) == ("Conflict", 1)
    store.commit([(KEY, 1, Batch(Head(2, 1, 1, 1, 5, 0), seen=[other], facts_anew=True))])
    assert placed(store) == [("a", 3)]
    store.remove([KEY])
    assert store.seen(KEY) == []


def a_lease_ends_after_its_seconds(open_store):
    store = open_store()
    if not hasattr(store, "acquire"):
        pytest.skip("leases are optional")
    other = open_store.again()
    assert store.acquire(KEY, "one", 0.01)
    sleep(0.1)
    assert other.acquire(KEY, "two", 60)
    assert not store.acquire(KEY, "one", 60)


CONTRACT = [
    a_key_that_was_never_written_is_empty,
    what_was_committed_is_read_back_by_every_handle,
    media_come_back_with_their_entries,
    another_version_is_a_conflict_and_stores_nothing,
    several_writes_are_one_transaction,
    a_run_is_stored_once_whatever_the_version,
    ranges,
    entries_of_a_run,
    evicted_entries_are_gone_with_turns_nothing_is_left_of,
    everything_leaves_and_new_content_comes_in_one_commit,
    pins_move_and_come_back,
    a_view_state_replaces_that_of_its_name,
    no_two_keys_meet,
    removed_keys_are_as_if_never_written,
    expired_keys_are_swept_oldest_bytes_first_up_to_a_limit,
    large_numbers,
    scrubbing_needs_no_write,
    a_lease_has_one_owner,
    facts_stand_beside_the_log,
    a_number_belongs_to_one_name,
    observations_are_added_at_free_places,
    a_lease_ends_after_its_seconds,
    keys_of_facts_stand_beside_those_of_logs,
    a_swap_stores_what_nobody_has_written_meanwhile,
    a_touch_changes_only_what_still_says_the_same,
]
