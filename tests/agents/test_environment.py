"""The variables of a child, and the names under which their values are hidden (O-4.41, O-4.42, G-10.3)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.agents.children import Missing, environment


def running(**host: str) -> Any:
    return SimpleNamespace(
        host=SimpleNamespace(env=host), redactor=Redactor(), services=SimpleNamespace(telemetry=None)
    )


def test_a_written_value_is_hidden_under_its_owner() -> None:
    """Two may write two values for one variable, and a snapshot, which has only their names, must not mix them up."""
    run = running(PATH="/bin", USER="u", MY_TOKEN="of the host")
    assert environment(run, "One", {"MY_TOKEN": {"value": "aaaa1"}}) == {"PATH": "/bin", "MY_TOKEN": "aaaa1"}
    environment(run, "Two", {"MY_TOKEN": {"value": "bbbb2"}})
    environment(run, "Three", {"SEEN": "MY_TOKEN"})
    parts = run.redactor.parts_of("aaaa1, bbbb2, of the host")
    assert parts[1::2] == ["One.MY_TOKEN", "Two.MY_TOKEN", "MY_TOKEN"]
    assert [run.redactor.value(name) for name in parts[1::2]] == ["aaaa1", "bbbb2", "of the host"]


def test_only_values_of_secret_names_are_hidden() -> None:
    run = running(PLAIN="plain", A_KEY="hidden")
    environment(run, "my_token_server", {"HOME": {"value": "/home/u"}, "B": "PLAIN", "C_KEY": "PLAIN", "D": "A_KEY"})
    assert run.redactor.clean("/home/u plain hidden") == "/home/u <secret PLAIN> <secret A_KEY>"
    with pytest.raises(Missing, match="NONE"):
        environment(run, "a", {"E": "NONE"})
