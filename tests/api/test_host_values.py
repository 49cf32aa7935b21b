"""What crosses between a program and Python is bounded, and what does not fit is told by its place (G-6.10)."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import concerto
import pytest

PROGRAM = concerto.compile("""
pub fn shared(n: Int) -> Any { let mut a: Any = [1]; for i in 0..n { a = [a, a]; } a }
pub fn fails(n: Int) -> Result<Int, Any> { let mut a: Any = [1]; for i in 0..n { a = [a, a]; } Err(a) }
pub fn emits(n: Int) { let mut a: Any = [1]; for i in 0..n { a = [a, a]; } emit("x", a); }
pub fn number(x: Float) -> Float { x }
pub fn whole(x: Int) -> Int { x }
pub fn any(x: Any) -> Any { x }
pub fn text(x: String) -> Int { x.len() }
pub fn keys() -> Map<Any, Int> { let m: Map<Any, Int> = {(1): 1, (true): 2}; m }
pub fn apart() -> Map<Any, Int> { let m: Map<Any, Int> = {(2): 1, (true): 2, ("1"): 3, (false): 4}; m }
pub fn told() { emit("x", [keys()]); }
pub fn asked() -> Any { await emit("x", [keys()]) }
pub fn count(m: Map<String, Int>) -> Int { m.len() }
pub fn many() -> Any { (0..1000000).map(|i| (i, "${i}")) }
""")


def panic_of(function: str, *arguments: Any, **options: Any) -> concerto.Panic:
    started = time.monotonic()
    with PROGRAM.session(**options) as session, pytest.raises(concerto.Panic) as caught:
        session.call(function, *arguments)
    assert time.monotonic() - started < 5
    return caught.value


def test_shared_parts_are_not_multiplied_without_end_in_an_emit() -> None:
    assert panic_of("emits", 40).code == "P103"


@pytest.mark.parametrize("function", ["shared", "fails"])
def test_shared_parts_are_not_multiplied_without_end(function: str) -> None:
    panic = panic_of(function, 40)
    assert panic.code == "P103" and "1000000 copies of shared values (limit `copies`)" in panic.message
    assert re.search(r"\d+ values made for Python, \d+ of them copies .*, the last one Array of \d+ values", panic.message)
    assert panic.trace and panic.trace[0].line > 0 and panic.trace[-1].function == function


def test_secrets_are_looked_for_once_in_a_shared_part() -> None:
    with PROGRAM.session(connections={"openai": {"api_key": "sk-abcdefghijkl"}}) as session:
        session._session.redactor.add("a secret text", "NAME")
        with pytest.raises(concerto.Panic, match="copies of shared values"):
            session.call("shared", 40)


def test_small_shared_values_are_values_of_their_own() -> None:
    with PROGRAM.session() as session:
        value = session.call("shared", 2)
    assert value == [[[1], [1]], [[1], [1]]]
    value[0].append(2)
    assert value[1] == [[1], [1]]


def test_the_deadline_holds_while_a_value_is_made_for_python() -> None:
    times = []
    with PROGRAM.session() as session:
        for _ in range(2):
            started = time.monotonic()
            session.call("many")
            times.append(time.monotonic() - started)
    ends = [panic_of("many", budgets=concerto.Budgets(seconds=min(times) * share)).code for share in (0.1, 0.3)]
    assert ends == ["P102"] * 2


class Raising(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise ZeroDivisionError

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class Unsaid:
    def __repr__(self) -> str:
        raise ZeroDivisionError


class Texts(list):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        raise ZeroDivisionError


def looped() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def doubled(times: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(times):
        made = [made, made]
    return made


@pytest.mark.parametrize(
    ("function", "value"),
    [
        ("number", 10**5000), ("number", -(10**400)), ("whole", 10**5000), ("whole", 2**63), ("any", 10**5000),
        ("any", [10**5000]), ("any", {"k": [10**5000]}), ("any", looped()), ("any", Raising()), ("any", Texts([1])),
        ("any", {Unsaid: 1}), ("any", (n for n in range(3))), ("any", object()), ("any", range(3)),
        ("any", 1j), ("text", b"abc"), ("number", "1"), ("number", True), ("any", [0] * 1_000_001),
    ],
    ids=lambda value: value if type(value) is str else type(value).__name__,
)  # fmt: skip
def test_what_does_not_fit_is_a_type_error(function: str, value: Any) -> None:
    with PROGRAM.session() as session:
        with pytest.raises(TypeError, match=f"argument 'x' of {function}"):
            session.call(function, value)
        assert session.call("whole", 7) == 7


def test_a_value_of_python_with_too_many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("concerto.api.values.MOST_READ", 100_000)
    with PROGRAM.session() as session, pytest.raises(TypeError, match="more than 100000 parts"):
        session.call("any", [[n] for n in range(60_000)])


def test_a_part_that_stands_in_many_places_is_read_once() -> None:
    """Arguments, results of tools and answers of emits; 2 ** 60 of them would not end."""
    program = concerto.compile(
        "tool T { description: \"t\", @describe(\"m\") pub fn m(self) -> Any { 0 } }\n"
        "pub fn given(x: Any) -> Bool { x == x }\n"
        "pub fn typed(x: Array<Array<Any>>) -> Int { x[0].len() }\n"
        "pub fn called() -> Bool { let x = T.m(); x == x }\n"
        "pub async fn asked() -> Result<Int, EmitError> { let x: Any = await emit(\"q\")?; Ok(x[0].len()) }"
    )
    with program.session() as session:
        session.register_tool("T", "m", lambda: doubled(60))
        session.on_emit("q", lambda payload: [doubled(60), {"k": doubled(60)}])
        start = time.process_time()
        assert session.call("given", doubled(60)) is True
        assert session.call("typed", doubled(60)) == 2
        assert session.call("called") is True
        assert session.call("asked") == 2
        assert session.call("given", ["é" * 1_000_000] * 20_000) is True
        assert time.process_time() - start < 3


def test_a_part_that_was_read_once_is_a_value_of_its_own_wherever_it_stands() -> None:
    program = concerto.compile(
        "struct P { xs: Array<Int>, n: Int = 3 }\n"
        "pub fn lists(x: Array<Array<Int>>) -> Any { let mut y = x; y[0].push(9); [y, x] }\n"
        "pub fn structs(x: Array<P>) -> Any { let mut y = x; y[0].xs.push(9); [y[0].xs, y[1].xs, x[0].xs, [y[0].n]] }\n"
        "pub fn both(a: Array<Int>, b: Array<Float>) -> Any { [a, b] }"
    )
    one = [1]
    field = {"xs": one}
    with program.session() as session:
        assert session.call("lists", [one, one]) == [[[1, 9], [1]], [[1], [1]]]
        assert session.call("structs", [field, field]) == [[1, 9], [1], [1], [3]]
        assert session.call("both", one, one) == [[1], [1.0]]
    assert one == [1] and field == {"xs": [1]}


@pytest.mark.parametrize("function", ["keys", "told", "asked"])
def test_no_entry_of_a_map_is_lost(function: str) -> None:
    """1 and True are one key of a dict (O-9.38)."""
    heard: list[Any] = []
    with PROGRAM.session() as session, pytest.raises(concerto.Panic) as caught:
        session.on_emit("x", heard.append)
        session.call(function)
    assert (caught.value.code, heard) == ("P013", [])
    assert caught.value.message == "a Map with the keys 1 and true is no dict of Python, where they are one key"


def test_keys_that_python_tells_apart_stay() -> None:
    with PROGRAM.session() as session:
        assert session.call("apart") == {2: 1, True: 2, "1": 3, False: 4}


def test_keys_that_are_one_in_a_program_are_refused() -> None:
    with PROGRAM.session() as session:
        assert session.call("count", {"a": 1, "b": 2}) == 2
        with pytest.raises(TypeError, match="argument 'm' of count: .* and another key are the same key in a program"):
            session.call("count", {"a": 1, "a\U000e0041": 2})
