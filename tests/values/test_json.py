"""JSON of every kind, and the way back (L-5.1 column JSON, O-0.5)."""

from __future__ import annotations

import json
import math
import random
import tracemalloc
from typing import Any

import pytest
from concerto.vm.builtins.json import Fault, read
from concerto.vm.panics import Panic
from concerto.vm.values import (
    INT_MAX,
    NONE,
    Array,
    EnumType,
    EnumValue,
    Err,
    ErrorValue,
    Map,
    Message,
    ModelRef,
    Ok,
    RangeValue,
    Response,
    Some,
    StructType,
    ToolCall,
    Variant,
    equal,
    from_json,
    make_struct_class,
    text,
    to_json,
)
from concerto.vm.values.limits import limits, with_strings_of
from hypothesis import given
from hypothesis import strategies as st

Point = make_struct_class(StructType("P", ("x", "y")))
Shape = EnumType("E", ["A", Variant("B", 2), Variant("C", fields=("x",)), Variant("D", 1)])

CASES = [
    (1, "1"), (4.0, "4.0"), (0.5, "0.5"), (math.nan, "null"), (math.inf, "null"), (-math.inf, "null"),
    ("é\"\\\n\u0001", '"é\\"\\\\\\n\\u0001"'), (True, "true"), (None, "null"), (Array([1, "a"]), '[1,"a"]'),
    ((1, 2), "[1,2]"), (Map.of(["k", 1, 2, 3, True, 4]), '{"k":1,"2":3,"true":4}'), (Map({}), "{}"), (Array([]), "[]"),
    (Point(1, None), '{"x":1,"y":null}'), (EnumValue(Shape, 0), '{"variant":"A","data":null}'),
    (EnumValue(Shape, 1, (1, 2)), '{"variant":"B","data":[1,2]}'),
    (EnumValue(Shape, 2, (1,)), '{"variant":"C","data":{"x":1}}'),
    (EnumValue(Shape, 3, (Array([1]),)), '{"variant":"D","data":[1]}'),
    (Some(1), "1"), (NONE, "null"), (Ok(1), '{"ok":1}'), (Err("e"), '{"err":"e"}'),
    (RangeValue(1, None), '{"start":1,"end":null,"inclusive":false}'),
    (
        ErrorValue("ToolError", "Timeout", "m", {"tool": "T", "method": None}),
        '{"kind":"ToolError","variant":"Timeout","message":"m","tool":"T"}',
    ),
    (ModelRef("M"), '"<model M>"'), (Message.of(("user", "q", Array([]), None, Array([]))), '{"role":"user","content":"q"}'),
    (
        Message.of(("assistant", "", Array([ToolCall.of(("1", "t", Map({})))]), None, Array([]))),
        '{"role":"assistant","content":"","tool_calls":[{"id":"1","name":"t","arguments":{}}]}',
    ),
    (
        Response.of(("t", 1, 2, "m", "p", 3, "stop", None, 1, False, Map({}), 0, 0, 0, None, Array([]))),
        '{"text":"t","tokens_in":1,"tokens_out":2,"model":"m","provider":"p","latency_ms":3,"finish":"stop",'
        '"cost":null,"attempts":1,"cached":false,"data":{}}',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), CASES, ids=[case[1][:24] for case in CASES])
def test_json_column(value: Any, text: str) -> None:
    assert to_json(value) == text
    json.loads(text)


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@given(DATA)
def test_round_trip(data: Any) -> None:
    value = from_json(data)
    text = to_json(value)
    assert json.loads(text) == data
    assert equal(from_json(json.loads(text)), value)


def parts_of(chance: random.Random, depth: int) -> Any:
    """A value of some kind, of so many levels at most."""
    floats = [0.0, -0.0, 1e16, 9999999999999998.0, 1e-4, 9e-5, 1e300, math.nan, math.inf]
    leaves = [*floats, 1, -(2**63), "e+1", "\u0001", True, None]
    if not depth or chance.random() < 0.3:
        return chance.choice([*leaves, NONE, b"bytes", RangeValue(1, None), ModelRef("M")])
    inner = [parts_of(chance, depth - 1) for _ in range(chance.choice((0, 1, 2, 3, 90)) if depth < 3 else 2)]
    one = parts_of(chance, depth - 1)
    keys = [chance.choice(("a", "b", 1, 2, True, b"k")) if chance.random() < 0.2 else f"k{at}" for at in range(len(inner))]
    return chance.choice([
        Array(inner), Map.of([part for pair in zip(keys, inner, strict=True) for part in pair]), tuple(inner), Some(one), Ok(one),
        Point(one, 1), EnumValue(Shape, 3, (one,)), EnumValue(Shape, 2, (one,)), EnumValue(Shape, 1, (one, one)),
        EnumValue(Shape, 0), Message.of(("user", "q", Array([]), None, Array(inner))),
    ])  # fmt: skip


def in_pieces(value: Any) -> Any:
    """The JSON text of a value, or the panic, without the encoder of Python's library."""
    try:
        return text._joined(text._Json(in_pieces=True).piece(value))
    except Panic as panic:
        return panic.message


