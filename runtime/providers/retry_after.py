"""What a server asks for by Retry-After (G-15.2): milliseconds header, then seconds, then HTTP date.

Hands on milliseconds, or None for what is absent, negative, not finite or unreadable. Must not know: policies.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_MS = 2**53  # what is longer is this long: a program is given it as an Int


def retry_after_ms(headers: Mapping[str, str], now: float) -> int | None:
    """`now` is Unix time in seconds, which an HTTP date is measured against."""
    found = _whole_ms(headers.get("retry-after-ms"), 1)
    if found is None:
        text = headers.get("retry-after")
        found = _whole_ms(text, 1000)
        if found is None and text is not None:
            found = _until(text, now)
    return found


def _whole_ms(text: str | None, factor: int) -> int | None:
    try:
        value = float(text or "") * factor
    except ValueError:
        return None
    return min(round(value), MOST_MS) if 0 <= value < float("inf") else None


def _until(date: str, now: float) -> int | None:
    from email.utils import parsedate_to_datetime

    try:
        wait = parsedate_to_datetime(date).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None
    return round(wait * 1000) if wait >= 0 else None
