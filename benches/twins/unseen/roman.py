"""Roman numerals, there and back, with what is malformed refused."""

PARTS = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
]
DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman(n):
    out = ""
    for value, letters in PARTS:
        while n >= value:
            out += letters
            n -= value
    return out


def number(text):
    total = before = 0
    for c in reversed(text):
        value = DIGITS.get(c)
        if value is None:
            return None
        if value < before:
            total -= value
        else:
            total += value
            before = value
    return total if roman(total) == text else None


def main(n, emit):
    letters = wrong = total = 0
    for i in range(n):
        text = roman(i % 3999 + 1)
        letters += len(text)
        total += number(text) or 0
        if number(text + "V") is None:
            wrong += 1
    emit("letters", letters)
    emit("wrong", wrong)
    emit("sum", total)
    emit("last", roman(n % 4000))
