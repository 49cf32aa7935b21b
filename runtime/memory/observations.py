"""Observations of a key: what the rules of `learn` look at (M-10.22), numbered per topic, newest kept.

Hands on `Observation`, its JSON form, `next_number` and `surplus`. Must not know: rules, stores.
"""

from __future__ import annotations

from .facts import TRUST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

KEPT = 1_000
"""Observations of a topic that a key keeps (M-10.23)."""
FIELDS = ("topic", "n", "data", "seqs", "trust", "at")


class Observation:
    """`data` is a JSON object; `seqs` are the entries of the turn it tells of, `trust` the lowest of their origins (M-10.21).
    `shown`: what functions of rules are given for it, made once by who gives it."""

    __slots__ = (*FIELDS, "shown", "_text")

    def __init__(
        self, topic: str, n: int, data: dict[str, Any], seqs: Sequence[int] = (), trust: str = "program", at: int = 0
    ) -> None:
        self.topic = topic
        self.n = n
        self.data = data
        self.seqs = list(seqs)
        self.trust = trust
        self.at = at
        self.shown: Any = None
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The data as text, the same for the same data."""
        if self._text is None:
            from json import dumps

            self._text = dumps(self.data, sort_keys=True)
        return self._text

    @property
    def place(self) -> tuple[str, int]:
        return self.topic, self.n

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Observation) and self.as_json() == other.as_json()

    __hash__ = None  # type: ignore[assignment]


def observation_of(held: dict[str, Any]) -> Observation:
    """From its JSON form; ValueError, TypeError or KeyError for anything else."""
    made = Observation(**held)
    whole = (made.n, made.at, *made.seqs)
    if any(type(number) is not int for number in whole) or type(made.topic) is not str or type(made.data) is not dict:
        raise ValueError
    if made.trust not in TRUST or made.n < 0:
        raise ValueError
    return made


def of_topic(seen: Sequence[Observation], topic: str) -> list[Observation]:
    """By their numbers."""
    return sorted((one for one in seen if one.topic == topic), key=lambda one: one.n)


def next_number(held: Sequence[Observation]) -> int:
    """`held`: all of the topic."""
    return held[-1].n + 1 if held else 0


def surplus(held: Sequence[Observation]) -> list[tuple[str, int]]:
    """The places of those that leave when one more comes."""
    return [one.place for one in held[: max(0, len(held) + 1 - KEPT)]]
