"""The commonest words of a text: lower case, punctuation off, counted, sorted."""


def text(n):
    words = [
        "The",
        "river",
        "runs",
        "past",
        "old",
        "Houses,",
        "and",
        "the",
        "children",
        "sing",
        "in",
        "gardens;",
        "rain",
        "falls.",
    ]
    state = 5
    lines = []
    for _ in range(n):
        line = []
        for _ in range(8):
            state = (state * 1103515245 + 12345) % 2147483648
            line.append(words[state // 65536 % len(words)])
        lines.append(" ".join(line))
    return "\n".join(lines)


def main(n, emit):
    counts = {}
    longest = ""
    for line in text(n).splitlines():
        for raw in line.split(" "):
            word = raw.rstrip(",.;:!?").lower()
            if len(word) <= 2:
                continue
            counts[word] = counts.get(word, 0) + 1
            if len(word) > len(longest):
                longest = word
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    emit("ranked", ranked[:6])
    emit("longest", longest)
