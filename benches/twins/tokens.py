"""A tokenizer."""


def tokens(text):
    end = len(text)
    found = []
    i = 0
    while i < end:
        c = text[i]
        if c == " ":
            i += 1
        elif "0" <= c <= "9":
            value = 0
            while i < end and "0" <= text[i] <= "9":
                value = value * 10 + int(text[i])
                i += 1
            found.append(("number", value))
        elif "a" <= c <= "z":
            start = i
            while i < end and "a" <= text[i] <= "z":
                i += 1
            found.append(("word", text[start:i]))
        else:
            found.append(("sign", c))
            i += 1
    return found


def main(n, emit):
    numbers = letters = signs = 0
    for i in range(n):
        for kind, value in tokens(f"let total = price * {i} + (count - 42) / rate;"):
            if kind == "number":
                numbers += value
            elif kind == "word":
                letters += len(value)
            else:
                signs += 1
    emit("numbers", numbers)
    emit("letters", letters)
    emit("signs", signs)
