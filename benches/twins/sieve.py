"""The sieve of Eratosthenes."""


def primes(n):
    prime = [False, False] + [True] * (n - 1)
    i = 2
    while i * i <= n:
        if prime[i]:
            for j in range(i * i, n + 1, i):
                prime[j] = False
        i += 1
    found = []
    for k in range(n + 1):
        if prime[k]:
            found.append(k)
    return found


def main(n, emit):
    found = primes(n)
    emit("count", len(found))
    emit("sum", sum(found))
