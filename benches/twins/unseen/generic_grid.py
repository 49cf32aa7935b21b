"""A grid with its own map, count and neighbours: sand that topples, then shown as text and as heights."""


class Grid:
    __slots__ = ("width", "height", "cells")

    def __init__(self, width, height, cells):
        self.width = width
        self.height = height
        self.cells = cells

    @classmethod
    def filled(cls, width, height, value):
        return cls(width, height, [value] * (width * height))

    def get(self, x, y):
        if x < 0 or y < 0 or x >= self.width or y >= self.height:
            return None
        return self.cells[y * self.width + x]

    def set(self, x, y, value):
        self.cells[y * self.width + x] = value

    def map(self, f):
        return Grid(self.width, self.height, [f(cell) for cell in self.cells])

    def count(self, f):
        return len([cell for cell in self.cells if f(cell)])

    def around(self, x, y):
        places = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
        return [(a, b) for a, b in places if self.get(a, b) is not None]

    def row(self, y):
        return self.cells[y * self.width : (y + 1) * self.width]


def topple(grid, x, y):
    todo = [(x, y)]
    steps = 0
    while todo:
        a, b = todo.pop()
        height = grid.get(a, b)
        if height < 4:
            continue
        grid.set(a, b, height - 4)
        steps += 1
        for c, d in grid.around(a, b):
            grown = grid.get(c, d) + 1
            grid.set(c, d, grown)
            if grown >= 4:
                todo.append((c, d))
        if height >= 8:
            todo.append((a, b))
    return steps


def main(n, emit):
    side = 15
    grid = Grid.filled(side, side, 2)
    steps = 0
    for i in range(n):
        x = (i * i + 3 * i) % side
        y = i * 7 // 3 % side
        grid.set(x, y, grid.get(x, y) + 1)
        steps += topple(grid, x, y)
    signs = grid.map(lambda height: " " if height == 0 else ".:#"[height - 1])
    names = signs.map(lambda sign: (sign, sign == "#"))
    emit("steps", steps)
    emit("full", grid.count(lambda height: height == 3))
    emit("peaks", names.count(lambda pair: pair[1]))
    emit("row", "".join(signs.row(7)))
    emit("outside", grid.get(side, 0))
