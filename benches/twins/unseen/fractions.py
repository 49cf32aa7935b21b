"""Exact fractions: added, multiplied, compared, and a small system of equations solved with them."""

from dataclasses import dataclass


@dataclass(slots=True)
class Fraction:
    over: int
    under: int

    def plus(self, o):
        return fraction(self.over * o.under + o.over * self.under, self.under * o.under)

    def minus(self, o):
        return self.plus(Fraction(-o.over, o.under))

    def times(self, o):
        return fraction(self.over * o.over, self.under * o.under)

    def by(self, o):
        return None if o.over == 0 else fraction(self.over * o.under, self.under * o.over)

    def shown(self):
        return str(self.over) if self.under == 1 else f"{self.over}/{self.under}"


def divisor(a, b):
    x, y = abs(a), b
    while y:
        x, y = y, x % y
    return x


def fraction(over, under):
    sign = -1 if under < 0 else 1
    common = divisor(over, under * sign)
    return Fraction(sign * over // common, sign * under // common) if common else Fraction(0, 1)


def remainder(a, b):
    return a % b if a >= 0 else -(-a % b)


def solved(rows):
    m = rows
    n = len(m)
    for i in range(n):
        pivot = i
        while pivot < n and m[pivot][i].over == 0:
            pivot += 1
        if pivot == n:
            return None
        m[i], m[pivot] = m[pivot], m[i]
        for r in range(n):
            if r != i:
                factor = m[r][i].by(m[i][i])
                for c in range(i, n + 1):
                    m[r][c] = m[r][c].minus(factor.times(m[i][c]))
    return [m[i][n].by(m[i][i]) for i in range(n)]


def main(n, emit):
    letters = 0
    none = 0
    last = ""
    for i in range(n):
        rows = [
            [fraction((i * 7 + r * 5 + c * c * 3 + r * c * i) % 11 - 4, 1 + (i + r + c) % 3) for c in range(4)] for r in range(3)
        ]
        values = solved(rows)
        if values is None:
            none += 1
        else:
            last = " ".join([v.shown() for v in values])
            letters += len(last)
    emit("letters", letters)
    emit("none", none)
    emit("last", last)
