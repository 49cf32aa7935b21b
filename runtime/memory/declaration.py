"""What a program says of one memory (M-2). Must not know: logs, stores, the image."""

from __future__ import annotations

from .policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .fact_access import FactAccess

    Allow = tuple[frozenset[str], frozenset[str]]


class Declaration:
    """One `memory` declaration: its path in the program, its steps, its key names, its store by name (None: volatile).

    `of` names the memory of `Memory::of(m)`. `initial`, `facts`: what its initialisation statements give a log of version 0
    (M-2.10), of `remember` its arguments.
    `allow`: who may attach it, as (readers, writers) by name, None for everybody (M-4.16). `embed`: its embedder as the image
    says it (M-10.16). `fixed`: slots that are written once,
    `lists` those that are lists. `access`: who may read and write which facts (M-10.35).
    """

    __slots__ = ("name", "policy", "per", "store", "of", "initial", "facts", "allow", "embed", "fixed", "lists", "access")

    def __init__(
        self,
        name: str,
        policy: Policy | None = None,
        *,
        per: Sequence[str] = (),
        store: str | None = None,
        of: str | None = None,
        initial: Sequence[tuple[str, str, bool]] = (),
        allow: Allow | None = None,
        embed: dict[str, Any] | None = None,
        fixed: frozenset[tuple[str, str]] = frozenset(),
        lists: frozenset[tuple[str, str]] = frozenset(),
        access: FactAccess | None = None,
    ) -> None:
        self.name = name
        self.policy = policy or Policy()
        self.per = tuple(per)
        self.store = store
        self.of = of
        self.initial = list(initial)
        self.facts: list[list[Any]] = []
        self.allow = allow
        self.embed = embed
        self.fixed = fixed
        self.lists = lists
        self.access = access
