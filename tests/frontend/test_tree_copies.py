"""A copy of a tree is the same tree, and shares no node with it."""

from __future__ import annotations

from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.source import Source, Span
from concerto.compiler.syntax import ast
from concerto.compiler.syntax.parse import parse
from concerto.vm.record import fields_of

from ..suite_sources import suite_sources


def shape(value: object) -> object:
    """A node as plain data, to be compared: its class and its fields, annotations included."""
    if isinstance(value, ast.Node):
        return type(value), [shape(getattr(value, name)) for name in fields_of(value)]
    return [shape(item) for item in value] if isinstance(value, (list, tuple)) and not isinstance(value, Span) else value


def test_copies_of_the_programs_of_the_suite() -> None:
    compared = 0
    for name, text in list(suite_sources().items())[::3]:
        tree = parse(Source(name, text), Diagnostics())
        try:
            copy = ast.copy_tree(tree)
            assert shape(copy) == shape(tree)
        except RecursionError:  # some programs nest on purpose
            continue
        compared += 1
        assert not {id(node) for node in ast.walk(tree)} & {id(node) for node in ast.walk(copy)}, name
    assert compared > 500


def test_a_node_that_stands_twice_in_a_tree_stands_twice_in_its_copy() -> None:
    tree = ast.copy_tree(parse(Source("a.conc", "const N: Int = 1 |> f();"), Diagnostics()))
    pipe = next(node for node in ast.walk(tree) if isinstance(node, ast.Pipe))
    assert isinstance(pipe.applied, ast.Call) and pipe.applied.arguments[0].value is pipe.left
