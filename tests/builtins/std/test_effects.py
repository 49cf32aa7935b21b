"""`std::math`, `std::crypto`, and the payloads of what the host performs (L-7.2 to L-7.4, L-7.6, L-7.7, L-7.9)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.builtins import STD_MODULES, Row, std_module
from concerto.vm.values import INT_MAX, INT_MIN, Array, Map, ModelUsage, debug
from concerto.vm.values.objects import DateTime

Library = Callable[..., Any]
EFFECTS = [row for module in STD_MODULES for row in std_module(module).values() if row.kind == "effect"]

MATH = [
    ("abs", (-2,), "2"), ("abs", (-2.5,), "2.5"), ("min", (1, 2), "1"), ("min", (1, 2.0), "1.0"),
    ("max", (1, 2), "2"), ("max", (1.0, 2), "2.0"),
    ("max", (math.nan, 1), "NaN"), ("clamp", (5, 0, 3), "3"), ("clamp", (-5, 0, 3), "0"), ("clamp", (2, 0, 3), "2"),
    ("clamp", (2, 0.0, 3), "2.0"),
    ("clamp", (2, 0, 3.0), "2.0"), ("clamp", (9.5, 0, 3), "3.0"), ("clamp", (math.nan, 0, 3), "NaN"),
    ("clamp", (1, 1, 1), "1"),
    ("pow", (2, 10), "1024"), ("pow", (2, -1.0), "0.5"), ("pow", (2.0, 3), "8.0"), ("pow", (5, 0), "1"),
    ("floor", (-1.5,), "-2"),
    ("ceil", (-1.5,), "-1"), ("round", (-2.5,), "-3"), ("round", (2.4,), "2"), ("floor", (INT_MAX,), str(INT_MAX)),
    ("ceil", (INT_MIN,), str(INT_MIN)),
    ("round", (INT_MAX,), str(INT_MAX)), ("floor", (math.nan,), "0"), ("ceil", (1e300,), str(INT_MAX)),
    ("sqrt", (9,), "3.0"), ("sqrt", (-1.0,), "NaN"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "result"), MATH)
def test_math(library: Library, name: str, arguments: Any, result: str) -> None:
    assert debug(library(f"math::{name}", *arguments)) == result


def test_math_panics(library: Library, panics: Callable[..., str]) -> None:
    assert panics(library, "math::clamp", 1, 3, 2).startswith("P013 lower bound of `clamp`")
    assert panics(library, "math::clamp", 1, 2.5, 2).startswith("P013")
    assert panics(library, "math::pow", 2, -1).startswith("P013") and panics(library, "math::pow", 2, 63).startswith("P002")
    assert panics(library, "math::abs", INT_MIN).startswith("P002")
    for name, count in {"abs": 1, "min": 2, "max": 2, "clamp": 3, "pow": 2, "floor": 1, "ceil": 1, "round": 1, "sqrt": 1}.items():
        for position in range(count):
            arguments: list[Any] = [1] * count
            arguments[position] = "1"
            assert panics(library, f"math::{name}", *arguments) == "P007 expected Int or Float, found String", name
            arguments[position] = True
            assert panics(library, f"math::{name}", *arguments).startswith("P007"), name


def test_hashes(library: Library, panics: Callable[..., str]) -> None:
    assert library("crypto::sha256", "") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert library("crypto::sha256", "é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    assert library("crypto::md5", "abc") == "900150983cd24fb0d6963f7d28e17f72"
    for name in ("sha256", "md5"):
        assert panics(library, f"crypto::{name}", 1).startswith("P007")


USED = ModelUsage.of([1] * 10)
DAY = DateTime.of((2024, 1, 31, 0, 0, 0, 0, 60, "+01:00"))
DAY_MS = 1_706_655_600_000
PAYLOADS = [
    ("fs::read_bytes", ("p",), ("read_bytes", "p")), ("fs::write_bytes", ("p", b"x"), ("write_bytes", "p", b"x")),
    ("fs::make_dir", ("p",), ("make_dir", "p")), ("fs::remove_dir", ("p",), ("remove_dir", "p", False)),
    ("fs::temp_dir", (), ("temp_dir", "")),
    *((f"media::{kind}", ("p",), ("read_media", "p", kind)) for kind in ("image", "audio", "document")),
    ("io::read_line", (), ("read_line", None)), ("io::read_all", (), ("read_all", None)),
    ("io::read_bytes", (), ("read_bytes", None)), ("io::script", ("t",), ("script", "t")),
    ("date::of", (2024, 1, 2), ("of", [2024, 1, 2, 0, 0, 0, 0], "UTC")), ("date::from_ms", (5, "Z"), ("from_ms", 5, "Z")),
    ("date::parse", ("s",), ("parse", "s", "UTC", "")), ("date::in_zone", (DAY, "UTC"), ("from_ms", DAY_MS, "UTC")),
    ("date::add", (DAY, 1, 2, 3, 4, 5, 6, 7), ("add", [2024, 1, 31, 0, 0, 0, 0], DAY_MS, 14, 3, 14_706_007, "+01:00")),
    ("math::random", (), ("float",)), ("math::random_int", (1, 7), ("int", 1, 7)), ("crypto::uuid", (), ("uuid",)),
    ("crypto::random_bytes", (0,), ("bytes", 0)), ("time::now", (), ("now",)), ("time::now_ms", (), ("now_ms",)),
    ("time::sleep", (5,), (5,)),
    ("time::sleep", (-5,), (0,)), ("log::debug", (Array([1.0]),), ("DEBUG", "[1]")), ("log::info", ("a",),
    ("INFO", "a")),
    ("log::warn", (None,), ("WARN", "nil")), ("log::error", (1,), ("ERROR", "1")), ("env::get", ("A",),
    ("get", "A")), ("env::has", ("A",), ("has", "A")),
    ("env::require", ("A",), ("require", "A")), ("env::all", (), ("all",)), ("env::args", (), ("args",)),
    ("fs::read_file", ("p",), ("read_file", "p")),
    ("fs::write_file", ("p", "s"), ("write_file", "p", "s")), ("fs::append_file", ("p", "s"),
    ("append_file", "p", "s")),
    ("fs::remove_file", ("p",), ("remove_file", "p")), ("fs::exists", ("p",), ("exists", "p")),
    ("fs::list_dir", ("p",), ("list_dir", "p")),
    ("fs::file_size", ("p",), ("file_size", "p")), ("http::get", ("u",), ("GET", "u", None, {}, 30_000)),
    ("http::delete", ("u", Map({"a": "b"})), ("DELETE", "u", None, {"a": "b"}, 30_000)), ("http::post", ("u",),
    ("POST", "u", None, {}, 30_000)),
    ("http::post", ("u", "text"), ("POST", "u", "text", {}, 30_000)),
    ("http::put", ("u", Map({"a": 1})), ("PUT", "u", '{"a":1}', {"content-type": "application/json"}, 30_000)),
    ("http::put", ("u", Array([]), Map({"Content-Type": "x"})), ("PUT", "u", "[]", {"Content-Type": "x"}, 30_000)),
    ("http::request", ("patch", "u", 1.0, Map({}), 5),
    ("PATCH", "u", "1.0", {"content-type": "application/json"}, 5)),
    ("http::request", ("HEAD", "u"), ("HEAD", "u", None, {}, 30_000)),
    ("budget::left", (), ("left",)), ("call::context", (), ("context",)), ("usage::last", (), ("last",)),
    ("usage::spent", (), ("spent",)), ("usage::since", (USED,), ("since", USED)),
]  # fmt: skip


@pytest.mark.parametrize(("path", "arguments", "payload"), PAYLOADS)
def test_payloads(library: Library, path: str, arguments: Any, payload: Any) -> None:
    assert library(path, *arguments) == payload


def test_every_effect_has_a_payload_here() -> None:
    assert {path for path, _, _ in PAYLOADS} == {f"{row.module}::{row.name}" for row in EFFECTS}


def test_arguments_outside_the_domain(library: Library, panics: Callable[..., str]) -> None:
    for lo, hi in ((1, 1), (2, 1)):
        assert panics(library, "math::random_int", lo, hi) == f"P013 range of `random_int` is empty: {lo} to {hi}"
    assert panics(library, "crypto::random_bytes", -1).startswith("P013 number of bytes of `random_bytes`")
    assert panics(library, "crypto::random_bytes", 2**40).startswith("P103")
    assert panics(library, "http::request", "BREW", "u").startswith("P013 method of `request`")
    assert panics(library, "http::request", "GET", "u", None, Map({}), 0).startswith("P013 timeout of `request`")


CHECKED = [row for row in EFFECTS if row.module != "log" and row.parameters]


@pytest.mark.parametrize("row", CHECKED, ids=lambda r: f"{r.module}::{r.name}")
def test_arguments_of_other_kinds_are_mismatches(row: Row, panics: Callable[..., str]) -> None:
    """Each argument alone of another kind; a body may be anything."""
    right = {
        ("struct", "DateTime"): DAY, ("string",): "GET", ("int",): 1, ("bytes",): b"", ("bool",): True,
        ("map", ("string",), ("string",)): Map({}),
    }  # fmt: skip
    for position, parameter in enumerate(row.parameters):
        arguments: list[Any] = [right.get(p.type) for p in row.parameters]
        if row.name == "random_int":
            arguments = [1, 2]
        if parameter.type != ("any",):
            arguments[position] = 1.5
            assert panics(row.prepare, *arguments).startswith("P007 expected"), (row, parameter.name)


def test_headers_are_strings(library: Library, panics: Callable[..., str]) -> None:
    assert panics(library, "http::get", "u", Map({"a": 1})) == "P007 expected String, found Int"
    assert panics(library, "http::get", "u", Map({1: "a"})) == "P007 expected String, found Int"
