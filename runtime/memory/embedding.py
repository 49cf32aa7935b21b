"""Vectors of texts for recall, indexes of documents and `embed` (M-10.16): asked of an embedder before they are needed, and
kept.

Hands on `Embedding` (one embedder of a session) to memories, the session, its indexes (`search/session_indexes.py`) and
`calls/embedders.py`, which makes it and decides who is asked; BASELINE to that file and to `journal/border.py`, the protocol
`Embedder` to the former and to the host; and `floats_of`, the numbers of a stored vector, to `remembering.py`,
`search/vectors.py` and the performer of `embed`. To ask may wait and may fail; ranking only looks at vectors that are known, so
that it needs no event loop. A fact that lacks its vector gets it with a later commit (`vectors.py`).
"""

from __future__ import annotations

from array import array
from operator import mul

from ...vm.panics import Panic
from ..host import exception_text
from .facts import PERSISTENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from typing import Any, Protocol

    from .facts import Fact

    class Embedder(Protocol):
        """An embedder of a host. `baseline` is the cosine of texts that have nothing to do with each other, from -1 to below 1;
        it may be left out. `embed` returns one vector for each text; it may raise anything, and is called in another thread
        where asyncio runs."""

        baseline: float

        def embed(self, texts: list[str]) -> list[list[float]]: ...

BASELINE = 0.2  # the cosine of unrelated texts, unless the embedder states its own
KNOWN = 4_096  # texts whose vectors are kept
AT_ONCE = 16  # texts per request for facts, of which one may be refused
MOST_AT_ONCE = 96  # texts per request where all are wanted: every known provider takes as many


