"""A long recording is read in no more memory than a short one (G-14.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .long_recordings import READERS, recorded, taken

CALLS, PROMPT = 1_000, 20_000
MOST = 80  # MB


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    size, took = recorded(folder, CALLS, PROMPT)
    assert size > 20_000_000 and took.megabytes < MOST, (size, took)
    return folder


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("short")
    size, _ = recorded(folder, CALLS // 20, PROMPT)
    assert 1_000_000 < size < 2_000_000
    return folder


@pytest.mark.parametrize("reader", READERS)
def test_what_reads_20_mb_takes_no_more_memory_than_for_1_mb(reader: str, long: Path, short: Path) -> None:
    of_much, of_little = taken(long, *READERS[reader]), taken(short, *READERS[reader])
    assert of_much.megabytes < MOST and of_much.megabytes - of_little.megabytes < 8, (of_much, of_little)
    assert of_much.printed > 10 * of_little.printed or reader in ("trace --html", "trace --check")
