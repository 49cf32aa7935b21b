"""Arguments of a method of a handle reach its body in the order of the signature, whole and of the right kinds (L-3.3.3)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.vm.builtins.binding import entry_of
from concerto.vm.builtins.registry import Row
from concerto.vm.interp.linked import Site
from concerto.vm.panics import Panic
from concerto.vm.values import Array, Map


def shown(machine: Any, task: Any, receiver: Any, a: Any, b: Any, c: Any) -> list[Any]:
    return [a, b, c]


def call(text: str, arguments: list[Any], names: tuple[str, ...] = (), **options: Any) -> Any:
    row = Row("Ledger", text, kind="handle", clause="", body=shown, **options)
    site = Site(row.name, len(arguments), names)
    return entry_of(row, -1 if names else site.argc)(None, None, None, site, arguments)  # type: ignore[arg-type]


PLAIN = "f(a: Any, b: Any = nil, c: Any = 7) -> Nil"
TYPED = "f(a: Int, b: String? = nil, c: Float = 1.0) -> Nil"


@pytest.mark.parametrize(
    ("text", "arguments", "names", "came"),
    [
        (PLAIN, [1], (), [1, None, 7]), (PLAIN, [1, 2], (), [1, 2, 7]), (PLAIN, [1, 2, 3], (), [1, 2, 3]),
        (PLAIN, [1, 3], ("c",), [1, None, 3]), (PLAIN, [3, 2, 1], ("c", "b", "a"), [1, 2, 3]),
        (TYPED, [1], (), [1, None, 1.0]), (TYPED, [1, None], (), [1, None, 1.0]), (TYPED, [1, "x", 2], (), [1, "x", 2.0]),
        (TYPED, [1, 2], ("c",), [1, None, 2.0]),
    ],
)  # fmt: skip
def test_they_are_put_in_order(text: str, arguments: list[Any], names: tuple[str, ...], came: list[Any]) -> None:
    result = call(text, arguments, names)
    assert result == came and [type(value) for value in result] == [type(value) for value in came]


def test_a_schema_comes_before_them() -> None:
    text = "f<T>(b: Any, c: String? = nil) -> T"
    assert call(text, ["schema", 1], special="schema") == ["schema", 1, None]
    assert call(text, ["schema", 1, "x"], ("c",), special="schema") == ["schema", 1, "x"]
    with pytest.raises(Panic, match="expected String, found Int"):
        call(text, ["schema", 1, 2], special="schema")


@pytest.mark.parametrize(
    ("arguments", "names", "says"),
    [
        ([], (), "f expects a, b, c; given 0"), ([1, 2, 3, 4], (), "f expects a, b, c; given 4"),
        ([1, 2], ("d",), "f has no argument d here"), ([1, 2], ("a",), "f has no argument a here"),
        ([1], ("b",), "f expects a, b, c; given 1"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_a_panic_of_every_call(arguments: list[Any], names: tuple[str, ...], says: str) -> None:
    for _ in range(2):
        with pytest.raises(Panic) as panic:
            call(PLAIN, [*arguments], names)
        assert (panic.value.code, panic.value.message) == ("P015", says)


@pytest.mark.parametrize(
    ("kind", "right", "wrong", "says"),
    [
        ("Int", 1, True, "expected Int, found Bool"), ("String", "x", 1, "expected String, found Int"),
        ("Bool", True, 1, "expected Bool, found Int"), ("Float", 1.5, "x", "expected Int or Float, found String"),
        ("Array<String>", Array([]), "x", "expected Array, found String"),
        ("Map<String, Any>", Map({}), 1, "expected Map, found Int"),
        ("Int?", 1, "x", "expected Int, found String"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_wrong_kind_is_refused(kind: str, right: Any, wrong: Any, says: str, position: int) -> None:
    """Wherever it stands, and however many others are checked."""
    for others in ("Any", "Int"):
        parameters = ", ".join(f"{name}: {kind if at == position else others}" for at, name in enumerate("abc"))
        for value in (right, wrong):
            arguments = [value if at == position else 0 for at in range(3)]
            if value is right:
                assert call(f"f({parameters}) -> Nil", [*arguments]) == arguments
                continue
            with pytest.raises(Panic) as panic:
                call(f"f({parameters}) -> Nil", arguments)
            assert (panic.value.code, panic.value.message) == ("P007", says)


@pytest.mark.parametrize("count", [1, 2])
def test_few_arguments_are_checked_too(count: int) -> None:
    text = "f(a: Int, b: String, c: Any = 0) -> Nil".replace("b: String", "b: String = \"x\"")
    right = [1, "y"][:count]
    assert call(text, [*right]) == [1, "y" if count > 1 else "x", 0]
    for at in range(count):
        wrong: list[Any] = [*right]
        wrong[at] = None
        with pytest.raises(Panic, match=r"expected (Int|String), found Nil"):
            call(text, wrong)
