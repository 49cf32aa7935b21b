"""A stack of one's own, used for brackets, undo and numbers in reverse Polish notation."""


class Pile:
    __slots__ = ("items", "highest")

    def __init__(self):
        self.items = []
        self.highest = 0

    def push(self, item):
        self.items.append(item)
        self.highest = max(self.highest, len(self.items))

    def pop(self):
        return self.items.pop() if self.items else None

    def peek(self):
        return self.items[-1] if self.items else None

    def is_empty(self):
        return not self.items


def balanced(text):
    partners = {")": "(", "]": "[", "}": "{"}
    opened = Pile()
    for c in text:
        if c in "([{":
            opened.push(c)
        elif c in partners and opened.pop() != partners[c]:
            return False
    return opened.is_empty()


def polish(text):
    values = Pile()
    for word in text.split(" "):
        try:
            values.push(int(word))
        except ValueError:
            b = values.pop()
            a = values.pop()
            if a is None or b is None:
                return None
            values.push(a + b if word == "+" else a * b % 10007 if word == "*" else a - b)
    return values.pop()


def main(n, emit):
    right = total = failures = 0
    undo = Pile()
    for i in range(n):
        if balanced(f"f(a[{i}] + {{b: (c - [d])}}" + (")" if i % 3 == 0 else "]")):
            right += 1
        value = polish(f"{i} 3 + 7 * {i % 10} -" + (" +" if i % 5 == 0 else ""))
        if value is None:
            failures += 1
        else:
            total += value
        undo.push((i, f"edit {i}"))
        if i % 4 == 3:
            undo.pop()
    emit("right", right)
    emit("sum", total)
    emit("failures", failures)
    emit("undo", [len(undo.items), undo.highest])
    emit("top", undo.peek())
