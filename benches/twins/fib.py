"""Recursive calls with little work in each."""


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def main(n, emit):
    emit("fib", fib(n))
