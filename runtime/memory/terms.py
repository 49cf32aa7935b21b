"""The tokens of a text that similarity and recall compare (M-10.8): words in any script.

Hands on `terms` to recall and the index of facts (`recall.py`, `remembering.py`, `fact_index.py`), the embedder of `vectors.py`,
the words of indexes (`search/words.py`) and the step `prune` (`stages.py`), which uses `jaccard` too. Indexes of documents store
tokens, and the vectors of the embedder `offline` are made of them: where tokens are made otherwise, they are no longer those that
are stored.

A text is normalised (NFKC) and case-folded; a token is a run of letters, marks, numbers, `_` and `-`. A run with `_` or `-`
also yields its pieces, and a run of nothing else is no token. In scripts written without spaces (UNSPACED), whose stretches end
a run of others, each overlapping pair of characters is a token, and so is a character that stands alone.
"""

from __future__ import annotations

import re
from unicodedata import category, name, normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


JOINERS = "_-"
RUN = re.compile("[a-z0-9_-]+")
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def terms(text: str) -> list[str]:
    """Return all tokens in the order of the text, repeated ones too; a run stands before its pieces."""
    tokens: list[str] = []
    if text.isascii():  # the same by a shorter way
        for run in RUN.findall(text.lower()):
            tokens += _spaced_terms(run)
        return tokens
    for run in _runs(normalize("NFKC", text).casefold()):
        tokens += _run_terms(run)
    return tokens


def _runs(text: str) -> Iterator[str]:
    run = ""
    for character in text:
        if character in JOINERS or category(character)[0] in "LMN":
            run += character
        elif run:
            yield run
            run = ""
    if run:
        yield run


def _run_terms(run: str) -> Iterator[str]:
    """Yield the tokens of the spaced and unspaced stretches of a run, each by its own rule."""
    spaced = ""
    unspaced = ""
    for character in run:
        if _is_unspaced(character):
            yield from _spaced_terms(spaced)
            spaced = ""
            unspaced += character
        else:
            yield from _pairs(unspaced)
            unspaced = ""
            spaced += character
    yield from _spaced_terms(spaced)
    yield from _pairs(unspaced)


def _spaced_terms(run: str) -> Iterator[str]:
    if "_" not in run and "-" not in run:
        if run:
            yield run
        return
    pieces = [piece for piece in run.replace("-", "_").split("_") if piece]
    if not pieces:
        return
    yield run
    if pieces != [run]:
        yield from pieces


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


def _is_unspaced(character: str) -> bool:
    return ord(character) >= 0x0E00 and name(character, "").startswith(UNSPACED)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard index of two sets of tokens, from 0 to 1; at least one must not be empty."""
    both = len(one & other)
    return both / (len(one) + len(other) - both)
