"""Set, Queue and Stack: their methods, and what every value can do (L-6.7, L-5.1.14, L-5.3, L-5.5)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from concerto.vm.builtins import ASSOCIATED, METHODS
from concerto.vm.interp.ops import iterate
from concerto.vm.panics import Panic
from concerto.vm.values import (
    NONE,
    Array,
    Closure,
    EnumType,
    EnumValue,
    Err,
    ErrorValue,
    Map,
    ModelRef,
    Ok,
    Queue,
    RangeValue,
    Set,
    Some,
    Stack,
    StructType,
    Variant,
    cast,
    check,
    debug,
    display,
    equal,
    length,
    limits,
    make_set,
    make_struct_class,
    own,
    set_key,
    share,
    to_json,
    truth,
    type_text,
    typeof,
)
from concerto.vm.values.structural import structural_hash
from hypothesis import given
from hypothesis import strategies as st

Call = Callable[..., Any]
Point = make_struct_class(StructType("P", ("x", "y")))
Shape = EnumType("E", ["A", Variant("B", 2)])
F = Closure(SimpleNamespace(name="f"))

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, -0.0, math.nan, 2.5]) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3).map(Array)
    | st.lists(inner, max_size=2).map(tuple)
    | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2).map(Map)
    | inner.map(Some)
    | inner.map(Ok)
    | st.lists(inner, max_size=2).map(make_set)
    | st.lists(inner, max_size=2).map(lambda items: Queue(deque(items)))
    | st.lists(inner, max_size=2).map(Stack)
    | st.tuples(inner, inner).map(Point.of)
    | st.tuples(inner, inner).map(lambda pair: EnumValue(Shape, 1, pair)),
    max_leaves=4,
)


def new(kind: str, *arguments: Any) -> Any:
    return ASSOCIATED[kind, "from" if arguments else "new"].body(*arguments)


def test_constructors() -> None:
    assert [debug(new(kind)) for kind in ("Set", "Queue", "Stack")] == ["Set {}", "Queue []", "Stack []"]
    assert debug(new("Set", Array([3, 1, 3, 2.0, 2, "a", True]))) == 'Set {3, 1, 2.0, "a", true}'


@given(st.lists(VALUES, max_size=8), VALUES)
def test_a_set_is_a_list_without_equal_elements(values: list[Any], probe: Any) -> None:
    model: list[Any] = []
    found = Set({})
    insert, contains = METHODS["Set", "insert"].body, METHODS["Set", "contains"].body
    for value in values:
        is_new = not any(equal(value, other) for other in model)
        assert insert(found, value) == is_new
        if is_new:
            model.append(value)
    assert debug(found) == "Set {" + ", ".join(map(debug, model)) + "}"
    assert contains(found, probe) == any(equal(probe, other) for other in model)
    removed = METHODS["Set", "remove"].body(found, probe)
    assert removed == any(equal(probe, other) for other in model)
    kept = [other for other in model if not equal(probe, other)]
    assert [debug(x) for x in iterate(found)] == [debug(x) for x in kept]


@given(st.lists(VALUES, max_size=6), st.lists(VALUES, max_size=6))
def test_set_operations(left: list[Any], right: list[Any]) -> None:
    a, b = make_set(left), make_set(right)
    mine, others = list(a.items.values()), list(b.items.values())

    def has(values: list[Any], value: Any) -> bool:
        return any(equal(value, other) for other in values)

    def run(name: str) -> list[str]:
        return [debug(x) for x in METHODS["Set", name].body(a, b).items.values()]

    assert run("intersection") == [debug(x) for x in mine if has(others, x)]
    assert run("difference") == [debug(x) for x in mine if not has(others, x)]
    assert run("union") == [debug(x) for x in mine + [y for y in others if not has(mine, y)]]
    assert equal(a, b) == (len(mine) == len(others) and all(has(others, x) for x in mine))


@given(VALUES, VALUES)
def test_equal_values_have_equal_keys(a: Any, b: Any) -> None:
    assert (set_key(a) == set_key(b)) == equal(a, b)
    if equal(a, b):
        assert hash(set_key(a)) == hash(set_key(b))


def test_elements_of_every_kind() -> None:
    error = ErrorValue("ToolError", "Timeout", "m")
    values = [ModelRef("M"), F, Closure(SimpleNamespace(name="")), RangeValue(1, 2), error, Err("x"), NONE, EnumValue(Shape, 0)]
    again = [ModelRef("M"), Closure(F.function), RangeValue(1, 2), ErrorValue("ToolError", "Timeout", "m"), NONE]
    found = make_set(values + again)
    assert list(found.items.values()) == values
    assert make_set([Map.of(["a", 1, "b", 2])]).items.keys() == make_set([Map.of(["b", 2.0, "a", 1])]).items.keys()


def test_the_hash_of_a_large_value_costs_little() -> None:
    wide: Any = Array(list(range(100_000)))
    for _ in range(60):
        wide = Array([wide, wide])  # 2 to the 60 parts, if anybody walked them all
    assert structural_hash(wide) == structural_hash(wide)
    assert METHODS["Set", "insert"].body(Set({}), wide)


@given(st.lists(st.tuples(st.sampled_from(["enqueue", "dequeue", "peek", "rest"]), st.integers()), max_size=20))
def test_a_queue_is_first_in_first_out(steps: list[tuple[str, int]]) -> None:
    model: list[int] = []
    queue = Queue(deque())
    for name, value in steps:
        body = METHODS["Queue", name].body
        if name == "enqueue":
            body(queue, value)
            model.append(value)
        elif name == "rest":
            assert list(body(queue).items) == model[1:]
        else:
            assert debug(body(queue)) == (f"Some({model[0]})" if model else "None")
            model = model[1:] if name == "dequeue" else model
        assert list(iterate(queue)) == model and METHODS["Queue", "to_array"].body(queue).items == model


@given(st.lists(st.tuples(st.sampled_from(["push", "pop", "peek", "rest"]), st.integers()), max_size=20))
def test_a_stack_is_last_in_first_out(steps: list[tuple[str, int]]) -> None:
    model: list[int] = []
    stack = Stack([])
    for name, value in steps:
        body = METHODS["Stack", name].body
        if name == "push":
            body(stack, value)
            model.append(value)
        elif name == "rest":
            assert body(stack).items == model[:-1]
        else:
            assert debug(body(stack)) == (f"Some({model[-1]})" if model else "None")
            model = model[:-1] if name == "pop" else model
        assert list(iterate(stack)) == model and METHODS["Stack", "to_array"].body(stack).items == model


FORMS = [
    (make_set(["a", 1.0, Array([2])]), "Set", "Set {a, 1, [2]}", 'Set {"a", 1.0, [2]}', '["a",1.0,[2]]'),
    (Queue(deque(["a", 1])), "Queue", "Queue [a, 1]", 'Queue ["a", 1]', '["a",1]'),
    (Stack(["a", Some(1)]), "Stack", "Stack [a, Some(1)]", 'Stack ["a", Some(1)]', '["a",1]'),
]


@pytest.mark.parametrize(("value", "kind", "shown", "debugged", "json"), FORMS, ids=lambda value: None)
def test_forms(value: Any, kind: str, shown: str, debugged: str, json: str) -> None:
    assert (typeof(value), display(value), debug(value), to_json(value)) == (kind, shown, debugged, json)
    assert truth(value) and truth(type(value)(type(value.items)()))
    assert length(value) == len(value.items)


def test_equality_asks_for_order_except_in_sets() -> None:
    assert equal(make_set([1, "a"]), make_set(["a", 1.0])) and not equal(make_set([1]), make_set([True]))
    assert not equal(Queue(deque([1, 2])), Queue(deque([2, 1]))) and equal(Queue(deque([1])), Queue(deque([1.0])))
    assert not equal(Stack([1, 2]), Stack([2, 1])) and not equal(Stack([1]), Queue(deque([1])))
    odd = make_set([math.nan])
    assert not equal(odd, odd) and not equal(odd, own(share(odd)))


@pytest.mark.parametrize("value", [form[0] for form in FORMS], ids=typeof)
def test_a_copy_is_changed_alone(value: Any, call: Call) -> None:
    before = debug(value)
    name = {"Set": "insert", "Queue": "enqueue", "Stack": "push"}[typeof(value)]
    copy = own(share(value))
    assert copy is not value and own(copy) is copy
    call(copy, name, "new")
    assert debug(value) == before and '"new"' in debug(copy)


def test_an_element_of_two_copies_is_written_to_in_one(call: Call) -> None:
    first = Stack([Array([1])])
    second = own(share(first))
    taken = own(call(second, "pop").value)
    taken.items.append(2)
    assert debug(first) == "Stack [[1]]"
    inner = own(call(Queue(deque([Array([1])])), "peek").value)
    assert inner.shared is False
    kept = make_set([Array([1])])
    own(call(kept, "to_array").items[0]).items.append(2)
    assert debug(kept) == "Set {[1]}"


def test_types_of_collections() -> None:
    numbers = make_set([1, 2.5])
    assert debug(cast(numbers, ("set", ("float",)))) == "Set {1.0, 2.5}"
    assert debug(cast(Queue(deque([1])), ("queue", ("float",)))) == "Queue [1.0]"
    assert cast(numbers, ("set", ("any",))) is numbers and check(numbers, ("set", ("string",))) is numbers
    with pytest.raises(Panic, match="P008"):
        cast(Stack(["a"]), ("stack", ("int",)))
    with pytest.raises(Panic, match="P007"):
        check(Stack([]), ("queue", ("any",)))
    assert type_text(("set", ("array", ("int",)))) == "Set<Array<Int>>"


def test_arguments_of_other_kinds_are_mismatches(call: Call, panics: Callable[..., str]) -> None:
    for name in ("union", "intersection", "difference"):
        assert panics(call, make_set([]), name, Array([])).startswith("P007 expected Set")
    assert panics(new, "Set", 1).startswith("P007 expected Array")


def test_the_limit_on_items(call: Call, panics: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "items", 2)
    full = make_set([1, 2])
    assert call(full, "insert", 2) is False
    assert panics(call, full, "insert", 3).startswith("P103")
    assert panics(call, full, "union", make_set([3])).startswith("P103")
    assert panics(call, Queue(deque([1, 2])), "enqueue", 3).startswith("P103")
    assert panics(call, Stack([1, 2]), "push", 3).startswith("P103")
