"""A long text of the log leaves other threads of the host their turn (G-2.7): a timer that cancels is one."""

from __future__ import annotations

import pytest
from concerto.runtime import host


@pytest.mark.parametrize(("length", "pauses"), [(10, 0), (host.LONG_WRITE, 0), (host.LONG_WRITE + 1, 1)])
def test_a_long_write_is_followed_by_a_pause(
    length: int, pauses: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paused: list[float] = []
    monkeypatch.setattr(host.time, "sleep", paused.append)
    host.log_to_stderr("error", "x" * length)
    assert capsys.readouterr().err == f"[error] {'x' * length}\n"
    assert paused == [host.TURN_OF_OTHERS] * pauses
