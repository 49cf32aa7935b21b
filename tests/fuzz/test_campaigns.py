"""A few seconds of every fuzzer, with a seed that no run had before; CONCERTO_FUZZ_SEED repeats one."""

from __future__ import annotations

import random

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode.image import K_BUILTIN

from .campaign import Campaign, all_campaigns, fresh_seed
from .image_mutation import CALLED, HOSTED, other_constant


@pytest.mark.parametrize("campaign", all_campaigns(), ids=lambda campaign: campaign.name.replace(" ", "-"))
def test_a_fresh_seed(campaign: Campaign) -> None:
    seed = fresh_seed()
    print(f"seed {seed}")  # pytest shows it with a failure
    campaign.run(seed, campaign.small)


def test_built_ins_are_exchanged_for_those_of_as_many_arguments() -> None:
    """Whether or not a program has named them before: the tables of the verifier hold only what somebody has asked for."""
    image = compile_source(b"fn main() {}", "main.conc").image
    assert image is not None
    of_the_host, computed = ((K_BUILTIN, ["std::time", "sleep"]), (K_BUILTIN, ["std::math", "sqrt"]))
    rng = random.Random(1)
    for constant, table in ((of_the_host, HOSTED), (computed, CALLED)):
        seen: set[tuple[str, ...]] = set()
        for _ in range(400):
            image.constants = [constant]
            other_constant(image, rng)
            kind, value = image.constants[0]
            if kind == K_BUILTIN:
                seen.add(tuple(value))
        assert len(seen) > 10 and {table.get(name) for name in seen} == {1}
