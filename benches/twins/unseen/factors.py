"""Prime factors by trial division, divisors from them, perfect and deficient numbers."""


def factors(n):
    found = []
    p = 2
    while p * p <= n:
        power = 0
        while n % p == 0:
            n //= p
            power += 1
        if power:
            found.append((p, power))
        p += 1 if p == 2 else 2
    if n > 1:
        found.append((n, 1))
    return found


def divisor_sum(n):
    product = 1
    for p, power in factors(n):
        product *= (p ** (power + 1) - 1) // (p - 1)
    return product


def is_prime(n):
    found = factors(n)
    return len(found) == 1 and found[0][1] == 1


def main(n, emit):
    primes = abundant = twins = 0
    perfect = []
    for i in range(2, n):
        others = divisor_sum(i) - i
        if others == i:
            perfect.append(i)
        elif others > i:
            abundant += 1
        if is_prime(i):
            primes += 1
            if is_prime(i + 2):
                twins += 1
    emit("primes", primes)
    emit("perfect", perfect)
    emit("abundant", abundant)
    emit("twins", twins)
    emit("factors", factors(n * 36))
