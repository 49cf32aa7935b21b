"""Messages of nested small classes taken apart by deep patterns: a little chat server's log."""

from dataclasses import dataclass


@dataclass(slots=True)
class Guest:
    pass


@dataclass(slots=True)
class Member:
    name: str
    level: int


@dataclass(slots=True)
class Text:
    text: str


@dataclass(slots=True)
class Image:
    width: int
    height: int


@dataclass(slots=True)
class Reaction:
    to: int
    sign: str


@dataclass(slots=True)
class Reply:
    to: int
    content: object


@dataclass(slots=True)
class Joined:
    user: object


@dataclass(slots=True)
class Left:
    user: object


@dataclass(slots=True)
class Said:
    user: object
    content: object


@dataclass(slots=True)
class Tick:
    pass


def user(i):
    return Guest() if i % 4 == 0 else Member(f"user{i % 17}", i % 3)


def content(i):
    match i % 5:
        case 0:
            return Image(i % 800, i % 600)
        case 1:
            return Reaction(i - 1, "+1")
        case 2:
            return Reply(i - 2, content(i + 1))
    return Text(f"text {i}")


def message(i):
    match i % 9:
        case 0:
            return Joined(user(i))
        case 1:
            return Left(user(i))
        case 2:
            return Tick()
    return Said(user(i), content(i))


def points(message):
    match message:
        case Tick():
            return 0
        case Joined(Guest()) | Left(Guest()):
            return 1
        case Joined(Member(_, level)):
            return 2 + level
        case Left(Member(name, 2)):
            return len(name) * 2
        case Left(Member(name)):
            return len(name)
        case Said(Guest(), Text(text)):
            return len(text)
        case Said(Guest(), _):
            return -1
        case Said(Member(_, level), Image(width, height)) if width > height:
            return width * level
        case Said(_, Image(_, height)):
            return height
        case Said(_, Reaction(to, "+1")):
            return to % 10
        case Said(_, Reaction()):
            return 0
        case Said(Member(name), Reply(to, Text(text))):
            return to % 7 + len(text) + len(name)
        case Said(who, Reply(_, inner)):
            return 1 + points(Said(who, inner))
        case Said(Member(_, level), Text(text)):
            return len(text) + level


def main(n, emit):
    total = none = 0
    for i in range(n):
        found = points(message(i))
        total += found
        if found == 0:
            none += 1
    emit("total", total)
    emit("none", none)
