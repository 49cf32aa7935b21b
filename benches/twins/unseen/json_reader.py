"""A JSON reader by recursive descent over characters, and a writer of what it read."""


class Refused(Exception):
    pass


class Reader:
    __slots__ = ("text", "at")

    def __init__(self, text):
        self.text = text
        self.at = 0

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ""

    def skip(self):
        while self.at < len(self.text) and self.text[self.at] in " \n":
            self.at += 1

    def expect(self, wanted):
        self.skip()
        if self.peek() != wanted:
            raise Refused(f"expected {wanted} at {self.at}")
        self.at += 1

    def word(self, text, value):
        for c in text:
            if self.peek() != c:
                raise Refused(f"unknown word at {self.at}")
            self.at += 1
        return value

    def string(self):
        self.expect('"')
        found = ""
        while self.at < len(self.text):
            c = self.text[self.at]
            self.at += 1
            if c == '"':
                return found
            if c == "\\":
                found += self.peek()
                self.at += 1
            else:
                found += c
        raise Refused("a text without end")

    def number(self):
        start = self.at
        if self.peek() == "-":
            self.at += 1
        while "0" <= self.peek() <= "9":
            self.at += 1
        try:
            return int(self.text[start : self.at])
        except ValueError:
            raise Refused(f"no number at {start}") from None

    def list(self):
        self.expect("[")
        items = []
        self.skip()
        while self.peek() != "]":
            items.append(self.value())
            self.skip()
            if self.peek() == ",":
                self.at += 1
        self.expect("]")
        return items

    def object(self):
        self.expect("{")
        members = {}
        self.skip()
        while self.peek() != "}":
            key = self.string()
            self.expect(":")
            members[key] = self.value()
            self.skip()
            if self.peek() == ",":
                self.at += 1
                self.skip()
        self.expect("}")
        return members

    def value(self):
        self.skip()
        match self.peek():
            case "{":
                return self.object()
            case "[":
                return self.list()
            case '"':
                return self.string()
            case "t":
                return self.word("true", True)
            case "f":
                return self.word("false", False)
            case "n":
                return self.word("null", None)
            case _:
                return self.number()


def written(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, list):
        return "[" + ",".join(written(item) for item in value) + "]"
    return "{" + ",".join(key + ":" + written(item) for key, item in value.items()) + "}"


def main(n, emit):
    letters = 0
    last = ""
    for i in range(n):
        document = f'{{ "id": {i}, "name": "item \\"{i}\\"", "tags": ["a", "b", null], "size": {{ "w": -{i}, "ok": true }} }}'
        last = written(Reader(document).value())
        letters += len(last)
    emit("letters", letters)
    emit("last", last)
    try:
        Reader("[1, tru]").value()
        emit("broken", "none")
    except Refused as e:
        emit("broken", str(e))
