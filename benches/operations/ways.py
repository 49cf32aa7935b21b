"""What the way of an error costs (L-5.11.3): results that `?` takes apart, beside a `match` that hands on the Err as it is, which
leaves no place behind. Half of the figure is the program around it, which both have."""

from __future__ import annotations

from ..execution import Concerto, require
from ..figures import Figure
from ..sampling import Plan, Samples, interleave

PROGRAM = """\
fn checked(n: Int) -> Result<Int, RuntimeError> {
    if n % EVERY == 0 { return Err(RuntimeError::new("no")); }
    Ok(n)
}

fn doubled(n: Int) -> Result<Int, RuntimeError> {
    BODY
}

fn main() {
    let mut sum = 0;
    for i in 1..=COUNT {
        match doubled(i) { Ok(n) => { sum += n; }, Err(_) => { sum += 1; } }
    }
    emit("sum", sum);
}
"""
BY_MARK = "let n = checked(n)?;\n    Ok(n * 2)"
BY_MATCH = "let r = checked(n);\n    match r { Ok(n) => Ok(n * 2), Err(_) => r }"
# name, every which call fails, what the row shows
ROWS = (("way_of_none", 1_000_000_007, "no call fails"), ("way_of_errors", 4, "one call in four fails"))


def error_ways(plan: Plan) -> list[Figure]:
    count = 20_000 if plan.quick else 100_000
    return [_row(plan, count, name, every, what) for name, every, what in ROWS]


def _row(plan: Plan, count: int, name: str, every: int, what: str) -> Figure:
    mark, match = (_program(body, every, count) for body in (BY_MARK, BY_MATCH))
    with_way, without = interleave([mark.run, match.run], plan)
    note = f"`?`, {what}, against `match` that hands the Err on"
    return Figure(name, _each(with_way, count), "µs", ratio=with_way.median / without.median, spread=with_way.spread, note=note)


def _each(samples: Samples, count: int) -> float:
    return samples.median / count * 1e6


def _program(body: str, every: int, count: int) -> Concerto:
    source = PROGRAM.replace("COUNT", str(count)).replace("BODY", body).replace("EVERY", str(every))
    program = Concerto(source, tier="interp")
    failing = range(every, count + 1, every)
    require(program.output(), [f"sum {2 * (count * (count + 1) // 2 - sum(failing)) + len(failing)}"])
    return program
