"""What built-ins charge by size is the same in both tiers, and ends a run at the same instruction (G-6.2, G-6.6)."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from concerto.vm.builtins import METHODS, STD_MODULES, std_module
from concerto.vm.builtins.registry import STD
from concerto.vm.values import metering
from concerto.vm.values.containers import Array, Map, Queue, RangeValue, Set, Stack
from concerto.vm.values.objects import DateTime

from .tiers import observed

WORK = """
fn work(n: Int) -> Int {
    let s = "a,b;".repeat(1000);
    let mut a = (0..3000).to_array();
    let mut total = 0;
    for i in 0..n {
        total += s.split(",").len() + s.replace("b", "").len() + (s.index_of("x") ?? 3);
        total += if s.contains(";a") { 1 } else { 2 };
        a.insert(0, i);
        a.remove(5);
        a.reverse();
        total += a.slice(0, 2000).len() + s.to_upper().len() + a.contains(7000) as Int;
        total = total % 1000003;
    }
    total
}
fn main() { emit("some", work(3)); emit("more", work(60)); emit("last", work(5)); }
"""
SIZE = 5_000


@pytest.mark.parametrize("steps", [None, *range(2_000, 400_000, 36_571), 100_003, 200_017, 250_013])
def test_a_limit_of_steps_ends_both_at_the_same_instruction(steps: int | None) -> None:
    expected = observed(WORK, "interp", steps=steps)
    assert observed(WORK, "both", steps=steps) == expected
    assert expected[2] > SIZE // 16


ROUND = """
hashmap seen: HashMap<String, Int> = HashMap::new();
fn main() {{
    let s = "a,b";
    let mut n = 0;
    for i in 0..60000 {{ n += {call}; }}
    emit("n", n);
}}
"""
CALLS = (
    's.split(",").len()', "std::json::stringify(i).len()", "s.parse_int().unwrap_or(1)", "[i, 1].contains(3) as Int",
    "std::date::from_ms(i).is_ok() as Int", '{ seen.set("a", i); 1 }', '{ seen.delete(s); i % 2 }',
)  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_rounds_that_pay_for_themselves_count(call: str) -> None:
    source = ROUND.format(call=call)
    expected = observed(source, "interp", steps=450_000)  # far above what the interpreter keeps for the end
    assert "P101" in str(expected)
    assert observed(source, "both", steps=450_000) == expected


class Charges:
    attention = False

    def __init__(self) -> None:
        self.items = 0

    def attend(self) -> None:
        pass

    def spend(self, items: int) -> None:
        self.items += items

    def announce(self, items: int) -> None:
        pass


RECEIVERS: dict[str, Any] = {
    "String": lambda: "ab" * (SIZE // 2), "Array": lambda: Array(list(range(SIZE))), "Any": lambda: Array(list(range(SIZE))),
    "Map": lambda: Map({f"k{n}": n for n in range(SIZE)}), "Set": lambda: Set({n: n for n in range(SIZE)}),
    "Queue": lambda: Queue(deque(range(SIZE))), "Stack": lambda: Stack(list(range(SIZE))),
    "Range": lambda: RangeValue(0, SIZE), "Bytes": lambda: b"ab" * (SIZE // 2),
}  # fmt: skip
ARGUMENTS: dict[str, Any] = {
    "string": "ab" * (SIZE // 2), "int": 1, "any": 3, "var": 3, "float": 2.5, "bool": True,
    "bytes": b"ab" * (SIZE // 2), "nilable": None, "struct": DateTime.of((2024, 1, 2, 3, 4, 5, 6, 0, "UTC")),
}  # fmt: skip


def argument(type_: Any, name: str) -> Any:
    if type_ == ("array", ("int",)):
        return Array([1] * SIZE)
    if type_[0] == "array" and type_[1][0] in ("map", "array"):
        return Array([Map({"ab": "x"}) if type_[1][0] == "map" else Array(["x"])] * SIZE)
    if type_[0] == "array":
        return Array(["ab"] * SIZE)
    if type_[0] == "set":
        return Set({n: n for n in range(SIZE)})
    if name == "parts":
        return Map({"ab": "x" * SIZE})
    if type_[0] == "map":
        return Map({"ab": 1})
    if name == "base":  # of a URL
        return "https:" + ARGUMENTS["string"]
    if name == "kind":  # of a Media
        return "document"
    if name in ("width", "b", "size") and type_[0] == "int":
        return SIZE
    if name == "overlap":
        return 0
    if type_[0] == "union":
        return type_[1][0]
    if name in ("sep", "separator", "thousands", "point"):
        return ","
    if name == "v" and type_[0] == "any":
        return Array(list(range(SIZE)))
    return ARGUMENTS[type_[0]]


def charged(row: Any, receiver: list[Any]) -> int:
    meter = Charges()
    before = metering.exchange(meter)
    try:
        row.body(*receiver, *(argument(parameter.type, parameter.name) for parameter in row.parameters))
    finally:
        metering.exchange(before)
    return meter.items


def rows() -> list[Any]:
    for module in STD_MODULES:
        std_module(module)
    every = [row for row in [*METHODS.values(), *STD.values()] if row.kind == "python"]
    return [row for row in every if row.receiver in RECEIVERS or row.module]


@pytest.mark.parametrize("row", rows(), ids=repr)
def test_the_rows_that_work_on_all_of_a_value_charge_it(row: Any) -> None:
    """And no other row charges anything: translated code calls only these in a way that they can be done again."""
    receiver = [RECEIVERS[row.receiver]()] if row.receiver else []
    if row.name == "truncate":  # what it makes has two characters
        return
    assert (charged(row, receiver) >= 1024) == row.linear


OF_A_SIZE: dict[str, Any] = {
    "Array": lambda size: Array(list(range(size))), "String": lambda size: "7" * size,
    "Map": lambda size: Map({n: n for n in range(size)}),
}  # fmt: skip
ALONE = [row for row in rows() if row.linear and row.receiver in OF_A_SIZE and not row.parameters]


@pytest.mark.parametrize("row", ALONE, ids=repr)
def test_work_is_charged_from_1024_items_on(row: Any) -> None:
    sized = OF_A_SIZE[row.receiver]
    assert charged(row, [sized(1023)]) == 0 < 1024 <= charged(row, [sized(1024)])
