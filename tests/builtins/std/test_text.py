"""`std::fmt`, `std::string`, `std::prompt`, `std::url` (L-7.5, L-7.8, L-7.9.3, L-7.9.4, L-7.13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.builtins import METHODS
from concerto.vm.values import Array, Map, Some, debug, limits
from hypothesis import given
from hypothesis import strategies as st

from .conftest import call as call_library

Library = Callable[..., Any]


CASES = [
    ("fmt::format", ("{} and {}", Array([1, "b"])), "1 and b"), ("fmt::format", ("{} {}", Array([1])), "1 {}"),
    ("fmt::format", ("{}", Array([1, 2])), "1"), ("fmt::format", ("no", Array([1])), "no"),
    ("fmt::format", ("{}", Array([])), "{}"),
    ("fmt::format", ("{{}}", Array(["{}"])), "{{}}"), ("fmt::format", ("{}{}", Array(["{}", "x"])), "{}x"),
    ("fmt::format", ("", Array([])), ""),
    ("fmt::pad_left", ("a", 3), "  a"), ("fmt::pad_left", ("a", 3, "xy"), "xxa"),
    ("fmt::pad_left", ("a", 3, ""), "  a"),
    ("fmt::pad_left", ("abc", 2), "abc"), ("fmt::pad_left", ("é", 2, "𝄞"), "𝄞é"), ("fmt::pad_left", ("a", -1), "a"),
    ("fmt::pad_right", ("a", 3), "a  "), ("fmt::pad_right", ("a", 3, "xy"), "axx"),
    ("fmt::pad_right", ("abc", 3), "abc"),
    ("fmt::truncate", ("aé𝄞b", 3), "aé𝄞"), ("fmt::truncate", ("a", 5), "a"), ("fmt::truncate", ("a", -1), ""),
    ("fmt::indent", ("a\nb", 2), "  a\n  b"), ("fmt::indent", ("a\n\nb\n", 1), " a\n \n b\n"),
    ("fmt::indent", ("", 2), ""),
    ("fmt::indent", ("\n", 2), "  \n"), ("fmt::indent", ("a", -3), "a"),
    ("fmt::debug", (Some("a\n"),), 'Some("a\\n")'), ("fmt::debug", (1.0,), "1.0"),
    ("string::join", (Array([1, "a", Some(2)]), "-"), "1-a-Some(2)"), ("string::join", (Array([]), "-"), ""),
    ("prompt::template", ("hi ${a} {{b}}", Map({"a": 1, "b": "x"})), "hi 1 x"),
    ("prompt::template", ("${a} {{a}} $a {a} ${b} {{b}}", Map({"a": "A"})), "A A $a {a} ${b} {{b}}"),
    ("prompt::template", ("${a}", Map({"a": "${b}{{b}}", "b": "no"})), "${b}{{b}}"),
    ("prompt::template", ("${${a}}", Map({"a": "x"})), "${x}"),
    ("prompt::template", ("{{{a}}}", Map({"a": "x", "{a": "y"})), "y}"),
    ("prompt::template", ("${a", Map({"a": "x"})), "${a"),
    ("prompt::template", ("${}{{}}", Map({"": "e"})), "ee"), ("prompt::template", ("${a b}", Map({"a b": 1.0})), "1"),
    ("prompt::template", ("${1}", Map({1: "x"})), "${1}"), ("prompt::template", ("", Map({})), ""),
    ("prompt::template", ("{{a}", Map({"a": 1})), "{{a}"),
    ("prompt::template", ("${a}}${a}", Map({"a": 1})), "1}1"),
    ("prompt::template", ("{${a}{{{a}}", Map({"a": 1})), "{1{1"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "arguments", "result"), CASES)
def test_functions(library: Library, path: str, arguments: Any, result: str) -> None:
    assert library(path, *arguments) == result


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 2), ("a b", 3), ("a b c", 4), (" a\n\tb ", 3), ("é\u2003ü", 3),
    ("a\x1cb", 2), ("é\x1cb", 2)]
)
def test_count_tokens(library: Library, text: str, count: int) -> None:
    assert library("prompt::count_tokens", text) == count == library("prompt::count_tokens", text, "unknown")


@given(st.lists(st.sampled_from(["${", "}", "{{", "}}", "a", "b", "ab", " "]), max_size=12).map("".join))
def test_template_is_one_pass_from_left_to_right(text: str) -> None:
    known = {"a": "<A>", "ab": "<AB>"}
    expected = ""
    at = 0
    while at < len(text):
        for opening, closing in (("${", "}"), ("{{", "}}")):
            end = text.find(closing, at + 2)
            if text.startswith(opening, at) and end >= 0 and text[at + 2 : end] in known:
                expected += known[text[at + 2 : end]]
                at = end + len(closing)
                break
        else:
            expected += text[at]
            at += 1
    assert call_library("prompt::template", text, Map(dict(known))) == expected


def test_a_template_of_openings_costs_little(library: Library) -> None:
    text = "${{" * 30_000 + "}" * 10
    assert library("prompt::template", text, Map({"k" * 1000: 1})) == text


def test_string_functions_are_the_methods(library: Library) -> None:
    arguments: dict[str, tuple[Any, ...]] = {
        "contains": ("b",), "starts_with": ("a",), "ends_with": ("c",), "split": (" ",), "replace": ("b",
        "x"), "substring": (1, 3),
        "repeat": (2,),
    }  # fmt: skip
    names = "len trim trim_start trim_end to_upper to_lower contains starts_with ends_with split replace substring repeat reverse"
    for name in f"{names} parse_int parse_float".split():
        given_arguments = arguments.get(name, ())
        for text in (" a b c ", "42"):
            expected = METHODS["String", name].body(text, *given_arguments)
            assert debug(library(f"string::{name}", text, *given_arguments)) == debug(expected)


def test_arguments_of_other_kinds_are_mismatches(library: Library, panics: Callable[..., str]) -> None:
    wrong = [
        ("fmt::format", (1, Array([]))), ("fmt::format", ("", "a")), ("fmt::pad_left", ("a", "3")),
        ("fmt::pad_right", (1, 3)),
        ("fmt::pad_left", ("a", 3, 1)), ("fmt::truncate", ("a", 1.0)), ("fmt::indent", ("a", None)),
        ("string::len", (None,)),
        ("string::join", ("a", ",")), ("string::join", (Array([]), 1)), ("string::contains", ("a", 1)),
        ("prompt::template", ("a", Array([]))),
        ("prompt::template", (1, Map({}))), ("prompt::count_tokens", (1,)), ("prompt::count_tokens", ("a", 1)),
    ]  # fmt: skip
    for path, arguments in wrong:
        assert panics(library, path, *arguments).startswith("P007 expected"), path


def test_sizes_are_known_before_the_work(library: Library, panics: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert panics(library, "fmt::pad_left", "a", 2**62).startswith("P103")
    assert panics(library, "fmt::pad_right", "a", 2**62, "é").startswith("P103")
    assert panics(library, "fmt::indent", "a\nb", 2**62).startswith("P103")
    monkeypatch.setattr(limits, "string", 100)
    big = "x" * 60
    assert panics(library, "fmt::format", "{}{}", Array([big, big])).startswith("P103")
    assert panics(library, "fmt::indent", "a\n" * 30, 3).startswith("P103")
    assert panics(library, "prompt::template", "${a}${a}", Map({"a": big})).startswith("P103")
    assert panics(library, "string::join", Array([big, big]), "").startswith("P103")


# ---------------------------------------------------------------- std::url

BASE = "http://a/b/c/d;p?q"
JOINED = [
    # RFC 3986, section 5.4
    (BASE, "g:h", "g:h"), (BASE, "g", "http://a/b/c/g"), (BASE, "./g", "http://a/b/c/g"), (BASE, "g/", "http://a/b/c/g/"),
    (BASE, "/g", "http://a/g"), (BASE, "//g", "http://g"), (BASE, "?y", "http://a/b/c/d;p?y"),
    (BASE, "g?y", "http://a/b/c/g?y"), (BASE, "#s", "http://a/b/c/d;p?q#s"), (BASE, "g?y#s", "http://a/b/c/g?y#s"),
    (BASE, ";x", "http://a/b/c/;x"), (BASE, "g;x?y#s", "http://a/b/c/g;x?y#s"), (BASE, "", "http://a/b/c/d;p?q"),
    (BASE, ".", "http://a/b/c/"), (BASE, "..", "http://a/b/"), (BASE, "../..", "http://a/"), (BASE, "../../g", "http://a/g"),
    (BASE, "../../../../g", "http://a/g"), (BASE, "/./g", "http://a/g"), (BASE, "/../g", "http://a/g"),
    (BASE, "g.", "http://a/b/c/g."), (BASE, "..g", "http://a/b/c/..g"), (BASE, "./g/.", "http://a/b/c/g/"),
    (BASE, "g;x=1/../y", "http://a/b/c/y"), (BASE, "g?y/../x", "http://a/b/c/g?y/../x"),
    (BASE, "g#s/../x", "http://a/b/c/g#s/../x"), (BASE, "http:g", "http:g"),
    # without a host, without a path, with what is no host
    ("x:a/b", "../../c", "x:/c"), ("x:a/b", "c", "x:a/c"), ("mailto:a", "b", "mailto:b"), ("x:", "./..", "x:"),
    ("x:/a", ".//b", "x:/.//b"), ("http://a", "b", "http://a/b"), ("http://a/b#c", "?", "http://a/b?"),
    ("HTTP://a/b", "../", "http://a/"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "reference", "whole"), JOINED)
def test_references_lead_where_the_standard_says(library: Library, base: str, reference: str, whole: str) -> None:
    assert library("url::join", base, reference) == whole


@pytest.mark.parametrize(
    ("base", "reference"),
    [("hello", "x"), ("", ""), ("http://a b", "c"), ("http://a", "b c"), ("http://a/%zz", "?q"), ("http://a", "%"),
    ("http://a:b", "c"), ("http://a", "//[b"), ("http://a", "1b:c"), ("http://a", ":c"), ("/a", "http://b")],
)  # fmt: skip
def test_what_is_no_url_is_not_joined(library: Library, panics: Callable[..., str], base: str, reference: str) -> None:
    assert panics(library, "url::join", base, reference).startswith("P013 no URL")


def test_hosts(library: Library, panics: Callable[..., str]) -> None:
    def build(host: str) -> tuple[Any, ...]:
        return "http", host, "", Map({}), None, ""

    for host in ("a", "a_b.example", "1.2.3.4", "bücher.example", "[::1]", "[v1.x:y]", "[::ffff:1.2.3.4]"):
        assert library("url::build", *build(host)) == f"http://{host}"
        assert library("url::parse", f"http://{host}:1/").value.f3 == 1
    assert library("url::build", *build("::1")) == "http://[::1]"
    wrong = "a<b a>b a\"b a{b a|b a^b a`b a:b [::1 ::1] [a] [] [v.x] [vx.y] [v1.] : a] a[b ℀ x\u00a0y %41 1:2"
    for host in [*wrong.split(" "), "fe80::1%eth0", "[::1%25a]"]:
        assert panics(library, "url::build", *build(host)).startswith("P013 no host of a URL"), host
