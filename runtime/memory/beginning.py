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


class Beginning:
    """The memories while initialisation statements run; one that was read meanwhile is written at once."""

    def __init__(self, memories: Memories) -> None:
        self.memories = memories
        self.failure = memories.failure
        self.serial: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> Any:
        return self.memories[name] if self.memories.is_open(name) else _Begun(self.memories, name)

    def at(self, ref: MemoryRef) -> Any:
        return self.memories.at(ref)

    def written(self, ref: MemoryRef, task: Any) -> Any:
        return self[ref.name] if not (ref.branch or ref.key) else self.at(ref)

    def perform(self, ref: MemoryRef, method: str, arguments: list[Any], task: Any) -> Any:
        if method == "pin" and not (ref.branch or ref.key or self.memories.is_open(ref.name)):
            role, content = arguments
            return self.initial(ref.name, role, content, True)
        if method == "remember" and not (ref.branch or ref.key or self.memories.is_open(ref.name)):
            return self.initial_fact(ref.name, arguments)
        return self.memories.perform(ref, method, arguments, task)

    def keyed(self, ref: KeyedRef, method: str, values: dict[str, Any], task: Any) -> Any:
        return self.memories.keyed(ref, method, values, task)

    def waits(self, ref: MemoryRef | KeyedRef, method: str, task: Any) -> bool:
        """What initialisation writes begins a log, or has it to itself."""
        return False

    def embeds(self, ref: MemoryRef) -> bool:
        """Facts of initialisation get their vectors with a later commit."""
        return False

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
