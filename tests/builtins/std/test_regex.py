"""`std::regex`: its functions, its syntax, its agreement with another engine, its cost (L-7.10, G-9.5)."""

from __future__ import annotations

import random
import re
import sys
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from concerto.vm.regex.automaton import MOST_STEPS, MOST_WALKS
from concerto.vm.regex.matcher import LEAST_STEPS, MOST_WEIGHT, Budgeted, BudgetSpent, Regex, compile_pattern
from concerto.vm.regex.program import compile_forward
from concerto.vm.regex.syntax import MOST_ANSWERS, PatternError, parse_pattern
from concerto.vm.values import Array, Err, Ok, Some, debug, limits, to_json
from concerto.vm.values.metering import exchange
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.least import least

from .conftest import call as call_library

Library = Callable[..., Any]

# ---------------------------------------------------------------- functions


def ok(library: Library, path: str, *arguments: Any) -> Any:
    found = library(f"regex::{path}", *arguments)
    assert type(found) is Ok, found
    return found.value


def test_is_match(library: Library) -> None:
    assert ok(library, "is_match", "b+", "abba") is True
    assert ok(library, "is_match", "^b", "abba") is False and ok(library, "is_match", "", "") is True


def test_quantifiers_of_many_digits(library: Library) -> None:
    """More than nine digits were the characters that they are."""
    assert ok(library, "is_match", "^a{00000000002}$", "aa") is True
    for quantifier in ("{1000000000}", "{0,10000000000000000}", "{20000000000,}"):
        found = library("regex::is_match", f"a{quantifier}", f"a{quantifier}")
        assert type(found) is Err and "more than 1000 repetitions" in debug(found)
    assert ok(library, "is_match", "^a{1000000000$", "a{1000000000") is True


def test_find(library: Library) -> None:
    found = ok(library, "find", r"(?P<k>\w)=(\d)?", "é a=1 b=")
    assert debug(found) == 'Some(RegexMatch {text: "a=1", start: 2, end: 5, groups: [Some("a"), Some("1")]})'
    assert to_json(found) == '{"text":"a=1","start":2,"end":5,"groups":["a","1"]}'
    assert debug(ok(library, "find", "x", "abc")) == "None"


def test_find_all(library: Library) -> None:
    found = ok(library, "find_all", r"(\w)=(\d)?", "a=1 b= c=3")
    assert [(m.f0, m.f1, m.f2, debug(m.f3)) for m in found.items] == [
        ("a=1", 0, 3, '[Some("a"), Some("1")]'), ("b=", 4, 6, '[Some("b"), None]'),
        ("c=3", 7, 10, '[Some("c"), Some("3")]'),
    ]  # fmt: skip
    assert [(m.f1, m.f2) for m in ok(library, "find_all", "a*", "baac").items] == [(0, 0), (1, 3), (3, 3), (4, 4)]
    assert ok(library, "find_all", "x", "abc").items == []


def test_captures(library: Library) -> None:
    assert debug(ok(library, "captures", "(a)|(b)", "xb")) == 'Some([Some("b"), None, Some("b")])'
    assert debug(ok(library, "captures", "(a)", "x")) == "None"


@pytest.mark.parametrize(
    ("pattern", "text", "replacement", "result"),
    [
        ("b", "abcb", "x", "axcx"), (r"(\w)(\d)", "a1 b2", "$2$1", "1a 2b"), (r"(?P<n>\d)", "1", "<$<n>>", "<1>"),
        ("a", "a", "$$1", "$1"),
        ("a", "a", "$$$$", "$$"), ("a", "a", "$$$0", "$a"), ("(a)|b", "ab", "[$1]", "[a][]"),
        ("", "ab", "-", "-a-b-"), ("a", "a", "$", "$"),
        ("a", "a", "$x$", "$x$"), ("a", "a", "$<n", "$<n"), ("x", "abc", "$0", "abc"), ("a", "aa", "", ""),
        ("a", "a", "$0x$0", "axa"),
        ("(.)(.)", "é𝄞", "$2$1", "𝄞é"),
    ],
)  # fmt: skip
def test_replace(library: Library, pattern: str, text: str, replacement: str, result: str) -> None:
    assert ok(library, "replace", pattern, text, replacement) == result


