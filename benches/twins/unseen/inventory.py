"""Stock in a dict of records: deliveries, sales, what has run out."""

from dataclasses import dataclass


class Refused(Exception):
    pass


@dataclass(slots=True)
class Item:
    name: str
    count: int = 0
    sold: int = 0


class Stock:
    def __init__(self):
        self.items = {}
        self.shortages = {}

    def deliver(self, name, count):
        item = self.items.get(name)
        if item is None:
            item = self.items[name] = Item(name)
        item.count += count

    def sell(self, name, count):
        item = self.items.get(name)
        if item is None:
            raise Refused(f"no {name}")
        if item.count < count:
            self.shortages[name] = self.shortages.get(name, 0) + 1
            raise Refused(f"too few {name}")
        item.count -= count
        item.sold += count
        return item.count


def main(n, emit):
    stock = Stock()
    names = ["bolt", "nut", "washer", "screw", "nail", "hinge"]
    left = failures = 0
    for i in range(n):
        name = names[i * 5 % 6]
        if i % 3 == 0:
            stock.deliver(name, i % 7)
        else:
            try:
                left += stock.sell(names[i % 6], i % 5)
            except Refused:
                failures += 1
    emit("left", left)
    emit("failures", failures)
    emit("sold", [item.sold for item in stock.items.values()])
    emit("shortages", len(stock.shortages))
