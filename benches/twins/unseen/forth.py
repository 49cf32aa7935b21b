"""A small Forth: words defined in the text, a stack, a dictionary of definitions."""


class Refused(Exception):
    pass


class Forth:
    __slots__ = ("stack", "words", "steps")

    def __init__(self):
        self.stack = []
        self.words = {}
        self.steps = 0

    def pop(self):
        if not self.stack:
            raise Refused("the stack is empty")
        return self.stack.pop()

    def binary(self, f):
        b = self.pop()
        a = self.pop()
        self.stack.append(f(a, b))

    def word(self, word):
        self.steps += 1
        match word:
            case "+":
                self.binary(lambda a, b: a + b)
            case "-":
                self.binary(lambda a, b: a - b)
            case "*":
                self.binary(lambda a, b: a * b % 65521 if a * b >= 0 else -(-a * b % 65521))
            case "<":
                self.binary(lambda a, b: 1 if a < b else 0)
            case "dup":
                top = self.pop()
                self.stack += (top, top)
            case "swap":
                b = self.pop()
                a = self.pop()
                self.stack += (b, a)
            case "drop":
                self.pop()
            case _:
                body = self.words.get(word)
                if body is not None:
                    self.all(body)
                    return
                try:
                    self.stack.append(int(word))
                except ValueError:
                    raise Refused(f"unknown word {word}") from None

    def all(self, words):
        for word in words:
            self.word(word)

    def line(self, text):
        words = text.split(" ")
        if words[0] == ":":
            self.words[words[1]] = words[2:]
        else:
            self.all(words)


def main(n, emit):
    forth = Forth()
    for line in (": square dup *", ": cube dup square *", ": poly dup cube swap square 3 * - 7 +", ": twice poly swap poly +"):
        forth.line(line)
    failures = 0
    for i in range(n):
        forth.line(f"{i} {i + 1} twice {i} <")
        try:
            forth.line("1 + nothing")
        except Refused:
            failures += 1
    emit("steps", forth.steps)
    emit("failures", failures)
    emit("depth", len(forth.stack))
    emit("sum", sum(forth.stack))
