"""Shapes behind a common class: dynamic calls through a list, an inherited method."""

from dataclasses import dataclass


class Shape:
    __slots__ = ()

    def describe(self):
        return f"{self.name()} of {self.area()}"


@dataclass(slots=True)
class Rectangle(Shape):
    width: int
    height: int

    def area(self):
        return self.width * self.height

    def name(self):
        return "rectangle"

    def scaled(self, by):
        return Rectangle(self.width * by, self.height * by)


@dataclass(slots=True)
class Square(Shape):
    side: int

    def area(self):
        return self.side * self.side

    def name(self):
        return "square"

    def scaled(self, by):
        return Square(self.side * by)

    def describe(self):
        return f"a square, side {self.side}"


@dataclass(slots=True)
class Triangle(Shape):
    base: int
    height: int

    def area(self):
        return self.base * self.height // 2

    def name(self):
        return "triangle"

    def scaled(self, by):
        return Triangle(self.base * by, self.height * by)


def shape(i):
    match i % 3:
        case 0:
            return Rectangle(i % 7 + 1, i % 5 + 2)
        case 1:
            return Square(i % 9 + 1)
    return Triangle(i % 11 + 1, i % 4 + 2)


def largest(shapes):
    best = shapes[0]
    for each in shapes:
        if each.area() > best.area():
            best = each
    return best


def main(n, emit):
    shapes = []
    for i in range(n):
        shapes.append(shape(i))
    total = letters = 0
    counts = {}
    for each in shapes:
        total += each.area() + each.scaled(2).area()
        letters += len(each.describe())
        counts[each.name()] = counts.get(each.name(), 0) + 1
    emit("total", total)
    emit("letters", letters)
    emit("counts", counts)
    emit("largest", largest(shapes).describe())