@pytest.mark.parametrize(
    ("replacement", "message"), [("$2", "no group 2 for `$2`: 1 groups at offset 0 of the replacement"),
    ("$1é$<m>", "no group `m` for `$<m>` at offset 3 of the replacement"),
    ("$$ $12", "no group 12 for `$12`: 1 groups at offset 3 of the replacement")]
)  # fmt: skip
def test_replacements_name_groups_that_exist(library: Library, replacement: str, message: str) -> None:
    found = library("regex::replace", "(a)", "b", replacement)
    assert type(found) is Err and found.value.message == message


def test_errors_carry_the_pattern(library: Library) -> None:
    for path, rest in (("is_match", ()), ("find", ()), ("find_all", ()), ("captures", ()), ("replace", ("x",))):
        found = library(f"regex::{path}", "(a", "text", *rest)
        assert type(found) is Err and found.value.family == "RegexError" and found.value.get("pattern") == "(a"
        assert found.value.message == "missing `)` at offset 0 of the pattern"


def test_arguments_of_other_kinds_are_mismatches(library: Library, panics: Callable[..., str]) -> None:
    for path, count in (("is_match", 2), ("find", 2), ("find_all", 2), ("captures", 2), ("replace", 3)):
        for position in range(count):
            arguments: list[Any] = ["a"] * count
            arguments[position] = 1
            assert panics(library, f"regex::{path}", *arguments) == "P007 expected String, found Int"


def test_limits(library: Library, panics: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "items", 2)
    assert panics(library, "regex::find_all", "a", "aaa").startswith("P103")
    monkeypatch.setattr(limits, "string", 50)
    assert panics(library, "regex::replace", "a", "aaa", "x" * 20).startswith("P103")


# ---------------------------------------------------------------- syntax

