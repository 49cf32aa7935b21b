"""Permissions that flags of a command line grant, as an option of a session (S-2.1).

Hands on `Granted` to the verbs `batch`, `serve` and `mcp`, whose sessions are those of Python. It holds the runtime's own grants,
with tools that are disabled and advice that names flags, which `Permissions` of Python does not say. Which flags grant what is
for `cli/run.py`, what a grant permits for `runtime/access/`.
"""

from __future__ import annotations

from typing import Any

from ..api.options import Permissions
from ..runtime.access import permissions as runtime


class Granted(Permissions):
    """The grants of the runtime in place of those of the fields, which are not set; `granted` returns them. It can be sent to
    another machine."""

    def __init__(self, grants: runtime.Permissions) -> None:
        object.__setattr__(self, "grants", grants)

    def granted(self) -> runtime.Permissions:
        return self.grants  # type: ignore[attr-defined,no-any-return]  # no field: those are what Python grants

    def __reduce__(self) -> Any:
        return Granted, (self.grants,)  # type: ignore[attr-defined]
