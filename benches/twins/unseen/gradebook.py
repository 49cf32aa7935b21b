"""Marks of pupils: averages, ranks, and a class report as text."""

from dataclasses import dataclass


@dataclass(slots=True)
class Pupil:
    name: str
    marks: list
    absent: int


@dataclass(slots=True)
class Row:
    name: str
    average: float
    grade: str


def average(marks):
    return sum(marks) / len(marks) if marks else 0.0


def grade(points):
    if points >= 90.0:
        return "A"
    if points >= 80.0:
        return "B"
    return "C" if points >= 65.0 else "D"


def row(pupil):
    kept = sorted(pupil.marks)[1:] if pupil.absent == 0 else pupil.marks
    points = average(kept)
    return Row(pupil.name, points, grade(points))


def main(n, emit):
    pupils = []
    for i in range(n):
        marks = [50 + (i * 31 + k * 17 + i * k) % 51 for k in range(8)]
        pupils.append(Pupil(f"pupil {i}", marks, i % 4))
    rows = [row(pupil) for pupil in pupils]
    rows.sort(key=lambda r: r.average, reverse=True)
    counts = {}
    for r in rows:
        counts[r.grade] = counts.get(r.grade, 0) + 1
    lines = [f"{r.name}: {r.grade}" for r in rows]
    emit("counts", counts)
    emit("top", lines[:3])
    emit("length", len("\n".join(lines)))
    emit("mean", int(average([int(r.average * 100.0) for r in rows])))
