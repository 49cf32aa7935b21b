"""Run-length coding of texts and of rows of an image, and back."""


def packed(text):
    runs = []
    for c in text:
        if runs and runs[-1][0] == c:
            runs[-1][1] += 1
        else:
            runs.append([c, 1])
    return runs


def code(runs):
    return "".join([c if count == 1 else f"{count}{c}" for c, count in runs])


def unpacked(code):
    out = ""
    count = 0
    for c in code:
        if c.isdigit():
            count = count * 10 + int(c)
        else:
            out += c * max(count, 1)
            count = 0
    return out


def main(n, emit):
    letters = right = longest = 0
    for i in range(n):
        row = "".join(["#" if (x * x + i) // 64 % 3 == 0 else "." if x // 9 % 2 == 0 else "o" for x in range(80)])
        runs = packed(row)
        short = code(runs)
        letters += len(short)
        longest = max(longest, *[count for _, count in runs])
        if unpacked(short) == row:
            right += 1
    emit("letters", letters)
    emit("right", right)
    emit("longest", longest)
