"""A document of objects, lists and dicts, changed deep inside through methods."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Cell:
    value: int = 0
    notes: list = field(default_factory=list)


@dataclass(slots=True)
class Sheet:
    name: str
    rows: list

    def set(self, row, column, value):
        cell = self.rows[row][column]
        cell.value += value
        if value % 2 == 0:
            cell.notes.append(str(value))

    def total(self):
        return sum([sum([cell.value for cell in row]) for row in self.rows])


@dataclass(slots=True)
class Book:
    sheets: dict
    changes: int = 0

    def change(self, sheet, row, column, value):
        self.sheets[sheet].set(row, column, value)
        self.changes += 1


def main(n, emit):
    book = Book({})
    for name in ("income", "costs"):
        book.sheets[name] = Sheet(name, [[Cell() for _ in range(8)] for _ in range(20)])
    for i in range(n):
        book.change("costs" if i % 3 == 0 else "income", i * 7 % 20, i % 8, i % 100)
    emit("changes", book.changes)
    emit("totals", [sheet.total() for sheet in book.sheets.values()])
    emit("notes", len(book.sheets["income"].rows[7][1].notes))
