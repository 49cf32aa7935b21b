"""Tuples: making, returning, taking apart."""


def divided(a, b):
    return a // b, a % b


def main(n, emit):
    pair = (0, 1)
    quotients = 0
    rests = 0
    for i in range(1, n + 1):
        pair = (pair[1], (pair[0] + pair[1]) % 1000003)
        quotient, rest = divided(pair[1], i)
        quotients += quotient
        rests += rest
    emit("pair", pair)
    emit("sums", (quotients, rests))
