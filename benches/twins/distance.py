"""Edit distance of two texts."""


def text(n, state):
    found = []
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        found.append("abcdefgh"[state // 65536 % 8])
    return found


def distance(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b):
            best = previous[j]
            if x != y:
                best += 1
            if previous[j + 1] + 1 < best:
                best = previous[j + 1] + 1
            if current[j] + 1 < best:
                best = current[j] + 1
            current.append(best)
        previous = current
    return previous[len(b)]


def main(n, emit):
    emit("distance", distance(text(n, 1), text(n, 2)))
