"""A call that may fail: what it changed in a value that it was lent is undone, or kept, whatever it did (O-4.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.vm.values import Array, Map, Set, Stack, Struct, StructType, make_struct_class, own, share
from concerto.vm.values.undo import ABSENT, RestingDict, RestingList, Undo
from hypothesis import given, settings
from hypothesis import strategies as st

State = make_struct_class(StructType("State", ("left", "right")))
NAMES = ("a", "b", "c")


def plain(value: Any) -> Any:
    """The value as Python data that shares nothing; entries of a Map in order."""
    if type(value) in (Array, Stack):
        return [plain(item) for item in list.__iter__(value.items)]
    if type(value) is Map:
        return [(key, plain(item)) for key, item in dict.items(value.items)]
    if type(value) is Set:
        return list(dict.values(value.items))
    if isinstance(value, Struct):
        return tuple(plain(item) for item in value.values())
    return value


def build(data: Any) -> Any:
    if isinstance(data, list):
        return Array([build(item) for item in data])
    if isinstance(data, dict):
        return Map({key: build(item) for key, item in data.items()})
    if isinstance(data, tuple):
        return State(*[build(item) for item in data])
    return data


def write_at_random(root: Any, draw: Callable[[Any], Any]) -> None:
    """Own a container somewhere below an owned struct as the machine does, and write into it in one of the ways of built-ins."""
    at = root
    while True:
        if isinstance(at, Struct):
            slot = draw(st.sampled_from(["f0", "f1"]))
            below = getattr(at, slot)
            if type(below) is int or draw(st.integers(0, 3)) == 0:
                setattr(at, slot, build(draw(DATA)))
                return
            below = own(below)
            setattr(at, slot, below)
        else:
            keys = list(range(len(at.items))) if type(at) is Array else list(at.items)
            inner = [key for key in keys if type(at.items[key]) is not int]
            if not inner or draw(st.booleans()):
                write_into(at, keys, draw)
                return
            key = draw(st.sampled_from(inner))
            below = at.items[key]
            if below.shared:
                below = at.items[key] = own(below)
        at = below


def write_into(at: Any, keys: list[Any], draw: Callable[[Any], Any]) -> None:
    items, new = at.items, build(draw(DATA))
    if type(at) is Array:
        way = draw(st.sampled_from([*["push", "set"] * 3, "pop", "insert", "remove", "reverse", "clear", "extend", "slice"]))
        if way == "push":
            items.append(new)
        elif way == "set" and keys:
            items[draw(st.sampled_from(keys))] = new
        elif way == "pop" and keys:
            items.pop()
        elif way == "remove" and keys:
            items.pop(draw(st.sampled_from(keys)))
        elif way == "insert":
            items.insert(0, new)
        elif way == "reverse":
            items.reverse()
        elif way == "clear":
            items.clear()
        elif way == "slice":
            items[:] = [new]
        else:
            items.extend([1, 2])
        return
    way = draw(st.sampled_from(["set", "set", "set", "remove", "pop", "clear", "update"]))
    if way == "set":
        items[draw(st.sampled_from(NAMES))] = new
    elif way in ("remove", "pop") and keys:
        key = draw(st.sampled_from(keys))
        items.pop(key) if way == "pop" else items.__delitem__(key)
    elif way == "update":
        items.update({"a": 1, "d": 2})
    elif way == "clear":
        items.clear()


DATA = st.recursive(
    st.integers(0, 9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(DATA, DATA, st.data())
def test_what_fails_leaves_the_value_and_what_ends_changes_it(left: Any, right: Any, data: Any) -> None:
    """Calls one after another, each of which fails, is looked at in the middle, or ends, beside what the value was."""
    state = State(build(left), build(right))
    for _ in range(data.draw(st.integers(1, 6))):
        undo = Undo()
        lent = undo.lend(state)
        before = after = plain(state)
        end = data.draw(st.sampled_from(["keep", "fail", "look"]))
        for number in range(data.draw(st.integers(0, 6))):
            if end == "look" and number == 2:
                undo.divide()
                assert plain(state) == before
            write_at_random(lent, data.draw)
            after = plain(lent)
        if end == "fail":
            undo.divide()
            assert plain(state) == before
            assert plain(lent) == after  # it may have gone elsewhere
            continue
        if undo.status == "divided":
            assert plain(state) == before
        undo.keep()
        state = lent
        assert plain(state) == after


def test_a_write_of_each_value_leaves_the_other() -> None:
    state = State(Array([Array([1])]), 0)
    undo = Undo()
    lent = undo.lend(state)
    lent.f0 = own(lent.f0)
    row = lent.f0.items[0] = own(lent.f0.items[0])
    row.items.append(2)
    undo.divide()
    for one in (state, lent):
        one.f0 = own(one.f0)
        inner = one.f0.items[0]
        one.f0.items[0] = inner = own(inner)
        inner.items.append(9)
    assert (plain(state), plain(lent)) == (([[1, 9]], 0), ([[1, 2, 9]], 0))


def test_what_a_call_keeps_elsewhere_is_copied_first() -> None:
    state = State(Array([1]), 0)
    undo = Undo()
    lent = undo.lend(state)
    kept = share(lent.f0)
    lent.f0 = own(lent.f0)
    lent.f0.items.append(2)
    undo.keep()
    assert (plain(kept), plain(lent)) == ([1], ([1, 2], 0))


def test_sets_and_stacks_are_undone() -> None:
    state = State(Set({1: 1}), Stack([1]))
    for failing in (False, True):
        undo = Undo()
        lent = undo.lend(state)
        lent.f0, lent.f1 = own(lent.f0), own(lent.f1)
        lent.f0.items[7] = 7
        lent.f1.items.append(7)
        if failing:
            undo.divide()
        else:
            undo.keep()
            state = lent
    assert plain(state) == ([1, 7], [1, 7])


def test_a_container_is_made_to_note_its_writes_once() -> None:
    """However many calls write into it; and a call of n writes notes no more than the container had."""
    state = State(Array([0]), Map({}))
    for number in range(50):
        undo = Undo()
        lent = undo.lend(state)
        lent.f0, lent.f1 = own(lent.f0), own(lent.f1)
        lent.f0.items.append(number)
        lent.f1.items[number] = number
        if number:
            assert lent.f0.items is state.f0.items and lent.f1.items is state.f1.items
            assert not lent.f0.items.changed and lent.f1.items.noted == {number: ABSENT}
        undo.keep()
        state = lent
    assert (type(state.f0.items), type(state.f1.items)) == (RestingList, RestingDict)
    assert len(state.f0.items) == 51
