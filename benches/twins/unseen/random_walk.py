"""A walk on a grid by random steps: places visited in a set, directions counted."""

from dataclasses import dataclass
from enum import Enum


class Direction(Enum):
    NORTH = 0
    EAST = 1
    SOUTH = 2
    WEST = 3


@dataclass(slots=True)
class Place:
    x: int
    y: int

    def moved(self, way):
        if way is Direction.NORTH:
            return Place(self.x, self.y + 1)
        if way is Direction.EAST:
            return Place(self.x + 1, self.y)
        if way is Direction.SOUTH:
            return Place(self.x, self.y - 1)
        return Place(self.x - 1, self.y)

    def distance(self):
        return abs(self.x) + abs(self.y)


DIRECTIONS = list(Direction)


def main(n, emit):
    place = Place(0, 0)
    visited = set()
    state = 12
    furthest = back = 0
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        place = place.moved(DIRECTIONS[state // 65536 % 4])
        visited.add(f"{place.x},{place.y}")
        furthest = max(furthest, place.distance())
        if place == Place(0, 0):
            back += 1
    emit("place", {"x": place.x, "y": place.y})
    emit("visited", len(visited))
    emit("furthest", furthest)
    emit("back", back)
