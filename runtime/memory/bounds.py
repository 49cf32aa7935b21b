"""Bounds of a memory that a run computes: when the program begins, for each key, or with each memory value (M-2.14 to M-2.19).

Hands on `Bounds`, which gives the policy of a log. Must not know: logs, images, how a function is run.
"""

from __future__ import annotations

from collections import deque

from ...vm.memory_steps import BOUNDS, MADE, bound_problem
from ...vm.panics import Panic
from .entries import MAIN_BRANCH, InvalidValue, memory_key, wrong_bound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence
    from typing import Any

    from .entries import Key
    from .memory import Memory
    from .policy import Declaration, Policy
    from .stores.volatile import VolatileStore

    Given = Mapping[str, int | None]


class Bounds:
    """`written`: the bounds that are constants; `computed`: gives those of the beginning of the program; `of_key`: functions of
    the key by bound; `made`: the names of those a memory value is made with, None for a declared memory; `policy`: what the
    steps say with bounds like these. `said`: all of it as the image has it, by which two declarations are compared."""

    __slots__ = ("memory", "written", "computed", "of_key", "made", "said", "_policy", "_known")

    def __init__(
        self,
        memory: str,
        written: Given,
        policy: Callable[[Given], Policy],
        *,
        computed: Callable[[], Given] = dict,
        of_key: Mapping[str, Callable[[Any], Any]] | None = None,
        made: Sequence[str] | None = None,
        said: Any = None,
    ) -> None:
        self.memory = memory
        self.written = written
        self.computed = computed
        self.of_key = dict(of_key or {})
        self.made = made
        self.said = said
        self._policy = policy
        self._known: dict[tuple[Any, ...], Policy] = {}

    def check(self, given: Mapping[str, Any]) -> None:
        """InvalidValue for bounds that no memory has: which one, and its value."""
        problem = bound_problem({**self.written, **given})
        if problem is not None:
            raise InvalidValue(self._said(*problem))

    def _said(self, name: str, value: Any, reason: str) -> str:
        from ...vm.values import debug

        return f"`{BOUNDS[name]}` of the memory {self.memory} is {debug(value)}: {reason}"

    def at(self, names: Sequence[str], values: Key) -> Policy:
        """Of the log with these values of its key parts. MemoryFailure where a function of the key gives none."""
        if self.made is not None:
            given: dict[str, Any] = {name: value or None for name, value in zip(self.made, values[1:], strict=True)}
        else:
            given = dict(self.computed())
            for name, function in self.of_key.items():
                given[name] = self._of(name, function, dict(zip(names, values, strict=True)))
            if (problem := bound_problem({**self.written, **given})) is not None:
                raise wrong_bound(self._said(*problem), BOUNDS[problem[0]])
        return self._kept(given)

    def _of(self, name: str, function: Callable[[Any], Any], key: Mapping[str, Any]) -> Any:
        try:
            return function(key)
        except Panic as panic:
            message = f"the function of `{BOUNDS[name]}` of the memory {self.memory} failed: {panic.message}"
            raise wrong_bound(message, BOUNDS[name]) from None

    def _kept(self, given: Given) -> Policy:
        """One policy for all logs with the same bounds."""
        at = tuple(given.values())
        found = self._known.get(at)
        if found is None:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            found = self._known[at] = self._policy(given)
        return found


MOST_KEPT = 256


def key_of(number: int, made: Sequence[str], given: Given) -> Key:
    """The values of the key of a memory value: its number and its bounds, 0 for none (M-2.19)."""
    return (number, *(given.get(name) or 0 for name in made))


def is_key(made: Sequence[str], values: Sequence[Any]) -> bool:
    """Whether a memory value may have that key."""
    if len(values) != len(made) + 1 or any(type(part) is not int for part in values) or values[0] < 1:
        return False
    return bound_problem({name: value or None for name, value in zip(made, values[1:], strict=True)}) is None


def key_names(made: Sequence[str]) -> tuple[str, ...]:
    return (MADE, *made)


# ----------------------------------------------------------------
# Memory values: memories that a program makes where it runs, and that end when no handle refers to them (M-2.19 to M-2.24).
#
# Each has a number, which with its bounds is its key, so that its log stands among the volatile logs of the session and goes
# with
# them into snapshots. Hands on `MemoryValues`.


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
