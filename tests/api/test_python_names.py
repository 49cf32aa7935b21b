"""What the names of a program are called in Python (P-2.1.1)."""

from __future__ import annotations

import keyword

import pytest
from concerto.api.python_names import python_names
from hypothesis import given
from hypothesis import strategies as st

KEPT = frozenset({"aio", "session", "Session"})


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a", "a::b", "P#2"], ["a", "a_b", "P_2"]),
        (["class", "None", "match", "type", "print"], ["class_", "None_", "match", "type", "print"]),
        (["aio", "session", "Session"], ["aio_", "session_", "Session_"]),
        (["class", "class_", "class__"], ["class___", "class_", "class__"]),
        (["a_b", "a::b"], ["a_b", "a_b_"]),
        (["a::b", "a_b"], ["a_b_", "a_b"]),
        (["__init__", "__a", "_a", "_"], ["x__init__", "x__a", "_a", "_"]),
        (["x__a", "__a"], ["x__a", "x__a_"]),
        ([], []),
    ],
)
def test_names_follow_the_rule(names: list[str], found: list[str]) -> None:
    assert list(python_names(names, KEPT).values()) == found


parts = st.sampled_from(["a", "b", "class", "None", "aio", "session", "__x", "a_b", "class_", "x__x", "if", "if_"])
spelled = st.lists(parts, min_size=1, max_size=3).map("::".join)


@given(st.lists(spelled, unique=True, max_size=12))
def test_all_names_differ(names: list[str]) -> None:
    found = python_names(names, KEPT)
    assert list(found) == names and len(set(found.values())) == len(names)
    for name, python in found.items():
        assert python.isidentifier() and not keyword.iskeyword(python) and python not in KEPT and not python.startswith("__")
        if name.isidentifier() and not name.startswith("__") and not keyword.iskeyword(name) and name not in KEPT:
            assert python == name
