"""The garbage collector during a compilation, and after it (V-8.7)."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from concerto.compiler import collector
from concerto.compiler.collector import gc_pause
from concerto.compiler.pipeline import compile_source

PROGRAM = b"mod other;\nfn main() { emit(\"n\", other::number()); }\n"
OTHER = b"pub fn number() -> Int { 1 }\n"


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    gc.unfreeze()  # `conftest.py` has frozen, and some versions of CPython freeze what they start with
    gc.enable()
    monkeypatch.setattr(collector, "_collector", collector._Collector())
    yield
    gc.collect()
    gc.freeze()
    gc.enable()


def test_it_rests_while_a_program_is_compiled_and_works_again_behind_it() -> None:
    seen = []

    def read(name: str) -> bytes | None:
        seen.append(gc.isenabled())
        return OTHER if name == "other.conc" else None

    assert compile_source(PROGRAM, "main.conc", read=read).image is not None
    assert seen and not any(seen)
    assert gc.isenabled()


def test_it_works_again_when_a_compilation_is_broken_off() -> None:
    def read(name: str) -> bytes | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_source(PROGRAM, "main.conc", read=read)
    assert gc.isenabled()


def test_a_caller_who_stopped_it_finds_it_stopped() -> None:
    gc.disable()
    with gc_pause():
        pass
    assert not gc.isenabled()


def test_the_last_of_overlapping_compilations_wakes_it() -> None:
    first, second = ExitStack(), ExitStack()
    first.enter_context(gc_pause())
    second.enter_context(gc_pause())
    first.close()
    assert not gc.isenabled()
    second.close()
    assert gc.isenabled()


def test_what_a_caller_froze_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with gc_pause():
        pass
    assert gc.get_freeze_count() >= frozen > 0


def test_what_is_frozen_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python counts by a walk over all that is frozen: in a large process longer than a small program compiles."""
    counts, count = [], gc.get_freeze_count

    def noted() -> int:
        counts.append(count())
        return counts[-1]

    monkeypatch.setattr(gc, "get_freeze_count", noted)
    gc.freeze()
    for _ in range(3):
        with gc_pause():
            pass
    assert len(counts) == 1 and counts[0] > 0


class _Knot:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_of_compilations_is_collected_when_there_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "FULL_AFTER", 1_000)
    gc.collect()
    with gc_pause():
        for _ in range(2_000):
            _Knot()
    assert len([found for found in gc.get_objects() if type(found) is _Knot]) == 2_000
    with gc_pause():
        assert not [found for found in gc.get_objects() if type(found) is _Knot]


def test_a_collection_of_somebody_else_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "FULL_AFTER", 1_000)
    with gc_pause():
        kept = [[number] for number in range(2_000)]
    gc.collect()
    before = gc.get_stats()[-1]["collections"]
    with gc_pause():
        assert gc.get_stats()[-1]["collections"] == before
    assert len(kept) == 2_000
