"""Hostile values from functions of Python: whatever comes is a value of the declared type or HostError::WrongType, soon, and
never an exception of the host (P-1.4)."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any

import concerto
import pytest

TYPES = (
    "Int", "Float", "String", "Bool", "Nil", "Any", "Bytes", "Array<Int>", "Array<Any>", "Map<String, Any>", "Map<Int, String>",
    "(Int, String)", "Option<Int>", "String?", "Row", "Side", '"a" | "b"', "Set<String>", "Result<Int, String>", "Array<Row>",
    "Message",
)  # fmt: skip
DECLARED = "\n".join(
    f'extern python "hostile" {{ fn f{n}() -> {"Result<" + t + ", HostError>" if not t.startswith("Result") else t}; }}\n'
    f"pub fn g{n}() -> Any {{ match f{n}() {{ Ok(_) => nil, Err(e) => e }} }}"
    for n, t in enumerate(TYPES)
    if not t.startswith("Result")
)
SOURCE = f"""
pub schema Row {{ id: Int, name: String, more?: Row }}
pub enum Side {{ Left, Right(Int), Both {{ a: Int, b: String }} }}
{DECLARED}
extern python "hostile" {{ fn stream() -> Stream<Row>; fn any() -> Stream<Any>; }}
pub fn streamed() -> Any {{ try {{ for r in stream() {{ }} nil }} catch HostError(e) {{ e }} }}
pub fn any_streamed() -> Any {{
    try {{ let mut n = 0; for r in any() {{ n += 1; if n > 20 {{ break; }} }} nil }} catch HostError(e) {{ e }}
}}
fn main() {{}}
"""
NUMBERS = [n for n, t in enumerate(TYPES) if not t.startswith("Result")]
SEED = int(os.environ.get("CONCERTO_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
SECONDS = 5.0  # for one value; an endless one would take for ever


class Refusal(BaseException):
    """What no `except Exception` catches."""


def hostile_class(chance: random.Random, base: type) -> type:
    """A subclass of `base` some of whose methods raise, lie, or never end."""

    def raising(*arguments: Any, **named: Any) -> Any:
        raise chance.choice([ValueError("no"), RecursionError(), KeyError(1), Refusal("x"), SystemExit(1), MemoryError()])

    def endless(*arguments: Any) -> Iterator[Any]:
        return count()

    def lying(*arguments: Any) -> Any:
        return chance.choice([0, -1, 10**30, "text", None, [], True, b"", 3])

    names = (
        "__eq__", "__hash__", "__repr__", "__str__", "__len__", "__iter__", "__getitem__", "__contains__", "__bool__", "__int__",
        "__float__", "__index__", "items", "keys", "values", "get", "__getattribute__", "__bytes__", "__lt__", "__next__",
    )  # fmt: skip
    chosen = chance.sample(names, chance.randrange(1, 6))
    body: dict[str, Any] = {name: chance.choice([raising, lying, endless]) for name in chosen}
    if base is Mapping:
        body = {"__getitem__": lying, "__len__": lying, "__iter__": endless, **body}
    return type(chance.choice(["Odd", "Int", "x" * 200, "\u202e", "a\nb"]), (base,), body)


def hostile(chance: random.Random, depth: int = 0) -> Any:
    """A value that nobody should give."""
    plain = [
        float("nan"), float("inf"), -0.0, 10**5000, -(2**63) - 1, 2**63, True, None, "\ud800", "a\x00b", "x" * 5000, "\u202e", "",
        b"\xff", bytearray(b"a"), memoryview(b"abc"), object(), type, len, NotImplemented, ..., Decimal("1.5"), 1j, {1, 2},
        frozenset(), range(3), iter([1]), count(), concerto.Ok(1), concerto.Err("x"), concerto.Enum("Side", "Nowhere"),
        concerto.Enum("Side", "Right", "x"), concerto.Struct("Row", id="x"), concerto.Struct("No", a=1),
        concerto.Handle("X", "y"), concerto.ErrorValue("NoSuchError", "V", "\ud800"), "Left", "a", {"id": 1, "name": "n"},
        {"id": 1, "name": "n", "more": {}}, {"variant": "Right", "data": 2}, {(): 1}, {"a": 1, 1: 2}, [[]], ((),),
        dict.fromkeys(["\ud800", "\ufffd"], 1),
    ]  # fmt: skip
    kind = chance.randrange(9 if depth < 3 else 2)
    if kind < 2:
        return chance.choice(plain)
    if kind == 2:  # it holds itself
        cycle: list[Any] = [1]
        cycle.append(chance.choice([cycle, {"a": cycle}, (cycle,)]))
        return cycle
    if kind == 3:  # nested deeply
        deep: Any = 1
        for _ in range(chance.choice([50, 500, 100_000])):
            deep = [deep] if chance.random() < 0.9 else {"a": deep}
        return deep
    if kind == 4:
        return [hostile(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 5:
        return {chance.choice(["id", "name", "more", "variant", "data", 1, b"k"]): hostile(chance, depth + 1) for _ in range(3)}
    if kind == 6:
        return tuple(hostile(chance, depth + 1) for _ in range(chance.randrange(3)))
    base = chance.choice([int, float, str, bytes, list, tuple, dict, object, Mapping])
    try:
        return hostile_class(chance, base)()
    except BaseException:  # of its own __new__ or __init__
        return hostile(chance, depth + 1)


@pytest.fixture(scope="module")
def program() -> concerto.Program:
    return concerto.compile(SOURCE)


def value_given(answer: Any) -> bool:
    return answer is None or (isinstance(answer, concerto.ErrorValue) and answer.kind == "HostError")


def test_two_hundred_hostile_values_and_each_type(program: concerto.Program) -> None:
    print(f"CONCERTO_SEED={SEED}")
    chance = random.Random(SEED)
    variants: set[str | None] = set()
    with program.session() as session:
        for _ in range(200):
            value = hostile(chance)
            session.bind("hostile", {f"f{n}": lambda value=value: value for n in NUMBERS})
            for number in chance.sample(NUMBERS, 4):
                began = time.process_time()
                answer = session.call(f"g{number}")
                assert time.process_time() - began < SECONDS, (SEED, TYPES[number])
                assert value_given(answer), (SEED, TYPES[number], answer)
                if answer is not None:
                    assert answer.variant == "WrongType", (SEED, TYPES[number], answer)
                    assert {"path", "expected", "actual", "function"} <= answer.fields.keys()
                    assert answer.message.isprintable() and "\n" not in answer.message
                variants.add(None if answer is None else answer.variant)
    assert variants == {None, "WrongType"}, (SEED, variants)


def test_hostile_values_as_streams_and_in_them(program: concerto.Program) -> None:
    print(f"CONCERTO_SEED={SEED}")
    chance = random.Random(SEED + 1)
    with program.session() as session:
        for _ in range(100):
            value = hostile(chance)
            around = chance.choice([lambda one: one, lambda one: iter([one]), lambda one: [one, one]])
            give = partial(around, value)
            session.bind("hostile", {"stream": give, "any": give})
            for function in ("streamed", "any_streamed"):
                assert value_given(session.call(function)), (SEED, function)


def test_hostile_exceptions(program: concerto.Program) -> None:
    """Also those whose texts raise, or whose classes have no usable name."""
    chance = random.Random(SEED + 2)
    with program.session() as session:
        for _ in range(60):
            base = chance.choice([Exception, ValueError, BaseException, KeyError, SystemExit, StopIteration, OSError])
            kind = hostile_class(chance, base)

            def raising(kind: type[BaseException] = kind) -> Any:
                error = kind("\ud800 text\n" * 3)
                raise error

            session.bind("hostile", {"f0": raising})
            answer = session.call("g0")
            assert isinstance(answer, concerto.ErrorValue) and answer.variant == "Raised", (SEED, answer)
            assert answer.fields["exception"].isprintable() and "worker_threads" not in answer.fields["traceback"]
