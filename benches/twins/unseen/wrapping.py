"""Paragraphs wrapped to a width, justified, with an indent."""


def wrapped(text, width):
    lines = []
    line = ""
    for word in text.split(" "):
        if not line:
            line = word
        elif len(line) + 1 + len(word) <= width:
            line += " " + word
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines


def justified(line, width):
    words = line.split(" ")
    gaps = len(words) - 1
    if gaps == 0:
        return line
    each, more = divmod(width - len(line), gaps)
    full = words[0]
    for i, word in enumerate(words[1:], 1):
        full += " " * (1 + each + (1 if i <= more else 0)) + word
    return full


def main(n, emit):
    words = ["a", "language", "for", "programs", "that", "talk", "to", "models", "reads", "like", "prose", "everywhere"]
    lines = letters = 0
    last = ""
    for i in range(n):
        paragraph = " ".join([words[(i * 7 + k * k) % len(words)] for k in range(40)])
        width = 24 + i % 17
        for line in wrapped(paragraph, width):
            last = "  " + justified(line, width)
            lines += 1
            letters += len(last)
    emit("lines", lines)
    emit("letters", letters)
    emit("last", last)