MATCHES = [
    ("a.c", "a\nc", None), ("(?s)a.c", "a\nc", (0, 3)), ("(?i)ÀB", "xàb", (1, 3)), ("(?i)[a-c]+", "xABC", (1, 4)),
    ("(?i)[^a]", "A", None),
    ("(?m)^b$", "a\nb\nc", (2, 3)), ("^b", "a\nb", None), ("a$", "a\n", (0, 1)), ("a$", "a\n\n", None),
    (r"a\Z", "a\n", None), (r"\Aa", "ba", None),
    (r"\d+", "a٣٤", (1, 3)), (r"\D+", "1a2", (1, 2)), (r"\w+", "-é_1-", (1, 4)), (r"\W", "aé", None),
    (r"\s", "a\u2003", (1, 2)), (r"\S+", " ab ", (1, 3)),
    (r"\bb", "a b", (2, 3)), (r"\Bb", "b ab", (3, 4)), ("[]a]+", "x]a", (1, 3)), ("[^]]", "]a", (1, 2)),
    ("[a-]+", "x-a", (1, 3)), (r"[\d-]+", "a1-2", (1, 4)),
    (r"[\b]", "a\b", (1, 2)), (r"[\w.]+", " a.b ", (1, 4)), ("a{2}", "aaa", (0, 2)), ("a{2,}", "aaaa", (0, 4)),
    ("a{,2}", "aaa", (0, 2)), ("a{1,2}?", "aa", (0, 1)),
    ("a{", "a{", (0, 2)), ("a{x}", "a{x}", (0, 4)), ("{", "{", (0, 1)),
    (r"\x41\u0042\u{43}\U00000044", "ABCD", (0, 4)), (r"\n\t\r\f\v\a\0", "\n\t\r\f\v\a\0", (0, 7)),
    (r"\.\*\[", ".*[", (0, 3)), ("(?:ab|a)c", "ac", (0, 2)), ("a|ab", "ab", (0, 1)), ("(a+)+b", "aaab", (0, 4)),
    ("a*?b", "aab", (0, 3)), ("a??", "a", (0, 0)),
    ("(?=a)b", "ab", None), ("a(?=b)", "acab", (2, 3)), ("a(?!b)", "abac", (2, 3)), ("(?<=b)a", "aba", (2, 3)),
    ("(?<!b)a", "baa", (2, 3)), ("(?<=a|b)c", "bc", (1, 2)),
    (r"(\w)\1", "abccd", (2, 4)), (r"(?P<x>.)(?P=x)", "abb", (1, 3)), (r"(?i)(a)\1", "aA", (0, 2)),
    ("(?i:a)b", "Ab", (0, 2)), ("(?i:a)b", "AB", None),
    ("(?im)^a", "b\nA", (2, 3)), ("(?i)ſ", "S", (0, 1)), ("(?i)σ", "ς", (0, 1)), ("", "abc", (0, 0)),
    ("x*", "abc", (0, 0)), ("(?:)*a", "a", (0, 1)), ("(?:^)*a", "a", (0, 1)),
    ("(|a)*", "aa", (0, 0)), ("(?:a*)*b", "aab", (0, 3)), ("(a*)+", "b", (0, 0)), ("(?i)ß", "ẞ", (0, 1)),
    (r"a\b.\bc", "a-c", (0, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text", "span"), MATCHES)
def test_syntax(pattern: str, text: str, span: Any) -> None:
    regex = Regex(pattern)
    found = regex.find(text)
    assert (None if found is None else (found[0], found[1])) == span
    assert regex.is_match(text) == (span is not None)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "missing `)`"), (")", "unmatched `)`"), ("[a", "missing `]`"), ("*a", "nothing to repeat"),
        ("a|*", "nothing to repeat"), ("^*", "nothing to repeat"),
        ("{1}", "nothing to repeat"), ("a**", "a repetition of a repetition"),
        ("a*+", "a repetition of a repetition"), ("a{3,2}", "the least number"),
        ("a{1001}", "more than 1000"), ("[b-a]", "a range that is none"), (r"[\d-a]", "a range that is none"),
        (r"\q", "unknown escape `\\q`"), ("\\", "nothing after"),
        (r"\x4", "escape of no character"), (r"\u{110000}", "escape of no character"),
        (r"\u{}", "escape of no character"), (r"\1", "no group 1 before"),
        (r"(a\1)", "group 1 is still open"), ("(?P=x)", "no group `x`"), ("(?P<1>a)", "`1` is no name"),
        ("(?P<x>a)(?P<x>b)", "two groups named"), ("(?P<x", "missing `>`"),
        ("(?<x>a)", "unknown kind of group; a named one"), ("a(?i)", "flags for the whole pattern"),
        ("(?x)a", "unknown kind of group"), ("(?<=a+)b", "look-behind needs"),
        ("(" * 60 + ")" * 60, "groups nested deeper"), ("()" * 201, "more than 200 groups"),
        ("(?:a{1000}){1000}", "the pattern is too large"), ("(?=(?=a{1000}){1000}){1000}", "the pattern is too large"),
        ("(?=a{1000})" * 10, "the pattern is too large"), ("(?<=(?:a|bc){0,1})", "look-behind needs"),
        ("(?:a*)*" * 13, "more than 12 repetitions of what may be empty"),
    ],
)  # fmt: skip
def test_what_is_no_pattern(pattern: str, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        Regex(pattern)
    assert caught.value.reason.startswith(message)


def test_what_takes_no_character_has_a_width() -> None:
    for pattern in ("(?<=(?:^)?a)b", r"(?<=(?:\b)*a)b", r"(?<=(?:\b){0,3}a)b", "(?<=(?:x*){0}a)b"):
        assert Regex(pattern).is_match("ab"), pattern


def test_a_deadline_ends_the_compilation_of_a_pattern() -> None:
    """Copies of a node that makes no instructions are not counted by the limit on these."""

    class Late(Exception):
        pass

    class Run:
        attention = True

        def attend(self) -> None:
            raise Late

        def spend(self, items: int) -> None:
            pass

        announce = spend

    tree = parse_pattern("(?:a" + "(?:)" * 900 + "){1000}").tree
    before = exchange(Run())
    try:
        with pytest.raises(Late):
            compile_forward(tree)
    finally:
        exchange(before)


@given(st.text("()[]{}|*+?^$\\.-,=!<>:PimsxabdwB01", max_size=12))
@settings(max_examples=300)
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    """Whatever the text, the answer is a Result."""
    assert type(call_library("regex::find_all", text, "ab\na1")) in (Ok, Err)


# ---------------------------------------------------------------- agreement

ATOMS = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\n", r"\b", "^", "$", "", r"\S", "[a-b ]"])
QUANTIFIERS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{1,}", "{0}"])


def patterns(advanced: bool) -> st.SearchStrategy[str]:
    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        found = (
            st.tuples(inner, inner).map("".join)
            | st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})")
            | inner.map(lambda node: f"({node})")
            | st.tuples(inner, QUANTIFIERS).map(lambda pair: f"(?:{pair[0]}){pair[1]}")
        )
        if not advanced:
            return found
        looks = st.sampled_from(["(?=", "(?!"])
        return found | st.tuples(looks, inner).map(lambda pair: f"{pair[0]}{pair[1]})") | inner.map(lambda node: rf"({node})\1")

    flags = st.sampled_from(["", "(?m)", "(?s)", "(?i)"])
    return st.tuples(flags, st.recursive(ATOMS, extend, max_leaves=8)).map("".join)


