"""A report: orders grouped by region and product, sorted by revenue, lines aligned."""

from dataclasses import dataclass


@dataclass(slots=True)
class Order:
    region: str
    product: str
    quantity: int
    cents: int


@dataclass(slots=True)
class Line:
    region: str
    orders: int = 0
    quantity: int = 0
    cents: int = 0


def orders(n):
    regions = ["north", "east", "south", "west", "overseas"]
    products = ["pen", "ink", "paper", "desk", "lamp", "chair", "shelf"]
    state = 7
    found = []
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        draw = state // 65536
        found.append(Order(regions[draw % 5], products[draw // 5 % 7], draw % 9 + 1, draw % 2000 + 99))
    return found


def by_region(orders):
    lines = {}
    for order in orders:
        line = lines.get(order.region)
        if line is None:
            line = lines[order.region] = Line(order.region)
        line.orders += 1
        line.quantity += order.quantity
        line.cents += order.quantity * order.cents
    return lines


def by_product(orders):
    table = {}
    for order in orders:
        row = table.setdefault(order.product, {})
        row[order.region] = row.get(order.region, 0) + order.quantity
    return table


def main(n, emit):
    everything = orders(n)
    for line in sorted(by_region(everything).values(), key=lambda line: -line.cents):
        euros = f"{line.cents // 100}.{line.cents % 100:02}"
        emit("line", f"{line.region:<10}{line.orders:>6}{euros:>14}")
    emit("products", by_product(everything))
    large = [o for o in everything if o.quantity * o.cents > 9000]
    large.sort(key=lambda o: -o.quantity * o.cents)
    emit("large", len(large))
    emit("largest", f"{large[0].product} for {large[0].quantity * large[0].cents}" if large else "none")
