"""Words grouped by their sorted letters; the largest groups are shown."""

LETTERS = "aeilnorst"


def word(seed):
    out = []
    for _ in range(4):
        out.append(LETTERS[seed % len(LETTERS)])
        seed //= len(LETTERS)
    return "".join(out)


def signature(text):
    return "".join(sorted(text))


def main(n, emit):
    groups = {}
    state = 7
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        text = word(state // 1000)
        group = groups.setdefault(signature(text), [])
        if text not in group:
            group.append(text)
    largest = [(key, group) for key, group in groups.items() if len(group) > 3]
    largest.sort(key=lambda entry: -len(entry[1]))
    emit("groups", len(groups))
    emit("largest", [f"{key}: {','.join(group)}" for key, group in largest[:3]])
