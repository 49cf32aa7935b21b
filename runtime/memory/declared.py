"""The memories of a session by name (O-8.3, O-10.15, M-7): plain ones, keyed ones, and views derived from either.

Hands on `Memory`, `KeyedMemory` and `DerivedMemory`; logs and stores are loaded when the first is used (M-14.7). Must not
know: the image they were declared in, calls.
"""

from __future__ import annotations

from time import time

from ...vm.panics import Panic
from .keys import MAIN_BRANCH, branch_of, key_values, memory_key
from .policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ...vm.values import MemoryRef
    from ..records import Msg
    from .keys import Key
    from .memory import Listener, Memory
    from .stores.protocol import Store
    from .views import View


class Declaration:
    """One `memory` declaration: its path in the program, its steps, its key names, its store (None: volatile).

    `of` names the memory of `Memory::of(m)`. `initial`: what its initialisation statements give a log of version 0 (M-2.10).
    """

    __slots__ = ("name", "policy", "per", "store", "of", "initial")

    def __init__(
        self,
        name: str,
        policy: Policy | None = None,
        *,
        per: Sequence[str] = (),
        store: Store | None = None,
        of: str | None = None,
        initial: Sequence[tuple[str, str, bool]] = (),
    ) -> None:
        self.name = name
        self.policy = policy or Policy()
        self.per = tuple(per)
        self.store = store
        self.of = of
        self.initial = initial


class KeyedMemory:
    """A memory with `.per(…)`: one log for each key (M-7.3)."""

    __slots__ = ("name", "per", "_at", "_store", "_prefix")

    def __init__(self, name: str, per: Sequence[str], at: Callable[[Key], Memory], store: Store, prefix: Key) -> None:
        self.name = name
        self.per = per
        self._at = at
        self._store = store
        self._prefix = prefix

    def key(self, **values: Any) -> Memory:
        """InvalidValue (P452) for a value no key may have."""
        return self._at((*self._prefix, *key_values(self.per, values), MAIN_BRANCH))

    def keys(self) -> list[dict[str, str | int]]:
        found = [key for key in self._store.keys(self._prefix) if branch_of(key) == MAIN_BRANCH]
        return [dict(zip(self.per, key[len(self._prefix) : -1], strict=True)) for key in found]

    def erase(self, **values: Any) -> int:
        """Every key with these values; the number of removed entries."""
        from .branching import erase_all

        names = [name for name in self.per if name in values]
        wanted = dict(zip(names, key_values(names, values), strict=True))
        matching = [held for held in self.keys() if all(held[name] == value for name, value in wanted.items())]
        return sum(erase_all(self._store, (*self._prefix, *held.values())) for held in matching)


class DerivedMemory:
    """`Memory::of(m)`: the log of m under steps of its own (M-6.21, M-9.11). It is only read; a run that has it as its last
    memory writes m."""

    __slots__ = ("name", "memory", "view_name")

    def __init__(self, name: str, memory: Memory) -> None:
        self.name = name
        self.memory = memory
        self.view_name = name

    def append(self, role: str, content: str) -> None:
        raise Panic("P014", f"the derived view {self.name} has no method append")

    def clear(self) -> None:
        raise Panic("P014", f"the derived view {self.name} has no method clear")

    def view(self, prompt_tokens: int = 0) -> View:
        return self.memory.view(prompt_tokens=prompt_tokens, policy=self.memory.views[self.view_name], name=self.view_name)[0]

    def messages(self) -> list[Msg]:
        shown = self.view()
        return [*shown.before, *shown.window]

    def last(self, n: int) -> list[Msg]:
        found = self.messages()
        return found[max(0, len(found) - n) :] if n > 0 else []

    def __len__(self) -> int:
        return len(self.messages())

    def is_empty(self) -> bool:
        return not self.messages()

    def tokens(self) -> int:
        return self.view().tokens

    def summary(self) -> str | None:
        return self.memory.summary(self.view_name)


