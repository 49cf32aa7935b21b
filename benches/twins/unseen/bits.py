"""Bits by arithmetic, as the program does: counts, Gray code, reversal, xor."""


def ones(n):
    count = 0
    while n > 0:
        count += n % 2
        n //= 2
    return count


def xor(x, y):
    place = 1
    out = 0
    while x > 0 or y > 0:
        if x % 2 != y % 2:
            out += place
        x //= 2
        y //= 2
        place *= 2
    return out


def turned_round(n, width):
    out = 0
    for _ in range(width):
        out = out * 2 + n % 2
        n //= 2
    return out


def binary(n):
    if n < 2:
        return str(n)
    return binary(n // 2) + str(n % 2)


def main(n, emit):
    total = check = turned = letters = 0
    for i in range(n):
        gray = xor(i, i // 2)
        total += ones(gray)
        check = xor(check, gray)
        turned = (turned + turned_round(i, 16)) % 1000003
        letters += len(binary(i))
    emit("total", total)
    emit("check", check)
    emit("turned", turned)
    emit("letters", letters)
    emit("last", binary(n))
