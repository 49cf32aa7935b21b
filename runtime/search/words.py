"""The ranking of documents by the words of a query (O-1.241): BM25 over the tokens of M-10.8.

Hands on to `index.py` `tokens_of`, the form in which a text's words are stored, and `ranked_by_words`. A query is any of its
tokens. A token of more than half of the documents says nothing of any of them and costs the most; it is left out unless there are
only such. What `tables` raise passes through. How tokens are counted and ranked is the matter of what keeps them
(`search_file.py`, `search_database.py`).
"""

from __future__ import annotations

from ..memory.terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .search_tables import SearchTables

LONGEST = 200
"""Characters of a token that count."""
LOOKED_UP = 256
"""Different tokens of a query that are looked up, the first ones."""
ASKED_FOR = 64
POSTINGS = 20_000
"""From the rarest token on at most ASKED_FOR are taken, which stand in at most so many documents together; one in any case."""


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a text as they are stored and asked for, in order, repeated ones too."""
    return [token[:LONGEST] for token in terms(text)]


def ranked_by_words(tables: SearchTables, text: str, size: int, depth: int) -> list[int]:
    """Return the rows of the documents that have one of the words of the text that are asked for (`chosen`, of the first
    LOOKED_UP), the best `depth` of them, best first and of equals the earlier one; `size` is the number of all documents. Within
    a transaction of `tables`."""
    tokens = chosen(tables, list(dict.fromkeys(tokens_of(text)))[:LOOKED_UP], size)
    return tables.ranked(tokens, size, depth) if tokens else []


def chosen(tables: SearchTables, tokens: Sequence[str], size: int) -> dict[str, int]:
    """Return those of different tokens that are asked for, the rarest first, and how many documents have each; none that is in no
    document. One that more than half of all `size` documents have may be counted short. Within a transaction of `tables`."""
    counts = tables.counts(tokens, size // 2 + 1) if tokens else []
    counted = [(count, token) for count, token in zip(counts, tokens, strict=True) if count]
    telling = [(count, token) for count, token in counted if 2 * count <= size]
    taken: dict[str, int] = {}
    postings = 0
    for count, token in sorted(telling or counted, key=lambda pair: pair[0])[:ASKED_FOR]:
        postings += count
        if taken and postings > POSTINGS:
            break
        taken[token] = count
    return taken
