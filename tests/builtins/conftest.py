"""Fixtures of the built-in tests: `call`, `call_function`, and `panics`, which gives the panic an action ends in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.builtins import FUNCTIONS, KIND_OF, REQUIRED, Row, lookup
from concerto.vm.panics import Panic
from concerto.vm.values import own


def with_defaults(row: Row, arguments: tuple[Any, ...]) -> list[Any]:
    filled = [*arguments, *row.defaults[len(arguments) :]]
    assert all(argument is not REQUIRED for argument in filled), f"{row!r} lacks arguments"
    return filled


@pytest.fixture
def call() -> Callable[..., Any]:
    """A method called as the machine does it: the receiver of a *mut* method is owned first."""

    def call_method(receiver: Any, name: str, *arguments: Any) -> Any:
        row = lookup(KIND_OF[type(receiver)], name)
        assert row is not None, f"{KIND_OF[type(receiver)]}.{name}"
        return row.body(own(receiver) if row.mut else receiver, *with_defaults(row, arguments))

    return call_method


@pytest.fixture
def call_function() -> Callable[..., Any]:
    def call_global(name: str, *arguments: Any) -> Any:
        return FUNCTIONS[name].body(*with_defaults(FUNCTIONS[name], arguments))

    return call_global


@pytest.fixture
def panics() -> Callable[..., str]:
    """The text `Pnnn message` of the panic that an action must end in."""

    def run(action: Callable[..., Any], *arguments: Any) -> str:
        with pytest.raises(Panic) as caught:
            action(*arguments)
        return f"{caught.value.code} {caught.value.message}"

    return run
