"""Arithmetic by the shunting-yard algorithm: tokens by a regular expression, operators on a stack, the postfix form's value."""

import re

RANKS = {"^": 3, "*": 2, "/": 2, "+": 1, "-": 1}


class Fault(Exception):
    pass


def tokens(text):
    return [int(found) if found.isdigit() else found for found in re.findall(r"\d+|[-+*/^()]", text)]


def goes_first(top, following):
    return RANKS[top] > RANKS[following] or RANKS[top] == RANKS[following] and following != "^"


def postfix(items):
    out = []
    waiting = []
    for token in items:
        if isinstance(token, int):
            out.append(token)
        elif token == "(":
            waiting.append(token)
        elif token == ")":
            while True:
                if not waiting:
                    raise Fault("a bracket too many")
                operator = waiting.pop()
                if operator == "(":
                    break
                out.append(operator)
        else:
            while waiting and waiting[-1] != "(" and goes_first(waiting[-1], token):
                out.append(waiting.pop())
            waiting.append(token)
    while waiting:
        operator = waiting.pop()
        if operator == "(":
            raise Fault("an open bracket")
        out.append(operator)
    return out


def quotient(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def value(items):
    values = []
    for token in items:
        if isinstance(token, int):
            values.append(token)
            continue
        if len(values) < 2:
            raise Fault("an operand is missing")
        b = values.pop()
        a = values.pop()
        if token == "+":
            values.append(a + b)
        elif token == "-":
            values.append(a - b)
        elif token == "*":
            values.append(a * b)
        elif token == "^":
            values.append(a**b)
        elif b == 0:
            raise Fault("divided by zero")
        else:
            values.append(quotient(a, b))
    if not values:
        raise Fault("no value")
    return values.pop()


def main(n, emit):
    shapes = ["(A + B) * 3 - A / C", "2 ^ 3 ^ 2 + A * (B - (C + 1) * 2)", "A / (B - B)", "((A) + B", "A + * B) + 1"]
    total = 0
    faults = {}
    for i in range(n):
        text = shapes[i % 5].replace("A", f"{i}").replace("B", f"{i % 37}").replace("C", f"{i % 7 + 1}")
        try:
            total += value(postfix(tokens(text)))
        except Fault as fault:
            faults[str(fault)] = faults.get(str(fault), 0) + 1
    emit("total", total)
    emit("faults", faults)
