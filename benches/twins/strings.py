"""Building text: growth by +, f-strings, join."""


def main(n, emit):
    text = ""
    for i in range(n):
        text = text + f"item {i}, "
    emit("length", len(text))
    emit("start", text[:20])

    parts = []
    for i in range(n):
        parts.append(f"{i}:{i % 7}")
    joined = ";".join(parts)
    emit("joined", len(joined))
    emit("end", joined[-10:])
