"""An order as a state machine: events give a new state or are refused."""

from dataclasses import dataclass


class Refused(Exception):
    pass


@dataclass(slots=True)
class Cart:
    pass


@dataclass(slots=True)
class Paid:
    cents: int


@dataclass(slots=True)
class Packed:
    cents: int
    boxes: int


@dataclass(slots=True)
class Sent:
    cents: int
    boxes: int
    code: str


@dataclass(slots=True)
class Closed:
    pass


def following(state, event):
    match state, event:
        case Cart(), ("pay", cents) if cents > 0:
            return Paid(cents)
        case Cart(), ("close", _):
            return Closed()
        case Paid(cents), ("pack", boxes):
            return Packed(cents, boxes)
        case Packed(cents, boxes), ("send", code):
            return Sent(cents, boxes, code)
        case Sent(cents), ("return", _):
            return Paid(cents - 500)
        case Sent(), ("close", _):
            return Closed()
        case Closed(), _:
            raise Refused("it is closed")
        case _, ("pay", _):
            raise Refused("it is paid")
    raise Refused("not now")


def event(i):
    match i * i % 7:
        case 0:
            return ("pay", i % 5000 + 1)
        case 1:
            return ("pack", i % 3 + 1)
        case 2:
            return ("send", f"c{i % 10}")
        case 4:
            return ("return", None) if i % 5 == 0 else ("pay", i)
    return ("close", None)


def main(n, emit):
    state = Cart()
    refused = {}
    closed = cents = 0
    for i in range(n):
        try:
            state = following(state, event(i))
            if isinstance(state, Closed):
                closed += 1
                state = Cart()
        except Refused as e:
            why = str(e)
            refused[why] = refused.get(why, 0) + 1
        if not isinstance(state, Cart):
            cents += state.cents
    emit("closed", closed)
    emit("cents", cents)
    emit("refused", refused)
