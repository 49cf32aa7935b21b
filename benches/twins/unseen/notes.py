"""Notes in a list: added, found again by key and by words, changed."""

from dataclasses import dataclass


@dataclass(slots=True)
class Note:
    identifier: str
    keys: list
    value: str


class Notes:
    def __init__(self):
        self.entries = {}

    def insert(self, identifier, keys, value):
        self.entries[identifier] = Note(identifier, keys, value)

    def from_exact_keys(self, keys):
        wanted = {key.lower() for key in keys}
        return [note for note in self.entries.values() if wanted <= {key.lower() for key in note.keys}]

    def from_identifier(self, text):
        words = set(text.split())
        return [note for note in self.entries.values() if words <= set(note.identifier.split())]

    def update(self, identifier, value):
        note = self.entries.get(identifier)
        if note is None:
            return False
        note.value = value
        return True


def main(n, emit):
    notes = Notes()
    topics = ["billing", "delivery", "returns", "account", "privacy"]
    for i in range(n):
        topic = topics[i % 5]
        notes.insert(f"note {i} on {topic}", [topic, f"level{i % 3}"], f"text of note {i}")
    letters = found = changed = 0
    for i in range(n):
        topic = topics[i * 3 % 5]
        for entry in notes.from_exact_keys([topic, f"level{i % 3}"])[:5]:
            letters += len(entry.value)
        found += len(notes.from_identifier(f"note {i}"))
        if i % 4 == 0 and notes.update(f"note {i} on {topics[i % 5]}", f"changed {i}"):
            changed += 1
    emit("letters", letters)
    emit("found", found)
    emit("changed", changed)
    emit("entries", len(notes.entries))
