"""Lines of text interpolated in loops: tables, invoices, numbers and conditions."""

from dataclasses import dataclass


@dataclass(slots=True)
class Part:
    name: str
    count: int
    cents: int


def money(cents):
    return f"{cents // 100}.{cents // 10 % 10}{cents % 10}"


def invoice(number, parts):
    text = f"Invoice {number}\n"
    total = 0
    for part in parts:
        amount = part.count * part.cents
        total += amount
        mark = " (!)" if amount > 5000 else ""
        text += f"{part.count} x {part.name} at {money(part.cents)}: {money(amount)}{mark}\n"
    plural = "" if len(parts) == 1 else "s"
    return text + f"Total {money(total)}, {len(parts)} line{plural}, tax {money(total * 19 // 100)}"


def main(n, emit):
    letters = marked = 0
    last = ""
    for i in range(n):
        parts = [
            Part(f"bolt M{i % 9}", i % 7 + 1, i * 13 % 900),
            Part("nut", i % 12, 25),
            Part(f"plate {'true' if i % 3 == 0 else 'false'}", 1, i * 101 % 9000),
        ]
        last = invoice(i, parts[i % 3 :])
        letters += len(last)
        if "(!)" in last:
            marked += 1
    emit("letters", letters)
    emit("marked", marked)
    emit("last", last)
