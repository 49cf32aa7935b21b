"""`record` makes constructors like those that are written by hand."""

from __future__ import annotations

import copy
import inspect

import pytest
from concerto.vm.record import field, fields_of, record


@record
class Point:
    """A place."""

    x: int
    y: int = 2
    label: str = "p"

    word = "point"

    def total(self) -> int:
        return self.x + self.y


class Base:
    __slots__ = ()

    def name(self) -> str:
        return type(self).__name__


@record
class Named(Base):
    value: object


def test_fields_are_slots_and_parameters() -> None:
    point = Point(1, label="q")
    assert (point.x, point.y, point.label, point.word, point.total()) == (1, 2, "q", "point", 3)
    assert tuple(fields_of(point)) == ("x", "y", "label") and not hasattr(point, "__dict__")
    assert list(inspect.signature(Point).parameters) == ["x", "y", "label"]  # since the first call
    assert (Point.__doc__, Point.__module__, Point.__qualname__) == ("A place.", __name__, "Point")


def test_classes_of_one_number_of_fields_have_constructors_of_their_own() -> None:
    @record
    class Other:
        a: int
        b: int
        c: int = 0

    assert (Other(1, 2).a, Other(1, b=2).b, Point(7).x) == (1, 2, 7)


def test_a_base_stays_a_base() -> None:
    assert isinstance(Named(1), Base) and Named(1).name() == "Named" and not hasattr(Named(1), "__dict__")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), r"Point.__init__\(\) missing 1 required positional argument: 'x'"), ((1, 2, "", 4), "takes from 2 to 4 positional")],
)
def test_a_wrong_call_is_told_as_of_any_function(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Point(*arguments)  # type: ignore[arg-type]


def test_a_record_can_be_copied() -> None:
    assert copy.copy(Point(3)).x == 3 and copy.deepcopy(Named([1])).value == [1]


@record
class Node:
    at: int
    note: object = field(init=False)
    doc: str = field(default="", kw_only=True)


@record
class Leaf(Node):
    parts: list[int] = field(factory=list)


def test_a_record_of_a_record_has_the_fields_of_both() -> None:
    leaf = Leaf(1, doc="d")
    leaf.parts.append(2)
    assert (leaf.at, leaf.note, leaf.doc, leaf.parts) == (1, None, "d", [2])
    assert Leaf(1).parts == [] and Leaf(1, [3]).parts == [3] and tuple(fields_of(Leaf)) == ("at", "note", "doc", "parts")
    with pytest.raises(TypeError, match="unexpected keyword argument 'note'"):
        Leaf(1, note=2)  # type: ignore[call-arg]
    match leaf:
        case Leaf(at, parts):
            assert (at, parts) == (1, [2])


@record
class Counted:
    name: str
    counts: list[int] = field(init=False, factory=list)


def test_a_field_that_is_no_parameter_may_have_a_factory() -> None:
    one, other = Counted("a"), Counted("b")
    one.counts.append(1)
    assert (one.counts, other.counts) == ([1], [])
    with pytest.raises(TypeError, match="takes 2 positional arguments"):
        Counted("a", [])  # type: ignore[call-arg]
