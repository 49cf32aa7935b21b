"""A CSV read with csv, summed by group, means in hundredths, written as CSV again."""

import csv
import io
from dataclasses import dataclass


@dataclass(slots=True)
class Group:
    rows: int
    sum: int
    least: int
    most: int


def source(n):
    rows = [f'{i},"Town, {i % 15}",{i * 29 % 400},{"true" if i % 2 == 0 else "false"}' for i in range(n)]
    return "id,town,amount,paid\n" + "\n".join(rows) + "\n"


def main(n, emit):
    groups = {}
    unpaid = 0
    for row in csv.DictReader(io.StringIO(source(n))):
        amount = int(row["amount"])
        group = groups.get(row["town"])
        if group is None:
            group = groups[row["town"]] = Group(0, 0, amount, amount)
        group.rows += 1
        group.sum += amount
        group.least = min(group.least, amount)
        group.most = max(group.most, amount)
        if row["paid"] == "false":
            unpaid += amount
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["town", "mean", "range"])
    for town, group in groups.items():
        writer.writerow([town, group.sum * 100 // group.rows, group.most - group.least])
    emit("unpaid", unpaid)
    emit("table", out.getvalue())
