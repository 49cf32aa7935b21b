"""Counting words in a dict, then walking its items."""


def main(n, emit):
    stems = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"]
    counts = {}
    state = 42
    for i in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        word = stems[state // 65536 % 7]
        counts[word] = counts.get(word, 0) + 1
        if i % 10 == 0:
            rare = f"{word}{state // 65536 % 50}"
            if rare in counts:
                counts[rare] += 1
            else:
                counts[rare] = 1
    total = 0
    best = ("", 0)
    for word, count in counts.items():
        total += count
        if count > best[1]:
            best = (word, count)
    emit("different", len(counts))
    emit("total", total)
    emit("best", best)
