"""The thread that looks after runs which compute: what comes while it decides to sleep is not missed (G-6.1)."""

from __future__ import annotations

import threading
import time

import pytest
from concerto.runtime.session import watchdog


class Computing:
    """As much of a machine as the thread looks at."""

    running = None
    unwatched = False
    memory_bytes = 1 << 30
    gauge = None

    def weigh_soon(self) -> None: ...


@pytest.fixture
def dog(monkeypatch: pytest.MonkeyPatch) -> watchdog.Watchdog:
    """A thread of its own that wants to sleep after each look."""
    made = watchdog.Watchdog()
    monkeypatch.setattr(watchdog, "_watchdog", made)
    monkeypatch.setattr(watchdog, "QUIET", -1)
    return made


def test_a_deadline_that_comes_while_the_thread_falls_asleep_is_kept(
    dog: watchdog.Watchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = watchdog.Watch(Computing()), watchdog.Watch(Computing())
    expired = threading.Event()
    looked = threading.Event()
    looks: list[float] = []
    caller = threading.Thread(target=lambda: second.begin(0.05, expired.set))
    real = time.monotonic

    def slow() -> float:
        """The clock as the thread reads it: between what it saw and what it decides, another run begins."""
        if threading.current_thread().name.startswith("Dummy"):
            looks.append(real())
        if len(looks) == 2 and not looked.is_set():  # at its first one it knows that it slept
            looked.set()
            caller.start()
            time.sleep(0.1)
        return real()

    monkeypatch.setattr(watchdog, "monotonic", slow)
    dog.add(first)
    assert looked.wait(5)
    assert expired.wait(5), "the thread sleeps, and nobody looks at the deadline"
    caller.join()
    dog.remove(first)
    dog.remove(second)


def test_the_mark_is_the_memory_at_which_the_machine_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[int] = []
    now = [1000]
    machine = Computing()
    monkeypatch.setattr(machine, "weigh_soon", lambda: weighed.append(now[0]), raising=False)
    monkeypatch.setattr(watchdog, "resident", lambda: now[0])
    watch = watchdog.Watch(machine)
    watch.mark = 1001
    for now[0] in (1000, 1001, 1002):
        watch.look()
    assert weighed == [1001, 1002]
