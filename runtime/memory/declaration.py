"""What a program says of one memory (M-2). Must not know: logs, stores, the image."""

from __future__ import annotations

from .policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .bounds import Bounds
    from .fact_access import FactAccess

    Allow = tuple[frozenset[str], frozenset[str]]


class Declaration:
    """One `memory` declaration: its path in the program, its steps, its key names, its store by name (None: volatile).

    `of` names the memory whose log a derived view shows, `policy` has the views between them.
    `initial`, `facts`: what its initialisation statements give a log of version 0
    (M-2.10), of `remember` its arguments.
    `allow`: who may attach it, as (readers, writers) by name, None for everybody (M-4.16). `embed`: its embedder as the image
    says it (M-10.16). `fixed`: slots that are written once. `bounds`: what a run computes of the policy (M-2.14), of a
    declaration that memory values are made from with the names of theirs (M-2.19). `path`: what its keys are stored under
    (M-7.8); `key_defaults`: what keys that were written without an added part have there (M-7.9); `renamed`: the names of slots
    before. `on`: the places of functions that are called for its events, by channel (M-6.37). `lists`: slots that are lists.
    `access`: who may read and write which facts (M-10.35).
    """

    __slots__ = (
        "name", "policy", "per", "store", "of", "initial", "facts", "allow", "embed", "fixed", "bounds", "path",
        "key_defaults", "renamed", "on", "lists", "access",
    )  # fmt: skip

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
        bounds: Bounds | None = None,
        path: str | None = None,
        key_defaults: Mapping[str, str | int] | None = None,
        renamed: Mapping[tuple[str, str], str] | None = None,
        on: Mapping[str, Sequence[int]] | None = None,
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
        self.bounds = bounds
        self.path = path or name
        self.key_defaults = dict(key_defaults or {})
        self.renamed = dict(renamed or {})
        self.on = on or {}
        self.lists = lists
        self.access = access

    @property
    def makes_values(self) -> bool:
        return self.bounds is not None and self.bounds.made is not None
