"""Errors as exceptions; one in four fails."""


class Refused(Exception):
    def __init__(self, message):
        super().__init__(message)
        self.message = message


def checked(n):
    if n % 4 == 0:
        raise Refused("multiple of four")
    return n


def doubled(n):
    return checked(n) * 2


def main(n, emit):
    total = 0
    failures = 0
    letters = 0
    for i in range(n):
        try:
            total += doubled(i)
            total += 1
        except Refused as e:
            failures += 1
            letters += len(e.message)
    emit("sum", total)
    emit("failures", failures)
    emit("letters", letters)
