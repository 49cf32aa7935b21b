"""A crossing simulated step by step; every step returns a new state that holds counters."""

from dataclasses import dataclass, replace
from enum import Enum


class Light(Enum):
    RED = 0
    GREEN = 1
    YELLOW = 2


@dataclass(slots=True)
class Crossing:
    light: Light
    left: int
    waiting: int
    passed: int
    changes: int


FOLLOWING = {Light.RED: (Light.GREEN, 9), Light.GREEN: (Light.YELLOW, 3), Light.YELLOW: (Light.RED, 7)}


def step(before, cars):
    if cars < 0:
        raise ValueError("fewer cars than none")
    after = replace(before)
    after.waiting += cars
    if after.light is Light.GREEN and after.waiting > 0:
        through = min(after.waiting, 2)
        after.waiting -= through
        after.passed += through
    after.left -= 1
    if after.left == 0:
        after.light, after.left = FOLLOWING[after.light]
        after.changes += 1
    return after


def main(n, emit):
    crossing = Crossing(Light.RED, 7, 0, 0, 0)
    faults = 0
    for i in range(n):
        cars = -1 if i % 1000 == 999 else 1 if i * 7 % 10 < 7 else 0
        try:
            crossing = step(crossing, cars)
        except ValueError:
            faults += 1
    emit("passed", crossing.passed)
    emit("waiting", crossing.waiting)
    emit("changes", crossing.changes)
    emit("faults", faults)
