"""Islands on a map: a grid filled with a stack of places, measured."""

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Island:
    letter: str
    size: int = 0
    shore: int = 0


def sea(n):
    state = 23
    rows = []
    for _ in range(n):
        row = []
        for _ in range(n):
            state = (state * 1103515245 + 12345) % 2147483648
            row.append("#" if state // 65536 % 100 < 55 else ".")
        rows.append(row)
    return rows


def islands(grid):
    n = len(grid)
    found = []
    for y in range(n):
        for x in range(n):
            if grid[y][x] != "#":
                continue
            letter = "abcdefghijklmnopqrstuvwxyz"[len(found) % 26]
            island = Island(letter)
            opened = [(y, x)]
            grid[y][x] = letter
            while opened:
                cy, cx = opened.pop()
                island.size += 1
                for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                    ny = cy + dy
                    nx = cx + dx
                    if ny < 0 or nx < 0 or ny >= n or nx >= n or grid[ny][nx] == ".":
                        island.shore += 1
                    elif grid[ny][nx] == "#":
                        grid[ny][nx] = letter
                        opened.append((ny, nx))
            found.append(island)
    return found, grid


def main(n, emit):
    found, grid = islands(sea(n))
    largest = max(found, key=lambda island: island.size)
    emit("islands", len(found))
    emit("land", sum([i.size for i in found]))
    emit("shore", sum([i.shore for i in found]))
    emit("largest", asdict(largest))
    emit("row", "".join(grid[n // 2]))
