"""`Budgets.value_bytes`: the largest String of a run (O-9.40, G-6.1)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.vm.values import limits

PROGRAM = concerto.compile("""
pub fn doubled(s: String) -> String { s + s }
pub fn times(s: String, n: Int) -> String { s.repeat(n) }
pub fn held(s: String) -> String { "${s} and ${s}" }
pub fn joined(s: String) -> String { [s, s].join("-") }
pub fn listed(n: Int) -> String { let mut all: Array<Int> = []; for i in 0..n { all.push(i); } std::json::stringify(all) }
pub fn grown(n: Int) -> Int { let mut s = ""; for i in 0..n { s += "ab"; } s.len() }
pub fn waits(s: String) -> String { emit("first", s); let t = s + s; emit("second", t); t + s }
pub fn read(path: String) -> Result<String, FsError> { std::fs::read_file(path) }
""")
MESSAGE = "string size limit exceeded: 10 bytes (budget `value_bytes`)"
SIXTEEN_MIB = 16 * 1024 * 1024


def budget(size: int | None) -> Any:
    return concerto.Budgets(value_bytes=size)


@pytest.mark.parametrize("tier", ["interp", "both"])
@pytest.mark.parametrize(
    ("function", "fits", "beyond"),
    [
        ("doubled", ["abcde"], ["abcdef"]),
        ("doubled", ["ää"], ["äää"]),
        ("times", ["a", 10], ["a", 11]),
        ("held", ["ab"], ["abc"]),
        ("joined", ["abcd"], ["abcde"]),
        ("listed", [4], [6]),
        ("grown", [5], [6]),
        ("grown", [5], [1000]),
    ],
)
def test_what_makes_a_string_asks(tier: Any, function: str, fits: list[Any], beyond: list[Any]) -> None:
    with PROGRAM.session(budgets=budget(10), tier=tier) as session:
        session.call(function, *fits)
        with pytest.raises(concerto.Panic) as caught:
            session.call(function, *beyond)
        assert (caught.value.code, caught.value.message) == ("P103", MESSAGE)
        session.call(function, *fits)
    assert limits.string == SIXTEEN_MIB


def test_a_larger_one_than_the_default() -> None:
    with PROGRAM.session() as session, pytest.raises(concerto.Panic, match="16777216 bytes"):
        session.call("times", "a", SIXTEEN_MIB + 1)
    with PROGRAM.session(budgets=budget(SIXTEEN_MIB + 1)) as session:
        assert len(session.call("times", "a", SIXTEEN_MIB + 1)) == SIXTEEN_MIB + 1
        with pytest.raises(concerto.Panic, match="16777217 bytes"):
            session.call("times", "a", SIXTEEN_MIB + 2)


def test_a_session_that_runs_within_another() -> None:
    """A listener runs between two slices of the one that emits."""
    sizes = []
    with PROGRAM.session() as wide, PROGRAM.session(budgets=budget(10)) as narrow:

        def hear(payload: str) -> None:
            sizes.append(limits.string)
            sizes.append(refused_size("ab", 3))

        narrow.on("first", hear)
        assert narrow.call("waits", "abc") == "abcabcabc"
        with pytest.raises(concerto.Panic, match="10 bytes"):
            narrow.call("waits", "abcd")
        assert wide.call("doubled", "a" * 100) == "a" * 200
    assert sizes == [SIXTEEN_MIB, 3] * 2


def in_a_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def refused_size(text: str, size: int) -> int:
    """The budget that a call in another thread meets."""

    def call() -> None:
        with PROGRAM.session(budgets=budget(size)) as session:
            session.call("doubled", text)

    with pytest.raises(concerto.Panic) as caught:
        in_a_thread(call)
    return int(caught.value.message.split()[4])


def test_threads_have_their_own() -> None:
    """While a slice of one session runs, another runs a whole call in another thread."""
    limits.string = 10
    try:
        assert in_a_thread(lambda: limits.string) == SIXTEEN_MIB
        with PROGRAM.session() as other:
            assert in_a_thread(lambda: other.call("doubled", "a" * 100)) == "a" * 200
        assert limits.string == 10
        assert refused_size("abcdef", 11) == 11 and limits.string == 10
    finally:
        limits.string = SIXTEEN_MIB


def test_a_file_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0123456789")
    (tmp_path / "b.txt").write_text("0123456789a")
    permissions = concerto.Permissions(fs_read=(str(tmp_path),))
    with PROGRAM.session(budgets=budget(10), permissions=permissions) as session:
        assert session.call("read", str(tmp_path / "a.txt")) == "0123456789"
        with pytest.raises(concerto.ProgramError, match="larger than a String may be"):
            session.call("read", str(tmp_path / "b.txt"))
    with PROGRAM.session(permissions=permissions) as session:
        assert len(session.call("read", str(tmp_path / "b.txt"))) == 11


TAKES = concerto.compile("""
struct Named { name: String }
pub fn text(s: String) -> Int { s.len() }
pub fn octets(b: Bytes) -> Int { b.len() }
pub fn any(a: Any) -> String { typeof(a) }
pub fn named(n: Named) -> Int { n.name.len() }
pub fn asked() -> Result<String, EmitError> { let answer: String = await emit("ask")?; Ok(answer) }
""")


@pytest.mark.parametrize(
    ("function", "value", "place"),
    [
        ("text", "a" * (SIXTEEN_MIB + 1), "'s' of text"),
        ("text", "€" * (SIXTEEN_MIB // 3) + "aa", "'s' of text"),
        ("octets", b"a" * (SIXTEEN_MIB + 1), "'b' of octets"),
        ("any", ["", "a" * (SIXTEEN_MIB + 1)], "'a' of any, at [1]"),
        ("any", concerto.ErrorValue("ToolError", None, "a" * (SIXTEEN_MIB + 1)), "'a' of any"),
        ("named", {"name": "a" * (SIXTEEN_MIB + 1)}, "'n' of named, at name"),
    ],
)
def test_what_a_host_gives(function: str, value: Any, place: str) -> None:
    message = f"argument {place}: {SIXTEEN_MIB + 1} bytes; a value of a program has at most {SIXTEEN_MIB}"
    with TAKES.session() as session, pytest.raises(TypeError) as caught:
        session.call(function, value)
    assert str(caught.value) == message
    with TAKES.session(budgets=budget(SIXTEEN_MIB + 1)) as session:
        session.call(function, value)


def test_what_a_host_gives_may_be_more_than_a_program_makes() -> None:
    with TAKES.session(budgets=budget(10)) as session:
        assert session.call("text", "a" * SIXTEEN_MIB) == session.call("octets", b"a" * SIXTEEN_MIB) == SIXTEEN_MIB


def test_an_answer_of_a_host() -> None:
    with TAKES.session() as session:
        session.on_emit("ask", lambda _: "a" * (SIXTEEN_MIB + 1))
        with pytest.raises(concerto.ProgramError, match=f"the answer on ask: {SIXTEEN_MIB + 1} bytes"):
            session.call("asked")


def test_tests_of_a_program() -> None:
    program = concerto.compile('@test("a") fn a() { assert_eq("a".repeat(11).len(), 11); }')
    assert program.test().passed == 1
    assert program.test(budgets=budget(10)).tests[0].failure == MESSAGE


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "10"])
def test_what_it_must_be(size: Any) -> None:
    with pytest.raises(ValueError, match="budget value_bytes is .*; it is an int of at least 1"):
        budget(size)
