"""Prices that providers publish, for models the program names none of (O-1.136): the package genai-prices, the extra `prices`.

They are looked up by the address of the endpoint, so that a model of the same name elsewhere has no price from them. The package
is loaded with the first request that asks; without it nothing has a published price. Must not know: budgets, what a call is.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@cache
def _package() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def list_price(
    address: str | None, model: str, tokens_in: int, tokens_out: int, cached: int = 0, cache_write: int = 0
) -> float | None:
    """The cost of a request at an endpoint; None where nobody publishes one. Counts as in `metrics.price`."""
    prices = _package() if address is not None else None
    if prices is None:
        return None
    cached = min(cached, tokens_in)
    cache_write = min(cache_write, tokens_in - cached)
    usage = prices.Usage(
        input_tokens=tokens_in, cache_read_tokens=cached, cache_write_tokens=cache_write, output_tokens=tokens_out
    )
    try:
        return float(prices.calc_price(usage, model_ref=model, provider_api_url=address).total_price)
    except (LookupError, ValueError, ArithmeticError):  # no such provider or model, or counts that it does not take
        return None
