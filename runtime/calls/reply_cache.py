"""The replies that a model's `@cache` keeps, so that an equal call of the same model is answered without a request (O-1.59).

Hands on `ReplyCache`, which a model instance owns (`effects/models.py`), and `cache_key`, by which a call (`call.py`) looks its
first request up. Which replies are cached is decided in `call.py`. The cache is in the memory of the process alone, and only the
time bounds it, not the number of replies.
"""

from __future__ import annotations

from ...vm.declaration_fields import DECORATORS
from ..schema.lenient_json import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..records import Reply, Request

DEFAULT_TTL_SECONDS = DECORATORS["cache"].arguments["ttl_seconds"].default


class ReplyCache:
    """The cache of one model instance in one session (O-1.64). `arguments` are those of `@cache` by name; `clock` gives seconds.
    A reply is found for `ttl_seconds` after it was stored, DEFAULT_TTL_SECONDS where `arguments` has none. A key is what
    `cache_key` returns; the reply itself is stored and returned, no copy."""

    __slots__ = ("_ttl", "_clock", "_entries")

    def __init__(self, arguments: Mapping[str, Any], clock: Callable[[], float]) -> None:
        self._ttl = arguments.get("ttl_seconds", DEFAULT_TTL_SECONDS)
        self._clock = clock
        self._entries: dict[str, tuple[float, Reply]] = {}  # in the order of their times

    def find(self, key: str) -> Reply | None:
        """Return the reply stored under a key, None when there is none or it has expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        since, reply = entry
        if self._clock() - since > self._ttl:
            del self._entries[key]
            return None
        return reply

    def store(self, key: str, reply: Reply) -> None:
        """Store a reply, in place of one with the same key, and remove those that have expired."""
        now = self._clock()
        while self._entries and now - self._entries[first := next(iter(self._entries))][0] > self._ttl:
            del self._entries[first]
        self._entries.pop(key, None)  # a key that is written again moves to the end
        self._entries[key] = (now, reply)


def cache_key(request: Request) -> str:
    """Return the digest of a request's record (SHA-256, hexadecimal) without its id, which differs from call to call: requests
    whose records are equal in all else have the same key. Raises as `digest`."""
    record = request.as_json()
    del record["id"]
    return digest(record)