@pytest.mark.parametrize(("nesting", "size"), [(256, 1 << 24), (4, 1 << 24), (6, 200)])
def test_small_parts_are_written_as_their_pieces_are(monkeypatch: pytest.MonkeyPatch, nesting: int, size: int) -> None:
    chance = random.Random(nesting + size)
    monkeypatch.setattr(limits, "nesting", nesting)
    outcomes = set()
    for _ in range(600):
        value = parts_of(chance, chance.randrange(8))

        def both(value: Any = value) -> tuple[Any, Any]:
            try:
                return to_json(value), in_pieces(value)
            except Panic as panic:
                return panic.message, in_pieces(value)

        found, expected = with_strings_of(size, both)
        assert found == expected
        outcomes.add(found)
    assert len(outcomes) > 100


def test_many_elements_are_written_in_order_beside_such_as_the_encoder_does_not_take() -> None:
    elements: list[Any] = []
    for at in range(3_000):
        elements += [Map({"at": at, "in": Array([at, (at, "x")])}), Some(at)] if at % 700 else [b"b", 1e300, Array([b"", at])]
    written = json.loads(to_json(Array(elements)))
    assert len(written) == len(elements) and written[1] == 1e300
    assert written[5:7] == [{"at": 2, "in": [2, [2, "x"]]}, 2]
    assert to_json(Array(elements)) == in_pieces(Array(elements))


def test_a_shared_text_is_not_written_over_and_over_before_it_is_refused() -> None:
    long = "x" * (1 << 17)
    wide = Map({str(at): long for at in range(900)})
    for value in (Array([long] * 900), Array([Map({long: 1})] * 900), Array([(long,)] * 900), wide):
        tracemalloc.start()
        try:
            with pytest.raises(Panic) as raised:
                to_json(value)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert raised.value.code == "P103"
        assert most < 2 * (1 << 24) + (1 << 21)


RECORDS = [
    lambda at: {"id": at, "tags": ["a", {"id": at}], "in": [{"id": 1}, {"id": 2}], "text": '},{"id":'},
    lambda at: [at, [at, "],["], []],
    lambda at: {"n": 2.0**70, "deep": [[[at]]]},
    lambda at: {},
]


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("separators", [(",", ":"), (" , ", " : ")])
def test_long_arrays_of_records_are_read_like_short_ones(record: Any, separators: Any) -> None:
    data = [record(at) for at in range(9_000)]
    for whole in (data, {"rows": data}):
        found = read(json.dumps(whole, separators=separators))
        assert equal(found, from_json(json.loads(json.dumps(whole))))
    spoilt = json.dumps([*data, *data], separators=separators)[:-1] + ",}"
    assert isinstance(read(spoilt), Fault)


@given(st.text())
def test_strings_are_written_as_the_library_writes_them(text: str) -> None:
    assert to_json(text) == json.dumps(text, ensure_ascii=False)


def test_numbers_beyond_int_become_floats_and_beyond_float_are_refused() -> None:
    assert from_json(INT_MAX) == INT_MAX and type(from_json(INT_MAX)) is int
    assert type(from_json(INT_MAX + 1)) is float
    with pytest.raises(ValueError, match="Float"):
        from_json(10**400)


def test_nesting_limit_both_ways() -> None:
    data: Any = []
    for _ in range(255):
        data = [data]
    value = from_json(data)
    assert to_json(value) == "[" * 256 + "]" * 256
    for refused in (lambda: from_json([data]), lambda: to_json(Array([value]))):
        with pytest.raises(Panic) as caught:
            refused()
        assert caught.value.code == "P103"


def test_empty_parts_of_long_texts() -> None:
    """Beyond a window the parts are read one by one, the empty ones too (G-6.3)."""
    blank = " " * 70_000
    assert to_json(read(f'[{blank}{{{blank}}}, [{blank}], {{"a": {{ }}}}]')) == '[{},[],{"a":{}}]'


def test_parts_of_long_texts_are_read_as_those_of_short_ones() -> None:
    long = "x" * 70_000
    text = f'{{"a":{{"b":"{long}","c":1}},"d":[1,"{long}",2],"e":[{{}},[]],"f":null}}'
    assert to_json(read(text)) == text
    for spoilt in (f'{{"a":"{long}",}}', f'{{"a" "{long}"}}', f'{{a:"{long}"}}', f'[1,"{long}"', f'["{long}"],', f'["{long}" 1]'):
        assert isinstance(read(spoilt), Fault), spoilt[:6]


@pytest.mark.parametrize(
    ("text", "value"),
    [(str(-(2**63)), -(2**63)), (str(INT_MAX), INT_MAX), (str(-(2**63) - 1), -(2.0**63)), (str(2**63), 2.0**63)],
)
def test_numbers_at_the_bounds_of_int(text: str, value: int | float) -> None:
    for found in (read(text), read(f"[{text}]").items[0], read(f'{{"a":{text}}}').items["a"]):
        assert found == value and type(found) is type(value)
