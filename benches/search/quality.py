"""How often a passage that answers a question is among the first ten, by words, by vectors and by both.

Hands on `Question`, `questions` and `measured`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from concerto.runtime.search.index import Document, Hit, SearchIndex

from ..execution import require
from .corpus import is_answer

HERE = Path(__file__).parent
SETS = ("first", "held_out")
KINDS = ("code", "mixed", "meaning")
LABEL = "lsa"
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Question:
    kind: str
    answers: tuple[str, ...]
    text: str

    def rank_in(self, hits: list[Hit]) -> int | None:
        """The place of the first answer, from 1."""
        found = (rank for rank, hit in enumerate(hits, 1) if any(is_answer(hit.id, answer) for answer in self.answers))
        return next(found, None)


@dataclass(frozen=True, slots=True)
class Row:
    """Of one way to search: the share of questions with an answer among the first ten, by kind and of all; and
    the mean of 1 / rank."""

    name: str
    by_kind: dict[str, float]
    all: float
    reciprocal: float


def questions(name: str) -> list[Question]:
    """Return the questions of one of the SETS."""
    found = []
    for line in (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kind, answers, text = (part.strip() for part in line.split("|", 2))
            found.append(Question(kind, tuple(answer.strip() for answer in answers.split(";")), text))
    return found


def measured(passages: dict[str, str], embed: Callable[[str], bytes | None]) -> dict[str, list[Row]]:
    """By set of questions rows for words, vectors and both over one index of the passages."""
    index = SearchIndex("passages")
    vectors = {name: embed(text) for name, text in passages.items()}
    index.put([Document(name, text, "null", LABEL, vectors[name]) for name, text in passages.items()])
    require(len(index), len(passages))
    ways: dict[str, Callable[[str], list[Hit]]] = {
        "words": lambda text: index.search(text, SHOWN),
        "vectors": lambda text: index.search("", SHOWN, LABEL, embed(text)),
        "both": lambda text: index.search(text, SHOWN, LABEL, embed(text)),
    }
    return {each: [_row(name, way, questions(each)) for name, way in ways.items()] for each in SETS}


def _row(name: str, way: Callable[[str], list[Hit]], asked: list[Question]) -> Row:
    ranks = [(question.kind, question.rank_in(way(question.text))) for question in asked]
    by_kind = {kind: _share([rank for each, rank in ranks if each == kind]) for kind in KINDS}
    reciprocal = sum(1 / rank for _, rank in ranks if rank) / len(ranks)
    return Row(name, by_kind, _share([rank for _, rank in ranks]), reciprocal)


def _share(ranks: list[int | None]) -> float:
    return sum(rank is not None for rank in ranks) / len(ranks)
