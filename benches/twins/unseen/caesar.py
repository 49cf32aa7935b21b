"""Caesar and Vigenère ciphers over an alphabet, there and back, and letter frequencies."""

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def shifted(text, by, places):
    out = ""
    for c in text:
        i = places.get(c)
        out += c if i is None else ALPHABET[(i + by) % 26]
    return out


def vigenere(text, key, places, sign):
    out = []
    used = 0
    for c in text:
        i = places.get(c)
        if i is None:
            out.append(c)
        else:
            out.append(ALPHABET[(i + sign * places[key[used % len(key)]]) % 26])
            used += 1
    return "".join(out)


def commonest(text):
    counts = {}
    for c in text:
        if c != " ":
            counts[c] = counts.get(c, 0) + 1
    return max(counts, key=counts.get)


def main(n, emit):
    places = {c: i for i, c in enumerate(ALPHABET)}
    plain = "the quick brown fox jumps over the lazy dog, and then it sleeps beneath the tree"
    right = guessed = 0
    last = ""
    for i in range(n):
        by = i % 26
        secret = shifted(plain, by, places)
        guess = (places[commonest(secret)] - places["e"]) % 26
        if guess == by and shifted(secret, -guess, places) == plain:
            guessed += 1
        last = vigenere(plain, "key" + ALPHABET[by], places, 1)
        if vigenere(last, "key" + ALPHABET[by], places, -1) == plain:
            right += 1
    emit("guessed", guessed)
    emit("right", right)
    emit("last", last)
