"""JSON read as typed values, filtered and changed, written again."""

import json
from dataclasses import asdict, dataclass, field, replace


@dataclass(slots=True)
class Address:
    street: str
    city: str


@dataclass(slots=True)
class Customer:
    id: int
    name: str
    address: Address
    active: bool = True
    orders: list = field(default_factory=list)

    def as_json(self):
        return {
            "id": self.id,
            "name": self.name,
            "active": self.active,
            "address": {"street": self.address.street, "city": self.address.city},
            "orders": self.orders,
        }


@dataclass(slots=True)
class Summary:
    city: str
    customers: int = 0
    spent: int = 0


def source(n):
    rows = []
    for i in range(n):
        extra = ',"active":false' if i % 4 == 0 else ""
        rows.append(
            f'{{"id":{i},"name":"Customer {i}"{extra},"address":{{"street":"Road {i % 90}","city":"City {i % 7}"}},'
            f'"orders":[{i},{i * 3 % 100}]}}'
        )
    return "[" + ",".join(rows) + "]"


def customer(row):
    return Customer(row["id"], row["name"], Address(**row["address"]), row.get("active", True), row.get("orders", []))


def summaries(customers):
    found = {}
    for each in customers:
        city = each.address.city
        summary = found.get(city)
        if summary is None:
            summary = found[city] = Summary(city)
        summary.customers += 1
        summary.spent += sum(each.orders)
    return list(found.values())


def main(n, emit):
    customers = [customer(row) for row in json.loads(source(n))]
    active = [c for c in customers if c.active]
    moved = [replace(c, address=Address(c.address.street + " 1", c.address.city)) for c in active]
    text = json.dumps([c.as_json() for c in moved], separators=(",", ":"))
    emit("letters", len(text))
    emit("first", moved[0].address.street)
    emit("summaries", [asdict(summary) for summary in summaries(moved)])
