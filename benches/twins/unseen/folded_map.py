"""An index made by loops over books."""

from dataclasses import dataclass


@dataclass(slots=True)
class Book:
    title: str
    year: int


def main(n, emit):
    books = [Book(f"Book {i}", 1900 + i * 31 % 120) for i in range(n)]
    by_title = {}
    for book in books:
        by_title[book.title] = book.year
    decades = {}
    for book in books:
        decade = book.year // 10
        decades[decade] = decades.get(decade, 0) + 1
    emit("titles", len(by_title))
    emit("years", sum(by_title.values()))
    emit("decades", [list(entry) for entry in decades.items()])
