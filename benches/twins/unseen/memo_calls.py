"""Recursion with what is known handed along: each call takes the dict and adds its own result."""


def steps(n, known):
    count = known.get(n)
    if count is None:
        count = steps(n // 2 if n % 2 == 0 else 3 * n + 1, known) + 1
        known[n] = count
    return count


def ways(rest, coins, known):
    if rest == 0:
        return 1
    if rest < 0 or not coins:
        return 0
    key = f"{rest}/{len(coins)}"
    found = known.get(key)
    if found is None:
        found = (ways(rest - coins[0], coins, known) + ways(rest, coins[1:], known)) % 1000000007
        known[key] = found
    return found


def main(n, emit):
    known = {1: 0}
    total = 0
    longest = (1, 0)
    for number in range(1, n + 1):
        count = steps(number, known)
        total += count
        if count > longest[1]:
            longest = (number, count)
    emit("total", total)
    emit("longest", longest)
    emit("known", len(known))

    counted = {}
    emit("ways", sum(ways(cents, [100, 50, 20, 10, 5], counted) for cents in range(0, n // 5, 20)))
    emit("counted", len(counted))
