"""A text that functions extend and hand on, and an object that keeps one."""


class Writer:
    __slots__ = ("text", "lines")

    def __init__(self):
        self.text = ""
        self.lines = 0

    def line(self, line):
        self.text += line + "\n"
        self.lines += 1


def appended(text, i):
    return text + f"row {i};"


def main(n, emit):
    text = ""
    writer = Writer()
    for i in range(n):
        text = appended(text, i)
        writer.line(f"line {i % 100}")
    emit("letters", [len(text), len(writer.text)])
    emit("lines", len(writer.text.splitlines()) - writer.lines)
    emit("end", text[-12:])
