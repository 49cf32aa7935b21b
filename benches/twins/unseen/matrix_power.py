"""Matrices as objects with methods: powers by squaring, transposed, determinant of a part."""

from dataclasses import dataclass


def dot(a, b):
    total = 0
    for x, y in zip(a, b, strict=False):
        total += x * y
    return total % 10007


@dataclass(slots=True)
class Matrix:
    rows: list

    @staticmethod
    def identity(n):
        return Matrix([[1 if i == j else 0 for j in range(n)] for i in range(n)])

    def times(self, other):
        columns = other.transposed().rows
        return Matrix([[dot(row, column) for column in columns] for row in self.rows])

    def transposed(self):
        return Matrix([[row[j] for row in self.rows] for j in range(len(self.rows[0]))])

    def power(self, n):
        base = self
        out = Matrix.identity(len(self.rows))
        while n > 0:
            if n % 2 == 1:
                out = out.times(base)
            base = base.times(base)
            n //= 2
        return out

    def determinant(self):
        r = self.rows
        left = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1])
        middle = r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0])
        right = r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0])
        return left - middle + right


def remainder(n, by):
    """With the sign of n."""
    return n % by if n >= 0 else -(-n % by)


def main(n, emit):
    trace = determinants = 0
    for i in range(n):
        start = Matrix([[1, 1, 0, i % 5], [1, 0, 2, 1], [0, 3, 1, 1], [i % 3, 0, 1, 2]])
        result = start.power(i % 30 + 5)
        trace += sum(result.rows[k][k] for k in range(4))
        determinants += remainder(result.determinant(), 1000)
    emit("trace", trace)
    emit("determinants", determinants)
