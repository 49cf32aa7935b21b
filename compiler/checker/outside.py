"""What is computed outside of every function: constants, defaults of fields, arguments of declarations (L-4.5.12).

Hands on `outside_functions` to `declarations`, which types most of it, and to the modules of memories, which type the closures of
steps and initialisation statements themselves. `c` is the state of the check, to which mistakes are reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..syntax import ast
from ..types import Type
from .assignment import check_deferred
from .lets import close_lets
from .relations import ERRONEOUS
from .state import Checker, Target


@contextmanager
def outside_functions(c: Checker, node: ast.Node, result: Type = ERRONEOUS) -> Iterator[None]:
    """Let `node` be typed within the `with`, where nothing can be thrown or returned (E3012). Then close the types of its
    variables (E2004) and check those that are assigned later (E2037, E2038). A function in whose middle that happens is put
    aside; its state is as before afterwards."""
    outer, c.open_lets, c.deferring = (c.open_lets, c.deferring), [], False
    # A target of its own kind: `?`, `throw` and `return` are reported there (E3012).
    c.targets.append(Target("none", result=result))
    yield
    c.targets.pop()
    close_lets(c)
    if c.deferring:
        check_deferred(c, node)
    c.open_lets, c.deferring = outer
