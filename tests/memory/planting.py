"""Faults planted in the source, one at a time: a mutant replaces pieces of text of a module, and its functions run with the
changed code until the check is over.
"""

from __future__ import annotations

import inspect
import types
from contextlib import contextmanager

from concerto.vm.builtins import registry


@contextmanager
def mutated(module, *changes):
    """The functions of a module with pieces of its text replaced, each of which stands there once."""
    source = inspect.getsource(module)
    for old, _ in changes:
        assert source.count(old) == 1, f"{module.__name__} has {source.count(old)} times: {old}"
    made = types.ModuleType(module.__name__)
    made.__dict__.update(__package__=module.__package__, __file__=module.__file__)
    with _nothing_registered():
        exec(compile(_changed(source, changes), module.__file__, "exec", dont_inherit=True), made.__dict__)
    pairs = list(_functions(module, made))
    kept = [(function, function.__code__) for function, _ in pairs]
    try:
        for function, mutant in pairs:
            function.__code__ = mutant.__code__
        yield
    finally:
        for function, code in kept:
            function.__code__ = code


@contextmanager
def _nothing_registered():
    """Built-ins that a module declares stay those of its first import."""
    enter, registry.enter = registry.enter, lambda *row: None
    try:
        yield
    finally:
        registry.enter = enter


def _changed(source, changes):
    for old, new in changes:
        source = source.replace(old, new)
    return source


def _functions(module, made):
    """Functions and methods of the module beside those of its mutant."""
    for name, value in vars(module).items():
        other = getattr(made, name, None)
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
            yield value, other
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for attribute, method in vars(value).items():
                mutant = vars(other)[attribute]
                # A constructor that `record` has not made yet closes over what it will be made of.
                if isinstance(method, types.FunctionType) and not method.__closure__ and not mutant.__closure__:
                    yield method, mutant
                elif isinstance(method, property):
                    yield method.fget, vars(other)[attribute].fget
