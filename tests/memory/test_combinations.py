"""The laws over combinations: generated programs (M-12.24, M-12.25, M-12.26) and lists of views (M-12.21)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ..fuzz.campaign import fresh_seed
from .combinations import check, drawn
from .listed_views import lists

ON_EACH = {"volatile": 10, "sqlite": 8, "postgres": 3, "redis": 5}


def test_requests_readings_and_dumps_are_those_of_plain_lists(open_store, tmp_path: Path) -> None:
    """M-12.24"""
    seed = fresh_seed()
    print(f"seed {seed}")
    rng = random.Random(seed)
    for number in range(ON_EACH[open_store.kind]):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(drawn(rng), open_store.kind, open_store, folder)


@pytest.mark.parametrize("count", [400])
def test_lists_of_views_show_their_union_in_order(count: int) -> None:
    """M-12.21"""
    seed = fresh_seed()
    print(f"seed {seed}")
    assert lists(seed, count)["shown"] > count
