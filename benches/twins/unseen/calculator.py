"""Arithmetic in texts: tokens, then precedence climbing, with errors as exceptions."""


class Refused(Exception):
    pass


POWER = {"*": 2, "/": 2, "%": 2, "+": 1, "-": 1}


def tokens(text):
    found = []
    digits = ""
    for c in text + " ":
        if "0" <= c <= "9":
            digits += c
            continue
        if digits:
            found.append(int(digits))
            digits = ""
        if c == " ":
            pass
        elif c in "()+-*/%":
            found.append(c)
        else:
            raise Refused(f"strange character {c}")
    found.append("")
    return found


def quotient(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def apply(sign, a, b):
    if sign == "+":
        return a + b
    if sign == "-":
        return a - b
    if sign == "*":
        product = a * b
        return product - quotient(product, 1000003) * 1000003
    if sign == "/":
        if b == 0:
            raise Refused("division by zero")
        return quotient(a, b)
    if b == 0:
        raise Refused("remainder by zero")
    return a - quotient(a, b) * b


class Parser:
    __slots__ = ("tokens", "at")

    def __init__(self, tokens):
        self.tokens = tokens
        self.at = 0

    def primary(self):
        token = self.tokens[self.at]
        self.at += 1
        if isinstance(token, int):
            return token
        if token == "-":
            return -self.primary()
        if token == "(":
            inner = self.expression(1)
            if self.tokens[self.at] != ")":
                raise Refused("no closing parenthesis")
            self.at += 1
            return inner
        raise Refused("no operand")

    def expression(self, least):
        left = self.primary()
        while True:
            sign = self.tokens[self.at]
            strength = POWER.get(sign, 0)
            if strength < least or strength == 0:
                return left
            self.at += 1
            right = self.expression(strength + 1)
            left = apply(sign, left, right)


def calculate(text):
    parser = Parser(tokens(text))
    value = parser.expression(1)
    if parser.tokens[parser.at] != "":
        raise Refused("something is left")
    return value


def main(n, emit):
    total = 0
    refused = {}
    for i in range(n):
        for text in (
            f"{i} + 2 * ({i} - 7) * -3 - 100 / ({i} % 5)",
            f"(({i} * {i} + 17) % 1000 - 4) * (3 + {i})",
            f"({i} + 1",
            f"{i} ? 2",
            f"1 + 2 * 3 - 4 / 5 + 6 * (7 - 8) - {i}",
        ):
            try:
                total += calculate(text)
            except Refused as e:
                refused[str(e)] = refused.get(str(e), 0) + 1
    emit("total", total)
    emit("refused", refused)
