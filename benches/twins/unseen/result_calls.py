"""A list that goes through functions that may raise: each step checks, extends and gives it back."""

from dataclasses import dataclass


@dataclass(slots=True)
class Entry:
    id: int
    text: str


def checked(entries, id):
    if id % 1000 == 999:
        raise ValueError(f"refused {id}")
    entries.append(Entry(id, f"entry {id}"))
    return entries


def step(entries, id):
    return checked(entries, id)


def main(n, emit):
    entries = []
    failures = 0
    for id in range(n):
        try:
            entries = step(entries, id)
        except ValueError:
            failures += 1
    emit("entries", len(entries))
    emit("failures", failures)
    emit("letters", sum([len(e.text) for e in entries]))
