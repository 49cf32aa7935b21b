"""Facts from outside: what `fact_of` takes of a stored or foreign JSON object, and what it refuses (M-10)."""

import pytest
from concerto.runtime.memory.facts import fact_of

SOUND = {"id": 1, "tier": "persistent", "name": "n", "content": {"any": [1]}}


def test_a_sound_fact_is_taken():
    fact = fact_of({**SOUND, "about": ["a"], "by": "M", "run": None, "rule": None, "seqs": [1], "elements": [[1, 2, 3]]})
    assert (fact.name, fact.about, fact.by, fact.c0) == ("n", ["a"], "M", 1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"about": "abc"}, {"about": [1]}, {"by": 5}, {"run": [1]}, {"rule": {}}, {"task": 3}, {"c0": True}, {"c0": 2},
        {"c0": "1"}, {"id": "1"}, {"name": None}, {"tier": "other"}, {"trust": "other"}, {"seqs": ["1"]}, {"elements":
        [[1, 2]]}, {"more": 1},
    ],
)  # fmt: skip
def test_anything_else_is_refused(wrong):
    with pytest.raises((ValueError, TypeError)):
        fact_of({**SOUND, **wrong})
