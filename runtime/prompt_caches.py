"""How requests to models began, by which calls decide what a provider is to keep in its prompt cache (O-1.220).

Hands on `PromptCaches` to the host API and the host, which share one among the sessions of a process, and to the services of
calls; `calls/prompt_cache.py` asks it. It keeps no text of a message, only its digest.
"""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from .records import Msg

MOST_SEEN = 1000  # conversations whose last request is remembered


class PromptCaches:
    """How the last request of each conversation, and of each model, began. Sessions of one process share it."""

    __slots__ = ("_seen", "_lock")

    def __init__(self) -> None:
        self._seen: dict[Hashable, tuple[int, int, bool]] = {}
        self._lock = allocate_lock()

    def begins_as_before(self, key: Hashable, messages: Sequence[Msg]) -> bool:
        """Note what a request of `key` begins with, and return whether it is likely that the next one begins with the same.

        It is not when this one did not begin with what the one before it had, and that one was no better: one change is a
        summary or a window with a low mark, two in a row are a window that moves with each turn."""
        digest = _digest(messages)
        with self._lock:
            count, before, was_new = self._seen.pop(key, (0, _digest(()), False))
            is_new = len(messages) < count or before != (digest if len(messages) == count else _digest(messages[:count]))
            self._seen[key] = len(messages), digest, is_new
            if len(self._seen) > MOST_SEEN:
                del self._seen[next(iter(self._seen))]
        return not (is_new and was_new)


def _digest(messages: Sequence[Msg]) -> int:
    """Return a number that differs for other messages, almost always: a mark in the wrong place costs a little, and nothing
    else."""
    return hash(tuple([(message.role, message.content, message.call_id, len(message.media)) for message in messages]))
