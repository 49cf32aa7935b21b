"""Pay of people with different contracts behind one class: hours, salaries, commissions; taxes, slips and sums."""

from dataclasses import dataclass


class Contract:
    __slots__ = ()

    def bonus(self, month):
        return self.pay(1) // 10 if month == 12 else 0

    def gross(self, month):
        return self.pay(month) + self.bonus(month)


@dataclass(slots=True)
class Salaried(Contract):
    cents: int

    def pay(self, month):
        return self.cents

    def title(self):
        return "salaried"


@dataclass(slots=True)
class Hourly(Contract):
    rate: int
    hours: list

    def pay(self, month):
        hours = self.hours[month - 1]
        extra = max(hours - 160, 0)
        return hours * self.rate + extra * self.rate // 4

    def title(self):
        return "hourly"

    def bonus(self, month):
        return 0


@dataclass(slots=True)
class Seller(Contract):
    base: int
    sales: dict
    percent: int

    def pay(self, month):
        return self.base + self.sales.get(month, 0) * self.percent // 100

    def title(self):
        return "seller"

    def bonus(self, month):
        return 5000 if len(self.sales) > 3 else 0


@dataclass(slots=True)
class Person:
    name: str
    contract: Contract
    children: int = 0


def contract(i):
    match i % 4:
        case 0 | 1:
            return Salaried(250000 + i * 700 % 90000)
        case 2:
            return Hourly(1500 + i % 9 * 100, [140 + (i + m * m) % 45 for m in range(12)])
    return Seller(180000, {i % 12 + 1: i * 997 % 900000, 6: 120000, 12: 300000, 13: 1}, 4)


def tax(gross, children):
    rest = max(gross - 100000 - children * 20000, 0)
    total = 0
    for width, percent in ((100000, 14), (150000, 24), (1000000, 42)):
        part = min(rest, width)
        total += part * percent // 100
        rest -= part
    return total


def main(n, emit):
    staff = [Person(f"person {i}", contract(i), i % 3) for i in range(n)]
    by_title = {}
    taxes = letters = 0
    for month in (6, 12):
        for person in staff:
            gross = person.contract.gross(month)
            due = tax(gross, person.children)
            title = person.contract.title()
            by_title[title] = by_title.get(title, 0) + gross
            taxes += due
            letters += len(f"{person.name} ({title}): {(gross - due) // 100}.{(gross - due) % 100}")
    emit("by title", by_title)
    emit("taxes", taxes)
    emit("letters", letters)
    emit("best", len([p.name for p in staff if p.contract.gross(12) > 340000]))
