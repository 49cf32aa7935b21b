"""Calendars of people: meetings sorted and merged, what is free between them, a slot that suits everyone."""

from dataclasses import dataclass
from functools import reduce


@dataclass(slots=True)
class Span:
    start: int
    end: int

    def minutes(self):
        return self.end - self.start

    def common(self, other):
        start = max(self.start, other.start)
        end = min(self.end, other.end)
        return Span(start, end) if start < end else None

    def text(self):
        return f"{clock(self.start)}-{clock(self.end)}"


def clock(minutes):
    return f"{minutes // 60}:{minutes % 60:02}"


def merged(spans):
    out = []
    for span in sorted(spans, key=lambda s: s.start):
        if out and span.start <= out[-1].end:
            out[-1].end = max(out[-1].end, span.end)
        else:
            out.append(span)
    return out


def free(busy, day):
    out = []
    at = day.start
    for span in merged(busy):
        if span.start > at:
            out.append(Span(at, span.start))
        at = max(at, span.end)
    if at < day.end:
        out.append(Span(at, day.end))
    return out


def both(a, b):
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        common = a[i].common(b[j])
        if common is not None:
            out.append(common)
        if a[i].end < b[j].end:
            i += 1
        else:
            j += 1
    return out


def meetings(day, person):
    out = []
    for k in range(6):
        start = 480 + (day * 37 + person * 101 + k * k * 53) % 540
        out.append(Span(start, start + 15 + (day + k * 7) % 50))
    return out


def main(n, emit):
    whole = Span(480, 1080)
    minutes = spans = none = 0
    first = {}
    for day in range(n):
        everyone = reduce(both, (free(meetings(day, person), whole) for person in range(4)), [whole])
        minutes += sum(s.minutes() for s in everyone)
        spans += len(everyone)
        slot = next((s for s in everyone if s.minutes() >= 30), None)
        if slot is None:
            none += 1
        else:
            first[slot.text()] = first.get(slot.text(), 0) + 1
    emit("minutes", minutes)
    emit("spans", spans)
    emit("none", none)
    emit("slots", len(first))
    emit("some", list(first.items())[:3])