TEXTS = st.text("aab\nA ", min_size=1, max_size=9)


def compiled(pattern: str) -> tuple[re.Pattern[str], Regex]:
    try:
        return re.compile(pattern), Regex(pattern)
    except (re.error, PatternError):
        assume(False)
        raise


def slots_of(found: re.Match[str] | None) -> list[int] | None:
    return None if found is None else [at for group in range(found.re.groups + 1) for at in found.span(group)]


@given(patterns(advanced=False), TEXTS)
@settings(max_examples=400, deadline=None)
def test_both_matchers_agree_with_another_engine(pattern: str, text: str) -> None:
    other, regex = compiled(pattern)
    expected = slots_of(other.search(text))
    assert regex.find(text) == expected
    assert regex.is_match(text) == (expected is not None)
    assert Budgeted(regex, text, memory=True).next(0) == expected, "the search that remembers its failures"
    assert Budgeted(regex, text).next(0) == expected, "the search without memory"


@given(patterns(advanced=True), TEXTS)
@settings(max_examples=200, deadline=None)
def test_lookaround_and_back_references_agree_with_another_engine(pattern: str, text: str) -> None:
    assume(r"\1" not in pattern or pattern.count("(") - pattern.count("(?") == 1)
    other, regex = compiled(pattern)
    assert regex.find(text) == slots_of(other.search(text))


@given(patterns(advanced=False), TEXTS)
@settings(max_examples=200, deadline=None)
def test_all_matches_are_those_of_repeated_searches(pattern: str, text: str) -> None:
    other, regex = compiled(pattern)
    expected: list[Any] = []
    at = 0
    while at <= len(text):
        found = other.search(text, at)
        if found is None:
            break
        expected.append(slots_of(found))
        at = found.end() + (found.start() == found.end())
    assert list(regex.find_all(text)) == expected
    remembering = Budgeted(regex, text, memory=True)
    again = []
    for slots in expected:
        again.append(remembering.next(again[-1][1] + (again[-1][0] == again[-1][1]) if again else 0))
        assert again[-1] == slots


# ---------------------------------------------------------------- cost

BAD = [
    "(a+)+b", "(a*)*b", "(a|a)*b", "(a|aa)+$b", "(.*)*x", "(x+x+)+y", "([a-z]+)*\\d", "(a|b|ab)*c", "(\\w+\\s?)*!",
    "a*a*a*a*a*b", "(.*a){10}b",
    "(?i)(a+)+b", "\\b(a+)+\\b!", "a{1,50}b", "(a?){30}a{30}b", ".*.*.*=.*", "(a|b)*a(a|b){10}c", "^(a+)+$b",
    "((a+)+)+b", "(a*b?)*c",
    "(a+a+)+$b", "(a|a?)+b", "([a-z]*)*!", "(a{1,3}){1,3}(a|aa)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a|a|a|a)*b", "(aa|aaa)*b$",
    "(.|a)*b", "(?:a*)*(?:a*)*b", "a*?a*?a*?b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", BAD)
