"""An object that keeps state: a till with a running total."""


class Refused(Exception):
    pass


class Till:
    __slots__ = ("cents", "sales", "by_kind")

    def __init__(self):
        self.cents = 0
        self.sales = 0
        self.by_kind = {}

    def sell(self, kind, cents):
        if cents <= 0:
            raise Refused(f"a sale of {cents}")
        self.cents += cents
        self.sales += 1
        self.by_kind[kind] = self.by_kind.get(kind, 0) + cents
        return self.cents

    def average(self):
        return self.cents // self.sales if self.sales else 0

    def of_kind(self, kind):
        return self.by_kind.get(kind, 0)


def main(n, emit):
    till = Till()
    kinds = ["tea", "cake", "soup", "bread"]
    refused = averages = 0
    for i in range(n):
        try:
            till.sell(kinds[i % 4], i * 37 % 900)
        except Refused:
            refused += 1
        if i % 10 == 0:
            averages += till.average()
    emit("refused", refused)
    emit("averages", averages)
    emit("kinds", [till.of_kind(k) for k in kinds])
