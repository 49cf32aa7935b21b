"""The longest Collatz chain."""


def steps(start):
    n = start
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


def main(size, emit):
    best = 1
    most = 0
    for n in range(1, size + 1):
        count = steps(n)
        if count > most:
            most = count
            best = n
    emit("best", best)
    emit("steps", most)