def test_bad_patterns_cost_no_more_than_the_text(pattern: str) -> None:
    """Ten times the text takes ten times as long; the bound leaves room for a busy machine."""
    text = "a" * 100_000

    def seconds() -> float:
        start = time.process_time()
        assert Regex(pattern).is_match(text) is False
        return time.process_time() - start

    assert least(seconds, 0.25) < 0.25


@pytest.mark.parametrize("pattern", [".*[^a]|a", "(a*b|a)", "(?:a|(a*)b)"])
def test_all_matches_cost_no_more_than_the_text(pattern: str) -> None:
    """Each of these looks ahead to the end of the text for every match."""

    def seconds() -> float:
        start = time.process_time()
        assert sum(1 for _ in Regex(pattern).find_all("a" * 10_000)) == 10_000
        return time.process_time() - start

    assert least(seconds, 3) < 3


@pytest.mark.parametrize("pattern", ["(?=a)(a+)+b", r"(a+)+\1b", "(?:(a+)+)(?!x)b", "(?=(a+)+b)", "(?!(a|a)*b)a*!"])
def test_the_others_end_in_an_error(library: Library, pattern: str) -> None:
    found = library("regex::is_match", pattern, "a" * 5000 + "x")
    assert type(found) is Err and found.value.message == "the pattern takes too many steps on this text"


def test_a_long_text_is_no_reason_to_fail() -> None:
    text = "word; " * 50_000
    assert len(list(Regex(r"\w+(?=;)").find_all(text))) == 50_000 > LEAST_STEPS // 16
    with pytest.raises(BudgetSpent):
        Regex("(?=w)(.+)+!").find(text)


def test_the_automaton_forgets() -> None:
    """A pattern of many states on a text that visits them all: what is remembered stays bounded, the answer right."""
    regex = Regex("(?:a|b)*a(?:a|b){12}c")
    bits = 123456789
    text = ""
    for _ in range(60_000):
        bits = (bits * 1103515245 + 12345) % 2**31
        text += "ab"[bits >> 16 & 1]
    assert regex.is_match(text) is False
    assert regex.forward.remembered <= MOST_STEPS
    assert regex.find(text + "a" + "b" * 12 + "c") is not None


DISTINCT = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))


def coins(length: int) -> str:
    chance = random.Random(1)
    return "".join(chance.choice("ab") for _ in range(length))


class Watch:
    """A run that notes how long it is not looked at, in seconds of work."""

    attention = True

    def __init__(self) -> None:
        self.last = time.process_time()
        self.worst = 0.0

    def attend(self) -> None:
        now = time.process_time()
        self.worst = max(self.worst, now - self.last)
        self.last = time.process_time()

    def spend(self, items: int) -> None:
        pass

    announce = spend


SLOW = {
    "states of many walks": ("(?:a?){1000}(?:c?){1000}(?:d?){1000}b", DISTINCT[:300], False),
    "states that are long": ("a(?:[ab]{1000}){9}c", coins(3000), False),
    "many that may begin": (f"(?:{'|'.join(DISTINCT)})(?!z)", "x" * 20_000, False),
    "many without regard to case": (f"(?i)(?:{'|'.join(map(chr, range(0x400, 0x500)))})(?!z)", DISTINCT, False),
    "many sets that may begin": (f"(?:{'|'.join(f'[^x{c}]' for c in DISTINCT)})(?!z)", "x" * 20_000, None),
    "a back reference without regard to case": (r"(?i)(a+)\1b", "a" * 20_000, None),
    "a back reference in either case": (r"(?i)(a+)\1b", "aA" * 10_000, None),
    "a long back reference": (r"(a+)\1b", "a" * 1_000_000, None),
    "short runs without a choice": ("a{900}(?!z)b", "a" * 5000, False),
    "short lookarounds": ("(?=a{900}b)", "a" * 5000, False),
    "ranges": (f"[{''.join(f'{chr(n)}-{chr(n + 1)}' for n in range(0x5000, 0xA000, 3))}]x", DISTINCT, False),
    "loops one after another": (f"(?:{'(?:(?:b?)*)' * 11}(?:{'z?' * 900})a)*c", "a" * 30, False),
}


