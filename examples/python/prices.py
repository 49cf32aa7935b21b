"""What a shop knows in Python; `shop.conc` calls it, and lets a model call it."""

from __future__ import annotations

CENTS = {"lamp": 4900, "desk": 24900, "chair": 8900}


def price(article: str) -> int:
    """The price of an article in cents."""
    return CENTS[article.strip().lower()]


async def in_stock(article: str) -> bool:
    """Whether an article can be sent today; a real shop would ask its database here."""
    return article.strip().lower() != "desk"
