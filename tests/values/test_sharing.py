"""Copy on write: a copy never observes a write, and unshared storage is never copied (L-5.5.2, L-5.5.3)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from concerto.vm.values import (
    NONE,
    Array,
    EnumType,
    EnumValue,
    Err,
    Map,
    Ok,
    Some,
    Struct,
    StructType,
    Variant,
    index,
    make_struct_class,
    own,
    share,
    store_index,
    store_member,
)
from hypothesis import given, settings
from hypothesis import strategies as st

Pair = make_struct_class(StructType("Pair", ("left", "right")))


def write(root: Any, path: list[Any], content: Any) -> Any:
    """What the machine does for `root[path…] = content`: owns each container on the way and stores at each level."""
    root = own(root)
    if isinstance(root, Struct):
        name = path[0]
        inner = content if len(path) == 1 else write(root.get(name), path[1:], content)
        return store_member(root, name, inner)
    inner = content if len(path) == 1 else write(index(root, path[0]), path[1:], content)
    return store_index(root, path[0], inner)


def plain(value: Any) -> Any:
    """The value as Python data that shares nothing."""
    if type(value) is Array:
        return [plain(item) for item in value.items]
    if type(value) is Map:
        return {key: plain(item) for key, item in value.items.items()}
    if type(value) is tuple:
        return tuple(plain(item) for item in value)
    if isinstance(value, Struct):
        return {"left": plain(value.get("left")), "right": plain(value.get("right"))}
    return value


def build(data: Any) -> Any:
    """A value from Python data; a dict with `left` becomes a Pair."""
    if isinstance(data, list):
        return Array([build(item) for item in data])
    if isinstance(data, tuple):
        return tuple(build(item) for item in data)
    if isinstance(data, dict):
        if set(data) == {"left", "right"}:
            return Pair(build(data["left"]), build(data["right"]))
        return Map({key: build(item) for key, item in data.items()})
    return data


def paths(data: Any) -> list[list[Any]]:
    """Every place inside the data."""
    if isinstance(data, list | tuple):
        steps = list(enumerate(data))
    elif isinstance(data, dict):
        steps = list(data.items())
    else:
        return []
    return [found for step, inner in steps for found in ([step], *([step, *rest] for rest in paths(inner)))]


def model_write(data: Any, path: list[Any], content: Any) -> Any:
    inner = content if len(path) == 1 else model_write(data[path[0]], path[1:], content)
    if isinstance(data, tuple):
        return (*data[: path[0]], inner, *data[path[0] + 1 :])
    data[path[0]] = inner
    return data


DATA = st.recursive(
    st.integers(0, 9),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.fixed_dictionaries({"left": inner, "right": inner}),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.data(), DATA)
def test_copies_never_observe_writes(draw: st.DataObject, data: Any) -> None:
    variables = [build(data)]
    model = [copy.deepcopy(data)]
    for number in range(draw.draw(st.integers(1, 8))):
        source = draw.draw(st.integers(0, len(variables) - 1))
        places = paths(model[source])
        if not places or draw.draw(st.booleans()):
            variables.append(share(variables[source]))
            model.append(copy.deepcopy(model[source]))
            continue
        path = draw.draw(st.sampled_from(places))
        content = draw.draw(st.integers(0, len(variables) - 1)) if draw.draw(st.booleans()) else None
        value = 100 + number if content is None else share(variables[content])
        expected = 100 + number if content is None else copy.deepcopy(model[content])
        variables[source] = write(variables[source], path, value)
        model[source] = model_write(model[source], path, expected)
        assert [plain(value) for value in variables] == model


def test_unshared_storage_is_not_copied() -> None:
    for value in (Array([Array([1])]), Map({"a": 1}), Pair(1, 2)):
        assert own(value) is value


def test_own_copies_one_level_and_marks_children() -> None:
    inner, deep = Array([Array([1])]), Array([2])
    inner.items.append(deep)
    outer = share(Array([inner, 3]))
    copied = own(outer)
    assert copied is not outer and not copied.shared
    assert copied.items[0] is inner and inner.shared
    assert not deep.shared


def test_share_is_shallow() -> None:
    inner = Array([])
    outer = Array([inner])
    assert share(outer) is outer and outer.shared and not inner.shared


@pytest.mark.parametrize("value", [1, 1.5, "s", True, None, NONE])
def test_scalars_pass_through(value: Any) -> None:
    assert share(value) is value and own(value) is value


@pytest.mark.parametrize("wrap", [Some, Ok, Err, lambda v: (1, v), lambda v: ((v,), 1), lambda v: Some((v,))])
def test_wrappers_mark_what_they_hold(wrap: Any) -> None:
    inner = Array([1])
    share(wrap(inner))
    assert inner.shared


def test_enum_payload_is_marked_once() -> None:
    inner = Array([1])
    value = EnumValue(EnumType("E", [Variant("A", 1)]), 0, (inner,))
    share(value)
    assert inner.shared and value.shared


def test_tuple_that_holds_one_tuple_many_times_is_marked_in_linear_time() -> None:
    inner = Array([1])
    value: Any = (inner,)
    for _ in range(60):
        value = (value, value)
    share(value)
    assert inner.shared


def test_a_long_chain_of_tuples_needs_no_recursion() -> None:
    inner = Array([1])
    value: Any = (inner,)
    for _ in range(5000):
        value = (value,)
    share(value)
    assert inner.shared
