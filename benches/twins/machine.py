"""A small stack machine, interpreted."""


def run(program):
    stack = []
    slots = [0, 0]
    at = 0
    while True:
        op, n = program[at]
        at += 1
        if op == "push":
            stack.append(n)
        elif op == "load":
            stack.append(slots[n])
        elif op == "save":
            slots[n] = stack.pop()
        elif op == "add":
            b = stack.pop()
            stack.append(stack.pop() + b)
        elif op == "take":
            b = stack.pop()
            stack.append(stack.pop() - b)
        elif op == "less":
            b = stack.pop()
            stack.append(1 if stack.pop() < b else 0)
        elif op == "unless":
            if stack.pop() == 0:
                at = n
        elif op == "jump":
            at = n
        else:
            return slots[1]


def main(n, emit):
    program = [
        ("load", 0), ("push", n), ("less", 0), ("unless", 13), ("load", 1), ("load", 0), ("add", 0), ("save", 1),
        ("load", 0), ("push", 1), ("add", 0), ("save", 0), ("jump", 0), ("stop", 0),
    ]  # fmt: skip
    emit("sum", run(program))
