"""Growth of one String in a loop, and of one Array: the cost of a step must not depend on how much there is already."""

from __future__ import annotations

from ..execution import Concerto, require
from ..figures import Figure
from ..sampling import Plan, interleave

PROGRAM = """\
fn main() {
    let mut grown: TYPE = EMPTY;
    for i in 0..COUNT {
        STEP
    }
    emit("length", grown.len());
}
"""
TEXT = ("String", '""', 'grown = grown + "0123456789";')
ARRAY = ("Array<Int>", "[]", "grown.push(i);")
FACTOR = 8


def growth(plan: Plan) -> list[Figure]:
    count = 5_000 if plan.quick else 20_000
    return [
        _figure("string_growth", TEXT, count, 10, plan),
        _figure("array_growth", ARRAY, count, 1, plan),
    ]


def _figure(name: str, forms: tuple[str, str, str], count: int, unit: int, plan: Plan) -> Figure:
    programs = [_program(forms, n) for n in (count, FACTOR * count)]
    for program, n in zip(programs, (count, FACTOR * count), strict=True):
        require(program.output(), [f"length {n * unit}"])
    few, many = interleave([program.run for program in programs], plan)
    note = f"time a step, {FACTOR * count:,} steps over {count:,}; linear growth is 1"
    return Figure(name, many.median / FACTOR / few.median, "×", spread=many.spread, note=note)


def _program(forms: tuple[str, str, str], count: int) -> Concerto:
    kind, empty, step = forms
    text = PROGRAM.replace("TYPE", kind).replace("EMPTY", empty).replace("COUNT", str(count)).replace("STEP", step)
    return Concerto(text)
