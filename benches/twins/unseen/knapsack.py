"""The knapsack by dynamic programming, with the items that were chosen."""

from dataclasses import dataclass


@dataclass(slots=True)
class Item:
    name: str
    weight: int
    value: int


def best(items, capacity):
    table = [[0] * (capacity + 1)]
    for item in items:
        before = table[-1]
        row = list(before)
        for room in range(item.weight, capacity + 1):
            taken = before[room - item.weight] + item.value
            if taken > row[room]:
                row[room] = taken
        table.append(row)
    chosen = []
    room = capacity
    for i in reversed(range(len(items))):
        if table[i + 1][room] != table[i][room]:
            chosen.append(items[i].name)
            room -= items[i].weight
    return table[-1][capacity], chosen


def main(n, emit):
    items = [Item(f"item {i}", i * 7 % 23 + 3, i * 13 % 37 + 5) for i in range(n)]
    value, chosen = best(items, n * 6)
    emit("value", value)
    emit("chosen", chosen)
