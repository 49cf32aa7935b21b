"""Definite assignment of `let x: T;` (L-3.13.3).

A walk over one finished function that follows which deferred variables hold a value: E2037 for a use before, E2038 for a second
assignment of an immutable one. Runs only for functions that have such a variable. Must not know: types, except which
expressions diverge.
"""

from __future__ import annotations

from ..symbols import FunctionSymbol
from .context import Checker


def check_assignments(c: Checker, symbol: FunctionSymbol) -> None:
    return None
