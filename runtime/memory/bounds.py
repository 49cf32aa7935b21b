"""Bounds of a memory that a run computes (M-2.14 to M-2.17), and memory values, the memories that a function makes while it
runs (M-2.18 to M-2.24).

A bound is a number of messages, turns, tokens or facts, or the weight of a view; which bounds there are says the table BOUNDS of
`vm/memory_steps.py`. Hands on `Bounds`, which returns the policy of a log at its key, and `key_names` to `from_image.py`, which
makes declarations of them (`policy.py: Declaration`); and `MemoryValues`, which numbers and ends the values of a session, to
`memories.py`. Functions of the program are called here, but how they are run is the caller's matter.
"""

from __future__ import annotations

from collections import deque

from ...vm.memory_steps import BOUNDS, MADE, bound_problem
from ...vm.panics import Panic
from .failures import InvalidValue, wrong_bound
from .keys import MAIN_BRANCH, memory_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence
    from typing import Any

    from .keys import Key
    from .memory import Memory
    from .policy import Declaration, Policy
    from .stores.volatile import VolatileStore

    BoundValues = Mapping[str, int | None]
    """Bounds by their names in an image; None for no bound."""


class Bounds:
    """The bounds of one declaration, in part computed.

    `memory`: its name, for messages. `written`: the bounds that are constants; `computed`: returns those that the beginning
    of the program has computed; `of_key`: by bound, a function of the key, which is given as a map of part to value; `made`:
    the names of the bounds that a memory value is made with, None for a declared memory; `policy`: returns the policy with
    the bounds that it is given. `said`: all of it as the image has it, by which two declarations are compared.
    """

    __slots__ = ("memory", "written", "computed", "of_key", "made", "said", "_policy", "_policies")

    def __init__(
        self,
        memory: str,
        written: BoundValues,
        policy: Callable[[BoundValues], Policy],
        *,
        computed: Callable[[], BoundValues] = dict,
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
        self._policies: dict[tuple[Any, ...], Policy] = {}

    def check(self, bounds: Mapping[str, Any]) -> None:
        """Raise InvalidValue when these bounds, together with the written ones, are none that a memory can have; the message
        names the bound and its value."""
        problem = bound_problem({**self.written, **bounds})
        if problem is not None:
            raise InvalidValue(self._message(*problem))

    def _message(self, name: str, value: Any, reason: str) -> str:
        from ...vm.values import debug

        return f"`{BOUNDS[name]}` of the memory {self.memory} is {debug(value)}: {reason}"

    def at(self, names: Sequence[str], values: Key) -> Policy:
        """Return the policy of the log with these values of its key parts, which have the names `names`. Raises
        MemoryFailure("Bound") where a function of the key panics, or what it gives is no bound (M-2.17). Of a memory value the
        key parts are its number and its bounds, 0 for none."""
        if self.made is not None:
            bounds: dict[str, Any] = {name: value or None for name, value in zip(self.made, values[1:], strict=True)}
        else:
            bounds = dict(self.computed())
            for name, function in self.of_key.items():
                bounds[name] = self._of(name, function, dict(zip(names, values, strict=True)))
            if (problem := bound_problem({**self.written, **bounds})) is not None:
                raise wrong_bound(self._message(*problem), BOUNDS[problem[0]])
        return self._policy_with(bounds)

    def is_key(self, values: Sequence[Any]) -> bool:
        """Return whether a log can have these values of its key parts. Those of a memory value are its number, which is at least
        1, and its bounds, 0 for none; a declared memory takes any."""
        if self.made is None:
            return True
        if len(values) != len(self.made) + 1 or any(type(part) is not int for part in values) or values[0] < 1:
            return False
        bounds = {name: value or None for name, value in zip(self.made, values[1:], strict=True)}
        return bound_problem({**self.written, **bounds}) is None

    def _of(self, name: str, function: Callable[[Any], Any], key: Mapping[str, Any]) -> Any:
        try:
            return function(key)
        except Panic as panic:
            message = f"the function of `{BOUNDS[name]}` of the memory {self.memory} failed: {panic.message}"
            raise wrong_bound(message, BOUNDS[name]) from None

    def _policy_with(self, bounds: BoundValues) -> Policy:
        """Return one policy object for all logs with the same bounds."""
        at = tuple(bounds.values())
        policy = self._policies.get(at)
        if policy is None:
            if len(self._policies) >= MOST_KEPT:
                self._policies.clear()
            policy = self._policies[at] = self._policy(bounds)
        return policy


# Policies that are kept; a memory with many keys may have many bounds.
MOST_KEPT = 256


# In these two `names` are the names of the bounds that the memory value is made with.


def key_of(number: int, names: Sequence[str], bounds: BoundValues) -> Key:
    """Return the key values of a memory value: its number and its bounds in the order of `names`, 0 for none (M-2.19)."""
    return (number, *(bounds.get(name) or 0 for name in names))


def key_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the key parts of a memory value: MADE for its number, then `names`."""
    return (MADE, *names)


# Memory values end when no handle refers to them (M-2.21). Each has a number, which with its bounds is its key, so that its log
# is one of the volatile logs of the session and goes with them into snapshots.


class Life:
    """What the handles of one memory value share. When the last handle is gone the log is only noted for removal, in `ended`: the
    removal (`MemoryValues.give_up`) happens at a moment when nobody iterates over the logs. `key` is that of its log in `store`,
    `declared` its declaration, `memory` the memory that its handles use, `branches` are the names of its branches. `ended` takes
    (store, key, branches) when it ends."""

    __slots__ = ("declared", "key", "memory", "store", "branches", "_ended", "__weakref__")

    def __init__(self, declared: Declaration, key: Key, memory: Memory, store: VolatileStore, ended: deque[Any]) -> None:
        self.declared = declared
        self.key = key
        self.memory = memory
        self.store = store
        self.branches: set[str] = set()
        self._ended = ended

    def __del__(self) -> None:
        # Nothing else may happen in a finaliser: it may run while the logs are iterated over.
        self._ended.append((self.store, self.key, self.branches))


class MemoryValues:
    """The memory values of one session. `last` is the number of the newest one, 0 before the first."""

    __slots__ = ("last", "lives", "_ended")

    def __init__(self) -> None:
        self.last = 0
        self.lives: MutableMapping[Key, Life] = {}
        """The values that have not ended, by key; a plain dict before the first, then a weak one."""
        self._ended: deque[tuple[VolatileStore, Key, set[str]]] = deque()

    def new_key(self, namespace: str, declared: Declaration, bounds: Mapping[str, int | None]) -> Key:
        """Return the key of a new memory value with these bounds, and count it. `declared` must be the declaration of a memory
        value."""
        assert declared.bounds is not None and declared.bounds.made is not None
        self.last += 1
        return memory_key(namespace, declared.name, key_of(self.last, declared.bounds.made, bounds))

    def live(self, declared: Declaration, memory: Memory, store: VolatileStore) -> Life:
        """Return the life of the memory value with this memory; begin it when there is none, after which no new value gets a
        number up to its own."""
        if type(self.lives) is dict:
            from weakref import WeakValueDictionary  # which a program that makes none does not load

            self.lives = WeakValueDictionary()
        life = self.lives.get(memory.key)
        if life is None:
            life = self.lives[memory.key] = Life(declared, memory.key, memory, store, self._ended)
            self.last = max(self.last, int(memory.key[2]))
        return life

    def give_up(self) -> None:
        """Remove the logs of values whose handles are gone, with their branches. Where another life has the same key and store,
        it was restored from a state, and its log stays."""
        while self._ended:
            store, key, branches = self._ended.popleft()
            life = self.lives.get(key)
            if life is None or life.store is not store:
                store.give_up([key, *((*key[:-1], branch) for branch in branches)])

    def sweep(self, store: VolatileStore, names: set[str]) -> None:
        """Remove from the store the logs, of memories with these names, that belong to no value in `lives`; the numbers of all
        logs of these names there are not given again, and branches that are found are noted in their lives."""
        main = {key: life for key, life in self.lives.items() if life.store is store}
        without_life = []
        for key in store.logs:
            if key[1] in names:
                self.last = max(self.last, int(key[2]))  # an earlier snapshot may hold it, so its number is not used again
                life = main.get((*key[:-1], MAIN_BRANCH))
                if life is None:
                    without_life.append(key)
                elif key[-1] != MAIN_BRANCH:
                    life.branches.add(str(key[-1]))
        store.give_up(without_life)
