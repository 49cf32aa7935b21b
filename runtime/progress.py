"""What is known of the reply to a request on its way, for who has to say what the request has used (G-6.4).

Hands on `Came`. Must not know: providers, prices.
"""

from __future__ import annotations


class Came:
    """What is known of the reply to a request on its way. `begun`: it may have left for the provider. `told`: what the provider
    has said of its use so far, as (in, out, cached, written to a cache, reasoning), None for what it has not said, and `told_at`
    how many texts had come with that; `whole`: it was its last word."""

    __slots__ = ("begun", "texts", "told", "told_at", "whole")

    def __init__(self) -> None:
        self.begun = False
        self.texts: list[str] = []
        self.told: tuple[int | None, int | None, int, int, int] = (None, None, 0, 0, 0)
        self.told_at = 0
        self.whole = False
