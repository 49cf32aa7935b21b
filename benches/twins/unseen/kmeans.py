"""Points in the plane grouped around centres that move to the mean of their points."""

from dataclasses import dataclass


@dataclass(slots=True)
class Point:
    x: float
    y: float

    def distance(self, other):
        dx = self.x - other.x
        dy = self.y - other.y
        return dx * dx + dy * dy


def nearest(point, centres):
    best = 0
    least = point.distance(centres[0])
    for i in range(1, len(centres)):
        d = point.distance(centres[i])
        if d < least:
            least = d
            best = i
    return best


def total(values):
    out = 0.0
    for value in values:
        out += value
    return out


def mean(points, before):
    if not points:
        return before
    n = float(len(points))
    return Point(total([p.x for p in points]) / n, total([p.y for p in points]) / n)


def step(points, centres):
    groups = [[] for _ in centres]
    for point in points:
        groups[nearest(point, centres)].append(point)
    return [mean(group, centres[i]) for i, group in enumerate(groups)]


def main(n, emit):
    points = []
    state = 11
    for i in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        x = float(state // 65536 % 1000) / 100.0
        points.append(Point(x + float(i % 4 * 8), float(state // 1024 % 1000) / 100.0))
    centres = points[:5]
    for _ in range(6):
        centres = step(points, centres)
    emit("centres", [f"{int(c.x * 1000.0)}/{int(c.y * 1000.0)}" for c in centres])
