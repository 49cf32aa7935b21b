"""A diff of two texts by their longest common subsequence of lines."""


def lengths(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            table[i + 1][j + 1] = table[i][j] + 1 if a[i] == b[j] else max(table[i][j + 1], table[i + 1][j])
    return table


def changes(a, b):
    table = lengths(a, b)
    found = []
    i, j = len(a), len(b)
    while i > 0 or j > 0:
        if i > 0 and j > 0 and a[i - 1] == b[j - 1]:
            found.append(("  ", a[i - 1]))
            i -= 1
            j -= 1
        elif j > 0 and (i == 0 or table[i][j - 1] >= table[i - 1][j]):
            found.append(("+ ", b[j - 1]))
            j -= 1
        else:
            found.append(("- ", a[i - 1]))
            i -= 1
    found.reverse()
    return found


def main(n, emit):
    before = [f"line {i * i % 61}" for i in range(n)]
    after = [line for line in before if not line.endswith("7")]
    for i in range(n // 10):
        after.insert(i * 7, f"new {i}")
    found = changes(before, after)
    emit("kept", sum(kind == "  " for kind, _ in found))
    emit("changes", len(found))
    emit("first", [kind + line for kind, line in found[:12]])
