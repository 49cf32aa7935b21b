"""Fixtures of the library tests: `library` calls a function of `std::` as the machine does, defaults filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.builtins import REQUIRED, std_row


def call(path: str, *arguments: Any) -> Any:
    """`math::abs` with its arguments: the result of a body, the payload of an effect."""
    module, _, name = path.partition("::")
    row = std_row(module, name)
    assert row is not None, path
    filled = [*arguments, *row.defaults[len(arguments) :]]
    assert len(filled) == len(row.parameters) and all(value is not REQUIRED for value in filled), path
    return (row.prepare or row.body)(*filled)


@pytest.fixture
def library() -> Callable[..., Any]:
    return call
