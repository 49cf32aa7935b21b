"""A long program for the compiler rows: as many lines as wanted, of every family of the language, no two parts the same.

Hands on source text. Must not know: who compiles it.
"""

from __future__ import annotations

_PART = """\
struct Order{n} {{
    id: Int,
    customer: String,
    items: Array<Int>,
    paid: Bool,
}}

enum State{n} {{ Open, Packed, Sent }}

fn next_state_{n}(state: State{n}) -> State{n} {{
    match state {{
        State{n}::Open => State{n}::Packed,
        State{n}::Packed => State{n}::Sent,
        State{n}::Sent => State{n}::Sent,
    }}
}}

fn total_{n}(order: Order{n}, discount: Int) -> Int {{
    let mut sum = 0;
    for price in order.items {{
        if price > {limit} {{
            sum += price - discount;
        }} else {{
            sum += price;
        }}
    }}
    sum
}}

fn find_{n}(orders: Array<Order{n}>, id: Int) -> Option<Order{n}> {{
    let mut i = 0;
    while i < orders.len() {{
        if orders[i].id == id {{
            return Some(orders[i]);
        }}
        i += 1;
    }}
    None
}}

fn report_{n}(orders: Array<Order{n}>) -> String {{
    let totals = orders.filter(|o| o.paid).map(|o| total_{n}(o, {discount}));
    let mut counts: Map<String, Int> = {{}};
    for order in orders {{
        counts[order.customer] = (counts.get(order.customer) ?? 0) + 1;
    }}
    let (first, rest) = (totals.first() ?? 0, totals.len());
    "part {n}: ${{first}} and ${{rest}} more, ${{counts.len()}} customers"
}}

fn checked_{n}(id: Int) -> Result<Int, RuntimeError> {{
    if id < 0 || id > {limit} * 1000 {{
        throw RuntimeError::new("no order ${{id}}");
    }}
    let found = find_{n}([Order{n} {{ id: id, customer: "c{n}", items: [{n}, {limit}], paid: true }}], id);
    match found {{
        Some(order) => Ok(total_{n}(order, 2)),
        None => Err(RuntimeError::new("gone")),
    }}
}}

"""
_MAIN = """\
fn main() {{
    emit("total", checked_0(7)?);
    emit("last", checked_{last}(7)?);
}}
"""
PART_LINES = _PART.count("\n")


def source(lines: int) -> str:
    """About `lines` lines."""
    parts = max(1, lines // PART_LINES)
    text = "".join(_PART.format(n=n, limit=n % 97 + 10, discount=n % 7) for n in range(parts))
    return text + _MAIN.format(last=parts - 1)
