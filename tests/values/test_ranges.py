"""Ranges: elements, length, membership, open ends (L-5.7.6, L-5.6.2)."""

from __future__ import annotations

import pytest
from concerto.vm.panics import Panic
from concerto.vm.values import INT_MAX, RangeValue
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(-9, 9), st.integers(-9, 9), st.booleans())
def test_elements_length_and_membership_agree(start: int, end: int, inclusive: bool) -> None:
    value = RangeValue(start, end, inclusive)
    expected = [i for i in range(-10, 11) if start <= i and (i <= end if inclusive else i < end)]
    assert list(value.span()) == expected
    assert value.length() == len(expected)
    assert [i for i in range(-10, 11) if value.contains(i)] == expected


def test_open_ends() -> None:
    assert list(RangeValue(None, 3).span()) == [0, 1, 2]
    assert list(RangeValue(INT_MAX - 1, None).span()) == [INT_MAX - 1, INT_MAX]
    assert RangeValue(None, None).length() == INT_MAX + 1
    assert list(RangeValue(INT_MAX, INT_MAX, True).span()) == [INT_MAX]


def test_only_ints_are_members() -> None:
    assert not any(RangeValue(0, 5).contains(x) for x in (1.0, True, "1", None))


def test_bounds_are_checked() -> None:
    assert list(RangeValue.checked(None, 2, False).span()) == [0, 1]
    for start, end in ((1.0, 2), (0, "2"), (True, 2)):
        with pytest.raises(Panic) as caught:
            RangeValue.checked(start, end, False)
        assert caught.value.code == "P007"
