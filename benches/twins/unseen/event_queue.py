"""A simulation driven by events kept sorted in a list: elevators, calls, arrivals."""

from dataclasses import dataclass


@dataclass(slots=True)
class Call:
    floor: int
    to: int


@dataclass(slots=True)
class Arrive:
    lift: int
    floor: int


@dataclass(slots=True)
class Rest:
    lift: int


@dataclass(slots=True)
class Event:
    at: int
    kind: object


@dataclass(slots=True)
class Lift:
    floor: int
    busy: bool = False
    trips: int = 0


class World:
    __slots__ = ("now", "events", "lifts", "waiting", "moved")

    def __init__(self, lifts):
        self.now = 0
        self.events = []
        self.lifts = lifts
        self.waiting = []
        self.moved = 0

    def schedule(self, delay, kind):
        at = self.now + delay
        events = self.events
        place = len(events)
        while place > 0 and events[place - 1].at < at:
            place -= 1
        events.insert(place, Event(at, kind))

    def send(self, floor):
        for i, lift in enumerate(self.lifts):
            if not lift.busy:
                lift.busy = True
                lift.trips += 1
                way = abs(lift.floor - floor)
                self.moved += way
                self.schedule(way * 2 + 3, Arrive(i, floor))
                return True
        return False

    def handle(self, event):
        self.now = event.at
        match event.kind:
            case Call(floor, to):
                for stop in (floor, to):
                    if not self.send(stop):
                        self.waiting.append(stop)
            case Arrive(lift, floor):
                self.lifts[lift].floor = floor
                self.schedule(2, Rest(lift))
            case Rest(lift):
                self.lifts[lift].busy = False
                if self.waiting:
                    self.send(self.waiting.pop(0))


def main(n, emit):
    world = World([Lift(i * 3) for i in range(4)])
    state = 5
    handled = 0
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        draw = state // 65536
        world.schedule(draw % 9, Call(draw % 12, draw // 12 % 12))
        for _ in range(6):
            if not world.events:
                break
            world.handle(world.events.pop())
            handled += 1
    emit("now", world.now)
    emit("handled", handled)
    emit("moved", world.moved)
    emit("trips", [lift.trips for lift in world.lifts])
    emit("waiting", len(world.waiting))
