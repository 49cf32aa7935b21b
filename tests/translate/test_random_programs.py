"""Both tiers agree on programs by chance about arrays, structs in them, maps and bounds (V-7.3, V-7.5)."""

from __future__ import annotations

import pytest

from .random_programs import program
from .tiers import observed


@pytest.mark.parametrize("seed", range(16))
def test_both_tiers_agree(seed: int) -> None:
    source = program(seed)
    expected = observed(source, "interp", steps=3_000_000)
    assert observed(source, "both", steps=3_000_000) == expected
    if expected[1] is None or "P101" not in expected[1][0]:
        assert observed(source, "both", counted=False)[:2] == expected[:2]