@pytest.mark.parametrize("name", sorted(SLOW))
def test_the_run_is_looked_at_while_a_pattern_is_matched(name: str) -> None:
    """Without steps to spare the search ends (None)."""
    pattern, text, found = SLOW[name]

    def seconds() -> float:
        regex, watch = Regex(pattern), Watch()
        before = exchange(watch)
        try:
            if found is None:
                with pytest.raises(BudgetSpent):
                    regex.is_match(text)
            else:
                assert regex.is_match(text) is found
            watch.attend()
        finally:
            exchange(before)
        return watch.worst

    assert least(seconds, 0.05) < 0.05


def test_what_is_kept_of_a_pattern_is_bounded() -> None:
    regex = Regex("a(?:[ab]{1000}){9}c")
    regex.is_match(coins(3000))
    assert regex.forward.walks == sum(len(walks) for walks, *_ in regex.forward.states) <= MOST_WALKS + regex.forward.size
    sets = Regex("|".join(f"[{sign}z]" for sign in DISTINCT[:300]))
    sets.is_match(DISTINCT[300:900])
    assert sets.answers.count == sum(map(len, sets.answers.of_sets)) <= MOST_ANSWERS


def test_what_a_thread_keeps_is_bounded() -> None:
    heavy = [f"(?:a|b)*a(?:a|b){{12}}c{number}" for number in range(12)]
    text = coins(8000)
    for pattern in [*heavy, "a"]:
        compile_pattern(pattern).is_match(text)
    kept = [pattern for pattern in heavy if compile_pattern(pattern).forward.remembered]
    assert kept == heavy[-len(kept) :] and 1 < len(kept) < len(heavy), "the oldest leave first"
    assert sum(compile_pattern(pattern).weigh() for pattern in kept) <= MOST_WEIGHT


def test_failures_are_remembered_in_little_memory() -> None:
    """Choices far from one another, of a pattern of many instructions and loops."""
    pattern = f"((?:{'(?:b*)*' * 6}(?:a(?:yz|z)|a)|{'z' * 1000})*)c"
    text = "a" * 2000 + "c"
    regex = Regex(pattern)
    tracemalloc.start()
    try:
        assert regex.find(text) == [0, 2001, 0, 2000]
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("pattern", "text", "span"),
    [("[c-ea-bb-c]+", "fabcdef", (1, 6)), ("[^b-ca-b]", "abcd", (3, 4)), ("(?i)[R-T]", "ß", None), (r"[\d\d\D]", "a", (0, 1)),
    ("(?:(?:a?){2}b?)*c", "aababc", (0, 6)),
    ("(?:(?:a?){3}(?:b?)*){2}", "aab", (0, 3))],
)  # fmt: skip
def test_sets_and_loops(pattern: str, text: str, span: Any) -> None:
    test_syntax(pattern, text, span)


def test_deep_matches_need_no_recursion() -> None:
    text = "(" * 20_000 + ")" * 20_000
    found = Regex(r"(?:(\()|(\)))+").find(text)
    assert found is not None and found[:2] == [0, 40_000]


def test_patterns_are_remembered() -> None:
    first = compile_pattern("remembered")
    assert compile_pattern("remembered") is first
    for number in range(100):
        compile_pattern(f"other{number}")
    assert compile_pattern("remembered") is not first


def test_threads_do_not_share_patterns() -> None:
    """Sessions of a process may run side by side, and a search adds to the states of its pattern."""
    patterns = [f"(a|b)*c{{{number}}}$" for number in range(90)]
    text = "ab" * 50 + "c" * 40

    def searched(_: int) -> list[Any]:
        return [compile_pattern(pattern).find(text) for _ in range(3) for pattern in patterns]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as threads:
            found = list(threads.map(searched, range(3)))
    finally:
        sys.setswitchinterval(before)
    assert found == [searched(0)] * 3
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(compile_pattern, "a").result() is not compile_pattern("a")


def test_groups_are_options(library: Library) -> None:
    (found,) = ok(library, "find_all", "(a)(b)?", "a").items
    assert type(found.f3) is Array and type(found.f3.items[0]) is Some
