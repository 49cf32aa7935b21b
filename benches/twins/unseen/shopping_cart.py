"""Carts with discounts: rules are values that hold a function, the best one wins."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Line:
    article: str
    quantity: int
    cents: int


@dataclass(slots=True)
class Cart:
    customer: str
    lines: list = field(default_factory=list)
    coupon: str | None = None

    def add(self, article, quantity, cents):
        for line in self.lines:
            if line.article == article:
                line.quantity += quantity
                return
        self.lines.append(Line(article, quantity, cents))

    def total(self):
        return sum(line.quantity * line.cents for line in self.lines)

    def pieces(self):
        return sum(line.quantity for line in self.lines)


@dataclass(slots=True)
class Rule:
    name: str
    applies: object
    discount: object


RULES = [
    Rule("ten percent", lambda c: c.coupon == "TEN", lambda t: t // 10),
    Rule("bulk", lambda c: c.pieces() > 12, lambda t: t * 15 // 100),
    Rule("welcome", lambda c: c.customer.startswith("new"), lambda t: min(t, 500)),
]


def best(cart, rules):
    total = cart.total()
    found = ("none", 0)
    for rule in rules:
        if rule.applies(cart):
            cents = rule.discount(total)
            if cents > found[1]:
                found = (rule.name, cents)
    return found


def main(n, emit):
    articles = ["tea", "mug", "spoon", "tray", "pot"]
    revenue = 0
    used = {}
    for i in range(n):
        cart = Cart(f"new {i}" if i % 3 == 0 else f"known {i}")
        for k in range(6):
            cart.add(articles[(i + k * k) % 5], 1 + (i + k) % 4, 150 + (i + k * 7) % 5 * 125)
        if i % 5 == 0:
            cart.coupon = "TEN"
        name, cents = best(cart, RULES)
        revenue += cart.total() - cents
        used[name] = used.get(name, 0) + 1
    emit("revenue", revenue)
    emit("used", used)
