"""A dict that functions change and give back: counts of words."""


def counted(counts, word):
    counts[word] = counts.get(word, 0) + 1
    return counts


def with_line(counts, line):
    for word in line.split(" "):
        counts = counted(counts, word)
    return counts


def main(n, emit):
    counts = {}
    for i in range(n):
        counts = with_line(counts, f"a{i} b{i % 50} a{i // 2}")
    emit("different", len(counts))
    emit("sum", sum(counts.values()))
    emit("thrice", len([c for c in counts.values() if c == 3]))
