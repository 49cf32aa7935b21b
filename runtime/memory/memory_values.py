"""Memory values: memories that a program makes where it runs, and that end when no handle refers to them (M-2.19 to M-2.24).

Each has a number, which with its bounds is its key, so that its log stands among the volatile logs of the session and goes with
them into snapshots. Hands on `MemoryValues`. Must not know: stores in files, calls.
"""

from __future__ import annotations

from collections import deque

from .bounds import key_of
from .keys import MAIN_BRANCH, memory_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Any

    from .declaration import Declaration
    from .keys import Key
    from .memory import Memory
    from .stores.volatile import VolatileStore


class Life:
    """What the handles of one memory value share. Its log is given up some time after it has gone, at a moment when nobody
    looks through the logs. `branches`: those that were made."""

    __slots__ = ("declared", "key", "memory", "store", "branches", "_ended", "__weakref__")

    def __init__(self, declared: Declaration, key: Key, memory: Memory, store: VolatileStore, ended: deque[Any]) -> None:
        self.declared = declared
        self.key = key
        self.memory = memory
        self.store = store
        self.branches: set[str] = set()
        self._ended = ended

    def __del__(self) -> None:
        self._ended.append((self.store, self.key, self.branches))


class MemoryValues:
    """Those of one session. `last`: the number that was given last."""

    __slots__ = ("last", "lives", "_ended")

    def __init__(self) -> None:
        self.last = 0
        self.lives: MutableMapping[Key, Life] = {}
        """Those that have not ended, by their keys; empty before the first."""
        self._ended: deque[tuple[VolatileStore, Key, set[str]]] = deque()

    def new_key(self, namespace: str, declared: Declaration, given: Mapping[str, int | None]) -> Key:
        assert declared.bounds is not None and declared.bounds.made is not None
        self.last += 1
        return memory_key(namespace, declared.name, key_of(self.last, declared.bounds.made, given))

    def live(self, declared: Declaration, memory: Memory, store: VolatileStore) -> Life:
        """The life of the value whose memory that is: from now on, or already."""
        if type(self.lives) is dict:
            from weakref import WeakValueDictionary  # which a program that makes none does not load

            self.lives = WeakValueDictionary()
        found = self.lives.get(memory.key)
        if found is None:
            found = self.lives[memory.key] = Life(declared, memory.key, memory, store, self._ended)
            self.last = max(self.last, int(memory.key[2]))
        return found

    def give_up(self) -> None:
        """The logs of values that have gone. A life that has the same key since is of a state that was restored."""
        while self._ended:
            store, key, branches = self._ended.popleft()
            now = self.lives.get(key)
            if now is None or now.store is not store:
                store.give_up([key, *((*key[:-1], branch) for branch in branches)])

    def sweep(self, store: VolatileStore, names: set[str]) -> None:
        """Logs of no value, which a state or the snapshots before it tell of."""
        main = {key: life for key, life in self.lives.items() if life.store is store}
        gone = []
        for key in store.logs:
            if key[1] in names:
                self.last = max(self.last, int(key[2]))  # snapshots before may tell of it: no other value gets its number
                life = main.get((*key[:-1], MAIN_BRANCH))
                if life is None:
                    gone.append(key)
                elif key[-1] != MAIN_BRANCH:
                    life.branches.add(str(key[-1]))
        store.give_up(gone)
