"""Planets under gravity."""

from dataclasses import dataclass
from math import sqrt


@dataclass(slots=True)
class Body:
    x: float
    y: float
    z: float
    vx: float
    vy: float
    vz: float
    mass: float


def bodies():
    return [
        Body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 39.47841760435743),
        Body(4.84, -1.16, -0.1, 0.6, 2.81, -0.02, 0.03769367487038949),
        Body(8.34, 4.12, -0.4, -1.01, 1.82, 0.008, 0.011286326131968767),
        Body(12.89, -15.11, -0.22, 1.08, 0.86, -0.01, 0.0017237240570597112),
    ]


def advance(system, dt):
    n = len(system)
    for i in range(n):
        a = system[i]
        for j in range(i + 1, n):
            b = system[j]
            dx = a.x - b.x
            dy = a.y - b.y
            dz = a.z - b.z
            squared = dx * dx + dy * dy + dz * dz
            size = dt / (squared * sqrt(squared))
            mine = a.mass * size
            theirs = b.mass * size
            a.vx -= dx * theirs
            a.vy -= dy * theirs
            a.vz -= dz * theirs
            b.vx += dx * mine
            b.vy += dy * mine
            b.vz += dz * mine
    for body in system:
        body.x += dt * body.vx
        body.y += dt * body.vy
        body.z += dt * body.vz


def energy(system):
    total = 0.0
    for body in system:
        total += 0.5 * body.mass * (body.vx * body.vx + body.vy * body.vy + body.vz * body.vz)
    return total


def main(n, emit):
    system = bodies()
    emit("before", energy(system))
    for _ in range(n):
        advance(system, 0.01)
    emit("after", energy(system))
    emit("place", [system[1].x, system[1].y])
