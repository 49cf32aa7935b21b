"""A few seconds of every fuzzer, with a seed that no run had before; CONCERTO_FUZZ_SEED repeats one."""

from __future__ import annotations

import pytest

from .campaign import Campaign, all_campaigns, fresh_seed


@pytest.mark.parametrize("campaign", all_campaigns(), ids=lambda campaign: campaign.name.replace(" ", "-"))
def test_a_fresh_seed(campaign: Campaign) -> None:
    seed = fresh_seed()
    print(f"seed {seed}")  # pytest shows it with a failure
    campaign.run(seed, campaign.small)
