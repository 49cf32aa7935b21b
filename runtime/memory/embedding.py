"""Vectors of texts for recall (M-10.16): asked of an embedder before they are needed, known while they are used.

Asking may wait and may fail; ranking only looks at what is known, so that it stays plain. A fact that lacks its vector gets it
with a later commit. Hands on `Embedding`, `similarity`. Must not know: connections, memories.
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
    from typing import Protocol

    from .facts import Fact

    class Embedder(Protocol):
        """Of a host. `baseline`: the cosine of texts that have nothing to do with each other."""

        baseline: float

        def embed(self, texts: list[str]) -> list[list[float]]: ...

BASELINE = 0.2
KNOWN = 4_096
AT_ONCE = 16


class Embedding:
    """One embedder of a session. `label` names it and its model: vectors of another one are none of its.

    `ask` gives one vector per text, and raises whatever it likes; `report` is told why, once per reason.
    """

    __slots__ = ("label", "baseline", "_ask", "_report", "_known", "_reported")

    def __init__(
        self,
        label: str,
        ask: Callable[[list[str]], Awaitable[Sequence[Sequence[float]]]],
        report: Callable[[str], object],
        baseline: float = BASELINE,
    ) -> None:
        self.label = label
        self.baseline = baseline
        self._ask = ask
        self._report = report
        self._known: dict[str, bytes] = {}
        self._reported: set[str] = set()

    def known(self, text: str) -> bytes | None:
        return self._known.get(text)

    async def fill(self, texts: Iterable[str]) -> None:
        """Asks for those not known. What fails stays unknown."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        try:
            for at in range(0, len(missing), AT_ONCE):
                some = missing[at : at + AT_ONCE]
                vectors = [packed(vector) for vector in await self._ask(some)]
                for text, vector in list(zip(some, vectors, strict=True)):
                    self._know(text, vector)
        except Panic:  # of a budget, which ends the run
            raise
        except Exception as error:
            reason = getattr(error, "message", None) or exception_text(error)
            if reason not in self._reported:
                self._reported.add(reason)
                self._report(f"the embedder {self.label} failed: {reason}; recall does without it")

    def _know(self, text: str, vector: bytes) -> None:
        if len(self._known) >= KNOWN:
            del self._known[next(iter(self._known))]
        self._known[text] = vector

    def with_vector(self, fact: Fact, tier: str = PERSISTENT) -> Fact:
        """Itself, or one with the vector that is known by now. `tier`: of the facts that have vectors."""
        vector = self.known(fact.text) if fact.tier == tier and not self.has_vector(fact) else None
        if vector is None:
            return fact
        made = fact.changed()
        made.vector = (self.label, vector)
        return made

    def has_vector(self, fact: Fact) -> bool:
        return fact.vector is not None and fact.vector[0] == self.label

    def relevance(self, query: bytes | None, fact: Fact) -> float:
        """r_v of M-10.10."""
        if query is None or fact.vector is None or fact.vector[0] != self.label:
            return 0.0
        near = (similarity(query, fact.vector[1]) - self.baseline) / (1 - self.baseline)
        return min(1.0, max(0.0, near))


def packed(vector: Sequence[float]) -> bytes:
    """Of length 1, so that a product is a cosine; the precision of every store is that of 32 bits."""
    length = sum(part * part for part in vector) ** 0.5
    if not 0 < length < float("inf"):
        raise ValueError("it gave a vector without a direction")
    made = array("f", [part / length for part in vector])
    return _little_endian(made).tobytes()


def similarity(one: bytes, other: bytes) -> float:
    """The cosine; 0 for vectors of different models."""
    if len(one) != len(other):
        return 0.0
    return float(sum(map(mul, floats_of(one), floats_of(other))))


def floats_of(held: bytes) -> array[float]:
    made = array("f")
    made.frombytes(held)
    return _little_endian(made)


def _little_endian(made: array[float]) -> array[float]:
    from sys import byteorder

    if byteorder == "big":
        made.byteswap()
    return made
