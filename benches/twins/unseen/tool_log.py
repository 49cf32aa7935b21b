"""An object that collects notes in its state."""


class Journal:
    __slots__ = ("notes", "words")

    def __init__(self):
        self.notes = []
        self.words = {}

    def write(self, text):
        self.notes.append(text)
        for word in text.split(" "):
            self.words[word] = self.words.get(word, 0) + 1
        return len(self.notes)

    def uses(self, word):
        return self.words.get(word, 0)


def main(n, emit):
    journal = Journal()
    last = 0
    for i in range(n):
        last = journal.write(f"note {i} of {i % 10}")
    emit("last", last)
    emit("uses", [journal.uses("note"), journal.uses("7"), journal.uses("none")])
