"""Bounds of a memory that a run computes: when the program begins, for each key, or with each memory value (M-2.14 to M-2.19).

Hands on `Bounds`, which gives the policy of a log. Must not know: logs, images, how a function is run.
"""

from __future__ import annotations

from ...vm.bytecode.memory_steps import BOUNDS, MADE, bound_problem
from ...vm.panics import Panic
from .errors import InvalidValue, wrong_bound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .keys import Key
    from .policy import Policy

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