class Memories:
    """Everything declared, by name; logs are shared handles and live as long as the session or their store (O-3.3)."""

    __slots__ = ("_declared", "_views", "_volatile", "_open", "_namespace", "_clock", "_listener")

    def __init__(
        self,
        declared: Iterable[Declaration | tuple[str, int | None]] = (),
        *,
        namespace: str = "",
        clock: Callable[[], float] = time,
        listener: Listener | None = None,
    ) -> None:
        made = [each if isinstance(each, Declaration) else Declaration(each[0], Policy(retain=each[1])) for each in declared]
        self._declared = {each.name: each for each in made}
        self._views = _views(made)
        self._volatile: Store | None = None
        self._open: dict[str, Any] = {}
        self._namespace = namespace
        self._clock = clock
        self._listener = listener

    def __getitem__(self, name: str) -> Any:
        """The Memory, KeyedMemory or DerivedMemory of this name."""
        found = self._open.get(name)
        if found is None:
            found = self._open[name] = self._opened(self._declared[name])
        return found

    def branch(self, ref: MemoryRef) -> Memory:
        """A branch that exists, or existed (M-6.17)."""
        memory = self[ref.name]
        return memory.with_key((*memory.key[:-1], ref.branch))  # type: ignore[no-any-return]

    def attached(self, memory: str | MemoryRef) -> Any:
        return self[memory] if isinstance(memory, str) else self.branch(memory)

    def perform(self, ref: MemoryRef, method: str, arguments: Sequence[Any]) -> Any:
        """A method of the direct API with values of the machine (M-6.2 to M-6.20)."""
        from .direct import perform

        memory = self.branch(ref) if ref.branch else self[ref.name]
        return perform(ref, memory, method, arguments, is_view=isinstance(memory, DerivedMemory))

    def _opened(self, declared: Declaration) -> Any:
        base = self._declared[declared.of] if declared.of is not None else declared
        prefix = memory_key(self._namespace, base.name)[:-1]
        if base.per and declared.of is None:
            return KeyedMemory(base.name, base.per, lambda key: self._at(base, key), self._store_of(base), prefix)
        if declared.of is not None:
            return DerivedMemory(declared.name, self[base.name]) if not base.per else self[base.name]
        return self._at(base, (*prefix, MAIN_BRANCH))

    def _at(self, declared: Declaration, key: Key) -> Memory:
        from .memory import Memory

        memory = Memory(
            declared.policy, name=declared.name, store=self._store_of(declared), key=key, clock=self._clock,
            views=self._views.get(declared.name), listener=self._listener,
        )  # fmt: skip
        memory.initialise(declared.initial)
        return memory

    def take_over(self, earlier: Memories) -> None:
        """Go on with the logs of an earlier session where a name is in both and declared alike there."""
        for name, mine in self._declared.items():
            theirs = earlier._declared.get(name)
            if theirs is not None and (theirs.policy, theirs.per, theirs.of) == (mine.policy, mine.per, mine.of):
                self._open[name] = earlier[name]

    def derived(self, name: str, key: Mapping[str, Any]) -> DerivedMemory:
        """`Memory::of` a keyed memory, at a key."""
        base = self._declared[name].of
        assert base is not None
        return DerivedMemory(name, self[base].key(**key))

    def _store_of(self, declared: Declaration) -> Store:
        """Its own, or the one volatile store of the session (M-8.1)."""
        if declared.store is not None:
            return declared.store
        if self._volatile is None:
            from .stores.volatile import VolatileStore

            self._volatile = VolatileStore()
        return self._volatile

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)


def _views(declared: Sequence[Declaration]) -> dict[str, dict[str, Policy]]:
    """The derived views of each memory by name."""
    found: dict[str, dict[str, Policy]] = {}
    for each in declared:
        if each.of is not None:
            found.setdefault(each.of, {})[each.name] = each.policy
    return found
