"""The answers a model's `@cache` keeps (O-1.59).

Hands on the final reply of an earlier call with an equal first request. Must not know: how requests are made or sent.
"""

from __future__ import annotations

from .schema.json_text import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .records import Reply, Request

DEFAULT_TTL_SECONDS = 300


class ReplyCache:
    """One of each model instance and session (O-1.64). Time is the host's clock, in seconds."""

    __slots__ = ("_ttl", "_clock", "_kept")

    def __init__(self, arguments: Mapping[str, Any], clock: Callable[[], float]) -> None:
        self._ttl = arguments.get("ttl_seconds", DEFAULT_TTL_SECONDS)
        self._clock = clock
        self._kept: dict[str, tuple[float, Reply]] = {}

    def find(self, key: str) -> Reply | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        since, reply = kept
        if self._clock() - since > self._ttl:
            del self._kept[key]
            return None
        return reply

    def keep(self, key: str, reply: Reply) -> None:
        now = self._clock()
        # Entries stand in order of time: the expired ones are in front.
        while self._kept and now - self._kept[first := next(iter(self._kept))][0] > self._ttl:
            del self._kept[first]
        self._kept.pop(key, None)
        self._kept[key] = (now, reply)


def cache_key(request: Request) -> str:
    """The digest of a request without its id, which differs from call to call."""
    record = request.as_json()
    del record["id"]
    return digest(record)
