"""Versions that keys in stores had when a session last met them (M-14.6): of the newest keys, as a session may serve millions.

Of a key that is not held the version is unknown, and nothing can be said of a store that went back. Must not know: stores, logs.
"""

from __future__ import annotations

from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .keys import Key

MOST = 10_000


class MetVersions:
    __slots__ = ("_versions",)

    def __init__(self) -> None:
        self._versions: OrderedDict[Key, int] = OrderedDict()

    def meet(self, key: Key, version: int) -> None:
        self._versions[key] = version
        self._versions.move_to_end(key)
        if len(self._versions) > MOST:
            self._versions.popitem(last=False)

    def forget(self, key: Key) -> None:
        self._versions.pop(key, None)

    def version(self, key: Key) -> int:
        """0 when it is unknown."""
        return self._versions.get(key, 0)
