"""A memory with a log for each key, and a memory that only shows another one (M-7.3, M-6.21).

Hands on `KeyedMemory` and `DerivedMemory` to `memories.Memories`, which makes them of declarations; what has to tell a
derived view from a memory (methods, turns, callbacks) takes `DerivedMemory` too. One key of a keyed memory is a
`memory.Memory`. What reads a store lets its MemoryFailure and MustWait (`stores/operations.py`) through. The forms of a key
are those of `keys.py`.
"""

from __future__ import annotations

from ...vm.panics import Panic
from .failures import MemoryFailure, other_key_parts, stored_twice
from .keys import MAIN_BRANCH, branch_of, declared_values, key_values, longer_forms, stored_values
from .stores.protocol import Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..records import Msg
    from .keys import Key
    from .memories import MetVersions
    from .memory import Memory
    from .stores.protocol import Store
    from .views import Recalled, View


class KeyedMemory:
    """A memory with `.per(…)`: one log for each key (M-7.3)."""

    __slots__ = ("name", "per", "_at", "_stores", "_prefix", "_met", "_defaults", "_apart")

    def __init__(
        self,
        name: str,
        per: Sequence[str],
        at: Callable[[Key], Memory],
        stores: list[Store],
        prefix: Key,
        met: MetVersions,
        defaults: Mapping[str, str | int] | None = None,
    ) -> None:
        """`per`: the names of the key parts; `at`: opens the memory at a whole key; `prefix`: the parts before the key values,
        namespace and path; `stores`: its own first, then that of the session's facts; `met`: the versions that the session has
        seen in the store; `defaults`: by name, what keys that were written without a part have there (M-7.9)."""
        self._defaults = defaults or {}
        self._apart: set[Key] = set()
        self.name = name
        self.per = per
        self._at = at
        self._stores = stores
        self._prefix = prefix
        self._met = met

    def key(self, **values: Any) -> Memory:
        """Return the memory at this key, whose parts are all given by name. Raises InvalidValue (P452) for other parts and for a
        value that no key may have, and as `at`."""
        return self.at(key_values(self.per, values))

    def at(self, values: Key) -> Memory:
        """Return the memory at checked values in declared order. Raises MemoryFailure("Store") when the key is also stored in a
        longer form, which an earlier declaration wrote (M-7.10), and as `Memories` where it opens a memory."""
        stored = stored_values(self.per, self._defaults, values)
        # Looked at once for each key: an older program may have stored it in the longer form.
        if len(stored) != len(values) and values not in self._apart:
            for longer in longer_forms(self.per, self._defaults, values):
                if self._stores[0].head((*self._prefix, *longer, MAIN_BRANCH)) != Head():
                    raise self._twice(longer)
            self._apart.add(values)
        return self._at((*self._prefix, *stored, MAIN_BRANCH))

    def _twice(self, longer: Key) -> MemoryFailure:
        both = (longer, stored_values(self.per, self._defaults, longer))
        return stored_twice(self.name, *(f"the key {', '.join(map(repr, one)) or 'without parts'}" for one in both))

    def keys(self) -> list[dict[str, str | int]]:
        """Return the stored keys as maps of part to value, without branches. Raises MemoryFailure("Store") when there is a key
        that another declaration wrote (M-7.6), or one in the longer form of M-7.10."""
        keys = [key for key in self._stores[0].keys(self._prefix) if branch_of(key) == MAIN_BRANCH]
        return [dict(zip(self.per, self._parts(key), strict=True)) for key in keys]

    def _parts(self, key: Key) -> Key:
        """Return the values of a stored key. Raises MemoryFailure("Store") as `keys`."""
        values = key[len(self._prefix) : -1]
        declared = declared_values(self.per, self._defaults, values)
        if declared is None:
            raise other_key_parts(self.name, self.per, values)
        if stored_values(self.per, self._defaults, values) != values:
            raise self._twice(values)
        return declared

    def erase(self, **values: Any) -> int:
        """Erase every key with these values, without any all keys, with its branches and the facts of the session there; return
        the number of removed entries. Raises as `has` and the test that it returns."""
        from .log import erase_keys

        has = self.has(values)
        by_store = [(store, [key for key in store.keys(self._prefix) if has(key)]) for store in self._stores]
        removed = 0
        gone: list[Key] = []
        for store, keys in by_store:
            gone += keys  # of what is in the store the session has indexes
            removed += erase_keys(store, gone, self._met)
        return removed

    def has(self, values: Mapping[str, Any]) -> Callable[[Key], bool]:
        """Return the test whether a key of a store is one of this memory with these values. Raises InvalidValue for a part that
        the memory has not and a value that no key may have; the test raises MemoryFailure("Store") as `keys`, when there are
        values to compare."""
        names = [name for name in self.per if name in values]
        at = [self.per.index(name) for name in names]
        by_place = list(zip(at, key_values(names, values), strict=True))

        def fits(key: Key) -> bool:
            if key[: len(self._prefix)] != self._prefix:
                return False
            parts = self._parts(key) if by_place else ()
            return all(parts[place] == value for place, value in by_place)

        return fits

    def stored(self, values: Mapping[str, Any]) -> list[Key]:
        """Return the keys of stored logs with these values, branches too, ordered by their bytes. Raises as `erase`."""
        return list(filter(self.has(values), self._stores[0].keys(self._prefix)))


class DerivedMemory:
    """`Memory::of(m)`: the log of m, `memory`, under steps of its own (M-6.21, M-9.11), which m has among its views under
    `name`; `view_name` is the same. It is only read; a run that has it as its last memory writes m. Its facts are those of m."""

    __slots__ = ("name", "memory", "view_name")

    def __init__(self, name: str, memory: Memory) -> None:
        self.name = name
        self.memory = memory
        self.view_name = name

    def append(self, role: str, content: str) -> None:
        """Raise Panic P014: a view is only read."""
        raise Panic("P014", f"the derived view {self.name} has no method append")

    def clear(self) -> None:
        """Raise Panic P014: a view is only read."""
        raise Panic("P014", f"the derived view {self.name} has no method clear")

    def view(self, prompt_tokens: int = 0, recalled: Recalled | None = None) -> View:
        """Return what a request would take from it; `prompt_tokens` are those of the prompt, `recalled` what its step `recall`
        found. Raises MemoryFailure as `Memory.view`."""
        policy = self.memory.views[self.view_name]
        return self.memory.view(prompt_tokens=prompt_tokens, policy=policy, name=self.view_name, recalled=recalled)[0]

    def messages(self) -> list[Msg]:
        """Return the messages that it shows, oldest first: pinned ones older than the window, and the window. A summary and facts
        are not among them. Raises as `view`, as do the methods below but `summary`."""
        shown = self.view()
        return [*shown.before, *shown.window]

    def last(self, n: int) -> list[Msg]:
        """Return the last `n` messages of `messages`, in their order; fewer where there are not so many, none for 0 or less."""
        messages = self.messages()
        return messages[max(0, len(messages) - n) :] if n > 0 else []

    def __len__(self) -> int:
        return len(self.messages())

    def is_empty(self) -> bool:
        """Return whether it shows no message."""
        return not self.messages()

    def tokens(self) -> int:
        """Return the tokens of the messages that it shows."""
        return self.view().tokens

    def summary(self) -> str | None:
        """Return the stored summary of the view, None when it has none."""
        return self.memory.summary(self.view_name)
