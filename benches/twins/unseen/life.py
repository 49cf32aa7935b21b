"""The game of life on a torus, a new grid each generation."""


def start(rows, columns):
    state = 99
    grid = []
    for _ in range(rows):
        row = []
        for _ in range(columns):
            state = (state * 1103515245 + 12345) % 2147483648
            row.append(state // 65536 % 3 == 0)
        grid.append(row)
    return grid


def neighbours(grid, y, x):
    rows = len(grid)
    columns = len(grid[0])
    count = 0
    for dy in (rows - 1, 0, 1):
        for dx in (columns - 1, 0, 1):
            if (dy != 0 or dx != 0) and grid[(y + dy) % rows][(x + dx) % columns]:
                count += 1
    return count


def following(grid):
    after = []
    for y in range(len(grid)):
        row = []
        for x in range(len(grid[0])):
            around = neighbours(grid, y, x)
            row.append(around == 3 or grid[y][x] and around == 2)
        after.append(row)
    return after


def main(n, emit):
    grid = start(36, 40)
    for _ in range(n):
        grid = following(grid)
    alive = [sum(row) for row in grid]
    emit("alive", sum(alive))
    emit("rows", alive)
    emit("first", "".join("#" if c else "." for c in grid[0]))
