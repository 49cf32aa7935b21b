"""Binary search: positions in a sorted list of records, and the border of a condition."""

from dataclasses import dataclass


@dataclass(slots=True)
class Word:
    text: str
    rank: int


def place(words, text):
    low = 0
    high = len(words)
    while low < high:
        middle = (low + high) // 2
        found = words[middle].text
        if found == text:
            return middle
        if found < text:
            low = middle + 1
        else:
            high = middle
    return None


def border(low, high, holds):
    if low == high:
        return low
    middle = (low + high) // 2
    return border(low, middle, holds) if holds(middle) else border(middle + 1, high, holds)


def main(n, emit):
    words = [Word(f"w{10000 + i * 3}", i) for i in range(2000)]
    hits = misses = roots = 0
    for i in range(n):
        at = place(words, f"w{10000 + i * 7 % 6000}")
        if at is None:
            misses += 1
        else:
            hits += words[at].rank
        roots += border(0, 1000, lambda x, i=i: x * x >= i)
    emit("hits", hits)
    emit("misses", misses)
    emit("roots", roots)
