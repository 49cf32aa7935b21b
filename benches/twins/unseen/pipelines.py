"""Comprehensions, zip and sums over records."""

from dataclasses import dataclass


@dataclass(slots=True)
class Reading:
    sensor: int
    hour: int
    value: int


def main(n, emit):
    everything = [Reading(i % 11, i // 11 % 24, (i * 7919 + 13) % 1000) for i in range(n)]
    night = [r.value for r in everything if r.hour < 6 or r.hour > 21]
    emit("night", sum(night))

    steps = [abs(b.value - a.value) for a, b in zip(everything, everything[1:], strict=False)]
    emit("steps", len([s for s in steps if s > 300]))

    labels = [f"{i}:{r.value}" for i, r in enumerate(everything) if i % 50 == 0]
    emit("labels", len(" ".join(labels)))

    emit("high", max((r.value for r in everything), default=0))

    doubled = []
    for r in everything:
        doubled += [r.value, -r.sensor] if r.value % 3 == 0 else [r.value]
    emit("doubled", [len(doubled), sum(doubled)])

    emit("any", any(r.value == 999 for r in everything))
    emit("all", all(r.value >= 0 for r in everything))
    emit("found", next((r.hour for r in everything if r.value == 500 and r.sensor == 3), -1))
