"""An object of sums that a function takes and gives back, with a list of what it saw."""

from dataclasses import dataclass


@dataclass(slots=True)
class Totals:
    count: int
    sum: int
    least: int
    most: int
    peaks: list


def with_value(totals, x):
    peaks = totals.peaks
    if x >= totals.most:
        peaks.append(x)
    elif x % 2 == 0:
        peaks.append(-x)
    return Totals(totals.count + 1, totals.sum + x, min(totals.least, x), max(totals.most, x), peaks)


def main(n, emit):
    totals = Totals(0, 0, 1000000, 0, [])
    for i in range(n):
        totals = with_value(totals, i * 7919 % 10007)
    emit("sum", totals.sum)
    emit("range", [totals.least, totals.most])
    emit("peaks", len(totals.peaks))
    emit("mean", totals.sum // totals.count)
