"""Sources with many things of one kind, each of which is looked up: twice the text takes at most RATIO times as long (G-5.7).

The campaign draws families and small sizes; here each stands alone, at a size at which a search through all of its lines
would show.
"""

from __future__ import annotations

import random

import pytest

from .campaign_sources import Case, measure

SIZES = {
    "errors_caught_one_by_one": 120,
    "changes_that_call_a_chain": 300,
    "operands_that_call_a_chain": 300,
    "fallbacks_in_a_row": 600,
    "memories_like_one_another": 400,
    "unknown_methods_beside_traits": 800,
    "unknown_connections": 500,
    "conversions_of_errors": 300,
    "overloads_of_one_trait": 500,
    "fields_of_a_generic_struct": 600,
    "fields_of_a_struct": 8_000,
    "calls_of_mocked_tools": 500,
    "variants_of_an_enum": 10_000,
    "traits_that_change_their_receiver": 8_000,
    "methods_of_one_trait": 3_500,
    "alternatives_behind_names": 1_000,
    "alternatives_that_bind": 2_000,
    "defaults_twice_in_one": 12,
    "names_that_lead_into_a_circle": 500,
    "recursive_patterns": 60,
    "uses_of_a_generic_struct": 500,
    "models_that_fall_back": 200,
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("family", SIZES)
def test_twice_the_text_takes_twice_the_time(family: str, seed: int) -> None:
    case = Case(random.Random(seed))
    case.names, case.work = [family], "check"
    measure(case, most=30.0, size=SIZES[family])
