"""Error families and error values (L-3.11, O-1.117 to O-1.122)."""

from __future__ import annotations

import pytest
from concerto.vm.panics import PANICS, Panic
from concerto.vm.values import FAMILIES, FIELD_TYPES, Array, ErrorValue, default_message, is_family, make_error, nearest_family


def test_the_tree_hangs_together() -> None:
    for name, family in FAMILIES.items():
        assert is_family(name, "Error") and is_family(name, name)
        assert (family.parent is None) == (name == "Error")
        assert set(family.all_fields()) <= set(FIELD_TYPES)
    used = {field for family in FAMILIES.values() for field in family.all_fields()}
    assert used == set(FIELD_TYPES)


@pytest.mark.parametrize(
    ("name", "ancestor", "expected"),
    [
        ("SchemaError", "AgentError", True), ("MemoryError", "AgentError", True), ("ToolError", "AgentError", False),
        ("AgentError", "SchemaError", False), ("TaskError", "Error", True),
    ],
)  # fmt: skip
def test_descent(name: str, ancestor: str, expected: bool) -> None:
    assert is_family(name, ancestor) is expected


def test_nearest_common_family() -> None:
    assert nearest_family("SchemaError", "TimeoutError") == "AgentError"
    assert nearest_family("SchemaError", "SchemaError") == "SchemaError"
    assert nearest_family("SchemaError", "AgentError") == nearest_family("AgentError", "SchemaError") == "AgentError"
    assert nearest_family("ToolError", "SchemaError") == "Error"


def test_the_four_ways_to_make_an_error() -> None:
    made = make_error("RuntimeError", None, ("boom",))
    assert (made.family, made.variant, made.message, made.fields) == ("RuntimeError", None, "boom", {})
    assert make_error("AgentError", "RateLimited").message == default_message("AgentError", "RateLimited")
    assert make_error("AgentError", "RateLimited").message == "rate limited"
    assert make_error("AgentError", "RateLimited", ("slow",)).message == "slow"
    struct_form = make_error("SchemaError", "TypeMismatch", {"field": "age", "expected": "Int", "actual": "String"})
    assert struct_form.message == "type mismatch: field age, expected Int, actual String"
    flags = make_error("SchemaError", "TypeMismatch", {"expected": True, "actual": False})
    assert flags.message == "type mismatch: expected true, actual false"
    assert struct_form.get("field") == "age" and struct_form.get("status") is None
    given = make_error("ToolError", "Timeout", {"message": "m", "tool": "T"})
    assert given.message == "m" and given.fields == {"tool": "T"}


def test_a_message_that_is_no_string_is_a_mismatch() -> None:
    for arguments in ((5,), {"message": 5}):
        with pytest.raises(Panic) as caught:
            make_error("RuntimeError", None, arguments)
        assert caught.value.code == "P007"


def test_fields_are_marked_as_shared_and_nil_ones_left_out() -> None:
    violations = Array([])
    error = ErrorValue("SchemaError", None, "m", {"violations": violations, "path": None})
    assert violations.shared and "path" not in error.fields


def test_panics() -> None:
    panic = Panic("P002", "integer overflow in `+`")
    assert str(panic) == "panic[P002]: integer overflow in `+`"
    assert panic.args == ("P002", "integer overflow in `+`")
    assert panic.position is None and panic.trace == ()
    assert all(code[0] == "P" and len(code) == 4 and title and clause for code, (title, clause) in PANICS.items())