class Embedding:
    """One embedder of a session. `label` names it and its model: a vector with another label counts as none.

    `ask` gets texts and the path of the task that waits for them, returns one vector per text, and may raise anything; `report`
    is called with a text for the log, once per reason of a failure. `baseline` is the cosine of unrelated texts, below 1. Kept
    are the vectors of KNOWN texts, and as many texts that were asked for in vain; at one more the oldest is dropped.
    """

    __slots__ = ("label", "baseline", "_ask", "_report", "_known", "_failed", "_reported")

    def __init__(
        self,
        label: str,
        ask: Callable[[list[str], str | None], Awaitable[Sequence[Sequence[float]]]],
        report: Callable[[str], object],
        baseline: float = BASELINE,
    ) -> None:
        self.label = label
        self.baseline = baseline
        self._ask = ask
        self._report = report
        self._known: dict[str, bytes] = {}
        self._failed: dict[str, None] = {}  # in the order in which they are asked for again
        self._reported: set[str] = set()

    def known(self, text: str) -> bytes | None:
        """Return the vector of a text in its stored form, None when it is not known. Asks nobody."""
        return self._known.get(text)

    async def fill(self, texts: Iterable[str], task: str | None = None) -> None:
        """Ask for the vectors of texts that are not known, AT_ONCE texts at a time, those that were asked for in vain before
        last; `task` is the path of the task that waits. When the embedder fails, which is reported, those that are missing stay
        unknown; only a Panic, that of a budget, and a cancellation pass through."""
        missing = dict.fromkeys(text for text in texts if text not in self._known)
        again = [text for text in self._failed if text in missing]
        fresh = [text for text in missing if text not in self._failed]
        for at in range(0, len(fresh), AT_ONCE):
            if not await self._learned(fresh[at : at + AT_ONCE], task):
                return
        # The embedder may refuse one of these, and no other shall wait for it for ever: the first is asked for alone, and comes
        # last the next time if it fails.
        size = 1
        while again and await self._learned(again[:size], task):
            again, size = again[size:], min(2 * size, AT_ONCE)

    async def vectors(self, texts: list[str], task: str | None = None) -> list[bytes]:
        """Return the stored form of one vector for each text, those that are not known asked for MOST_AT_ONCE at a time. Raises
        what the embedder raises, and ValueError, TypeError or OverflowError where it gives what is no vector, or not one for each
        text; what came with requests before is not kept then."""
        known = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        for at in range(0, len(missing), MOST_AT_ONCE):
            part = missing[at : at + MOST_AT_ONCE]
            vectors = [packed(vector) for vector in await self._ask(part, task)]
            known.update(zip(part, vectors, strict=True))
        for text in missing:
            _keep(self._known, text, known[text])
        return [known[text] for text in texts]

    async def _learned(self, texts: list[str], task: str | None) -> bool:
        """Ask for the vectors of at most AT_ONCE texts, and return whether they came."""
        try:
            vectors = [packed(vector) for vector in await self._ask(texts, task)]
            # The list first: a wrong number of vectors must not leave half of them known.
            for text, vector in list(zip(texts, vectors, strict=True)):
                self._failed.pop(text, None)
                _keep(self._known, text, vector)
            return True
        except Panic:  # a budget is used up, which ends the run
            raise
        except Exception as error:
            reason = getattr(error, "message", None) or exception_text(error)
            if reason not in self._reported:
                self._reported.add(reason)
                self._report(f"the embedder {self.label} failed: {reason}; recall does without it")
            if len(texts) == 1:
                self._failed.pop(texts[0], None)
            for text in texts:
                if text not in self._failed:
                    _keep(self._failed, text, None)
            return False

    def in_turn(self, facts: list[Fact]) -> list[Fact]:
        """Return facts in the order in which `fill` asks for them: those whose texts were asked for in vain come last."""
        places = {text: place for place, text in enumerate(list(self._failed), 1)}  # a copy: this may run in another thread
        return sorted(facts, key=lambda fact: places.get(fact.text, 0)) if places else facts

    def with_vector(self, fact: Fact, tier: str = PERSISTENT) -> Fact:
        """Return a copy of the fact with its vector, if the fact lacks it and it is known, else the fact itself. Only facts of
        `tier` get vectors."""
        vector = self.known(fact.text) if fact.tier == tier and not self.has_vector(fact) else None
        if vector is None:
            return fact
        copy = fact.changed()
        copy.vector = (self.label, vector)
        return copy

    def has_vector(self, fact: Fact) -> bool:
        """Return whether the fact has a vector of this embedder."""
        return fact.vector is not None and fact.vector[0] == self.label

    def relevance(self, query: bytes | None, fact: Fact) -> float:
        """Return r_v of M-10.10, from 0 to 1: the cosine of the query's vector, in its stored form, and the fact's, with the
        baseline as 0. It is 0 where `query` is None or the fact has no vector of this embedder. Raises as `similarity`."""
        if query is None or fact.vector is None or fact.vector[0] != self.label:
            return 0.0
        near = (similarity(query, fact.vector[1]) - self.baseline) / (1 - self.baseline)
        return min(1.0, max(0.0, near))


def _keep(held: dict[str, Any], text: str, value: Any) -> None:
    if len(held) >= KNOWN:
        del held[next(iter(held))]
    held[text] = value


def packed(vector: Sequence[float]) -> bytes:
    """Return the stored form of a vector: scaled to length 1, so that a product is a cosine, as 32-bit floats, low byte
    first. Raises ValueError for a vector of no finite length above 0, TypeError or OverflowError for parts that are no
    numbers of a Float's range."""
    length = sum(part * part for part in vector) ** 0.5
    if not 0 < length < float("inf"):
        raise ValueError("it gave a vector without a direction")
    floats = array("f", [part / length for part in vector])
    return _little_endian(floats).tobytes()


def similarity(one: bytes, other: bytes) -> float:
    """Return the cosine of two stored vectors; 0 when their lengths differ, since they are of different models. Raises as
    `floats_of`."""
    if len(one) != len(other):
        return 0.0
    return float(sum(map(mul, floats_of(one), floats_of(other))))


def floats_of(vector: bytes) -> array[float]:
    """Return the numbers of a stored vector. Raises ValueError for bytes that are no whole 32-bit floats."""
    floats = array("f")
    floats.frombytes(vector)
    return _little_endian(floats)


def _little_endian(floats: array[float]) -> array[float]:
    from sys import byteorder

    if byteorder == "big":
        floats.byteswap()
    return floats
