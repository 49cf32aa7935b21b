"""Reading and writing a dict: get, set, in, pop."""


def main(n, emit):
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"]
    counts = {}
    squares = {}
    dropped = 0
    for i in range(n):
        word = words[i % 7]
        counts[word] = counts.get(word, 0) + 1
        key = i % 1000
        if key in squares:
            if squares.pop(key, None) is not None:
                dropped += 1
        else:
            squares[key] = key * key
    total = 0
    for word in words:
        total += counts.get(word, 0)
    emit("total", total)
    emit("dropped", dropped)
    emit("left", len(squares))
