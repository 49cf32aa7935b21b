"""Checksums over bytes: Adler-32, Fletcher, Luhn and ISBN digits."""


def adler(text):
    a = 1
    b = 0
    for byte in text.encode():
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return b * 65536 + a


def fletcher(data):
    a = 0
    b = 0
    for byte in data:
        a = (a + byte) % 255
        b = (b + a) % 255
    return b * 256 + a


def luhn(digits):
    total = 0
    for i, c in enumerate(reversed(digits)):
        digit = int(c)
        total += digit if i % 2 == 0 else digit * 2 - 9 if digit > 4 else digit * 2
    return total % 10 == 0


def isbn_digit(first):
    total = sum((10 - i) * int(c) for i, c in enumerate(first))
    n = (11 - total % 11) % 11
    return "X" if n == 10 else str(n)


def main(n, emit):
    mixed = valid = crosses = 0
    for i in range(n):
        text = f"The quick brown fox {i} jumps over the lazy dög"
        mixed = (mixed * 31 + adler(text) + fletcher(text.encode())) % 1000000007
        if luhn(str(4539148803436400 + i)):
            valid += 1
        if isbn_digit(str(306406150 + i)) == "X":
            crosses += 1
    emit("mixed", mixed)
    emit("valid", valid)
    emit("crosses", crosses)
