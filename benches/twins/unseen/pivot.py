"""Lines of a table with quoted fields taken apart by hand, then a pivot table: rows by columns with sums, as text."""

from dataclasses import dataclass


class Fault(Exception):
    pass


@dataclass(slots=True)
class Sale:
    region: str
    product: str
    month: int
    cents: int


def fields(line):
    out = []
    field = ""
    quoted = False
    for c in line:
        if c == '"':
            quoted = not quoted
        elif c == "," and not quoted:
            out.append(field)
            field = ""
        else:
            field += c
    if quoted:
        raise Fault("a quote is open")
    out.append(field)
    return out


def sale(line):
    parts = fields(line)
    if len(parts) != 4:
        raise Fault(f"{len(parts)} fields")
    region, product, month, cents = parts
    try:
        return Sale(region, product, int(month), int(cents))
    except ValueError as error:
        raise Fault(str(error)) from None


class Pivot:
    def __init__(self):
        self.columns = []
        self.rows = {}

    def add(self, row, column, cents):
        cells = self.rows.setdefault(row, {})
        if column not in self.columns:
            self.columns.append(column)
        cells[column] = cells.get(column, 0) + cents

    def text(self):
        out = " " * 16 + "".join(f"{column:>9}" for column in self.columns) + "\n"
        for name, row in self.rows.items():
            cells = "".join(f"{row.get(column, '-'):>9}" for column in self.columns)
            out += f"{name:<16}{cells}\n"
        return out


def main(n, emit):
    regions = ["north", '"south, coast"', "east", '"west"']
    lines = []
    for i in range(n):
        match i % 50:
            case 17:
                lines.append('north,"lamp,3,5')
            case 31:
                lines.append("east,pen,five,100")
            case _:
                lines.append(f"{regions[i * 7 % 4]},product {i * i % 5},{i % 12 + 1},{i * 37 % 991}")
    pivot = Pivot()
    faults = {}
    for line in lines:
        try:
            s = sale(line)
        except Fault as fault:
            faults[str(fault)] = faults.get(str(fault), 0) + 1
        else:
            pivot.add(f"{s.region}/{s.product[8:]}", f"Q{(s.month + 2) // 3}", s.cents)
    emit("faults", list(faults.values()))
    emit("columns", pivot.columns)
    emit("table", pivot.text())
