"""The questions of `benches/search` ask for passages that the documents have."""

from __future__ import annotations

import pytest

from benches.search.corpus import is_answer, passages
from benches.search.quality import KINDS, SETS, questions


@pytest.mark.parametrize("name", SETS)
def test_each_question_has_an_answer(name: str) -> None:
    there = passages()
    asked = questions(name)
    assert {question.kind for question in asked} == set(KINDS)
    assert len({question.text for question in asked}) == len(asked)
    for question in asked:
        assert question.answers
        for answer in question.answers:
            assert any(is_answer(passage, answer) for passage in there), answer
