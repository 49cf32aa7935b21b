"""Robots on a grid: commands parsed from text, turned into functions, run with bounds and lost robots."""

from dataclasses import dataclass, replace


@dataclass(slots=True)
class Robot:
    x: int
    y: int
    heading: int
    lost: bool


def ahead(robot):
    match robot.heading:
        case 0:
            return robot.x, robot.y + 1
        case 1:
            return robot.x + 1, robot.y
        case 2:
            return robot.x, robot.y - 1
    return robot.x - 1, robot.y


def forward(robot):
    x, y = ahead(robot)
    if x < 0 or y < 0 or x > 50 or y > 50:
        return replace(robot, lost=True)
    return replace(robot, x=x, y=y)


COMMANDS = {
    "L": lambda r: replace(r, heading=(r.heading + 3) % 4),
    "R": lambda r: replace(r, heading=(r.heading + 1) % 4),
    "F": forward,
}


def run(robot, program):
    for letter in program:
        step = COMMANDS.get(letter)
        if step is None:
            raise ValueError(f"unknown command {letter}")
        robot = step(robot)
        if robot.lost:
            return robot
    return robot


def main(n, emit):
    programs = ["FFRFFLFF", "FRFRFRFRF", "LLFFLFFFRRFLL", "FFFFFFFFFFFFFFF", "FFXFF"]
    lost = wrong = total = 0
    for i in range(n):
        start = Robot(i % 50, i * 7 % 50, i % 4, False)
        try:
            robot = run(start, programs[i % 5])
        except ValueError:
            wrong += 1
            continue
        if robot.lost:
            lost += 1
        else:
            total += robot.x * 51 + robot.y
    emit("lost", lost)
    emit("wrong", wrong)
    emit("sum", total)
