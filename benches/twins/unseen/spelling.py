"""Spelling: words at one edit from a mistyped one, looked up in a dict, the commonest first."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def edits(word):
    found = {}  # in the order of insertion, as a set of the program
    for i in range(len(word) + 1):
        head, tail = word[:i], word[i:]
        if tail:
            found[head + tail[1:]] = True
        if len(tail) > 1:
            found[head + tail[1] + tail[0] + tail[2:]] = True
        for letter in LETTERS:
            found[head + letter + tail] = True
            if tail:
                found[head + letter + tail[1:]] = True
    return found


def corrected(word, counts):
    if word in counts:
        return word
    best = word
    most = 0
    for candidate in edits(word):
        count = counts.get(candidate, 0)
        if count > most:
            best, most = candidate, count
    return best


def main(n, emit):
    words = ["spelling", "correct", "word", "letter", "people", "number", "water", "sound", "place", "house", "world", "school"]
    counts = {word: i * 5 % 13 + 1 for i, word in enumerate(words)}
    typed = ["speling", "corect", "wrod", "leter", "people", "nummber", "watr", "xyz", "sonud", "hause"]
    changed = unknown = 0
    last = ""
    for i in range(n):
        word = typed[i * 3 % 10]
        last = corrected(word, counts)
        if last != word:
            changed += 1
        elif last not in counts:
            unknown += 1
    emit("changed", changed)
    emit("unknown", unknown)
    emit("last", last)
