"""The memories while initialisation statements run (M-2.10).

Hands on `Beginning`, which takes their place. Must not know: calls, turns.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from ...vm import effects
    from ...vm.values import KeyedRef, MemoryRef

    class Memories(effects.Memories, Protocol):
        """Those of the session."""

        def is_open(self, name: str) -> bool: ...


BEGINS = ("append", "pin", "remember")


class Beginning:
    """The memories while initialisation statements run; one that was read meanwhile is written at once."""

    def __init__(self, memories: Memories) -> None:
        self.memories = memories
        self.failure = memories.failure
        self.must_wait = memories.must_wait
        self.attended = memories.attended
        self.computed = memories.computed

    def __getitem__(self, name: str) -> Any:
        return self.memories[name] if self.memories.is_open(name) else _Begun(self.memories, name)

    def is_shared(self, ref: MemoryRef) -> bool:
        return self.memories.is_shared(ref)

    def is_queued(self, ref: MemoryRef, slot: Any) -> bool:
        return False

    def at(self, ref: MemoryRef) -> Any:
        return self.memories.at(ref)

    def written(self, ref: MemoryRef, task: Any) -> Any:
        return self[ref.name] if not (ref.branch or ref.key) else self.at(ref)

    def bounds(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        return self.memories.bounds(name, given)

    def made(self, name: str, given: dict[str, Any], messages: Any) -> Any:
        return self.memories.made(name, given, messages)

    def at_once(self, ref: MemoryRef, method: str, arguments: list[Any], task: Any) -> Any:
        """Of a memory that nobody has used these are what its logs begin with (M-2.10)."""
        if method in BEGINS and not (ref.branch or ref.key or self.memories.is_open(ref.name)):
            if method == "remember":
                return self.initial_fact(ref.name, arguments)
            role, content = arguments
            return self.initial(ref.name, role, content, method == "pin")
        return self.memories.at_once(ref, method, arguments, task)

    def perform(self, ref: MemoryRef, method: str, arguments: list[Any], task: Any) -> Any:
        return self.memories.perform(ref, method, arguments, task)

    def keyed(self, ref: KeyedRef, method: str, values: dict[str, Any], task: Any) -> Any:
        return self.memories.keyed(ref, method, values, task)

    def keyed_at_once(self, ref: KeyedRef, method: str, values: dict[str, Any], task: Any) -> Any:
        return self.memories.keyed_at_once(ref, method, values, task)

    def initial(self, name: str, role: str, content: str, pinned: bool) -> None:
        self.memories.initial(name, role, content, pinned)

    def initial_fact(self, name: str, arguments: list[Any]) -> None:
        self.memories.initial_fact(name, arguments)


class _Begun:
    """One memory that nobody has used."""

    def __init__(self, memories: Memories, name: str) -> None:
        self._memories = memories
        self._name = name

    def append(self, role: str, content: str) -> None:
        self._memories.initial(self._name, role, content, False)

    def __getattr__(self, method: str) -> Any:
        return getattr(self._memories[self._name], method)

    def __len__(self) -> int:
        return len(self._memories[self._name])
